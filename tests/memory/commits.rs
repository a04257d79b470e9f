//! Each act is one commit, whatever it brings about.

use super::{agent, create, refused};
use crate::support::Sandbox;
use serde_json::json;

/// How many commits the trail has.
#[track_caller]
fn commits(project: &Sandbox) -> u64 {
    let report = project.json(&["trail", "verify", "--signatures"]);
    report["checked"]["commits"].as_u64().unwrap_or_else(|| panic!("{report}"))
}

#[test]
fn sitting_down_with_a_claim_is_one_commit() {
    let project = Sandbox::new();
    let mut alice = agent(&project, "alice");
    let plan = create(&mut alice, "plan", json!({ "text": "t" }));
    let before = commits(&project);
    let args = json!({ "intent": "execute", "scope": "src/a", "planId": plan, "ttl": "2h" });
    let first = alice.done("bclaw_work", args);
    assert_eq!(first["claim_status"], "created", "{first}");
    assert_eq!(commits(&project), before + 1, "session, mark and claim at once");
    let mut bob = agent(&project, "bob");
    create(&mut bob, "trap", json!({ "text": "t" }));
    let before = commits(&project);
    let second = bob.done("bclaw_work", json!({ "intent": "execute", "scope": "src" }));
    assert_eq!(second["claim_status"], "conflict", "{second}");
    assert_eq!(commits(&project), before + 1, "session, mark and refusal at once");
    let entries = project.entries();
    let refusal = entries.iter().rev().find(|entry| entry["kind"] == "command.refused").unwrap();
    assert_eq!(refusal["body"]["rule"], "A-LEASE-01", "{refusal}");
    assert_eq!(refusal["workspace"], second["session_id"], "{refusal}");
}

#[test]
fn creating_a_claim_is_one_commit_and_going_on_with_it_at_most_one() {
    let project = Sandbox::new();
    let mut alice = agent(&project, "alice");
    create(&mut alice, "plan", json!({ "text": "t" }));
    let before = commits(&project);
    let id = create(&mut alice, "claim", json!({ "scope": "src/a" }));
    assert_eq!(commits(&project), before + 1);
    assert_eq!(create(&mut alice, "claim", json!({ "scope": "src/a" })), id);
    assert_eq!(commits(&project), before + 1, "nothing happened");
    assert_eq!(create(&mut alice, "claim", json!({ "scope": "src/a", "ttl": "5h" })), id);
    assert_eq!(commits(&project), before + 2, "it was renewed");
    let done = json!({ "entity": "claim", "id": id, "to": "released" });
    alice.done("bclaw_transition", done);
    assert_eq!(commits(&project), before + 3);
}

#[test]
fn a_turn_in_a_loop_is_one_commit() {
    let project = Sandbox::new();
    let (mut alice, mut bob) = (agent(&project, "alice"), agent(&project, "bob"));
    create(&mut bob, "trap", json!({ "text": "t" }));
    let open = json!({ "intent": "open", "kind": "implementation", "task": "t",
        "allow_orphan": true, "slots": [{ "agent": "bob" }] });
    let own = alice.done("bclaw_loop", open)["result"]["loop"]["id"].clone();
    for args in [
        json!({ "intent": "turn", "slot": "slot_1", "task": "build" }),
        json!({ "intent": "request_input", "slot": "slot_1", "task": "how?" }),
        json!({ "intent": "advance" }),
        json!({ "intent": "takeover", "slot": "slot_1", "to_agent": "alice" }),
    ] {
        let before = commits(&project);
        let mut args = args;
        args["loopId"] = own.clone();
        alice.done("bclaw_loop", args.clone());
        assert_eq!(commits(&project), before + 1, "{args}");
    }
    let before = commits(&project);
    bob.done("bclaw_loop", json!({ "intent": "provide_input", "loopId": own, "task": "so" }));
    assert_eq!(commits(&project), before + 1, "the answer and the end of the question");
}

/// Nothing but the acts of a loop changes where it stands.
#[test]
fn a_phase_is_not_skipped_by_changing_the_record() {
    let project = Sandbox::new();
    let mut alice = agent(&project, "alice");
    let open = json!({ "intent": "open", "kind": "implementation", "task": "t",
        "allow_orphan": true });
    let own = alice.done("bclaw_loop", open)["result"]["loop"]["id"].clone();
    for fields in [json!({ "phase": "verify" }), json!({ "iteration": 5 })] {
        let args = json!({ "id": own, "fields": fields }).to_string();
        let ran = project.run(&["do", "memory.update", &args, "--as", "alice", "--json"]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert_eq!(ran.error()["rule"], "A-MEM-04", "{ran:?}");
    }
    let begun = json!({ "kind": "loop", "text": "t",
        "fields": { "loop_kind": "implementation", "phase": "verify" } });
    let ran = project.run(&["do", "memory.create", &begun.to_string(), "--as", "alice", "--json"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let skip = json!({ "intent": "advance", "loopId": own, "phase": "verify" });
    refused(&mut alice, "bclaw_loop", skip, "operation_error", &["does not lead to verify"]);
    let own = alice.done("bclaw_loop", json!({ "intent": "get", "loopId": own }));
    assert_eq!(own["result"]["loop"]["phase"], "bind", "{own}");
}

/// Any act of a holder renews their claims in the same commit.
#[test]
fn renewal_by_use_is_no_commit_of_its_own() {
    let project = Sandbox::new();
    let mut alice = agent(&project, "alice");
    for n in 0..5 {
        create(&mut alice, "claim", json!({ "scope": format!("src/{n}"), "ttl": "16s" }));
    }
    std::thread::sleep(std::time::Duration::from_millis(4_100));
    let (before, entries) = (commits(&project), project.kinds().len());
    create(&mut alice, "plan", json!({ "text": "t" }));
    assert_eq!(commits(&project), before + 1);
    // On a slow machine some were renewed by the claims after them already.
    let kinds = project.kinds();
    let renewed = kinds[entries..].iter().filter(|kind| *kind == "lease.renewed").count();
    assert!((1..=5).contains(&renewed), "{:?}", &kinds[entries..]);
}
