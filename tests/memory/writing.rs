//! Writing to the memory, by the numbers of the protocol's cases.

use super::{agent, create, find, follow, get, refused, transition};
use crate::mcp::Host;
use crate::support::{BINARY, Sandbox};
use althing_kernel::records::Kind;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

/// The least that can be said of each kind.
pub(super) fn least(kind: Kind) -> Value {
    match kind {
        Kind::Claim => json!({ "scope": "src/claimed" }),
        Kind::Candidate => json!({ "text": "t", "type": "trap" }),
        Kind::Assignment => json!({ "text": "t", "agent": "alice" }),
        Kind::Message => json!({ "text": "t", "to": "alice" }),
        Kind::Sequence => json!({ "text": "t", "items": [{ "plan": "pln#1", "rank": 1 }] }),
        Kind::Loop => json!({ "text": "t", "type": "review" }),
        Kind::Fact | Kind::Symbol | Kind::Capsule => json!({ "text": "t", "key": "k" }),
        _ => json!({ "text": "t" }),
    }
}

/// Case 33. Case 36.
#[test]
fn the_least_of_each_kind_is_enough() {
    let project = Sandbox::new();
    let mut host = agent(&project, "alice");
    create(&mut host, "plan", json!({ "text": "for the sequence" }));
    for kind in Kind::ALL {
        let args = json!({ "entity": kind, "data": least(*kind) });
        let made = host.done("bclaw_create", args);
        let id = made["id"].as_str().unwrap();
        assert!(id.starts_with(kind.prefix()), "{made}");
        assert!(made["short_label"].as_str().unwrap().starts_with(&format!("{}#", kind.prefix())));
        follow_but_release(&mut host, &made);
        let item = get(&mut host, kind.as_str(), id);
        assert_eq!(item["kind"], kind.as_str());
        assert_eq!(item["status"], kind.table().states[0].as_str(), "{item}");
        assert_eq!(item["author"], "alice", "{item}");
        assert_eq!(item["created_at"], item["updated_at"], "{item}");
        assert!(item["created_at"].as_str().unwrap().ends_with('Z'));
        assert_eq!(item["provenance"]["kind"], "agent");
    }
    let other = json!({ "entity": "trap", "data": { "text": "t", "author": "bob" } });
    refused(&mut host, "bclaw_create", other, "identity_error", &["alice"]);
    project.ok(&["trail", "verify", "--signatures"]);
}

/// Follows the hints of an answer, unless it made a claim, which a hint would release.
fn follow_but_release(host: &mut Host, made: &Value) {
    if made["kind"] != "claim" {
        assert!(follow(host, made) > 0, "{made}");
    }
}

/// Case 36. Whoever writes is named, whichever door they come through; where nobody can be named,
/// nothing is written.
#[test]
fn an_author_is_always_somebody() {
    let project = Sandbox::new();
    let trap = |text: &str| json!({ "entity": "trap", "data": { "text": text } });
    // A host that says who it is, one that says so with each call, and one that says nothing.
    let mut named = Host::silent(&project, &["--dialect", "memory"]);
    named.introduce("cursor", "2025-11-25");
    named.done("bclaw_create", trap("by a host"));
    let mut silent = Host::silent(&project, &["--dialect", "memory"]);
    silent.done("bclaw_create", trap("by nobody in particular"));
    project.ok(&["remember", "by hand", "--kind", "trap"]);
    project.ok(&["remember", "by an agent", "--kind", "trap", "--as", "alice"]);
    project.login("ada");
    let shown = project.as_user("ada", &["remember", "by a person", "--kind", "trap"]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    let found = named.done("bclaw_find", json!({ "entity": "trap" }));
    let authors: Vec<&str> = found["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| {
            assert_eq!(item["author"], item["provenance"]["author"], "{item}");
            item["author"].as_str().unwrap()
        })
        .collect();
    assert_eq!((authors[0], authors[1]), ("user:ada", "alice"), "{authors:?}");
    assert!(authors[2].starts_with("haid:"), "{authors:?}");
    assert!(authors[3].ends_with("/mcp-client"), "{authors:?}");
    assert!(authors[4].ends_with("/cursor"), "{authors:?}");
    assert!(authors.iter().all(|author| !author.contains("unknown")), "{authors:?}");
    let made = || project.kinds().iter().filter(|kind| kind.starts_with("memory.")).count();
    let before = made();
    // Nobody can be made of these, so there is no author.
    for name in ["!!", "--", "\u{1f600}"] {
        let mut host = Host::silent(&project, &["--dialect", "memory"]);
        host.introduce(name, "2025-11-25");
        for args in [trap("t"), json!({ "entity": "plan", "data": { "text": "t" } })] {
            let (_, error) = host.failed("bclaw_create", args);
            let message = error["message"].as_str().unwrap();
            assert!(message.contains("identity"), "{name}: {error}");
        }
    }
    for who in [["--as", "!!"], ["--as", ""], ["--user", "nosuch"], ["--user", "!!"]] {
        let ran = project.run(&[&["remember", "t", "--json"][..], &who].concat());
        assert!(matches!(ran.code, Some(1 | 2)), "{who:?}: {ran:?}");
    }
    let create = [&["do", "memory.create", r#"{"kind":"trap","text":"t"}"#][..], &["--json"]];
    let ran = project.run(&create.concat());
    assert_ne!(ran.code, Some(0), "nobody was named: {ran:?}");
    assert_eq!(made(), before, "nothing was written");
}

/// Case 34.
#[test]
fn missing_or_wrong_fields_are_named_and_nothing_is_stored() {
    let project = Sandbox::new();
    let mut host = agent(&project, "alice");
    for (entity, data, word) in [
        ("plan", json!({}), "'text'"),
        ("plan", json!({ "text": "  " }), "'text'"),
        ("plan", json!({ "text": "t", "priority": "huge" }), "'priority'"),
        ("plan", json!({ "text": "t", "title": "x" }), "'title'"),
        ("plan", json!({ "text": "t", "depends_on": ["pln#77"] }), "pln"),
        ("trap", json!({ "text": "t", "severity": 5 }), "'severity'"),
        (
            "trap",
            json!({ "text": "t", "related_paths": ["../../etc/passwd"] }),
            "below the project",
        ),
        ("constraint", json!({ "text": "t", "category": "x" }), "'category'"),
        ("candidate", json!({ "text": "t" }), "'type'"),
        ("assignment", json!({ "text": "t" }), "'agent'"),
        ("claim", json!({ "text": "t" }), "'scope'"),
        ("claim", json!({ "scope": "../x" }), "below the root"),
        ("decision", json!({ "text": "t", "plan_id": "nope" }), "pln#42"),
    ] {
        let args = json!({ "entity": entity, "data": data });
        refused(&mut host, "bclaw_create", args, "validation_error", &[word]);
    }
    assert!(!project.kinds().iter().any(|kind| kind == "memory.created" || kind == "lease.opened"));
}

/// Case 37.
#[test]
fn secrets_are_not_remembered() {
    let project = Sandbox::new();
    let key = "AKIAIOSFODNN7EXAMPLE";
    let args = json!({ "entity": "trap", "data": { "text": format!("use {key} for the bucket") } });
    let mut host = agent(&project, "alice");
    let error = refused(&mut host, "bclaw_create", args.clone(), "validation_error", &["'text'"]);
    assert!(!error.to_string().contains(key), "{error}");
    create(&mut host, "trap", json!({ "text": "no secret" }));
    let patch = json!({ "entity": "trap", "id": "trp#1", "patch": { "text": key } });
    refused(&mut host, "bclaw_update", patch, "validation_error", &["'text'"]);
    let claim = create(&mut host, "claim", json!({ "scope": "docs" }));
    let output = format!("because of {key}");
    for (tool, field, args) in [
        ("bclaw_work", "'task'", json!({ "intent": "execute", "scope": "src", "task": output })),
        (
            "bclaw_transition",
            "'reason'",
            json!({ "entity": "trap", "id": "trp#1", "to": "resolved", "reason": output }),
        ),
        (
            "bclaw_transition",
            "'reason'",
            json!({ "entity": "claim", "id": claim, "to": "released", "reason": output,
                    "coordinator_override": true }),
        ),
        ("bclaw_remove", "'reason'", json!({ "entity": "trap", "id": "trp#1", "reason": output })),
    ] {
        let error = refused(&mut host, tool, args, "validation_error", &[field]);
        assert!(!error.to_string().contains(key), "{error}");
    }
    assert_eq!(find(&mut host, "claim", json!({})).len(), 1, "nothing was claimed on the way");
    assert!(project.entries().iter().all(|entry| !entry.to_string().contains(key)));
    project.write("althing.toml", "[memory]\nsecrets = \"warn\"\n");
    let mut host = agent(&project, "alice");
    let made = host.done("bclaw_create", args);
    let warning = made["warnings"][0].as_str().unwrap();
    assert!(warning.contains("AWS access key") && !warning.contains(key), "{warning}");
    assert_eq!(find(&mut host, "trap", json!({})).len(), 2);
}

/// Case 38. Case 39. Case 40.
#[test]
fn only_what_is_said_changes() {
    let project = Sandbox::new();
    let mut host = agent(&project, "alice");
    let id = create(&mut host, "plan", json!({ "text": "one", "tags": ["a"], "assignee": "bob" }));
    let before = get(&mut host, "plan", &id);
    let update = |patch: Value| json!({ "entity": "plan", "id": "pln#1", "patch": patch });
    std::thread::sleep(std::time::Duration::from_millis(1_010));
    host.done("bclaw_update", update(json!({ "text": "two" })));
    let after = get(&mut host, "plan", &id);
    let mut expected = before.clone();
    expected["text"] = "two".into();
    expected["version"] = 2.into();
    expected["updated_at"] = after["updated_at"].clone();
    expected["provenance"]["last_entry"] = after["provenance"]["last_entry"].clone();
    expected["provenance"]["last_door"] = "mcp_memory".into();
    assert_eq!(after, expected);
    assert_ne!(after["updated_at"], before["updated_at"]);
    for (patch, word) in [
        (json!({ "status": "done" }), "transition"),
        (json!({ "id": "pln#2" }), "'id'"),
        (json!({ "created_at": "2020-01-01" }), "'created_at'"),
        (json!({ "nonsense": 1 }), "'nonsense'"),
        (json!({ "diff": "x" }), "'diff'"),
        (json!({}), "'patch'"),
    ] {
        refused(&mut host, "bclaw_update", update(patch), "validation_error", &[word]);
    }
    assert_eq!(get(&mut host, "plan", &id), after);
    // A stringified patch, steps with stable ids, and null to clear.
    host.done(
        "bclaw_update",
        update(json!("{\"steps\":[\"x\",{\"text\":\"y\"}],\"assignee\":null}")),
    );
    let item = get(&mut host, "plan", &id);
    assert_eq!((&item["steps"][1]["id"], &item["assignee"]), (&json!("stp_2"), &Value::Null));
    let old = json!({
        "entity": "plan", "id": id, "patch": { "text": "x" }, "expected_version": 1,
    });
    refused(&mut host, "bclaw_update", old, "version_conflict", &[]);
}

#[test]
fn a_request_is_done_once() {
    let project = Sandbox::new();
    let mut host = agent(&project, "alice");
    let asked = |text: &str| json!({ "entity": "plan", "data": { "text": text }, "client_request_id": "r1" });
    let first = host.done("bclaw_create", asked("one"));
    assert_eq!(host.done("bclaw_create", asked("one"))["id"], first["id"]);
    let kind = "idempotency_key_reused_with_different_body";
    refused(&mut host, "bclaw_create", asked("two"), kind, &[]);
    assert_eq!(find(&mut host, "plan", json!({})), ["pln#1"]);
    // The same where a record is to be in a later state at once.
    let data = json!({ "text": "one", "status": "in_progress" });
    let later = json!({ "entity": "plan", "data": data, "request_id": "r2" });
    let first = host.done("bclaw_create", later.clone());
    assert_eq!(first["status"], "in_progress");
    assert_eq!(host.done("bclaw_create", later.clone())["status"], "in_progress");
    transition(&mut host, "plan", first["id"].as_str().unwrap(), "done");
    let again = host.done("bclaw_create", later);
    assert_eq!((&again["id"], &again["status"]), (&first["id"], &json!("done")));
}

/// Case 47.
#[test]
fn the_last_step_finishes_the_plan() {
    let project = Sandbox::new();
    let mut host = agent(&project, "alice");
    let steps = json!(["write it", "write the tests"]);
    let id = create(&mut host, "plan", json!({ "text": "t", "steps": steps }));
    let ambiguous = json!({ "planId": id, "stepId": "write" });
    let words = ["stp_1", "stp_2"];
    refused(&mut host, "bclaw_complete_step", ambiguous, "not_found", &words);
    let first = host.done("bclaw_complete_step", json!({ "planId": "pln#1", "stepId": "stp_2" }));
    assert_eq!((&first["done"], &first["planAutoCompleted"]), (&json!(1), &json!(false)));
    let last = host.done("bclaw_complete_step", json!({ "plan_id": id, "step_id": "stp_1" }));
    assert_eq!((&last["total"], &last["planAutoCompleted"]), (&json!(2), &json!(true)));
    assert_eq!(get(&mut host, "plan", &id)["status"], "done");
}

/// Case 63. Case 64.
#[test]
fn candidates_become_something_else() {
    let project = Sandbox::new();
    let mut host = agent(&project, "alice");
    let proposed = json!({ "text": "no floats in money", "type": "constraint" });
    let first = create(&mut host, "candidate", proposed.clone());
    let second = create(&mut host, "candidate", proposed);
    let moved = transition(&mut host, "candidate", &first, "accepted");
    let item = get(&mut host, "candidate", &first);
    assert_eq!(item["promoted_to"], "cst_00000001", "{moved}");
    assert_eq!(get(&mut host, "constraint", "cst#1")["text"], "no floats in money");
    assert_eq!(moved["side_effects"][0]["id"], "cst_00000001", "{moved}");
    let args = json!({
        "entity": "candidate", "id": second, "to": "merged", "merged_into": "cst#1",
    });
    host.done("bclaw_transition", args);
    assert_eq!(get(&mut host, "candidate", &second)["merged_into"], "cst_00000001");
    let found = host.done("bclaw_find", json!({ "entity": "candidate" }));
    assert_eq!((&found["total"], &found["excluded_resolved"]), (&json!(0), &json!(2)));
    assert_eq!(find(&mut host, "candidate", json!({ "status": "accepted" })), ["cnd#1"]);
}

/// Case 65.
#[test]
fn handoffs_are_accepted_closed_and_corrected() {
    let project = Sandbox::new();
    let mut host = agent(&project, "alice");
    let first = create(&mut host, "handoff", json!({ "text": "yours", "to": "bob" }));
    let right = json!({ "text": "yours, really", "to": "bob", "supersedes": first });
    let second = create(&mut host, "handoff", right);
    assert_eq!(get(&mut host, "handoff", &first)["superseded_by"], second);
    assert_eq!(get(&mut host, "handoff", &second)["supersedes"], first);
    let again = json!({ "text": "no", "supersedes": first });
    let args = json!({ "entity": "handoff", "data": again });
    assert_eq!(host.call("bclaw_create", args)["isError"], true);
    transition(&mut host, "handoff", &second, "accepted");
    transition(&mut host, "handoff", &second, "closed");
    let again = json!({ "text": "no", "supersedes": second });
    let args = json!({ "entity": "handoff", "data": again });
    assert_eq!(host.call("bclaw_create", args)["isError"], true);
    assert_eq!(find(&mut host, "handoff", json!({})).len(), 2);
}

/// Case 67.
#[test]
fn acknowledged_writes_survive_a_kill() {
    let project = Sandbox::new();
    let mut server = Command::new(BINARY)
        .args(["mcp", "--dialect", "memory", "--as", "alice"])
        .current_dir(project.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = server.stdin.take().unwrap();
    let writer = std::thread::spawn(move || {
        for n in 0..1_000 {
            let arguments = json!({ "entity": "plan", "data": { "text": format!("plan {n}") } });
            let params = json!({ "name": "bclaw_create", "arguments": arguments });
            let request =
                json!({ "jsonrpc": "2.0", "id": n, "method": "tools/call", "params": params });
            if writeln!(input, "{request}").is_err() {
                return;
            }
        }
    });
    let mut acknowledged = Vec::new();
    for line in BufReader::new(server.stdout.take().unwrap()).lines() {
        let Ok(answer) = serde_json::from_str::<Value>(&line.unwrap()) else { break };
        acknowledged.push(answer["result"]["structuredContent"]["id"].as_str().unwrap().to_owned());
        if acknowledged.len() == 60 {
            server.kill().unwrap();
        }
    }
    server.wait().unwrap();
    writer.join().unwrap();
    assert!((60..1_000).contains(&acknowledged.len()), "{}", acknowledged.len());
    let mut host = agent(&project, "bob");
    for (n, id) in acknowledged.iter().enumerate() {
        assert_eq!(get(&mut host, "plan", id)["text"], format!("plan {n}"));
    }
    project.ok(&["trail", "verify"]);
}

/// Finished records are archived; open ones are not.
#[test]
fn things_are_archived_and_never_purged() {
    let project = Sandbox::new();
    let mut host = agent(&project, "alice");
    let id = create(&mut host, "plan", json!({ "text": "t" }));
    let remove = json!({ "entity": "plan", "id": id });
    host.failed("bclaw_remove", remove.clone());
    transition(&mut host, "plan", &id, "done");
    let purge = json!({ "entity": "plan", "id": id, "purge": true });
    refused(&mut host, "bclaw_remove", purge, "validation_error", &["trail"]);
    assert_eq!(host.done("bclaw_remove", remove.clone())["archived"], true);
    refused(&mut host, "bclaw_get", remove, "not_found", &["archived"]);
}
