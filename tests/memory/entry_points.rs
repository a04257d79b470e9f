//! One memory for hosts, the command line, the frugal dialect and commands by name.

use super::{agent, create, find, get, refused, transition};
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

/// A decision of the frugal dialect is a record like those made here, and changed here.
#[test]
fn decisions_of_the_frugal_side_are_seen() {
    let project = Sandbox::new();
    let mut frugal = Host::silent(&project, &["--as", "bob"]);
    let mut memory = agent(&project, "alice");
    create(&mut memory, "decision", json!({ "text": "older", "outcome": "approved" }));
    frugal.done("append_decision", json!({ "title": "Use SQLite", "body": "One file." }));
    create(&mut memory, "decision", json!({ "text": "newer" }));
    assert_eq!(find(&mut memory, "decision", json!({})), ["dec#3", "dec#2", "dec#1"]);
    assert_eq!(find(&mut memory, "decision", json!({ "source": "frugal" })), ["dec#2"]);
    assert_eq!(find(&mut memory, "decision", json!({ "status": "pending" })), ["dec#3"]);
    let item = get(&mut memory, "decision", "dec#2");
    assert_eq!((&item["author"], &item["status"]), (&json!("bob"), &json!("approved")));
    assert_eq!(item["text"], "Use SQLite\n\nOne file.");
    assert_eq!(item["provenance"]["door"], "mcp_frugal");
    let entry = item["provenance"]["entry"].as_u64().unwrap();
    let found = project.entries().into_iter().find(|own| own["seq"] == entry).unwrap();
    assert_eq!(
        (&found["kind"], &found["door"]),
        (&json!("decision.appended"), &json!("mcp_frugal"))
    );
    let asked = json!({ "kind": "memory", "query": "sqlite" });
    assert_eq!(memory.done("bclaw_context", asked)["selected"][0]["short_label"], "dec#2");
    assert!(project.ok(&["ask", "sqlite"]).out.contains("dec#2"));
    let args = json!({ "entity": "decision", "id": "dec#2", "to": "rejected" });
    refused(&mut memory, "bclaw_transition", args, "operation_error", &["approved"]);
    let patch = json!({ "text": "Use SQLite 3\n\nOne file." });
    memory.done("bclaw_update", json!({ "entity": "decision", "id": "dec#2", "patch": patch }));
    let listed = project.json(&["do", "decision.list", "{}"]);
    let titles: Vec<&Value> = listed.as_array().unwrap().iter().map(|own| &own["title"]).collect();
    assert_eq!(titles, ["older", "Use SQLite 3"]);
}

/// What the memory decided and warns of is read by those who speak the frugal dialect.
#[test]
fn records_of_the_memory_are_seen_by_the_frugal_side() {
    let project = Sandbox::new();
    project.ok(&["rebuild"]);
    let mut frugal = Host::silent(&project, &["--as", "bob"]);
    let mut memory = agent(&project, "alice");
    let file = |path: &str| {
        std::fs::read_to_string(project.path().join(".planning/ledger").join(path))
            .unwrap_or_default()
    };
    let rule = json!({ "text": "No threads in the kernel", "related_paths": ["src/kernel"] });
    create(&mut memory, "constraint", rule);
    let trap = create(&mut memory, "trap", json!({ "text": "The clock jumps" }));
    let hidden = json!({ "text": "mine alone", "visibility": "private" });
    create(&mut memory, "trap", hidden);
    let decision = create(&mut memory, "decision", json!({ "text": "Keep it small\n\nEasy." }));
    let read = frugal.done("read_capsules", json!({}));
    assert_eq!(read["count"], 0, "a record is no capsule");
    let of = |read: &Value, id: &str| {
        let all = read["records"].as_array().cloned().unwrap_or_default();
        all.into_iter().find(|own| own["id"] == id).unwrap_or_default()
    };
    assert_eq!(of(&read, "dec#1"), Value::Null, "a pending decision does not stand");
    assert_eq!(of(&read, "trp#2"), Value::Null, "what is private is not told");
    let rule = of(&read, "cst#1")["body"].as_str().unwrap().to_owned();
    assert!(rule.ends_with("WHAT: No threads in the kernel\nWHERE: src/kernel\n"), "{rule}");
    assert!(of(&read, "trp#1")["body"].as_str().unwrap().contains("GOTCHA: The clock jumps\n"));
    let invariants = file("invariants.md");
    assert!(
        invariants.starts_with("# Invariants\n\n## cst_00000001\n\nNo threads"),
        "{invariants}"
    );
    assert!(invariants.contains("# Gotchas\n\n## trp_00000001\n\nThe clock"), "{invariants}");
    assert!(!invariants.contains("mine alone"), "{invariants}");
    // A brief can refer to one of them.
    let brief = ["brief", "--task", "T", "--spec", "s", "--as", "bob", "--invariants"];
    let anchor = ".planning/ledger/invariants.md#cst_00000001";
    let brief = project.ok(&[&brief[..], &[anchor]].concat()).out;
    assert!(brief.contains("cst_00000001 (verified"), "{brief}");
    // Once approved, the decision is in the list and in the log.
    assert!(!file("decisions.md").contains("Keep it small"));
    transition(&mut memory, "decision", &decision, "approved");
    let read = frugal.done("read_capsules", json!({ "id": "dec#1" }));
    let body = of(&read, "dec#1")["body"].as_str().unwrap().to_owned();
    assert!(body.ends_with("WHAT: Keep it small\nDECISION: Easy.\n"), "{body}");
    let log = file("decisions.md");
    assert!(log.contains("— Keep it small\n\nEasy.\n\n*— dec#1 approved by `alice`*\n"), "{log}");
    // A warning that is over is told no more, and the files are the same made anew.
    transition(&mut memory, "trap", &trap, "resolved");
    assert!(!file("invariants.md").contains("clock"));
    memory.done("bclaw_remove", json!({ "entity": "decision", "id": decision, "reason": "Moot." }));
    let log = file("decisions.md");
    assert!(log.contains("— Keep it small (withdrawn)\n\nMoot.\n"), "{log}");
    let before = (file("decisions.md"), file("invariants.md"));
    std::fs::remove_dir_all(project.path().join(".planning")).unwrap();
    project.ok(&["rebuild"]);
    assert_eq!((file("decisions.md"), file("invariants.md")), before);
    project.ok(&["trail", "verify"]);
}

/// Facts, symbols and capsules are found, read and written through the verbs of the memory.
#[test]
fn facts_symbols_and_capsules_are_records_of_both_dialects() {
    let project = Sandbox::new();
    let mut memory = agent(&project, "alice");
    let does = |name: &str, args: Value| {
        project.ok(&["do", name, &args.to_string(), "--as", "bob"]);
    };
    does("fact.set", json!({ "key": "port", "value": "8080" }));
    does("fact.set", json!({ "key": "port", "value": "8081" }));
    does("symbol.set", json!({ "id": "F12", "value": "src/engine.rs" }));
    does("capsule.write", json!({ "id": "w1", "what": "rewrote the scheduler", "gotcha": "slow" }));
    assert_eq!(find(&mut memory, "fact", json!({})), ["fct#1"]);
    assert_eq!(find(&mut memory, "symbol", json!({ "author": "bob" })), ["sym#1"]);
    assert_eq!(find(&mut memory, "capsule", json!({ "author": "alice" })), [""; 0]);
    for id in ["fct#1", "port"] {
        let fact = get(&mut memory, "fact", id);
        assert_eq!((&fact["text"], &fact["key"]), (&json!("8081"), &json!("port")), "{fact}");
        assert_eq!((&fact["version"], &fact["author"]), (&json!(2), &json!("bob")), "{fact}");
        assert_eq!(fact["provenance"]["door"], "do", "{fact}");
    }
    let asked = json!({ "kind": "memory", "query": "scheduler" });
    let selected = &memory.done("bclaw_context", asked)["selected"];
    assert_eq!(
        (&selected[0]["short_label"], &selected[0]["section"], &selected[0]["gotcha"]),
        (&json!("cap#1"), &json!("capsules"), &json!("slow"))
    );
    assert!(project.ok(&["ask", "what is the port"]).out.contains("8081"));
    assert!(project.ok(&["memory", "find", "fact"]).out.contains("fct#1"));
    // Written here, they are what the frugal dialect reads.
    let made = create(&mut memory, "fact", json!({ "key": "host", "text": "local" }));
    let patch = json!({ "text": "remote" });
    memory.done("bclaw_update", json!({ "entity": "fact", "id": made, "patch": patch }));
    let fact = project.json(&["do", "fact.get", r#"{"key":"host"}"#]);
    assert_eq!((&fact["value"], &fact["set_by"]), (&json!("remote"), &json!("agent:alice")));
    let capsule = json!({ "key": "w2", "text": "next", "depends": ["w1"], "where": "src" });
    let made = create(&mut memory, "capsule", capsule);
    let patch = json!({ "gotcha": "careful", "where": null });
    memory.done("bclaw_update", json!({ "entity": "capsule", "id": made, "patch": patch }));
    let capsule = project.json(&["do", "capsule.get", r#"{"id":"w2"}"#]);
    assert_eq!((&capsule["gotcha"], &capsule["depends"]), (&json!("careful"), &json!(["w1"])));
    assert_eq!((&capsule["what"], &capsule["where"]), (&json!("next"), &Value::Null));
    memory.done("bclaw_remove", json!({ "entity": "fact", "id": "fct#1" }));
    assert_eq!(find(&mut memory, "fact", json!({})), ["fct#2"]);
    let args = json!({ "entity": "symbol", "id": "sym#1" });
    refused(&mut memory, "bclaw_remove", args, "validation_error", &["bclaw_update"]);
    let circle =
        json!({ "entity": "capsule", "data": { "key": "w1", "text": "t", "depends": ["w2"] } });
    let (_, error) = memory.failed("bclaw_create", circle);
    assert!(error.to_string().contains("depend on itself"), "{error}");
    project.ok(&["trail", "verify"]);
}

/// A record says through which door it came, and so does the trail.
#[test]
fn the_door_of_a_record_is_the_one_its_request_came_through() {
    let project = Sandbox::new();
    let mut memory = agent(&project, "alice");
    create(&mut memory, "trap", json!({ "text": "over mcp" }));
    project.ok(&["remember", "on the command line", "--kind", "trap", "--as", "alice"]);
    let named = json!({ "kind": "trap", "text": "by name" }).to_string();
    project.ok(&["do", "memory.create", &named, "--as", "alice"]);
    for (id, door) in [("trp#1", "mcp_memory"), ("trp#2", "command_line"), ("trp#3", "do")] {
        let item = get(&mut memory, "trap", id);
        assert_eq!(item["provenance"]["door"], door, "{item}");
        let shown = project.ok(&["memory", "get", id]).out;
        assert!(shown.contains(door), "{shown}");
        let entry = item["provenance"]["entry"].to_string();
        let shown = project.ok(&["trail", "show", &entry]).out;
        assert!(shown.contains(door), "{shown}");
    }
    // Nobody says it for themselves.
    let claimed = json!({ "kind": "trap", "text": "t", "provenance": { "kind": "agent",
        "door": "heimdall" } });
    let no = project.run(&["do", "memory.create", &claimed.to_string(), "--as", "alice"]);
    assert_eq!(no.code, Some(2), "{no:?}");
    project.ok(&["trail", "verify"]);
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
    let answer = project.ok(&["memory", "find", "constraint"]).out;
    assert!(answer.starts_with("ID") && answer.contains("gen/ is generated"), "{answer}");
    let answer =
        project.ok(&["memory", "update", "pln#1", "--clear", "steps", "--as", "alice"]).out;
    assert_eq!(answer, "pln#1 is changed (version 2)\n");
    let answer = project.ok(&["memory", "transition", "pln#1", "dropped", "--as", "alice"]).out;
    assert_eq!(answer, "pln#1: open → cancelled\n");
    project.ok(&["memory", "remove", "pln#1", "--as", "alice"]);
    let answer = project.ok(&["memory", "context", "execution"]).out;
    assert!(answer.contains("protocol") && answer.contains("haid:"), "{answer}");
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
