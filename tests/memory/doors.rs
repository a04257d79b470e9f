//! One memory behind all doors: hosts, the command line, the frugal dialect and the kernel's names.

use super::{agent, create, find, get, refused};
use crate::mcp::Host;
use crate::support::Sandbox;
use serde_json::json;

/// What one dialect claims no other gets, either way.
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

/// What the frugal side decided is found here, and changed there.
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
    refused(&mut memory, "bclaw_transition", args, "validation_error", &["only read"]);
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
    assert_eq!((ran.code, &ran.error()), (Some(1), &error));
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
