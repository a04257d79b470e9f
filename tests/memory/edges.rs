//! Edge cases of the memory: authors, recipients, visibility, and errors.

use super::{agent, create, find, get, refused, transition};
use crate::mcp::Host;
use crate::support::Sandbox;
use serde_json::{Value, json};

/// A host that is known by what it calls itself, and its HAID.
fn host(project: &Sandbox, name: &str) -> (Host, String) {
    let mut host = Host::silent(project, &["--dialect", "memory"]);
    host.introduce(name, "2025-11-25");
    let shown = host.done("bclaw_work", json!({ "intent": "consult" }));
    assert_eq!(shown["claim_status"], "none");
    let facts = host.done("bclaw_context", json!({ "kind": "execution" }));
    let haid = facts["execution_context"]["agent"].as_str().unwrap().to_owned();
    (host, haid)
}

/// Whoever changed something last is named beside whoever wrote it.
#[test]
fn the_last_to_change_something_is_named() {
    let project = Sandbox::new();
    let (mut alice, mut bob) = (agent(&project, "alice"), agent(&project, "bob"));
    let id = create(&mut alice, "trap", json!({ "text": "the clock is ahead" }));
    let item = get(&mut bob, "trap", &id);
    assert_eq!((&item["author"], &item["updated_by"]), (&json!("alice"), &json!("alice")));
    let number = project.entries().len();
    let patch = json!({ "entity": "trap", "id": id, "patch": { "text": "it is behind" } });
    bob.done("bclaw_update", patch);
    let item = get(&mut alice, "trap", &id);
    assert_eq!((&item["author"], &item["updated_by"]), (&json!("alice"), &json!("bob")));
    let found = alice.done("bclaw_find", json!({ "entity": "trap" }));
    assert_eq!(found["items"][0]["updated_by"], "bob");
    let read = alice.done("bclaw_context", json!({ "kind": "memory" }));
    assert_eq!(read["selected"][0]["updated_by"], "bob", "{read}");
    let delta = alice.done("bclaw_context", json!({ "kind": "delta", "since": number }));
    assert_eq!(delta["changed_items"][0]["updated_by"], "bob");
    let plan = create(&mut alice, "plan", json!({ "text": "t" }));
    transition(&mut bob, "plan", &plan, "in_progress");
    let board = alice.done("bclaw_context", json!({ "kind": "board" }));
    assert_eq!(board["active_plans"][0]["updated_by"], "bob", "{board}");
    let known = project.json(&["do", "memory.get", &json!({ "id": id }).to_string()]);
    assert_eq!(
        (&known["author"], &known["updated_by"]),
        (&json!("agent:alice"), &json!("agent:bob"))
    );
    // It is part of what snapshots keep.
    project.ok(&["trail", "verify", "--signatures"]);
}

/// An agent is called what it was told it is, everywhere, and is `me` to itself.
#[test]
fn an_agent_goes_by_its_haid() {
    let project = Sandbox::new();
    let mut alice = agent(&project, "alice");
    let (mut cursor, haid) = host(&project, "Cursor");
    assert!(haid.ends_with("/cursor"), "{haid}");
    let plus = haid.replace('/', "+");
    let asked = json!({ "intent": "assign", "task": "Do it.", "targetAgents": [haid],
                        "scope": "src/a", "allow_dirty": true });
    alice.done("bclaw_coordinate", asked.clone());
    let mut other = asked;
    other["targetAgents"] = json!([plus]);
    other["scope"] = "src/b".into();
    alice.done("bclaw_coordinate", other);
    create(&mut alice, "assignment", json!({ "text": "t", "agent": haid }));
    create(&mut alice, "handoff", json!({ "text": "yours", "to": haid }));
    create(
        &mut alice,
        "plan",
        json!({ "text": "p", "assignee": haid, "steps": [
        { "text": "s", "assignee": plus }] }),
    );
    create(&mut cursor, "trap", json!({ "text": "mine" }));
    for name in [haid.as_str(), plus.as_str(), "me"] {
        for (kind, key, count) in [
            ("assignment", "agent", 3),
            ("message", "agent", 2),
            ("message", "to", 2),
            ("handoff", "to", 1),
            ("plan", "assignee", 1),
            ("trap", "author", 1),
        ] {
            let found = find(&mut cursor, kind, json!({ key: name }));
            assert_eq!(found.len(), count, "{kind} {key} {name}");
        }
    }
    assert_eq!(find(&mut alice, "assignment", json!({ "agent": "me" })), Vec::<String>::new());
    assert_eq!(find(&mut alice, "plan", json!({ "author": "me" })), ["pln#1"]);
    let args = ["memory", "find", "assignment", "--agent", "me", "--as", haid.as_str()];
    assert_eq!(project.json(&args)["total"], 3);
    let args = ["memory", "find", "plan", "--assignee", "me", "--as", plus.as_str()];
    assert_eq!(project.json(&args)["total"], 1);
    assert_eq!(get(&mut cursor, "assignment", "asgn#1")["agent"], haid.as_str());
    assert_eq!(get(&mut cursor, "message", "msg#1")["to"], haid.as_str());
    let plan = get(&mut cursor, "plan", "pln#1");
    assert_eq!((&plan["assignee"], &plan["steps"][0]["assignee"]), (&json!(haid), &json!(haid)));
    for kind in ["board", "memory"] {
        let read = cursor.done("bclaw_context", json!({ "kind": kind })).to_string();
        assert!(read.contains(&haid) && !read.contains(&plus), "{read}");
    }
    let work = cursor.done("bclaw_work", json!({ "intent": "consult" }));
    let open = &work["result"]["open_work"];
    assert_eq!(open["assignments"].as_array().unwrap().len(), 3, "{work}");
    assert!(!open.to_string().contains(&plus), "{work}");
    transition(&mut cursor, "assignment", "asgn#1", "accepted");
    let moved = json!({ "entity": "assignment", "id": "asgn#2", "to": "rerouted",
                        "to_agent": "alice" });
    alice.done("bclaw_transition", moved);
}

/// Two names that differ in a blank alone are two agents; each stays what it is.
#[test]
fn names_that_read_alike_are_two() {
    let project = Sandbox::new();
    let (mut first, one) = host(&project, "cur-sor");
    assert!(one.ends_with("/cur-sor"), "{one}");
    create(&mut first, "plan", json!({ "text": "t" }));
    let (mut second, two) = host(&project, "cur sor");
    assert_ne!(one, two);
    assert!(two.contains("/cur-sor-"), "{two}");
    let claim = create(&mut first, "claim", json!({ "scope": "src" }));
    let release = json!({ "entity": "claim", "id": claim, "to": "released" });
    refused(&mut second, "bclaw_transition", release, "ownership_error", &[]);
    assert_eq!(find(&mut second, "plan", json!({ "author": "me" })), Vec::<String>::new());
    assert_eq!(host(&project, "cur sor").1, two);
    assert_eq!(host(&project, "Cur-Sor").1, one);
    // Where the one with a blank was first, it keeps the plain name.
    let project = Sandbox::new();
    let (_, plain) = host(&project, "Visual Studio Code");
    assert!(plain.ends_with("/visual-studio-code"), "{plain}");
    assert_eq!(host(&project, "visual studio code").1, plain);
    assert_ne!(host(&project, "visual-studio-code").1, plain);
}

/// A delta has the claims that were opened and given back, wherever it begins.
#[test]
fn a_delta_has_the_claims() {
    let project = Sandbox::new();
    let mut alice = agent(&project, "alice");
    let session = alice.done("bclaw_work", json!({ "intent": "consult" }))["session_id"].clone();
    let old = create(&mut alice, "claim", json!({ "scope": "old" }));
    let kept = create(&mut alice, "claim", json!({ "scope": "kept" }));
    let number = project.entries().len();
    let time = project.entries()[number - 1]["at"].clone();
    assert!(time.is_number() || time.is_string(), "{time}");
    let short = create(&mut alice, "claim", json!({ "scope": "short" }));
    transition(&mut alice, "claim", &short, "released");
    transition(&mut alice, "claim", &old, "released");
    let new = create(&mut alice, "claim", json!({ "scope": "new" }));
    let ids = |list: &Value| -> Vec<String> {
        let id = |own: &Value| own["id"].as_str().unwrap().to_owned();
        let mut all: Vec<String> = list.as_array().unwrap().iter().map(id).collect();
        all.sort();
        all
    };
    let args = ["memory", "context", "delta", "--since", &number.to_string()];
    let delta = project.json(&args);
    assert_eq!(ids(&delta["opened_claims"]), [short.clone(), new.clone()], "{delta}");
    assert_eq!(ids(&delta["ended_claims"]), [old.clone(), short.clone()], "{delta}");
    assert_eq!(delta["counts"]["claim"], 3);
    assert_eq!(delta["summary"], "0 changed, 2 claims opened, 2 ended");
    let ended = delta["ended_claims"].as_array().unwrap();
    assert!(ended.iter().all(|claim| claim["status"] == "released"), "{delta}");
    let delta = alice.done("bclaw_context", json!({ "kind": "delta", "since": session }));
    assert_eq!(ids(&delta["opened_claims"]).len(), 4, "{delta}");
    let now = project.entries().len();
    let delta = alice.done("bclaw_context", json!({ "kind": "delta", "since": now }));
    assert_eq!((&delta["opened_claims"], &delta["ended_claims"]), (&json!([]), &json!([])));
    assert!(delta["counts"].get("claim").is_none(), "{delta}");
    let delta = alice.done("bclaw_context", json!({ "kind": "delta", "since": "2999-01-01" }));
    assert_eq!(delta["opened_claims"], json!([]), "{delta}");
    let delta = alice.done("bclaw_context", json!({ "kind": "delta", "since": "2020-01-01" }));
    assert_eq!(ids(&delta["opened_claims"]), [old, kept, short, new], "{delta}");
}

/// Listing claims looks nothing up in the trail: the entry that opened one goes by its id, which leads
/// to the same.
#[test]
fn listed_claims_name_their_entry_by_its_id() {
    let project = Sandbox::new();
    let mut alice = agent(&project, "alice");
    let id = create(&mut alice, "claim", json!({ "scope": "src" }));
    let found = alice.done("bclaw_find", json!({ "entity": "claim" }));
    let listed = &found["items"][0]["provenance"];
    assert!(listed.get("entry").is_none(), "{found}");
    let number = get(&mut alice, "claim", &id)["provenance"]["entry"].as_u64().unwrap();
    let entries = project.entries();
    let opened = entries.iter().find(|entry| entry["seq"] == number).unwrap();
    assert_eq!((&opened["kind"], &opened["id"]), (&json!("lease.opened"), &listed["entry_id"]));
    transition(&mut alice, "claim", &id, "released");
    let find = json!({ "entity": "claim", "filter": { "status": "released" } });
    assert_eq!(alice.done("bclaw_find", find)["items"][0]["provenance"]["entry"], number);
}

/// A session that is said has to be one's own; a claim that one has keeps its plan and gets its time.
#[test]
fn sessions_are_checked_and_claims_gone_on_with() {
    let project = Sandbox::new();
    let mut alice = agent(&project, "alice");
    let session = alice.done("bclaw_work", json!({ "intent": "consult" }))["session_id"].clone();
    let session = session.as_str().unwrap();
    let consult = |who: &str, session: &str| {
        project.run(&["memory", "work", "consult", "--as", who, "--session", session, "--json"])
    };
    assert_eq!(consult("alice", session).code, Some(0));
    for (who, printed) in [("bob", session), ("alice", "ws_00000000000000000000000000")] {
        let ran = consult(who, printed);
        assert_ne!(ran.code, Some(0), "{who} {printed}: {ran:?}");
        assert!(ran.error()["message"].as_str().unwrap().contains("no open session"), "{ran:?}");
    }
    let plan = create(&mut alice, "plan", json!({ "text": "t" }));
    let work = |host: &mut Host, rest: Value| {
        let mut args = json!({ "intent": "execute", "scope": "src" });
        args.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        host.done("bclaw_work", args)
    };
    let first = work(&mut alice, json!({ "ttl": "1h" }));
    let again = work(&mut alice, json!({ "ttl": "8h", "planId": plan }));
    assert_eq!(again["claim_id"], first["claim_id"]);
    let until =
        |answer: &Value| answer["result"]["claim"]["expires_at"].as_str().unwrap().to_owned();
    assert!(until(&again) > until(&first), "{again}");
    assert_eq!(project.json(&["claims"])[0]["ttl_s"], 8 * 60 * 60);
    let actions: Vec<&Value> =
        again["side_effects"].as_array().unwrap().iter().map(|own| &own["action"]).collect();
    assert!(actions.contains(&&json!("renewed")), "{again}");
    let left = again["warnings"].to_string();
    assert!(left.contains(&plan) && left.contains("no plan"), "{again}");
    assert_eq!(work(&mut alice, json!({}))["warnings"], json!([]));
    let made =
        json!({ "entity": "claim", "data": { "scope": "src", "plan_id": plan, "ttl": "2h" } });
    let made = alice.done("bclaw_create", made);
    assert_eq!(made["claim_status"], "existing");
    assert!(made["warnings"].to_string().contains(&plan), "{made}");
    assert_eq!(project.json(&["claims"])[0]["ttl_s"], 2 * 60 * 60);
}

/// Words of two parts may be written with a dash or a line; states by any of their names.
#[test]
fn two_spellings_mean_one_thing() {
    let project = Sandbox::new();
    let mut alice = agent(&project, "alice");
    for kind in ["board_summary", "board-summary"] {
        alice.done("bclaw_context", json!({ "kind": kind }));
        project.ok(&["memory", "context", kind]);
    }
    create(&mut alice, "plan", json!({ "text": "t" }));
    let open = json!({ "intent": "open", "kind": "review", "task": "t", "slots": [{ "agent": "alice" }],
                       "allow_orphan": true });
    alice.done("bclaw_loop", open);
    for (host, command) in [("complete-turn", "complete_turn"), ("complete_turn", "complete-turn")]
    {
        let args = json!({ "intent": host, "loopId": "lop#1", "slot": "nope", "outcome": "o" });
        let (_, error) = alice.failed("bclaw_loop", args);
        assert!(!error["message"].as_str().unwrap().contains("'intent'"), "{error}");
        let ran = project.run(&["memory", "loop", command, "lop#1", "--slot", "nope"]);
        assert!(!ran.err.contains("invalid value"), "{ran:?}");
    }
    let both = |to: &str, status: &str| json!({ "entity": "plan", "id": "pln#1", "to": to, "status": status });
    let words = ["'to' says cancelled", "'status' says done"];
    refused(&mut alice, "bclaw_transition", both("dropped", "done"), "validation_error", &words);
    let moved = alice.done("bclaw_transition", both("dropped", "cancelled"));
    assert_eq!(moved["to"], "cancelled");
}

/// A plan whose last step is set to done in an update is done, as with `complete_step`.
#[test]
fn an_update_of_the_last_step_finishes_the_plan() {
    let project = Sandbox::new();
    let mut alice = agent(&project, "alice");
    let id = create(&mut alice, "plan", json!({ "text": "t", "steps": ["one", "two"] }));
    let claim = create(&mut alice, "claim", json!({ "scope": "src", "plan_id": id }));
    let update =
        |steps: Value| json!({ "entity": "plan", "id": "pln#1", "patch": { "steps": steps } });
    let one = json!({ "id": "stp_1", "text": "one", "status": "done" });
    let two = |status: &str| json!({ "id": "stp_2", "text": "two", "status": status });
    let half = alice.done("bclaw_update", update(json!([one, two("in_progress")])));
    assert_eq!((&half["status"], half.get("planAutoCompleted")), (&json!("open"), None));
    let done = alice.done("bclaw_update", update(json!([one, two("done")])));
    assert_eq!((&done["status"], &done["planAutoCompleted"]), (&json!("done"), &json!(true)));
    assert_eq!(done["side_effects"][0]["id"], claim, "{done}");
    let item = get(&mut alice, "plan", &id);
    assert_eq!(item["status"], "done");
    assert!(item["completed_at"].is_string(), "{item}");
    assert_eq!(project.json(&["claims"]), json!([]));
    project.ok(&["trail", "verify", "--signatures"]);
}

/// A step and a removal are done once, too, if the request has a name.
#[test]
fn steps_and_removals_are_repeated_without_harm() {
    let project = Sandbox::new();
    let mut alice = agent(&project, "alice");
    create(&mut alice, "plan", json!({ "text": "t", "steps": ["one"] }));
    let step = json!({ "planId": "pln#1", "stepId": "stp_1", "request_id": "r1" });
    let remove = json!({ "entity": "plan", "id": "pln#1", "client_request_id": "r2" });
    for (tool, args) in [("bclaw_complete_step", step), ("bclaw_remove", remove)] {
        let first = alice.done(tool, args.clone());
        if tool == "bclaw_complete_step" {
            assert_eq!(alice.done(tool, args), first);
        } else {
            assert_eq!(alice.done(tool, args)["archived"], true);
        }
    }
}

/// A private record is for its author and for people; other agents neither read nor change it.
#[test]
fn private_records_are_shown_to_their_author_and_to_people() {
    let project = Sandbox::new();
    project.login("ada");
    let (mut alice, mut bob) = (agent(&project, "alice"), agent(&project, "bob"));
    let number = project.entries().len();
    let data = json!({ "text": "the zebra fixture lies", "visibility": "private", "tags": "zoo" });
    let id = create(&mut alice, "trap", data);
    create(&mut alice, "trap", json!({ "text": "the machine is slow", "visibility": "machine" }));
    let seen = |host: &mut Host| {
        let find = find(host, "trap", json!({})).len();
        let read = |host: &mut Host, args: Value| {
            host.done("bclaw_context", args).to_string().contains("zebra")
        };
        let memory = read(host, json!({ "kind": "memory" }));
        let query = read(host, json!({ "kind": "memory", "query": "zebra fixture" }));
        let delta = read(host, json!({ "kind": "delta", "since": number }));
        let work = host.done("bclaw_work", json!({ "intent": "consult", "task": "zebra" }));
        let summary = host.done("bclaw_context", json!({ "kind": "board_summary" }));
        let count = work["result"]["memory_density"]["trap"].clone();
        let near =
            json!({ "entity": "trap", "data": { "text": "the zebra fixture", "tags": "x" } });
        let near = host.done("bclaw_create", near);
        let gone = json!({ "entity": "trap", "id": near["id"], "to": "resolved" });
        host.done("bclaw_transition", gone);
        assert_eq!(summary["counts"]["open_traps"], count, "{summary}");
        let near = near.to_string().contains("lies");
        (find, [memory, query, delta, work.to_string().contains("zebra fixture lies"), near], count)
    };
    assert_eq!(seen(&mut bob), (1, [false; 5], json!(1)));
    assert_eq!(seen(&mut alice).1, [true; 5]);
    let fetch = json!({ "entity": "trap", "id": id });
    refused(&mut bob, "bclaw_get", fetch.clone(), "not_found", &[]);
    alice.done("bclaw_get", fetch);
    for (tool, args) in [
        ("bclaw_update", json!({ "entity": "trap", "id": id, "patch": { "text": "x" } })),
        ("bclaw_transition", json!({ "entity": "trap", "id": id, "to": "resolved" })),
        ("bclaw_remove", json!({ "entity": "trap", "id": id })),
    ] {
        refused(&mut bob, tool, args, "not_found", &[]);
    }
    let named = json!({ "id": id }).to_string();
    let ran = project.run(&["do", "memory.get", &named, "--as", "bob", "--json"]);
    assert_eq!(ran.error()["kind"], "not_found", "{ran:?}");
    project.ok(&["do", "memory.get", &named, "--as", "alice"]);
    let shown = project.as_user("ada", &["memory", "get", &id]);
    assert!(shown.out.contains("zebra"), "{shown:?}");
    let asked = project.json(&["ask", "zebra fixture", "--as", "bob"]);
    assert!(!asked.to_string().contains("lies"), "{asked}");
    let shared = json!({ "entity": "trap", "id": id, "patch": { "visibility": "shared" } });
    alice.done("bclaw_update", shared);
    get(&mut bob, "trap", &id);
    assert!(project.entries().iter().any(|entry| entry.to_string().contains("zebra")));
}

/// Secrets are looked for in everything that is stored, at every door.
#[test]
fn secrets_are_looked_for_at_every_door() {
    let project = Sandbox::new();
    let mut alice = agent(&project, "alice");
    let key = "AKIAIOSFODNN7EXAMPLE";
    let trap = |text: &str| json!({ "entity": "trap", "data": { "text": text } });
    let mut with_id = trap("fine");
    with_id["request_id"] = key.into();
    let as_text = json!({ "entity": "trap", "data": json!({ "text": "password = \"tr0ub4dor-3-more\"" }).to_string() });
    let setting = "export AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
    for (tool, args) in [
        ("bclaw_create", with_id),
        ("bclaw_create", as_text),
        ("bclaw_create", trap("run it with DB_PASSWORD=correcthorsebattery")),
        ("bclaw_create", trap(setting)),
        ("bclaw_create", json!({ "entity": "claim", "data": { "scope": format!("src/{key}") } })),
        ("bclaw_work", json!({ "intent": "execute", "scope": format!("src/{key}") })),
        (
            "bclaw_coordinate",
            json!({ "intent": "consult", "task": "t", "targetAgents": ["alice"], "threadId": key }),
        ),
    ] {
        refused(&mut alice, tool, args, "validation_error", &["secret"]);
    }
    create(&mut alice, "trap", json!({ "text": "MAX_TOKENS=100000 and DB_PASSWORD=$DB_PASSWORD" }));
    let text = format!("use {key}");
    let id = "trp_00000001";
    for (name, args) in [
        ("memory.create", json!({ "kind": "trap", "text": text })),
        (
            "memory.create",
            json!({ "kind": "handoff", "text": "t", "fields": { "narrative": text } }),
        ),
        ("memory.update", json!({ "id": id, "text": text })),
        ("memory.move", json!({ "id": id, "to": "resolved", "reason": text })),
        ("memory.archive", json!({ "id": id, "reason": text })),
    ] {
        let ran = project.run(&["do", name, &args.to_string(), "--as", "alice"]);
        assert_eq!(ran.code, Some(1), "{name}: {ran:?}");
        assert!(!ran.err.contains(key) && ran.err.contains("secret"), "{name}: {ran:?}");
    }
    let line = json!({ "name": "memory.create", "args": { "kind": "trap", "text": text } });
    let ran = project.run_with(&["do", "--lines", "--as", "alice"], format!("{line}\n").as_bytes());
    assert!(ran.out.contains("secret") && !ran.out.contains(key), "{ran:?}");
    assert!(project.entries().iter().all(|entry| !entry.to_string().contains(key)));
    project.write("althing.toml", "[memory]\nsecrets = \"warn\"\n");
    let args = json!({ "kind": "trap", "text": text }).to_string();
    let ran = project.ok(&["do", "memory.create", &args, "--as", "alice"]);
    assert!(ran.err.contains("AWS access key"), "{ran:?}");
}

/// Whoever misspells a name is told, and what was written down stays.
#[test]
fn names_that_nobody_has_are_told() {
    let project = Sandbox::new();
    let (mut alice, mut bob) = (agent(&project, "alice"), agent(&project, "bob"));
    bob.done("bclaw_work", json!({ "intent": "consult" }));
    let shown = |host: &mut Host, tool: &str, args: Value| {
        host.done(tool, args)["warnings"].as_array().cloned().unwrap_or_default()
    };
    let mut create = |to: &str| {
        let data = json!({ "text": "t", "to": to, "narrative": "n" });
        shown(&mut alice, "bclaw_create", json!({ "entity": "handoff", "data": data }))
    };
    assert_eq!(create("bob"), Vec::<Value>::new());
    let warned = create("bbo");
    assert!(warned[0].as_str().unwrap().contains("called bbo is known"), "{warned:?}");
    let plan = self::create(&mut alice, "plan", json!({ "text": "t" }));
    let patch = json!({ "steps": [{ "text": "a", "assignee": "bob" }, { "text": "b", "assignee": "dan" }] });
    let warned =
        shown(&mut alice, "bclaw_update", json!({ "entity": "plan", "id": plan, "patch": patch }));
    assert_eq!(warned.len(), 1, "{warned:?}");
    assert!(warned[0].as_str().unwrap().contains("dan"), "{warned:?}");
}

/// Lists mark a record that is superseded, and one that nobody looked at for a long time.
#[test]
fn superseded_records_are_marked() {
    let project = Sandbox::new();
    let mut host = agent(&project, "alice");
    let data = |text: &str| json!({ "text": text, "to": "bob", "narrative": "n" });
    let first = create(&mut host, "handoff", data("old words"));
    let mut next = data("new words");
    next["supersedes"] = first.as_str().into();
    create(&mut host, "handoff", next);
    let read = host.done("bclaw_context", json!({ "kind": "memory", "query": "words" }));
    let old = read["selected"].as_array().unwrap().iter().find(|own| own["id"] == first).unwrap();
    assert_eq!(old["superseded_by"], "hnd_00000002", "{read}");
    assert!(old["why"].as_str().unwrap().starts_with("superseded by hnd#2"), "{old}");
    let board = host.done("bclaw_context", json!({ "kind": "board" }));
    assert_eq!(board["open_handoffs"][1]["superseded_by"], "hnd_00000002", "{board}");
}

#[test]
fn more_than_is_shown_is_said() {
    let project = Sandbox::new();
    let mut host = agent(&project, "alice");
    for n in 0..3 {
        create(&mut host, "trap", json!({ "text": format!("zebra {n}") }));
    }
    let mut read = |most: u64| {
        let args = json!({ "kind": "memory", "maxItems": most });
        let read = host.done("bclaw_context", args);
        (read["selected"].as_array().unwrap().len(), read["has_more"].clone())
    };
    assert_eq!(read(2), (2, json!(true)));
    assert_eq!(read(3), (3, json!(false)));
}

/// Signs of life elsewhere are no look at what is remembered.
#[test]
fn news_waits_for_whoever_looks() {
    let project = Sandbox::new();
    let (mut alice, mut bob) = (agent(&project, "alice"), agent(&project, "bob"));
    let look = |host: &mut Host| host.done("bclaw_work", json!({ "intent": "consult" }));
    look(&mut bob);
    create(&mut alice, "trap", json!({ "text": "t" }));
    project.ok(&["do", "agent.heartbeat", "{}", "--as", "bob"]);
    let shown = look(&mut bob);
    assert_eq!(shown["result"]["changed_total"], 1, "{shown}");
    assert_eq!(look(&mut bob)["result"]["changed_total"], 0);
}

/// Work that goes on is called off where everybody sees it.
#[test]
fn work_that_is_removed_is_cancelled() {
    let project = Sandbox::new();
    let (mut alice, mut bob) = (agent(&project, "alice"), agent(&project, "bob"));
    bob.done("bclaw_work", json!({ "intent": "consult" }));
    let asked = json!({ "intent": "assign", "task": "t", "targetAgents": ["bob"],
                        "scope": "src/a", "allow_dirty": true });
    alice.done("bclaw_coordinate", asked);
    let gone = json!({ "entity": "assignment", "id": "asgn#1" });
    let shown = project.json(&["memory", "remove", "asgn#1", "--as", "alice"]);
    assert_eq!((&shown["archived"], &shown["to"]), (&json!(false), &json!("cancelled")), "{shown}");
    assert_eq!(bob.done("bclaw_get", gone)["item"]["status"], "cancelled");
    assert_eq!(get(&mut bob, "message", "msg#1")["status"], "closed");
    let shown = project.json(&["memory", "remove", "asgn#1", "--as", "alice"]);
    assert_eq!(shown["archived"], true, "now it is over");
}

/// A name in the environment does not lead anywhere either.
#[test]
fn names_from_the_environment_are_names() {
    let project = Sandbox::new();
    let escape = format!("../escaped-{}", std::process::id());
    for name in [escape.as_str(), "a/../b", "", "x\ny"] {
        let mut command = project.command();
        command.env("ALTHING_AGENT", name).args(["memory", "create", "plan", "t"]);
        let out = command.output().unwrap();
        assert!(name.is_empty() || out.status.code() == Some(2), "{name:?}: {out:?}");
    }
    assert!(!project.path().join(&escape).exists());
}

/// The trail keeps the name of a host, but not a secret in that name.
#[test]
fn a_key_in_a_hosts_name_is_not_kept() {
    let project = Sandbox::new();
    let key = ["AKIA", "IOSFODNN7QWERTYU"].concat();
    let mut host = Host::silent(&project, &["--dialect", "memory"]);
    host.introduce(&key, "2025-11-25");
    host.done("bclaw_work", json!({ "intent": "consult" }));
    host.failed(&key, json!({}));
    host.end();
    let trail = project.ok(&["trail", "export"]).out;
    assert!(!trail.to_uppercase().contains(&key), "it is on the trail");
}
