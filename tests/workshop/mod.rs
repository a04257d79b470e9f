//! Running plans: real worktrees, real agent processes, real merges, through the binary alone. The
//! agent is a script that does what the key of its task says.

mod control;
mod ends;
mod input;
mod merges;
mod runs;
mod torture;

use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{BINARY, Ran, Sandbox};

/// A repository with a commit, a scripted agent and a place for worktrees.
pub(crate) struct Workshop {
    pub(crate) sandbox: Sandbox,
    outside: tempfile::TempDir,
}

/// A task of a plan: its key, and more of its lines.
pub(crate) type Task<'a> = (&'a str, &'a str);

impl Workshop {
    pub(crate) fn new() -> Self {
        Workshop::with("")
    }

    /// With more lines in `[workshop]`.
    pub(crate) fn with(settings: &str) -> Self {
        let own =
            Workshop { sandbox: Sandbox::without_project(), outside: tempfile::tempdir().unwrap() };
        own.git(&["checkout", "--quiet", "-b", "main"]);
        own.sandbox.write("README.md", "a project\n");
        own.sandbox.write("shared.txt", "the first line\n");
        let agent = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/workshop/agent.sh");
        let text = format!(
            "[agents.scripted]\ncommand = [\"/bin/sh\", \"{agent}\", \"{{task}}\"]\n\
             usage = \"json-lines\"\n\
             env = {{ ALTHING = \"{BINARY}\", SCRATCH = \"{}\" }}\n\
             [workshop]\nworktrees = \"{}\"\n{settings}\n",
            own.scratch().display(),
            own.outside.path().join("trees").display()
        );
        own.sandbox.write("althing.toml", &text);
        std::fs::create_dir(own.scratch()).unwrap();
        own.git(&["add", "--all"]);
        own.git(&["commit", "--quiet", "-m", "Begin"]);
        own
    }

    /// Where agents leave notes.
    pub(crate) fn scratch(&self) -> PathBuf {
        self.outside.path().join("scratch")
    }

    #[track_caller]
    pub(crate) fn git(&self, args: &[&str]) -> String {
        git(self.sandbox.path(), args)
    }

    /// Writes a plan outside of the project.
    pub(crate) fn plan(&self, tasks: &[Task<'_>]) -> String {
        let path = self.outside.path().join("plan.toml");
        let mut text = String::new();
        for (key, more) in tasks {
            writeln!(
                text,
                "[[tasks]]
key = {key:?}
text = \"Do {key}\"
{more}"
            )
            .unwrap();
        }
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    /// Runs a plan with so many agents.
    #[track_caller]
    pub(crate) fn run(&self, tasks: &[Task<'_>], agents: &str, more: &[&str]) -> Finished {
        let plan = self.plan(tasks);
        let args = [&["run", &plan, "--agents", agents, "--json"], more].concat();
        Finished::of(self.sandbox.run(&args))
    }

    /// Goes on with the run there is.
    #[track_caller]
    pub(crate) fn go_on(&self) -> Finished {
        Finished::of(self.sandbox.run(&["run", "--json"]))
    }

    /// Starts a run and does not wait for it.
    pub(crate) fn start(&self, args: &[&str]) -> Child {
        let mut command = self.sandbox.command();
        command.arg("run").args(args).arg("--json");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    /// The content of a file on a branch.
    pub(crate) fn file(&self, branch: &str, path: &str) -> Option<String> {
        let name = format!("{branch}:{path}");
        let output =
            Command::new("git").args(["show", &name]).current_dir(self.sandbox.path()).output();
        let output = output.unwrap();
        output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
    }

    /// What must hold after every run: the trail is sound and the person's files are theirs.
    #[track_caller]
    pub(crate) fn is_sound(&self) {
        self.sandbox.ok(&["trail", "verify"]);
        assert_eq!(self.git(&["status", "--porcelain"]), "");
        assert_eq!(self.git(&["symbolic-ref", "HEAD"]), "refs/heads/main");
    }
}

#[track_caller]
pub(crate) fn git(folder: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=ada", "-c", "user.email=ada@example.org"]);
    let output = command.args(args).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "git {args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A run that ended: its events, and the last one.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) code: Option<i32>,
    pub(crate) events: Vec<Value>,
    /// What it said beside, for the messages of tests that fail.
    said: String,
}

impl Finished {
    pub(crate) fn of(ran: Ran) -> Self {
        let events = ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        Finished { code: ran.code, events, said: ran.err }
    }

    pub(crate) fn of_child(child: Child) -> Self {
        Finished::of(Ran::of(&child.wait_with_output().unwrap()))
    }

    #[track_caller]
    pub(crate) fn last(&self) -> &Value {
        let last = self.events.last().unwrap_or_else(|| panic!("no events: {}", self.said));
        assert_eq!(last["event"], "run.finished", "{self:?}");
        last
    }

    /// The keys in one of the lists of the last event, sorted.
    #[track_caller]
    pub(crate) fn list(&self, name: &str) -> Vec<String> {
        let list = self.last()[name].as_array().unwrap();
        let mut keys: Vec<String> =
            list.iter().map(|own| own.as_str().unwrap().to_owned()).collect();
        keys.sort();
        keys
    }

    #[track_caller]
    pub(crate) fn merged(&self) -> Vec<String> {
        self.list("merged")
    }

    pub(crate) fn branch(&self) -> &str {
        self.last()["branch"].as_str().unwrap()
    }

    pub(crate) fn run(&self) -> &str {
        self.last()["run"].as_str().unwrap()
    }

    /// The events of one kind about a task.
    pub(crate) fn about(&self, kind: &str, task: &str) -> Vec<&Value> {
        let is_so = |own: &&Value| own["event"] == kind && own["task"] == task;
        self.events.iter().filter(is_so).collect()
    }
}

/// Waits until something is so.
#[track_caller]
pub(crate) fn until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_mins(1);
    while !is_so() {
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
