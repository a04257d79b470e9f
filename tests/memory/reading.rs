//! Reading the memory, by the numbers of the protocol's cases.

use super::{agent, create, find, follow, get, refused, transition};
use crate::mcp::Host;
use crate::support::Sandbox;
use althing_dialects::frugal::tokens::count;
use serde_json::{Value, json};

const VERBS: [&str; 7] = [
    "bclaw_work",
    "bclaw_context",
    "bclaw_find",
    "bclaw_get",
    "bclaw_create",
    "bclaw_update",
    "bclaw_transition",
];

/// Case 1. Case 2. The list of the seven is short.
#[test]
fn the_server_says_what_it_speaks_and_offers_seven_verbs() {
    let project = Sandbox::new();
    let mut host = Host::silent(&project, &["--dialect", "memory"]);
    let output = host.introduce("cursor", "2025-11-25")["result"].clone();
    assert_eq!(output["capabilities"]["experimental"]["brainclaw"]["protocol"], "0.1", "{output}");
    assert_eq!(output["serverInfo"]["name"], "althing-memory");
    assert!(output["instructions"].as_str().unwrap().contains("protocol 0.1"), "{output}");
    let listed = host.ask("tools/list", json!({}))["result"]["tools"].clone();
    let listed = listed.as_array().unwrap();
    let seven: Vec<Value> = listed.iter().take(7).cloned().collect();
    for (tool, name) in seven.iter().zip(VERBS) {
        assert_eq!(tool["name"], name);
        let schema = &tool["inputSchema"];
        assert_eq!(schema["type"], "object", "{tool}");
        for (name, property) in schema["properties"].as_object().unwrap() {
            assert!(property["type"] != "array" || property["items"].is_object(), "{name}");
        }
    }
    let described = |tool: usize, name: &str| {
        let property = seven[tool]["inputSchema"]["properties"][name].clone();
        assert!(property["type"].is_string(), "{name}: {property}");
        property["description"].as_str().unwrap_or_default().to_owned()
    };
    for (tool, name) in [(0, "ttl"), (1, "includePending"), (6, "artifacts"), (6, "status")] {
        described(tool, name);
    }
    assert!(described(6, "to").contains("Required, here or as status"));
    let reads = ["bclaw_context", "bclaw_find", "bclaw_get"];
    for tool in listed {
        let is_reading = reads.iter().any(|name| tool["name"] == *name);
        assert_eq!(tool["annotations"]["readOnlyHint"] == true, is_reading, "{tool}");
    }
    let tokens = count(&Value::from(seven).to_string());
    assert!(tokens <= 1600, "{tokens}");
    // Those who give work to others have five more.
    let tokens = count(&Value::from(listed.as_slice()).to_string());
    assert!(tokens <= 2800, "{tokens}");
}

/// Both dialects at once: one identity, one memory, each in its own words.
#[test]
fn all_dialects_are_served_together() {
    let project = Sandbox::new();
    let mut host = Host::silent(&project, &["--dialect", "all"]);
    host.introduce("cursor", "2025-11-25");
    let listed = host.ask("tools/list", json!({}))["result"]["tools"].clone();
    let names: Vec<&str> =
        listed.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"bclaw_work") && names.contains(&"make_claim"), "{names:?}");
    let made = host.done("make_claim", json!({ "surfaces": ["src"], "task": "T" }));
    let work = host.done("bclaw_work", json!({ "intent": "execute", "scope": "src" }));
    assert_eq!(work["claim_status"], "existing", "the same agent: {work}");
    assert_eq!(made["haid"], work["agent"]);
}

/// Case 3. Tools work without an introduction here, as hosts of the newest revision send none; who
/// calls is then nobody in particular.
#[test]
fn a_call_without_an_introduction_is_answered() {
    let project = Sandbox::new();
    let mut host = Host::silent(&project, &["--dialect", "memory"]);
    let found = host.done("bclaw_find", json!({ "entity": "plan" }));
    assert!(found["agent"].as_str().unwrap().ends_with("/mcp-client"), "{found}");
}

/// Case 4. Case 7.
#[test]
fn consulting_opens_one_session_and_claims_nothing() {
    let project = Sandbox::new();
    let mut host = agent(&project, "alice");
    let first = host.done("bclaw_work", json!({ "intent": "consult" }));
    assert!(first["session_id"].as_str().unwrap().starts_with("ws_"), "{first}");
    assert_eq!((&first["claim_status"], &first["status"]), (&json!("none"), &json!("ok")));
    for part in ["selected", "plan_summary", "open_work", "memory_density", "context_diff"] {
        assert!(!first["result"][part].is_null(), "{part}: {first}");
    }
    let again = host.done("bclaw_work", json!({ "intent": "consult" }));
    assert_eq!(first["session_id"], again["session_id"]);
    assert_eq!(project.json(&["agents"]).as_array().unwrap().len(), 1);
    assert_eq!(project.json(&["claims"]), json!([]));
    let shown = project.json(&["memory", "work", "consult", "--as", "alice"]);
    assert_eq!(shown["session_id"], first["session_id"], "the same from the command line");
}

/// Case 6. Case 15. Case 19. Case 32.
#[test]
fn an_unknown_value_is_answered_with_the_known_ones() {
    let project = Sandbox::new();
    let mut host = agent(&project, "alice");
    let intents = ["execute", "consult", "resume", "review"];
    refused(&mut host, "bclaw_work", json!({}), "validation_error", &intents);
    refused(&mut host, "bclaw_work", json!({ "intent": "x" }), "validation_error", &intents);
    let kinds = ["memory", "execution", "board", "delta"];
    refused(&mut host, "bclaw_context", json!({ "kind": "nope" }), "validation_error", &kinds);
    refused(&mut host, "bclaw_context", json!({}), "validation_error", &kinds);
    let delta = json!({ "kind": "delta" });
    refused(&mut host, "bclaw_context", delta, "validation_error", &["'since'"]);
    let eight =
        ["constraint", "decision", "trap", "plan", "claim", "handoff", "candidate", "assignment"];
    refused(&mut host, "bclaw_find", json!({ "entity": "note" }), "validation_error", &eight);
    let odd = json!({ "entity": "plan", "filer": {} });
    refused(&mut host, "bclaw_find", odd, "validation_error", &["'filer'", "filter"]);
    for (name, value) in [("compact", json!("yes")), ("scope", json!(["src"]))] {
        let args = json!({ "intent": "consult", name: value });
        refused(&mut host, "bclaw_work", args, "validation_error", &[&format!("'{name}'")]);
    }
    for id in ["1", "pln_../../etc", "trp#1", "../../pln#1"] {
        let args = json!({ "entity": "plan", "id": id });
        refused(&mut host, "bclaw_get", args, "validation_error", &["pln#42"]);
    }
    let path = json!({ "kind": "memory", "path": "../outside" });
    refused(&mut host, "bclaw_context", path, "validation_error", &["below the project"]);
    let scope = json!({ "intent": "execute", "scope": "/etc" });
    refused(&mut host, "bclaw_work", scope, "validation_error", &["below the root"]);
    for (name, value) in
        [("maxItems", json!(0)), ("maxItems", json!(501)), ("maxItems", json!("5"))]
    {
        let args = json!({ "kind": "memory", name: value });
        refused(&mut host, "bclaw_context", args, "validation_error", &["'maxItems'", "1 to 500"]);
    }
    for since in [json!(true), json!({ "seq": 1 }), json!([1]), json!(-1), json!(1.5), json!(" ")] {
        let args = json!({ "kind": "delta", "since": since });
        let forms = ["'since'", "how long ago (30m", "the number of an entry"];
        refused(&mut host, "bclaw_context", args, "validation_error", &forms);
    }
    for (tool, name) in
        [("bclaw_find", "filter"), ("bclaw_create", "data"), ("bclaw_update", "patch")]
    {
        for value in [json!(""), json!(" "), json!("x"), json!(7)] {
            let args = json!({ "entity": "plan", "id": "pln#1", name: value });
            let args = match tool {
                "bclaw_update" => args,
                _ => json!({ "entity": "plan", name: value }),
            };
            refused(&mut host, tool, args, "validation_error", &[name, "an object, or the JSON"]);
        }
    }
    let other = json!({ "intent": "consult", "agent": "bob" });
    refused(&mut host, "bclaw_work", other, "identity_error", &["alice"]);
    let other = json!({ "entity": "plan", "project": "elsewhere" });
    refused(&mut host, "bclaw_find", other, "validation_error", &["another project"]);
    assert!(!project.kinds().iter().any(|kind| kind.starts_with("memory.")));
}

/// Case 8. Case 25. No answer is longer than its budget, and pages lead through all of it.
#[test]
fn a_large_store_is_read_in_short_answers() {
    let project = Sandbox::new();
    let mut host = agent(&project, "alice");
    for n in 0..120 {
        create(&mut host, "plan", json!({ "text": format!("plan {n}"), "tags": ["a"] }));
    }
    for n in 0..380 {
        let text = format!("trap {n} {}", "with many words ".repeat(20));
        create(&mut host, "trap", json!({ "text": text, "related_paths": ["src/x.rs"] }));
    }
    let work = host.done("bclaw_work", json!({ "intent": "consult" }));
    assert!(work.to_string().len() < 5_000, "{}", work.to_string().len());
    assert_eq!(work["result"]["_compact"], true);
    let full = host.done("bclaw_work", json!({ "intent": "consult", "compact": false }));
    assert!(full.to_string().len() > work.to_string().len());

    let mut seen: Vec<String> = Vec::new();
    let mut filter = json!({ "tag": "a" });
    loop {
        let page = host.done("bclaw_find", json!({ "entity": "plan", "filter": filter }));
        assert_eq!(page["total"], 120);
        let labels = page["items"].as_array().unwrap().iter();
        seen.extend(labels.map(|item| item["short_label"].as_str().unwrap().to_owned()));
        if page["has_more"] == false {
            assert_eq!(page["next_offset"], Value::Null);
            break;
        }
        assert_eq!((&page["returned"], &page["next_offset"]), (&json!(50), &json!(seen.len())));
        filter = page["next_actions"][0]["args"]["filter"].clone();
    }
    let newest: Vec<String> = (1..=120).rev().map(|n| format!("pln#{n}")).collect();
    assert_eq!(seen, newest, "each once, newest first");

    let page = host.done("bclaw_find", json!({ "entity": "trap", "filter": { "limit": 500 } }));
    assert!(page.to_string().len() <= 40_000, "{}", page.to_string().len());
    let returned = page["returned"].as_u64().unwrap();
    assert_eq!(returned + page["omitted_for_size"].as_u64().unwrap(), 380);
    assert_eq!(page["next_offset"], returned);
    for budget in [300, 1000, 3000] {
        for (tool, args) in [
            ("bclaw_find", json!({ "entity": "trap" })),
            ("bclaw_context", json!({ "kind": "memory", "maxItems": 100 })),
            ("bclaw_context", json!({ "kind": "board" })),
            ("bclaw_context", json!({ "kind": "delta", "since": 0 })),
            ("bclaw_get", json!({ "entity": "trap", "id": "trp#7" })),
            ("bclaw_work", json!({ "intent": "consult", "compact": false })),
        ] {
            let mut args = args;
            args["budget_tokens"] = budget.into();
            let answer = host.done(tool, args);
            let tokens = count(&answer.to_string());
            assert!(tokens <= budget, "{tool} {budget}: {tokens}");
        }
    }
    let tight = json!({ "entity": "plan", "budget_tokens": 5 });
    refused(&mut host, "bclaw_find", tight, "validation_error", &["budget_tokens"]);
}

/// A record of any length is fetched within the budget, and said to be cut.
#[test]
fn a_long_handoff_is_cut_to_the_budget() {
    let project = Sandbox::new();
    let mut host = agent(&project, "alice");
    let diff = "+ a line of a diff\n".repeat(8_000);
    let id = create(&mut host, "handoff", json!({ "text": "yours", "to": "bob", "diff": diff }));
    let item = get(&mut host, "handoff", &id);
    assert_eq!((&item["diff_truncated"], &item["text"]), (&json!(true), &json!("yours")));
    assert!(item.to_string().len() <= 40_000);
}

/// Case 11. Case 51. Case 50.
#[test]
fn a_foreign_claim_is_reported_and_respected() {
    let project = Sandbox::new();
    let (mut alice, mut bob) = (agent(&project, "alice"), agent(&project, "bob"));
    let held = alice.done("bclaw_work", json!({ "intent": "execute", "scope": "src/core" }));
    for intent in ["consult", "review", "resume", "execute"] {
        let args = json!({ "intent": intent, "scope": "src/core/x.rs, docs" });
        let work = bob.done("bclaw_work", args);
        let conflict = &work["result"]["claim_conflicts"][0];
        assert_eq!(conflict["holder"], "alice", "{intent}: {work}");
        assert_eq!(conflict["id"], held["claim_id"]);
        assert!(conflict["expires_at"].as_str().unwrap().ends_with('Z'));
        let expected = if intent == "execute" { "conflict" } else { "none" };
        assert_eq!(work["claim_status"], expected);
        follow(&mut bob, &work);
    }
    let args = json!({ "intent": "execute", "scope": "src/core/x.rs", "advisory": true });
    let work = bob.done("bclaw_work", args);
    assert_eq!((&work["status"], &work["claim_status"]), (&json!("ok"), &json!("conflict")));
    assert_eq!(project.json(&["claims"]).as_array().unwrap().len(), 1, "nothing was claimed");
    let work = bob.done("bclaw_work", json!({ "intent": "execute" }));
    assert_eq!(work["claim_status"], "none");
    assert_eq!(work["warning_details"][0]["code"], "no_scope");
}

/// Case 12.
#[test]
fn records_about_a_path_come_first() {
    let project = Sandbox::new();
    let mut host = agent(&project, "alice");
    let tied = json!({ "text": "mind the lexer", "related_paths": ["src/parser/**"] });
    let tied = create(&mut host, "trap", tied);
    for n in 0..30 {
        create(&mut host, "constraint", json!({ "text": format!("unrelated {n}") }));
    }
    let asked = json!({ "kind": "memory", "path": "src/parser/lex.rs", "maxItems": 5 });
    let answer = host.done("bclaw_context", asked);
    assert_eq!(answer["selected"][0]["id"], tied, "{answer}");
    assert_eq!(answer["selected"].as_array().unwrap().len(), 5);
    let asked = json!({ "kind": "memory", "query": "which lexer?" });
    assert_eq!(host.done("bclaw_context", asked)["selected"][0]["id"], tied);
    let output = project.ok(&["ask", "what about the lexer?"]).out;
    assert!(output.contains("mind the lexer") && !output.contains("unrelated"), "{output}");
}

/// Case 13. Case 14.
#[test]
fn the_environment_and_the_board_are_read() {
    let project = Sandbox::new();
    let mut host = agent(&project, "alice");
    let open = create(&mut host, "plan", json!({ "text": "go on", "related_paths": ["src"] }));
    let done = create(&mut host, "plan", json!({ "text": "over" }));
    transition(&mut host, "plan", &done, "done");
    let args = json!({ "intent": "execute", "scope": "src", "planId": open });
    let claim = host.done("bclaw_work", args)["claim_id"].clone();
    let before = project.entries().len();
    let facts = host.done("bclaw_context", json!({ "kind": "execution" }));
    let facts = &facts["execution_context"];
    assert_eq!((&facts["protocol"], &facts["agent"]), (&json!("0.1"), &json!("alice")));
    assert_eq!((&facts["is_git"], &facts["claims"][0]["id"]), (&json!(true), &claim));
    let board = host.done("bclaw_context", json!({ "kind": "board" }));
    let plans = board["active_plans"].as_array().unwrap();
    assert_eq!(plans.len(), 1, "{board}");
    assert_eq!((&plans[0]["id"], &plans[0]["claims"][0]["id"]), (&json!(open), &claim));
    assert_eq!(board["active_claims"][0]["liveness"], "young");
    let opened = board["active_claims"][0]["provenance"]["entry_id"].clone();
    let got = host.done("bclaw_get", json!({ "entity": "claim", "id": claim }));
    let number = got["item"]["provenance"]["entry"].as_u64().unwrap();
    let entry = project.entries().into_iter().find(|entry| entry["seq"] == number).unwrap();
    assert_eq!((&entry["id"], &entry["kind"]), (&opened, &json!("lease.opened")));
    let summary = host.done("bclaw_context", json!({ "kind": "board_summary" }));
    assert_eq!(summary["counts"]["open_plans"], 1);
    assert_eq!(summary["counts"]["open_claims"], 1);
    assert_eq!(project.entries().len(), before);
    let shown = project.ok(&["board"]).out;
    assert!(shown.contains("go on") && !shown.contains("over"), "{shown}");
}

/// Case 18. A delta begins at an entry, a time or a session.
#[test]
fn a_delta_lists_changes_since_a_moment() {
    let project = Sandbox::new();
    // A session begins with the first thing that its agent writes.
    let old = create(&mut agent(&project, "bob"), "plan", json!({ "text": "old" }));
    let mut host = agent(&project, "alice");
    let session = host.done("bclaw_work", json!({ "intent": "consult" }))["session_id"].clone();
    let number = project.entries().len();
    let new = create(&mut host, "trap", json!({ "text": "new" }));
    transition(&mut host, "plan", &old, "in_progress");
    let delta = |host: &mut Host, since: Value| {
        host.done("bclaw_context", json!({ "kind": "delta", "since": since }))
    };
    for since in [session.clone(), number.into(), format!("#{number}").into()] {
        let answer = delta(&mut host, since.clone());
        let changed = answer["changed_items"].as_array().unwrap();
        assert_eq!(changed.len(), 2, "{since}: {answer}");
        assert_eq!((&changed[0]["id"], &changed[0]["change"]), (&json!(old), &json!("changed")));
        assert_eq!((&changed[1]["id"], &changed[1]["change"]), (&json!(new), &json!("created")));
        assert_eq!((&answer["complete"], &answer["counts"]["plan"]), (&json!(true), &json!(1)));
    }
    let none = delta(&mut host, "2999-01-01".into());
    assert_eq!(none["changed_items"], json!([]));
    let all = delta(&mut host, "2020-01-01T00:00:00Z".into());
    assert_eq!(all["changed_items"].as_array().unwrap().len(), 2);
    for unknown in ["sess_nobody", "ws_00000000000000000000000000"] {
        let answer = delta(&mut host, unknown.into());
        assert_eq!((&answer["complete"], &answer["session_known"]), (&json!(false), &json!(false)));
        assert_eq!(answer["source"], "unknown_session");
        assert!(answer["warnings"][0].as_str().unwrap().contains(unknown), "{answer}");
        assert_eq!(answer["changed_items"].as_array().unwrap().len(), 2);
        let output = project.ok(&["memory", "context", "delta", "--since", unknown]);
        assert!(output.out.contains(&format!("session {unknown} is not known")), "{output:?}");
    }
    for (ago, count) in [("1h", 2), ("30m", 2), ("1d", 2), ("0s", 0)] {
        let answer = delta(&mut host, ago.into());
        assert_eq!(answer["changed_items"].as_array().unwrap().len(), count, "{ago}: {answer}");
        assert_eq!((&answer["source"], &answer["complete"]), (&json!("duration"), &json!(true)));
    }
    let forms = ["2h", "2026-06-11T12:07Z", "ws_", "120"];
    for wrong in ["yesterday", "99999", "#99999", "2x", "pln#1", "#"] {
        let args = json!({ "kind": "delta", "since": wrong });
        refused(&mut host, "bclaw_context", args, "validation_error", &forms);
        let ran = project.run(&["memory", "context", "delta", "--since", wrong]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.err.contains("--since") && !ran.err.contains("'since'"), "{ran:?}");
    }
    // One that is over is still known.
    let close = json!({ "workspace": session }).to_string();
    project.ok(&["do", "session.close", &close, "--as", "alice"]);
    assert_eq!(delta(&mut host, session)["complete"], true);
}

/// Case 20. Case 21. Case 23. Case 24.
#[test]
fn filters_add_up() {
    let project = Sandbox::new();
    let mut host = agent(&project, "alice");
    create(&mut host, "plan", json!({ "text": "one", "tags": "a,b" }));
    create(&mut host, "plan", json!({ "text": "two", "tags": ["b"] }));
    let over = create(&mut host, "plan", json!({ "text": "three", "tags": "[\"a\"]" }));
    transition(&mut host, "plan", &over, "dropped");
    for status in ["open", "todo"] {
        assert_eq!(find(&mut host, "plan", json!({ "status": status })), ["pln#2", "pln#1"]);
    }
    assert_eq!(find(&mut host, "plan", json!({ "status": "cancelled" })), ["pln#3"]);
    assert_eq!(find(&mut host, "plan", json!({ "status": "open", "tag": "a" })), ["pln#1"]);
    assert_eq!(find(&mut host, "plan", json!({ "tags": ["a"] })), ["pln#3", "pln#1"]);
    assert_eq!(find(&mut host, "plan", json!({ "tags": "a,b" })).len(), 3);
    assert_eq!(find(&mut host, "plan", json!("{\"tag\":\"a\",\"status\":\"open\"}")), ["pln#1"]);
    assert_eq!(find(&mut host, "plan", json!({ "author": "bob" })), [""; 0]);
    assert_eq!(find(&mut host, "plan", json!({ "author": "alice" })).len(), 3);
    let decision = create(&mut host, "decision", json!({ "text": "undecided" }));
    assert_eq!(find(&mut host, "decision", json!({ "status": "pending" })), ["dec#1"]);
    assert_eq!(find(&mut host, "decision", json!({ "outcome": "pending" })), ["dec#1"]);
    transition(&mut host, "decision", &decision, "approved");
    assert_eq!(find(&mut host, "decision", json!({ "status": "pending" })), [""; 0]);
    let known = ["status", "tag", "tags", "author", "plan_id", "includeLegacy"];
    for filter in [json!({ "staus": "open" }), json!({ "scope": "src" })] {
        let args = json!({ "entity": "plan", "filter": filter });
        refused(&mut host, "bclaw_find", args, "validation_error", &known);
    }
    let args = json!({ "entity": "plan", "filter": { "includeLegacy": "yes" } });
    refused(&mut host, "bclaw_find", args, "validation_error", &["true or false"]);
    let only = json!({ "entity": "plan", "fields": ["status"], "limit": 1 });
    let only = host.done("bclaw_find", only)["items"][0].clone();
    assert_eq!(only.as_object().unwrap().len(), 2, "{only}");
}

/// Case 27. What programs noticed and are not sure of is hidden as well.
#[test]
fn imported_and_uncertain_records_are_hidden_and_counted() {
    let project = Sandbox::new();
    let mut host = agent(&project, "alice");
    create(&mut host, "trap", json!({ "text": "plain" }));
    let legacy = json!({ "text": "old", "provenance": { "kind": "legacy", "source": "v0" } });
    create(&mut host, "trap", legacy);
    for sure in [0.3, 0.9] {
        let origin = json!({ "kind": "auto_reflect", "confidence": sure });
        create(&mut host, "trap", json!({ "text": "noticed", "provenance": origin }));
    }
    let found = host.done("bclaw_find", json!({ "entity": "trap" }));
    assert_eq!((&found["total"], &found["excluded_legacy"]), (&json!(2), &json!(1)), "{found}");
    assert_eq!(found["excluded_low_confidence_auto_reflect"], 1);
    let all = json!({ "includeLegacy": true, "minAutoReflectConfidence": 0 });
    assert_eq!(find(&mut host, "trap", all), ["trp#4", "trp#3", "trp#2", "trp#1"]);
    let auto = json!({ "auto_generated": true });
    assert_eq!(find(&mut host, "trap", auto), ["trp#4"]);
    let item = get(&mut host, "trap", "trp#3");
    assert_eq!(item["provenance"]["confidence"], 0.3);
    assert_eq!(item["provenance"]["detail"], "auto_reflect");
}

/// Case 28. Every item says where in the trail it comes from.
#[test]
fn ids_and_labels_fetch_the_same_and_lead_to_the_trail() {
    let project = Sandbox::new();
    let mut host = agent(&project, "alice");
    let id = create(&mut host, "plan", json!({ "text": "one" }));
    assert_eq!(get(&mut host, "plan", &id), get(&mut host, "plan", "pln#1"));
    for args in
        [json!({ "entity": "plan", "id": "pln#9" }), json!({ "entity": "claim", "id": "clm#9" })]
    {
        refused(&mut host, "bclaw_get", args, "not_found", &["there is no"]);
    }
    host.done("bclaw_work", json!({ "intent": "execute", "scope": "src" }));
    let written = project.entries();
    for (entity, id, kind) in
        [("plan", "pln#1", "memory.created"), ("claim", "clm#1", "lease.opened")]
    {
        let item = get(&mut host, entity, id);
        let entry = item["provenance"]["entry"].as_u64().unwrap();
        let found = written.iter().find(|own| own["seq"] == entry).unwrap();
        assert_eq!(found["kind"], kind, "{item}");
    }
}

/// Case 30. What reading handed out is on the ledger with the next thing that is written.
#[test]
fn reading_writes_nothing() {
    let project = Sandbox::new();
    let mut host = agent(&project, "alice");
    let id = create(&mut host, "plan", json!({ "text": "one", "related_paths": ["src"] }));
    host.done("bclaw_work", json!({ "intent": "execute", "scope": "src" }));
    host.end();
    let mut host = agent(&project, "alice");
    host.ask("tools/list", json!({}));
    get(&mut host, "plan", &id);
    let before = project.bytes_of_state();
    for n in 0..25 {
        for kind in ["memory", "execution", "board", "board_summary"] {
            host.done("bclaw_context", json!({ "kind": kind }));
        }
        host.done("bclaw_context", json!({ "kind": "delta", "since": n % 3 }));
        for entity in ["plan", "claim", "decision"] {
            host.done("bclaw_find", json!({ "entity": entity }));
        }
        host.done("bclaw_find", json!({ "entity": "claim", "filter": { "status": "released" } }));
        get(&mut host, "plan", "pln#1");
        get(&mut host, "claim", "clm#1");
        host.done("bclaw_coordinate", json!({ "intent": "summarize" }));
        host.done("bclaw_loop", json!({ "intent": "list" }));
    }
    host.failed("bclaw_get", json!({ "entity": "plan", "id": "pln#99" }));
    for args in [&["board"][..], &["ask", "one"], &["memory", "find", "plan"]] {
        project.ok(&[args, &["--as", "alice"]].concat());
    }
    std::thread::sleep(std::time::Duration::from_millis(1_300));
    assert!(project.bytes_of_state() == before, "reading wrote something");
    create(&mut host, "plan", json!({ "text": "two" }));
    host.end();
    let report = project.json(&["do", "ledger.report", r#"{"by":"tool"}"#]);
    let rows = report["rows"].as_array().unwrap();
    let read = rows.iter().find(|row| row["name"] == "bclaw_context").unwrap();
    assert_eq!(read["messages"], 125, "{report}");
}

/// Case 30. Reading waits for nobody: while somebody else is about to write and stays so, everything
/// that reads is answered at once, from a server that runs and from one that is started then.
#[test]
fn reading_takes_no_lock() {
    let project = Sandbox::new();
    let mut host = agent(&project, "alice");
    create(&mut host, "plan", json!({ "text": "one", "related_paths": ["src"] }));
    host.done("bclaw_work", json!({ "intent": "execute", "scope": "src" }));
    host.end();
    let mut host = agent(&project, "alice");
    get(&mut host, "plan", "pln#1");
    let writer = rusqlite::Connection::open(project.store()).unwrap();
    writer.busy_timeout(std::time::Duration::ZERO).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    let other = rusqlite::Connection::open(project.store()).unwrap();
    other.busy_timeout(std::time::Duration::ZERO).unwrap();
    assert!(other.execute_batch("BEGIN IMMEDIATE").is_err(), "the lock is held");
    let before = project.bytes_of_state();
    let reads = |host: &mut Host, n: usize| {
        for kind in ["memory", "execution", "board", "board_summary"] {
            host.done("bclaw_context", json!({ "kind": kind, "path": "src" }));
        }
        host.done("bclaw_context", json!({ "kind": "delta", "since": n % 10 }));
        for entity in ["plan", "claim", "decision"] {
            host.done("bclaw_find", json!({ "entity": entity }));
        }
        get(host, "plan", "pln#1");
        get(host, "claim", "clm#1");
        host.done("bclaw_coordinate", json!({ "intent": "summarize" }));
        host.done("bclaw_loop", json!({ "intent": "list" }));
    };
    let begun = std::time::Instant::now();
    for n in 0..100 {
        reads(&mut host, n);
    }
    let mut fresh = agent(&project, "bob");
    reads(&mut fresh, 1);
    for args in [
        &["board"][..],
        &["ask", "one"],
        &["memory", "find", "plan"],
        &["memory", "get", "pln#1"],
        &["do", "memory.find", r#"{"kind":"plan"}"#],
    ] {
        project.ok(&[args, &["--as", "alice"]].concat());
    }
    assert!(begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
    assert!(project.bytes_of_state() == before, "reading wrote something");
    // Writing has to wait, so the lock was one all along.
    assert!(other.execute_batch("BEGIN IMMEDIATE").is_err(), "the lock is still held");
    writer.execute_batch("ROLLBACK").unwrap();
    drop((writer, other));
    create(&mut host, "plan", json!({ "text": "two" }));
}

/// A host that runs for long answers as one that was started this moment, whatever others did in
/// between, and whatever became of the store.
#[test]
fn a_running_host_recalls_what_is_there_now() {
    let project = Sandbox::new();
    let mut old = agent(&project, "alice");
    let asked = json!({ "kind": "memory", "path": "src/cache/a.rs", "query": "cache writer" });
    let mut other = agent(&project, "bob");
    let same = |old: &mut Host, why: &str| {
        let mut new = agent(&project, "carol");
        for extra in [json!({}), json!({ "includePending": true }), json!({ "matching": true })] {
            let mut asked = asked.clone();
            asked.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
            let output = old.done("bclaw_context", asked.clone())["selected"].clone();
            assert_eq!(output, new.done("bclaw_context", asked)["selected"], "{why}");
        }
        let waiting = |host: &mut Host| {
            let work = host.done("bclaw_work", json!({ "intent": "consult" }));
            work["result"]["open_work"].clone()
        };
        (old.done("bclaw_context", asked.clone())["selected"].clone(), waiting(old))
    };
    let (none, _) = same(&mut old, "nothing is there");
    assert_eq!(none, json!([]));
    let data = |text: &str| json!({ "text": text, "related_paths": ["src/cache/a.rs"] });
    let one = create(&mut other, "constraint", data("One writer for the cache"));
    let two = create(&mut other, "decision", data("The cache is emptied at night"));
    create(&mut other, "candidate", json!({ "text": "cache more", "type": "trap" }));
    let message =
        create(&mut other, "message", json!({ "text": "Look at the cache", "to": "alice" }));
    let (three, waiting) = same(&mut old, "three were made");
    assert_eq!(three.as_array().unwrap().len(), 2, "{three}");
    assert_eq!(waiting["messages"][0]["id"], message, "{waiting}");
    let patch = json!({ "entity": "constraint", "id": one, "patch": { "text": "Many readers" } });
    other.done("bclaw_update", patch);
    let (changed, _) = same(&mut old, "one was changed");
    assert!(changed.to_string().contains("Many readers"), "{changed}");
    transition(&mut other, "decision", &two, "rejected");
    other.done("bclaw_remove", json!({ "entity": "decision", "id": two }));
    let (left, _) = same(&mut old, "one was put away");
    assert_eq!(left.as_array().unwrap().len(), 1, "{left}");
}
