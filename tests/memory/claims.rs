//! Claims, by the numbers of the protocol's cases.

use super::{agent, create, find, follow, get, refused, transition};
use crate::support::Sandbox;
use serde_json::{Value, json};
use std::process::Stdio;
use std::time::Duration;

/// Case 49. What can be done next can be done.
#[test]
fn executing_in_a_scope_claims_it_once() {
    let project = Sandbox::new();
    let mut host = agent(&project, "alice");
    let plan = create(&mut host, "plan", json!({ "text": "t" }));
    let args = json!({ "intent": "execute", "scope": "src/b.rs, src/a.rs", "planId": plan });
    let first = host.done("bclaw_work", args.clone());
    assert_eq!(first["claim_status"], "created");
    let item = get(&mut host, "claim", first["claim_id"].as_str().unwrap());
    assert_eq!((&item["status"], &item["plan_id"]), (&json!("open"), &json!(plan)));
    assert_eq!(item["scope"], "src/b.rs, src/a.rs");
    let again = host.done("bclaw_work", args);
    assert_eq!(again["claim_status"], "existing");
    assert_eq!(again["claim_id"], first["claim_id"]);
    let turned = json!({ "intent": "execute", "scope": "./src/a.rs,src/b.rs" });
    assert_eq!(host.done("bclaw_work", turned)["claim_id"], first["claim_id"]);
    let lease = project.json(&["claims"])[0].clone();
    assert_eq!((&lease["ttl_s"], &lease["task"]), (&json!(14_400), &json!(plan)));
    assert_eq!(lease["workspace"], first["session_id"]);
    assert_eq!(follow(&mut host, &first), 2, "{first}");
    assert_eq!(project.json(&["claims"]), json!([]), "the last step was to give it back");
    let empty = Sandbox::new();
    let mut host = agent(&empty, "alice");
    let work = host.done("bclaw_work", json!({ "intent": "consult" }));
    assert_eq!(work["next_actions"], Value::Null, "nothing is made up: {work}");
    let work = host.done("bclaw_work", json!({ "intent": "consult", "task": "Begin" }));
    assert!(follow(&mut host, &work) > 0);
    assert_eq!(find(&mut host, "plan", json!({})).len(), 1);
}

/// Case 55.
#[test]
fn of_fifty_processes_one_claims() {
    let project = Sandbox::new();
    let start = |n: usize| {
        let name = format!("agent-{n}");
        let args = ["memory", "work", "execute", "--scope", "src/one", "--as", &name, "--json"];
        let mut command = project.command();
        command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        command.spawn().unwrap()
    };
    let all: Vec<_> = (0..50).map(start).collect();
    let answer = |child: std::process::Child| {
        let out = child.wait_with_output().unwrap();
        let value: Value = serde_json::from_slice(&out.stdout).unwrap();
        (value["claim_status"].as_str().unwrap().to_owned(), out.status.code())
    };
    let shown: Vec<_> = all.into_iter().map(answer).collect();
    let won = shown.iter().filter(|own| **own == ("created".to_owned(), Some(0))).count();
    let lost = shown.iter().filter(|own| **own == ("conflict".to_owned(), Some(3))).count();
    assert_eq!((won, lost), (1, 49), "{shown:?}");
}

/// Case 56.
#[test]
fn a_claim_that_ran_out_is_free() {
    let project = Sandbox::new();
    let (mut alice, mut bob) = (agent(&project, "alice"), agent(&project, "bob"));
    let args = json!({ "intent": "execute", "scope": "src", "ttl": "1s" });
    let first = alice.done("bclaw_work", args);
    std::thread::sleep(Duration::from_millis(1_050));
    let id = first["claim_id"].as_str().unwrap();
    assert_eq!(get(&mut bob, "claim", id)["status"], "expired", "already when it is read");
    let work = bob.done("bclaw_work", json!({ "intent": "execute", "scope": "src/x" }));
    assert_eq!(work["claim_status"], "created");
    assert_eq!(find(&mut bob, "claim", json!({ "status": "stale" })), ["clm#1"]);
    assert_eq!(find(&mut bob, "claim", json!({})), ["clm#2"]);
}

/// Whoever writes keeps what they hold.
#[test]
fn writing_renews_what_one_holds() {
    let project = Sandbox::new();
    let mut host = agent(&project, "alice");
    let args = json!({ "intent": "execute", "scope": "src", "ttl": 12 });
    let id = host.done("bclaw_work", args)["claim_id"].as_str().unwrap().to_owned();
    let until = |host: &mut crate::mcp::Host| get(host, "claim", &id)["expires_at"].clone();
    let first = until(&mut host);
    create(&mut host, "plan", json!({ "text": "early" }));
    assert_eq!(until(&mut host), first, "most of its time is left");
    std::thread::sleep(Duration::from_millis(3_100));
    assert_eq!(until(&mut host), first, "reading renews nothing");
    create(&mut host, "plan", json!({ "text": "late" }));
    let second = until(&mut host);
    assert!(second.as_str().unwrap() > first.as_str().unwrap(), "{first} {second}");
    let patch = json!({ "entity": "claim", "id": id, "patch": { "ttl": "2h" } });
    let shown = host.done("bclaw_update", patch);
    assert!(shown["expires_at"].as_str().unwrap() > second.as_str().unwrap());
    let patch = json!({ "entity": "claim", "id": id, "patch": { "status": "released" } });
    refused(&mut host, "bclaw_update", patch, "validation_error", &["transition"]);
}

/// A write succeeds even if the lease that it would renew has ended.
#[test]
fn a_renewal_that_fails_is_no_failure_of_what_was_written() {
    let project = Sandbox::new();
    let mut host = agent(&project, "alice");
    for n in 0..60 {
        create(&mut host, "claim", json!({ "scope": format!("src/{n}"), "ttl": "16s" }));
    }
    let held = project.json(&["claims"]);
    let id = |own: &Value| own["id"].as_str().or(own["lease"].as_str()).unwrap().to_owned();
    let mut held: Vec<String> = held.as_array().unwrap().iter().map(id).collect();
    held.sort();
    std::thread::sleep(Duration::from_millis(4_100));
    // The last in line are given back while the first are renewed.
    let release = |lease: &String| {
        let args = json!({ "lease": lease }).to_string();
        let mut command = project.command();
        command.args(["do", "lease.release", &args, "--as", "alice"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap()
    };
    let releases: Vec<_> = held.iter().rev().take(6).map(release).collect();
    for n in 0..3 {
        create(&mut host, "plan", json!({ "text": format!("plan {n}") }));
    }
    for mut child in releases {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(find(&mut host, "plan", json!({})).len(), 3);
    assert_eq!(project.json(&["claims"]).as_array().unwrap().len(), 54);
}

/// Case 59. Case 61.
#[test]
fn a_claim_is_its_holders_to_give_back() {
    let project = Sandbox::new();
    project.login("ada");
    let (mut alice, mut bob) = (agent(&project, "alice"), agent(&project, "bob"));
    let id = create(&mut alice, "claim", json!({ "scope": "src", "text": "moving files" }));
    let release = json!({ "entity": "claim", "id": id, "to": "released" });
    let words = ["coordinator_override"];
    refused(&mut bob, "bclaw_transition", release.clone(), "ownership_error", &words);
    let mut forced = release.clone();
    forced["coordinator_override"] = true.into();
    refused(&mut bob, "bclaw_transition", forced, "ownership_error", &[]);
    assert_eq!(project.json(&["claims"]).as_array().unwrap().len(), 1);
    let shown = project.as_user(
        "ada",
        &["memory", "transition", &id, "released", "--override", "--reason", "gone"],
    );
    assert_eq!(shown.code, Some(0), "{shown:?}");
    assert_eq!(shown.json()["side_effects"][0]["action"], "forced");
    let entries = project.entries();
    let forced = entries.iter().find(|entry| entry["kind"] == "lease.forced").unwrap();
    assert_eq!((&forced["actor"], &forced["body"]["reason"]), (&json!("user:ada"), &json!("gone")));
    let again = alice.done("bclaw_transition", release.clone());
    assert_eq!((&again["changed"], &again["to"]), (&json!(false), &json!("released")));
    let id = create(&mut alice, "claim", json!({ "paths": ["src"] }));
    let first = transition(&mut alice, "claim", &id, "released");
    assert_eq!((&first["from"], &first["changed"]), (&json!("open"), &json!(true)));
    assert_eq!(transition(&mut alice, "claim", &id, "released")["changed"], false);
    let back = json!({ "entity": "claim", "id": id, "to": "open" });
    refused(&mut alice, "bclaw_transition", back, "operation_error", &["released", "open"]);
    let id = create(&mut alice, "claim", json!({ "paths": ["src"] }));
    let early = json!({ "entity": "claim", "id": id, "to": "expired" });
    refused(&mut alice, "bclaw_transition", early, "operation_error", &["open", "expired"]);
}

/// A plan ends with the last claim on it that is given back as done.
#[test]
fn giving_a_claim_back_says_what_becomes_of_the_plan() {
    let project = Sandbox::new();
    let (mut alice, mut bob) = (agent(&project, "alice"), agent(&project, "bob"));
    let plan = create(&mut alice, "plan", json!({ "text": "t" }));
    let first = create(&mut alice, "claim", json!({ "scope": "a", "plan_id": plan }));
    let second = create(&mut bob, "claim", json!({ "scope": "b", "plan_id": "pln#1" }));
    let done =
        |id: &str| json!({ "entity": "claim", "id": id, "to": "released", "planStatus": "done" });
    let moved = alice.done("bclaw_transition", done(&first));
    assert_eq!(moved["side_effects"][0]["action"], "kept_open", "{moved}");
    assert_eq!(get(&mut bob, "plan", &plan)["status"], "open");
    let moved = bob.done("bclaw_transition", done(&second));
    assert_eq!(moved["side_effects"][0]["id"], plan, "{moved}");
    assert_eq!(get(&mut bob, "plan", &plan)["status"], "done");
    assert_eq!(project.json(&["claims"]), json!([]));
    assert_eq!(get(&mut bob, "claim", &second)["status"], "released");
}

/// A plan is blocked with the claim on it in one commit; one that is over stays as it is and holds
/// no claim back.
#[test]
fn a_claim_is_given_back_whatever_becomes_of_the_plan() {
    let project = Sandbox::new();
    let mut alice = agent(&project, "alice");
    let plan = create(&mut alice, "plan", json!({ "text": "t" }));
    let release = |id: &str, status: &str| {
        let (id, status) = (json!(id), json!(status));
        json!({ "entity": "claim", "id": id, "to": "released", "planStatus": status })
    };
    let claim = create(&mut alice, "claim", json!({ "scope": "a", "plan_id": plan }));
    let moved = alice.done("bclaw_transition", release(&claim, "blocked"));
    assert_eq!(moved["side_effects"][0]["action"], "blocked", "{moved}");
    assert_eq!(moved["side_effects"][1]["action"], "released", "{moved}");
    assert_eq!(get(&mut alice, "plan", &plan)["status"], "blocked");
    assert_eq!(project.json(&["claims"]), json!([]));
    let entries = project.entries();
    let of = |kind: &str| entries.iter().rev().find(|entry| entry["kind"] == kind).unwrap();
    assert_eq!(of("lease.released")["causation"], of("memory.moved")["id"]);
    transition(&mut alice, "plan", &plan, "in_progress");
    transition(&mut alice, "plan", &plan, "done");
    for status in ["blocked", "done"] {
        let claim = create(&mut alice, "claim", json!({ "scope": "a", "plan_id": plan }));
        let moved = alice.done("bclaw_transition", release(&claim, status));
        assert_eq!(moved["side_effects"][0]["action"], "unchanged", "{moved}");
        assert_eq!(moved["side_effects"][1]["action"], "released", "{moved}");
        assert_eq!(project.json(&["claims"]), json!([]));
    }
    assert_eq!(get(&mut alice, "plan", &plan)["status"], "done");
}

/// A plan that is done lets go of what its agent holds for it, and of nobody else's.
#[test]
fn a_plan_that_is_done_releases_claims() {
    let project = Sandbox::new();
    let (mut alice, mut bob) = (agent(&project, "alice"), agent(&project, "bob"));
    let plan = create(&mut alice, "plan", json!({ "text": "t" }));
    let own = create(&mut alice, "claim", json!({ "scope": "a", "plan_id": plan }));
    let other = create(&mut bob, "claim", json!({ "scope": "b", "plan_id": plan }));
    let moved = transition(&mut alice, "plan", &plan, "done");
    let action = |id: &str| {
        let effects = moved["side_effects"].as_array().unwrap();
        effects.iter().find(|effect| effect["id"] == id).unwrap()["action"].clone()
    };
    assert_eq!((action(&own), action(&other)), (json!("released"), json!("ownership_denied")));
    assert_eq!(find(&mut alice, "claim", json!({})), ["clm#2"]);
}

#[test]
fn a_claim_is_opened_once_for_a_request() {
    let project = Sandbox::new();
    let mut host = agent(&project, "alice");
    let asked = |scope: &str| json!({ "entity": "claim", "data": { "scope": scope }, "client_request_id": "r1" });
    let first = host.done("bclaw_create", asked("src/a"));
    assert_eq!(first["claim_status"], "created");
    let id = first["id"].as_str().unwrap();
    let again = host.done("bclaw_create", asked("src/a"));
    assert_eq!((&again["id"], &again["claim_status"]), (&first["id"], &json!("existing")));
    let kind = "idempotency_key_reused_with_different_body";
    refused(&mut host, "bclaw_create", asked("src/b"), kind, &[]);
    // A request that comes late does not open again what was given back meanwhile.
    transition(&mut host, "claim", id, "released");
    let late = host.done("bclaw_create", asked("src/a"));
    assert_eq!((&late["id"], &late["status"]), (&first["id"], &json!("released")));
    assert_eq!((&late["claim_status"], &late["next_actions"]), (&json!("none"), &Value::Null));
    assert_eq!(project.json(&["claims"]), json!([]));
    let other = json!({ "entity": "claim", "data": { "scope": "src/a" } });
    let other = host.done("bclaw_create", other);
    assert_ne!(other["id"], first["id"], "without an id it is a new request");
    assert_eq!(host.done("bclaw_create", asked("src/a"))["id"], first["id"]);
    project.ok(&["trail", "verify", "--signatures"]);
}

/// The same for a claim that comes with `work`.
#[test]
fn work_claims_once_for_a_request() {
    let project = Sandbox::new();
    let mut host = agent(&project, "alice");
    let asked = |scope: &str| json!({ "intent": "execute", "scope": scope, "request_id": "w1" });
    let first = host.done("bclaw_work", asked("src/a"));
    assert_eq!(first["claim_status"], "created");
    assert_eq!(host.done("bclaw_work", asked("src/a"))["claim_id"], first["claim_id"]);
    let kind = "idempotency_key_reused_with_different_body";
    refused(&mut host, "bclaw_work", asked("src/b"), kind, &[]);
    transition(&mut host, "claim", first["claim_id"].as_str().unwrap(), "released");
    let late = host.done("bclaw_work", asked("src/a"));
    assert_eq!(late["claim_status"], "none", "{late}");
    assert_eq!(late["warning_details"][0]["code"], "claim_is_over");
    assert_eq!(project.json(&["claims"]), json!([]));
}

/// Ten processes have one assignment take the same step: one does.
#[test]
fn of_ten_transitions_at_once_one_is_made() {
    let project = Sandbox::new();
    let mut host = agent(&project, "alice");
    create(&mut host, "plan", json!({ "text": "t" }));
    let start = |n: usize| {
        let name = format!("agent-{n}");
        let to = if n.is_multiple_of(2) { "done" } else { "cancelled" };
        let mut command = project.command();
        command.args(["memory", "transition", "pln#1", to, "--as", &name]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap()
    };
    let all: Vec<_> = (0..10).map(start).collect();
    let codes: Vec<_> = all.into_iter().map(|mut own| own.wait().unwrap().code()).collect();
    assert_eq!(codes.iter().filter(|code| **code == Some(0)).count(), 1, "{codes:?}");
    assert_eq!(codes.iter().filter(|code| **code == Some(1)).count(), 9, "{codes:?}");
    project.ok(&["trail", "verify", "--signatures"]);
}
