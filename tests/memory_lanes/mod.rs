//! Work for other agents, as people and scripts give it out: lanes, sequences, loops, and results
//! that are left in worktrees.

mod coordinate;
mod dispatch;
mod forecasts;
mod harvest;
mod loops;
mod offers;
mod output;
mod sweep;

use crate::support::{Ran, Sandbox};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Command;

/// A project with a first commit and agents who are known.
struct Team {
    project: Sandbox,
    lanes: tempfile::TempDir,
}

impl Team {
    fn new(agents: &[&str]) -> Self {
        let project = Sandbox::new();
        let team = Team { project, lanes: tempfile::tempdir().unwrap() };
        team.project.write("src/a/x.rs", "fn x() {}\n");
        team.project.write("src/b/y.rs", "fn y() {}\n");
        team.git(&["config", "user.name", "Test"]);
        team.git(&["config", "user.email", "test@example.org"]);
        team.git(&["add", "."]);
        team.git(&["commit", "--quiet", "-m", "First"]);
        for agent in agents {
            team.act(agent, "agent.register", json!({}));
        }
        team
    }

    #[track_caller]
    fn git(&self, args: &[&str]) -> String {
        self.git_in(&self.project.path().to_owned(), args)
    }

    #[track_caller]
    #[expect(clippy::unused_self, reason = "the repository has to live")]
    fn git_in(&self, folder: &PathBuf, args: &[&str]) -> String {
        let ran = Command::new("git").args(args).current_dir(folder).output().unwrap();
        assert!(ran.status.success(), "git {args:?}: {ran:?}");
        String::from_utf8(ran.stdout).unwrap().trim().to_owned()
    }

    /// A worktree beside the project's.
    fn worktree(&self, name: &str) -> PathBuf {
        let path = self.lanes.path().canonicalize().unwrap().join(name);
        self.git(&["worktree", "add", "--quiet", "-b", name, path.to_str().unwrap()]);
        path
    }

    /// Issues a command of the kernel.
    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "callers write it down where they ask")]
    fn act(&self, agent: &str, name: &str, args: Value) -> Value {
        self.project.json(&["do", name, &args.to_string(), "--as", agent])
    }

    /// Moves a record.
    #[track_caller]
    fn moved(&self, agent: &str, id: &str, to: &str) -> Value {
        self.act(agent, "memory.move", json!({ "id": id, "to": to }))
    }

    /// A record as it is now.
    #[track_caller]
    fn get(&self, id: &str) -> Value {
        self.project.json(&["do", "memory.get", &json!({ "id": id }).to_string()])
    }

    #[track_caller]
    fn plan(&self, text: &str) -> String {
        let made = self.act("alice", "memory.create", json!({ "kind": "plan", "text": text }));
        made["id"].as_str().unwrap().to_owned()
    }

    /// A verb of the dialect.
    #[track_caller]
    fn memory(&self, agent: &str, args: &[&str]) -> Value {
        self.project.json(&[&["memory"], args, &["--as", agent]].concat())
    }

    /// The same, of which only a part is done.
    #[track_caller]
    fn in_part(&self, agent: &str, args: &[&str]) -> Value {
        let ran = self.project.run(&[&["memory"], args, &["--as", agent, "--json"]].concat());
        assert_eq!(ran.code, Some(1), "{args:?}: {ran:?}");
        let shown = ran.json();
        assert_eq!(shown["status"], "partial", "{shown}");
        shown
    }

    /// The same, which is refused.
    #[track_caller]
    fn refused(&self, agent: &str, args: &[&str]) -> (Ran, Value) {
        let ran = self.project.run(&[&["memory"], args, &["--as", agent, "--json"]].concat());
        assert!(matches!(ran.code, Some(1..=3)), "{args:?}: {ran:?}");
        let error = ran.json()["error"].clone();
        (ran, error)
    }

    /// Assigns work to bob and returns the delivery.
    #[track_caller]
    fn assigned(&self, rest: &[&str]) -> Value {
        let args = [&["coordinate", "assign", "Do it.", "--to", "bob"], rest].concat();
        self.memory("alice", &args)["result"]["delivery_plan"][0].clone()
    }

    /// The claims that are open, with who holds them.
    #[track_caller]
    fn claims(&self) -> Vec<(String, u64)> {
        let list = self.project.json(&["claims"]);
        let list = list.as_array().or_else(|| list["leases"].as_array()).unwrap().clone();
        list.iter()
            .map(|own| {
                let holder = own["holder"].as_str().unwrap().to_owned();
                (holder, own["epoch"].as_u64().unwrap())
            })
            .collect()
    }
}

/// A field of an answer as text.
#[track_caller]
fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_else(|| panic!("{name} in {value}")).to_owned()
}
