//! One memory for hosts, the command line, the frugal dialect and commands by name.

use super::{agent, create, find, get, refused};
use crate::mcp::Host;
use crate::support::Sandbox;
use serde_json::{Value, json};

/// A claim of one dialect keeps out the others, in both directions.
#[test]
fn claims_of_all_dialects_meet() {
    let project = Sandbox::new();
    let mut memory = agent(&project, "alice");
    memory.done("bclaw_work", json!({ "intent": "execute", "scope": "src/core" }));
    let mut frugal = Host::silent(&project, &["--as", "bob"]);
    let (_, error) =
        frugal.failed("make_claim", json!({ "surfaces": ["src/core/x.rs"], "task": "T" }));
    assert_eq!(error["kind"], "collision");
    frugal.done("make_claim", json!({ "surfaces": ["docs/**"], "task": "T-9" }));
    let work = memory.done("bclaw_work", json!({ "intent": "execute", "scope": "docs/a.md" }));
    assert_eq!(work["claim_status"], "conflict");
    assert_eq!(work["result"]["claim_conflicts"][0]["holder"], "bob");
    let data = json!({ "entity": "claim", "data": { "scope": "docs" } });
    refused(&mut memory, "bclaw_create", data, "claim_conflict", &["docs/**"]);
    assert_eq!(project.run(&["claim", "src", "--as", "carol"]).code, Some(3));
    project.claim("carol", "tests");
    let item = get(&mut memory, "claim", "clm#3");
    assert_eq!((&item["agent"], &item["scope"]), (&json!("carol"), &json!("tests")));
    assert_eq!(find(&mut memory, "claim", json!({ "scope": "docs" })), ["clm#2"]);
    assert_eq!(find(&mut memory, "claim", json!({ "agent": "carol" })), ["clm#3"]);
    assert_eq!(get(&mut memory, "claim", "clm#2")["task"], "T-9");
}

/// Decisions of the frugal dialect are found here, and changed there.
#[test]
fn decisions_of_the_frugal_side_are_seen() {
    let project = Sandbox::new();
    let mut frugal = Host::silent(&project, &["--as", "bob"]);
    let mut memory = agent(&project, "alice");
    create(&mut memory, "decision", json!({ "text": "older", "outcome": "approved" }));
    frugal.done("append_decision", json!({ "title": "Use SQLite", "body": "One file." }));
    create(&mut memory, "decision", json!({ "text": "newer" }));
    assert_eq!(find(&mut memory, "decision", json!({})), ["dec#2", "log#1", "dec#1"]);
    assert_eq!(find(&mut memory, "decision", json!({ "source": "frugal" })), ["log#1"]);
    assert_eq!(find(&mut memory, "decision", json!({ "status": "pending" })), ["dec#2"]);
    let item = get(&mut memory, "decision", "log#1");
    assert_eq!((&item["author"], &item["read_only"]), (&json!("bob"), &json!(true)));
    let entry = item["provenance"]["entry"].as_u64().unwrap();
    let found = project.entries().into_iter().find(|own| own["seq"] == entry).unwrap();
    assert_eq!(found["kind"], "decision.appended");
    let asked = json!({ "kind": "memory", "query": "sqlite" });
    assert_eq!(memory.done("bclaw_context", asked)["selected"][0]["id"], "log#1");
    let args = json!({ "entity": "decision", "id": "log#1", "to": "rejected" });
    refused(&mut memory, "bclaw_transition", args, "validation_error", &["read-only"]);
}

#[test]
fn a_revoked_agent_claims_nothing() {
    let project = Sandbox::new();
    let mut host = agent(&project, "alice");
    host.done("bclaw_work", json!({ "intent": "consult" }));
    project.login("ada");
    let revoked = project.as_user("ada", &["do", "agent.revoke", r#"{"agent":"alice"}"#]);
    assert_eq!(revoked.code, Some(0), "{revoked:?}");
    let args = json!({ "intent": "execute", "scope": "src" });
    refused(&mut host, "bclaw_work", args, "trust_error", &["revoked"]);
    host.done("bclaw_context", json!({ "kind": "board" }));
    assert_eq!(project.json(&["claims"]), json!([]));
}

/// The command line and hosts give the same answer; errors too.
#[test]
fn the_command_line_answers_as_hosts_do() {
    let project = Sandbox::new();
    let mut host = agent(&project, "alice");
    project.ok(&[
        "remember",
        "gen/ is generated",
        "--path",
        "gen",
        "--tag",
        "build",
        "--as",
        "alice",
    ]);
    let set = ["--set", "estimated_effort=2h", "--set", "steps=[\"a\",\"b\"]", "--as", "alice"];
    project.ok(&[&["memory", "create", "plan", "one"][..], &set].concat());
    let mut by_host = host.done("bclaw_get", json!({ "entity": "plan", "id": "pln#1" }));
    by_host.as_object_mut().unwrap().remove("agent");
    assert_eq!(project.json(&["memory", "get", "pln#1", "--as", "alice"]), by_host);
    assert_eq!(by_host["item"]["estimated_effort"], 120);
    let mut by_host = host.done("bclaw_find", json!({ "entity": "constraint" }));
    by_host.as_object_mut().unwrap().remove("agent");
    assert_eq!(project.json(&["memory", "find", "constraint"]), by_host);
    let ran = project.run(&["memory", "get", "pln#9", "--json"]);
    let args = json!({ "entity": "plan", "id": "pln#9" });
    let (_, error) = host.failed("bclaw_get", args);
    // Each hint names a command that can be typed, or a tool that can be called, by whoever reads it.
    let (mut by_line, mut by_host) = (ran.error(), error);
    for (own, words) in [
        (&mut by_line, "`althing memory find plan`"),
        (&mut by_host, "`bclaw_find {\"entity\":\"plan\"}`"),
    ] {
        let way_out = own.as_object_mut().unwrap().remove("way_out").unwrap();
        assert!(way_out.as_str().unwrap().contains(words), "{way_out}");
    }
    assert_eq!((ran.code, by_line), (Some(1), by_host));
    assert_eq!(project.run(&["memory", "find", "nope"]).code, Some(2));
    assert_eq!(project.run(&["memory", "get", "../x"]).code, Some(2));
    let told = project.ok(&["memory", "find", "constraint"]).out;
    assert!(told.starts_with("ID") && told.contains("gen/ is generated"), "{told}");
    let told = project.ok(&["memory", "update", "pln#1", "--clear", "steps", "--as", "alice"]).out;
    assert_eq!(told, "pln#1 is changed (version 2)\n");
    let told = project.ok(&["memory", "transition", "pln#1", "dropped", "--as", "alice"]).out;
    assert_eq!(told, "pln#1: open → cancelled\n");
    project.ok(&["memory", "remove", "pln#1", "--as", "alice"]);
    let told = project.ok(&["memory", "context", "execution"]).out;
    assert!(told.contains("protocol") && told.contains("haid:"), "{told}");
}

/// People remember too; what they write is said to be a person's.
#[test]
fn people_write_with_their_own_name() {
    let project = Sandbox::new();
    project.login("ada");
    let made = project.as_user("ada", &["remember", "ask before you force-push"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let mut host = agent(&project, "alice");
    let item = get(&mut host, "constraint", "cst#1");
    assert_eq!(item["provenance"]["kind"], "human", "{item}");
    assert_eq!(find(&mut host, "constraint", json!({ "author": "ada" })), ["cst#1"]);
}

/// Records are the kernel's: they can be asked for by its names as well.
#[test]
fn the_kernels_names_lead_to_the_same() {
    let project = Sandbox::new();
    let made = r#"{"kind":"plan","text":"by name"}"#;
    project.ok(&["do", "memory.create", made, "--as", "bob"]);
    let mut host = agent(&project, "alice");
    assert_eq!(get(&mut host, "plan", "pln#1")["text"], "by name");
    create(&mut host, "plan", json!({ "text": "by host" }));
    let found = project.json(&["do", "memory.find", r#"{"kind":"plan"}"#]);
    assert_eq!(found["total"], 2);
}

/// Paths mean what they mean to whoever stands there, as with `althing claim`.
#[test]
fn paths_are_read_where_one_stands() {
    let project = Sandbox::new();
    let below = project.path().join("sub/deep");
    std::fs::create_dir_all(&below).unwrap();
    let run = |args: &[&str]| -> Value {
        let mut command = project.command();
        let ran = command.current_dir(&below).args(args).args(["--as", "bob", "--json"]).output();
        let ran = crate::support::Ran::of(&ran.unwrap());
        assert_eq!(ran.code, Some(0), "{args:?}: {ran:?}");
        ran.json()
    };
    run(&["memory", "work", "execute", "--scope", "y, ../z, :/top"]);
    let held = project.json(&["claims"]);
    assert_eq!(held[0]["surfaces"], json!(["sub/deep/y", "sub/z", "top"]), "{held}");
    run(&["remember", "Mind the gap", "--path", "here"]);
    let asked = run(&["ask", "gap", "--path", "here"]);
    assert_eq!(asked["selected"][0]["related_paths"], json!(["sub/deep/here"]), "{asked}");
    assert_eq!(asked["selected"][0]["why"], "path and words", "{asked}");
}

/// A private record is changed by its author alone, whichever way others come in. It is shown to people,
/// but not to a name without a key.
#[test]
fn private_records_stay_private() {
    let project = Sandbox::new();
    project.login("ada");
    let mut alice = agent(&project, "alice");
    let trap = json!({ "text": "the zebra lies", "visibility": "private" });
    let id = create(&mut alice, "trap", trap);
    let update = json!({ "id": id, "fields": { "visibility": "shared" } }).to_string();
    let (ran, _) = project.refused(&["do", "memory.update", &update, "--as", "bob"]);
    assert!(!ran.out.contains("zebra") && !ran.err.contains("zebra"), "{ran:?}");
    let gone = json!({ "id": id, "to": "resolved" }).to_string();
    project.refused(&["do", "memory.move", &gone, "--as", "bob"]);
    let seen = |rest: &[&str]| {
        project.run(&[&["memory", "find", "trap", "--json"], rest].concat()).out.contains("zebra")
    };
    assert!(seen(&["--user", "ada"]) && seen(&["--as", "alice"]));
    assert!(!seen(&["--user", "nosuch"]) && !seen(&["--as", "bob"]));
}
