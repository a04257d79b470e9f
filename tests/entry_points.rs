//! A command is refused for the same reason, whichever way it comes in, and
//! leaves the same entry.

use crate::mcp::Host;
use crate::support::Sandbox;
use serde_json::{Value, json};
use std::process::Command;

const KEY: &str = "AKIAIOSFODNN7EXAMPLE";

/// A project with the tools of the frugal dialect in a folder beside it.
struct Place {
    project: Sandbox,
    bin: tempfile::TempDir,
}

/// Something that is tried through a door. Its failure is expected.
type Door<'a> = (&'static str, Box<dyn Fn() + 'a>);

impl Place {
    fn of(project: Sandbox) -> Self {
        let mail = ["config", "user.email", "rj@example.org"];
        assert!(
            Command::new("git").args(mail).current_dir(project.path()).status().unwrap().success()
        );
        let bin = tempfile::tempdir().unwrap();
        project.ok(&["shims", bin.path().to_str().unwrap()]);
        Place { project, bin }
    }

    /// Runs a command as bob, in vain.
    #[track_caller]
    fn althing(&self, args: &[&str]) {
        let ran = self.project.run(&[args, &["--as", "bob", "--json"]].concat());
        assert_ne!(ran.code, Some(0), "{args:?}: {ran:?}");
        assert!(!format!("{}{}", ran.out, ran.err).contains("AKIA"), "{args:?}: {ran:?}");
    }

    /// Calls a tool as bob, in vain.
    #[track_caller]
    fn host(&self, dialect: &str, tool: &str, args: Value) {
        let mut host = Host::silent(&self.project, &["--dialect", dialect, "--as", "bob"]);
        host.introduce("tests", "2025-11-25");
        let (text, error) = host.failed(tool, args);
        assert!(!format!("{text}{error}").contains("AKIA"), "{error}");
        host.end();
    }

    /// Runs a tool of the frugal dialect as bob, in vain.
    #[track_caller]
    fn heimdall(&self, tool: &str, args: &[&str]) {
        let mut command = Command::new(self.bin.path().join(tool));
        command.current_dir(self.project.path()).args(args).env("ALTHING_AGENT", "bob");
        let output = command.output().unwrap();
        assert!(!output.status.success(), "{tool} {args:?}: {output:?}");
        let said = [output.stdout, output.stderr].concat();
        assert!(!String::from_utf8_lossy(&said).contains("AKIA"), "{tool} {args:?}");
    }

    /// Tries every door, and expects one refusal of this command, with this rule and kind, in bob's
    /// name from each.
    #[track_caller]
    fn refuse_alike(
        &self,
        doors: Vec<Door<'_>>,
        expected: &dyn Fn(&str) -> (String, &'static str, &'static str),
    ) {
        for (door, attempt) in doors {
            let before = self.refusals().len();
            attempt();
            let new = self.refusals().split_off(before);
            assert_eq!(new.len(), 1, "{door}: {new:?}");
            let (command, rule, kind) = expected(door);
            let body = &new[0]["body"];
            assert_eq!(body["command"], command.as_str(), "{door}: {body}");
            assert_eq!(
                (&body["rule"], &body["kind"]),
                (&json!(rule), &json!(kind)),
                "{door}: {body}"
            );
            assert_eq!(new[0]["actor"], "agent:bob", "{door}");
        }
        assert!(self.project.entries().iter().all(|entry| !entry.to_string().contains("AKIA")));
        self.project.ok(&["trail", "verify"]);
    }

    fn refusals(&self) -> Vec<Value> {
        let mut all = self.project.entries();
        all.retain(|entry| entry["kind"] == "command.refused");
        all
    }

    /// The doors through which surfaces are claimed, each with the same words said.
    fn claiming(&self, said: &'static str) -> Vec<Door<'_>> {
        let asked = json!({ "surfaces": ["src"], "purpose": said }).to_string();
        vec![
            ("althing claim", Box::new(move || self.althing(&["claim", "src", "--purpose", said]))),
            ("do lease.open", Box::new(move || self.althing(&["do", "lease.open", &asked]))),
            (
                "make_claim",
                Box::new(move || {
                    self.host("frugal", "make_claim", json!({ "surfaces": ["src"], "task": said }));
                }),
            ),
            (
                "bclaw_create claim",
                Box::new(move || {
                    let data = json!({ "scope": "src", "text": said });
                    self.host("memory", "bclaw_create", json!({ "entity": "claim", "data": data }));
                }),
            ),
            (
                "heimdall-claim",
                Box::new(move || {
                    self.heimdall("heimdall-claim", &["claim", "src", "--task", said]);
                }),
            ),
        ]
    }
}

#[test]
fn surfaces_that_somebody_else_holds_are_refused_alike_through_every_door() {
    let place = Place::of(Sandbox::new());
    place.project.claim("alice", "src/parser");
    place.refuse_alike(place.claiming("refactoring"), &|_| {
        ("lease.open".to_owned(), "A-LEASE-01", "collision")
    });
}

#[test]
fn a_secret_in_a_claim_is_refused_alike_through_every_door() {
    let place = Place::of(Sandbox::new());
    place.refuse_alike(place.claiming("because of AKIAIOSFODNN7EXAMPLE"), &|_| {
        ("lease.open".to_owned(), "A-USE-06", "denied")
    });
}

/// Every other way in which text comes in, each named after the command it stands for.
#[test]
fn a_secret_is_refused_alike_whatever_it_is_said_in() {
    let (project, root) = Sandbox::with_run();
    let place = Place::of(project);
    place.project.worker("bob");
    let trap = json!({ "entity": "trap", "data": { "text": KEY } });
    let decision = json!({ "title": "t", "body": KEY });
    let doors: Vec<Door<'_>> = vec![
        ("memory.create", Box::new(|| place.host("memory", "bclaw_create", trap.clone()))),
        ("memory.create", Box::new(|| place.althing(&["remember", KEY]))),
        ("decision.append", Box::new(|| place.host("frugal", "append_decision", decision.clone()))),
        ("capsule.write", Box::new(|| place.althing(&["capsule", "write", "w1", "--what", KEY]))),
        (
            "capsule.write",
            Box::new(|| place.heimdall("heimdall-capsule", &["write", "w1", "--what", KEY])),
        ),
        ("fact.set", Box::new(|| place.althing(&["fact", "set", "k", KEY]))),
        ("fact.set", Box::new(|| place.heimdall("heimdall-blackboard", &["set", "k", KEY]))),
        ("symbol.set", Box::new(|| place.althing(&["symbol", "set", "F1", KEY]))),
        ("symbol.set", Box::new(|| place.heimdall("heimdall-resolve", &["set", "F1", KEY]))),
        ("envelope.send", Box::new(|| place.althing(&["send", &root, KEY, "--type", "query"]))),
        ("signal.emit", Box::new(|| place.althing(&["signal", "blocked", "--reason", KEY]))),
    ];
    place.refuse_alike(doors, &|door| (door.to_owned(), "A-USE-06", "denied"));
}
