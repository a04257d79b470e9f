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
        // `heimdall-validate` reads a message, the others read nothing.
        let message = r#"{"type":"question","from":"a","msg_id":"q1","question":"Port?"}"#;
        std::fs::write(self.bin.path().join("message"), message).unwrap();
        let message = std::fs::File::open(self.bin.path().join("message")).unwrap();
        let mut command = Command::new(self.bin.path().join(tool));
        command.current_dir(self.project.path()).args(args).env("ALTHING_AGENT", "bob");
        let output = command.stdin(message).output().unwrap();
        assert!(!output.status.success(), "{tool} {args:?}: {output:?}");
        let words = [output.stdout, output.stderr].concat();
        assert!(!String::from_utf8_lossy(&words).contains("AKIA"), "{tool} {args:?}");
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
    fn claiming(&self, words: &'static str) -> Vec<Door<'_>> {
        let asked = json!({ "surfaces": ["src"], "purpose": words }).to_string();
        vec![
            (
                "althing claim",
                Box::new(move || self.althing(&["claim", "src", "--purpose", words])),
            ),
            ("do lease.open", Box::new(move || self.althing(&["do", "lease.open", &asked]))),
            (
                "make_claim",
                Box::new(move || {
                    self.host(
                        "frugal",
                        "make_claim",
                        json!({ "surfaces": ["src"], "task": words }),
                    );
                }),
            ),
            (
                "bclaw_create claim",
                Box::new(move || {
                    let data = json!({ "scope": "src", "text": words });
                    self.host("memory", "bclaw_create", json!({ "entity": "claim", "data": data }));
                }),
            ),
            (
                "heimdall-claim",
                Box::new(move || {
                    self.heimdall("heimdall-claim", &["claim", "src", "--task", words]);
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

/// A refusal is an entry, also where a name fits nothing and the kernel is not asked.
#[test]
fn no_refusal_of_a_command_is_silent() {
    let place = Place::of(Sandbox::new());
    place.project.claim("alice", "src");
    place.project.claim("carol", "docs");
    place.project.claim("bob", "mine");
    place.project.claim("haid:dora.mbp-dddd", "held");
    place.project.ok(&["backup", "copy"]);
    place.project.login("ada");
    let of_plan = |name: &str| json!({ "surfaces": ["pp"], "task": name });
    let open = of_plan("pln#77").to_string();
    let begin = json!({ "claim": of_plan("pln#77") }).to_string();
    let typed: [(&str, &[&str]); 16] = [
        ("fact.delete", &["fact", "delete", "nope"]),
        ("workspace.suspend", &["workspace", "suspend", "agent:nobody"]),
        ("escalation.answer", &["escalations", "answer", "x", "y"]),
        ("highway.inject", &["inject", "root", "hi"]),
        ("gate.resolve", &["gate", "approve", "nope"]),
        ("backup.restore", &["backup", "copy", "--restore"]),
        (
            "memory.offer",
            &["memory", "coordinate", "assign", "Do it.", "--scope", "src", "--to", "carol"],
        ),
        ("memory.move", &["memory", "transition", "clm#1", "expired"]),
        ("lease.release", &["release", "src"]),
        ("lease.release", &["release", "nothing"]),
        ("memory.step", &["memory", "complete-step", "pln#77", "stp_1"]),
        ("work.begin", &["memory", "work", "execute", "--plan", "pln#77", "--scope", "q"]),
        ("memory.update", &["memory", "update", "clm#9", "--set", "ttl=1h"]),
        ("memory.create", &["--session", "ws_x", "remember", "hello"]),
        ("lease.open", &["do", "lease.open", &open]),
        ("work.begin", &["do", "work.begin", &begin]),
    ];
    let place = &place;
    let mut doors: Vec<Door<'_>> = Vec::new();
    for (name, args) in typed {
        doors.push((name, Box::new(move || place.althing(args))));
    }
    let release = json!({ "haid": "nobody" });
    doors.push((
        "lease.release",
        Box::new(move || place.host("frugal", "release_claim", release.clone())),
    ));
    let raise = json!({ "id": "c1", "title": "t", "surfaces": ["a"], "displaced_haid": "nobody" });
    doors.push((
        "dispute.raise",
        Box::new(move || place.host("frugal", "raise_conflict_pr", raise.clone())),
    ));
    let stranger = "haid:eve.mbp-eeee";
    let programs: [(&str, &str, &[&str]); 7] = [
        ("lease.renew", "heimdall-claim", &["heartbeat", "--haid", stranger]),
        ("lease.open", "heimdall-claim", &["claim", "x", "--task", "t", "--haid", stranger]),
        ("lease.release", "heimdall-claim", &["release", "--haid", "haid:dora.mbp-dddd"]),
        ("agent.heartbeat", "heimdall-haid", &["heartbeat", stranger]),
        ("agent.register", "heimdall-haid", &["register", "--haid", stranger]),
        ("envelope.send", "heimdall-validate", &["--to", "nobody"]),
        ("lease.renew", "heimdall-protocol", &["claim", "heartbeat", "--haid", stranger]),
    ];
    for (name, tool, args) in programs {
        doors.push((name, Box::new(move || place.heimdall(tool, args))));
    }
    for (command, attempt) in doors {
        let before = place.refusals().len();
        attempt();
        let new = place.refusals().split_off(before);
        assert_eq!(new.len(), 1, "{command}: {new:?}");
        assert_eq!(new[0]["actor"], "agent:bob", "{command}: {new:?}");
        assert_eq!(new[0]["body"]["command"], command, "{new:?}");
    }
    place.project.ok(&["trail", "verify"]);
}

/// A heartbeat of an unknown HAID is refused. On record in its own name, the refusal would register
/// it.
#[test]
fn a_haid_that_is_not_registered_is_not_registered_by_its_refusal() {
    let place = Place::of(Sandbox::new());
    let own = |tool: &str, args: &[&str]| {
        let mut command = Command::new(place.bin.path().join(tool));
        let output = command.current_dir(place.project.path()).args(args).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for _ in 0..2 {
        let (code, words) = own("heimdall-haid", &["heartbeat"]);
        assert_eq!(code, Some(2), "{words}");
        assert!(words.starts_with("error: HAID not in registry: haid:rj."), "{words}");
    }
    assert!(place.refusals().is_empty());
    let (code, words) = own("heimdall-haid", &["heartbeat", "haid:eve.mbp-eeee"]);
    assert_eq!(code, Some(2), "{words}");
    let refused = place.refusals();
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert_eq!(refused[0]["body"]["command"], "agent.heartbeat");
    assert_eq!(own("heimdall-haid", &["heartbeat"]).0, Some(0), "known by what it asked for");
}

/// A person is not asked for a passphrase only to record a refusal; one who gave it is on record.
#[test]
fn a_refusal_before_the_passphrase_leaves_no_entry() {
    let place = Place::of(Sandbox::new());
    place.project.login("ada");
    let ran = place.project.run(&["gate", "approve", "nope", "--user", "ada", "--json"]);
    assert_eq!((ran.code, ran.error()["rule"].as_str()), (Some(1), Some("W-HH-06")), "{ran:?}");
    assert!(place.refusals().is_empty());
    let ran = place.project.as_user("ada", &["release", "nothing"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let refused = place.refusals();
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert_eq!(refused[0]["actor"], "user:ada");
}

/// A token of a service, which no error message repeats.
const TOKEN: &str = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";

/// No error message repeats a secret, and nothing of it is stored.
#[test]
fn a_secret_in_a_name_is_not_repeated() {
    let place = Place::of(Sandbox::new());
    let hidden = |words: &str, what: &dyn std::fmt::Debug| {
        assert!(!words.to_lowercase().contains("ghp_abc"), "{what:?}: {words}");
    };
    for args in [
        &["release", TOKEN][..],
        &["gate", "approve", TOKEN],
        &["trail", "show", TOKEN],
        &["do", TOKEN, "{}"],
        &["init", "--deployment", TOKEN],
        &["fact", "get", TOKEN],
        &["claim", "z", "--session", TOKEN],
        &["remember", "hello", "--session", TOKEN],
        &["memory", "get", TOKEN],
        &["workspace", "suspend", TOKEN],
        &["--nonsense", TOKEN],
    ] {
        for form in [&[][..], &["--json"]] {
            let ran = place.project.run(&[args, form, &["--as", "bob"]].concat());
            assert_ne!(ran.code, Some(0), "{args:?}: {ran:?}");
            hidden(&format!("{}{}", ran.out, ran.err), &args);
        }
    }
    for (tool, args) in [
        ("heimdall-capsule", &["show", TOKEN][..]),
        ("heimdall-blackboard", &["get", TOKEN]),
        ("heimdall-resolve", &[TOKEN]),
        ("heimdall-haid", &["check", TOKEN]),
        ("heimdall-haid", &["spawn", TOKEN]),
    ] {
        let mut command = Command::new(place.bin.path().join(tool));
        let output = command.current_dir(place.project.path()).args(args).output().unwrap();
        assert!(!output.status.success(), "{tool} {args:?}: {output:?}");
        let words = [output.stdout, output.stderr].concat();
        hidden(&String::from_utf8_lossy(&words), &tool);
    }
    let mut host = Host::silent(&place.project, &["--dialect", "all"]);
    host.introduce(TOKEN, "2025-11-25");
    hidden(&host.ask(TOKEN, json!({})).to_string(), &"method");
    let conflict = json!({ "id": "c", "title": "t", "surfaces": ["a"], "displaced_haid": TOKEN });
    let offer = json!({
        "intent": "assign", "task": "Do it.", "targetAgents": ["bob"], "worktree": TOKEN,
    });
    for (tool, args) in [
        ("release_claim", json!({ "haid": TOKEN })),
        ("raise_conflict_pr", conflict),
        ("bclaw_coordinate", offer),
        ("make_claim", json!({ "surfaces": ["z"], "task": "t", "client_identity": TOKEN })),
    ] {
        let (shown, error) = host.failed(tool, args);
        hidden(&format!("{shown}{error}"), &tool);
    }
    let asked = json!({ "surfaces": ["z"], "task": "t", "client_identity": TOKEN });
    let (_, error) = host.failed("make_claim", asked);
    assert_eq!(error["rule"], "A-USE-06", "{error}");
    host.end();
    for entry in place.project.entries() {
        hidden(&entry.to_string(), &entry["kind"]);
    }
    place.project.ok(&["trail", "verify"]);
}

/// A session is stored with each command, so its name is looked at like any text.
#[test]
fn a_secret_as_a_session_is_refused_on_record() {
    let place = Place::of(Sandbox::new());
    for args in [
        &["claim", "z"][..],
        &["remember", "hello"],
        &["do", "lease.open", r#"{"surfaces":["z"]}"#],
    ] {
        let before = place.refusals().len();
        let ran =
            place.project.run(&[args, &["--session", TOKEN, "--as", "bob", "--json"]].concat());
        assert_eq!(ran.error()["rule"], "A-USE-06", "{args:?}: {ran:?}");
        let new = place.refusals().split_off(before);
        assert_eq!(new.len(), 1, "{args:?}: {new:?}");
        assert_eq!(new[0]["body"]["rule"], "A-USE-06", "{new:?}");
    }
    assert!(!place.project.ok(&["trail", "export"]).out.contains("ghp_"));
}

/// A name that looks like a secret gets no key: the file would be named after it.
#[test]
fn a_secret_as_a_name_gets_no_key() {
    let place = Place::of(Sandbox::new());
    let ran = place.project.run(&["claim", "z", "--as", TOKEN, "--json"]);
    assert_eq!(ran.error()["rule"], "A-USE-06", "{ran:?}");
    let login = ["login", KEY, "--passphrase-stdin", "--json"];
    let ran = place.project.run_with(&login, b"a long passphrase\n");
    assert_eq!(ran.error()["rule"], "A-USE-06", "{ran:?}");
    let named = |path: &std::path::Path| {
        let name = path.file_name().unwrap().to_string_lossy().to_lowercase();
        name.contains("ghp") || name.contains("kia")
    };
    let files: Vec<_> =
        place.project.bytes_of_state().into_iter().filter(|(path, _)| named(path)).collect();
    assert!(files.is_empty(), "{:?}", files.iter().map(|(path, _)| path).collect::<Vec<_>>());
}

/// A host has sessions of its own, so one that is named would be ignored.
#[test]
fn a_session_for_a_host_is_refused() {
    let project = Sandbox::new();
    let ran = project.run(&["mcp", "--as", "bob", "--session", "ws_x", "--json"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.error()["way_out"].as_str().unwrap().contains("--session"), "{ran:?}");
}

/// Names in lines of requests are JSON strings, whatever way they are written.
#[test]
fn the_name_of_a_request_may_be_escaped() {
    let project = Sandbox::new();
    let ran = project.run_with(&["do", "--lines"], b"{\"name\":\"lease\\u002elist\"}\n");
    let answer: Value = serde_json::from_str(ran.out.trim()).unwrap();
    assert_eq!(answer, json!({ "line": 1, "ok": [] }), "{ran:?}");
}
