//! Private records: others cannot tell them from records that do not exist, whichever way they ask.

use super::{agent, create, find, get, refused};
use crate::mcp::Host;
use crate::support::Sandbox;
use serde_json::{Value, json};

/// The id of a record that nobody made.
const MISSING: &str = "trp_000003e7";

/// A failure with the names of the record taken out, so that two can be compared.
fn nameless(error: &Value, id: &str) -> String {
    let number = u64::from_str_radix(id.trim_start_matches("trp_"), 16).unwrap();
    error.to_string().replace(id, "ID").replace(&format!("trp#{number}"), "ID")
}

#[test]
fn private_and_missing_records_are_answered_alike() {
    let project = Sandbox::new();
    let (mut alice, mut bob) = (agent(&project, "alice"), agent(&project, "bob"));
    let own = json!({ "text": "the zebra lies", "visibility": "private", "tags": "zoo" });
    let id = create(&mut alice, "trap", own);
    let candidate = create(&mut bob, "candidate", json!({ "text": "zebra", "type": "trap" }));
    let change = json!({ "text": "x" });
    let tools = |id: &str| {
        vec![
            ("bclaw_get", json!({ "entity": "trap", "id": id })),
            ("bclaw_update", json!({ "entity": "trap", "id": id, "patch": change })),
            (
                "bclaw_update",
                json!({ "entity": "trap", "id": id, "patch": change, "expected_version": 9 }),
            ),
            ("bclaw_transition", json!({ "entity": "trap", "id": id, "to": "resolved" })),
            (
                "bclaw_transition",
                json!({ "entity": "trap", "id": id, "to": "expired", "expected_version": 9 }),
            ),
            (
                "bclaw_transition",
                json!({ "entity": "candidate", "id": candidate, "to": "merged", "merged_into": id }),
            ),
            ("bclaw_remove", json!({ "entity": "trap", "id": id })),
            ("bclaw_remove", json!({ "entity": "trap", "id": id, "reason": "old" })),
        ]
    };
    for ((tool, hidden), (_, missing)) in tools(&id).into_iter().zip(tools(MISSING)) {
        let shown = hidden.to_string();
        let [hidden, missing] = [hidden, missing].map(|args| bob.failed(tool, args).1);
        assert_eq!(nameless(&hidden, &id), nameless(&missing, MISSING), "{tool} {shown}");
    }
    let names = |id: &str| {
        vec![
            ("memory.get", json!({ "id": id })),
            ("memory.update", json!({ "id": id, "text": "x" })),
            ("memory.update", json!({ "id": id, "text": "x", "expected_version": 9 })),
            ("memory.update", json!({ "id": id, "fields": { "visibility": "shared" } })),
            ("memory.move", json!({ "id": id, "to": "resolved" })),
            ("memory.move", json!({ "id": id, "to": "resolved", "expected_version": 9 })),
            ("memory.move", json!({ "id": id, "to": "nonsense" })),
            ("memory.move", json!({ "id": candidate, "to": "merged", "merged_into": id })),
            ("memory.archive", json!({ "id": id })),
            ("memory.progress", json!({ "id": id, "text": "x" })),
            ("memory.progress", json!({ "id": id, "expected_version": 9 })),
            ("memory.converge", json!({ "id": id, "to": "cancelled" })),
            ("memory.turn", json!({ "loop": id, "slot": "a", "outcome": "o" })),
            ("memory.step", json!({ "plan": id, "step": "stp_1", "status": "done" })),
        ]
    };
    let run = |name: &str, args: &Value| {
        let ran = project.run(&["do", name, &args.to_string(), "--as", "bob", "--json"]);
        (ran.code, ran.json())
    };
    for ((name, hidden), (_, missing)) in names(&id).into_iter().zip(names(MISSING)) {
        let (one, other) = (run(name, &hidden), run(name, &missing));
        assert_eq!(one.0, other.0, "{name} {hidden}: {one:?}");
        assert_eq!(nameless(&one.1, &id), nameless(&other.1, MISSING), "{name} {hidden}");
        assert!(!one.1.to_string().contains("zebra lies"), "{name}: {one:?}");
    }
    let command = |id: &str| {
        let all: [&[&str]; 4] = [
            &["memory", "get", id],
            &["memory", "update", id, "--text", "x"],
            &["memory", "transition", id, "resolved"],
            &["memory", "remove", id],
        ];
        all.map(|args| {
            let ran = project.run(&[args, &["--as", "bob", "--json"]].concat());
            (ran.code, nameless(&ran.error(), id))
        })
    };
    assert_eq!(command(&id), command(MISSING));
    let item = get(&mut alice, "trap", &id);
    assert_eq!((&item["version"], &item["text"]), (&json!(1), &json!("the zebra lies")));
}

/// Who sees a trap is for its author and for people to say: nobody else hides it, or shows it.
#[test]
fn only_its_author_or_a_person_says_who_sees_a_trap() {
    let project = Sandbox::new();
    project.login("ada");
    let (mut alice, mut bob) = (agent(&project, "alice"), agent(&project, "bob"));
    let id = create(&mut alice, "trap", json!({ "text": "the clock is ahead" }));
    let update = |patch: Value| json!({ "entity": "trap", "id": id, "patch": patch });
    let seen = |word: &str| update(json!({ "visibility": word }));
    let words = ["its author's", "person's"];
    for word in ["private", "machine"] {
        refused(&mut bob, "bclaw_update", seen(word), "ownership_error", &words);
        let mixed = update(json!({ "text": "it is behind", "visibility": word }));
        refused(&mut bob, "bclaw_update", mixed, "ownership_error", &words);
    }
    let named = json!({ "id": id, "fields": { "visibility": "private" } }).to_string();
    let (_, rule) = project.refused(&["do", "memory.update", &named, "--as", "bob"]);
    assert_eq!(rule, "A-MEM-06");
    assert_eq!(get(&mut bob, "trap", &id)["version"], 1, "nothing was changed");
    // Setting the present visibility, and any other field, is open to everybody.
    bob.done("bclaw_update", seen("shared"));
    bob.done("bclaw_update", update(json!({ "severity": "high" })));
    alice.done("bclaw_update", seen("machine"));
    let cleared = update(json!({ "visibility": null }));
    refused(&mut bob, "bclaw_update", cleared.clone(), "ownership_error", &words);
    alice.done("bclaw_update", cleared);
    alice.done("bclaw_update", seen("private"));
    refused(&mut bob, "bclaw_update", seen("shared"), "not_found", &[]);
    let shared = json!({ "id": id, "fields": { "visibility": "shared" } }).to_string();
    let output = project.as_user("ada", &["do", "memory.update", &shared]);
    assert_eq!(output.code, Some(0), "{output:?}");
    assert_eq!(get(&mut bob, "trap", &id)["visibility"], "shared");
    project.ok(&["trail", "verify", "--signatures"]);
}

/// A host that says with each request who asks.
struct Switching(Host);

impl Switching {
    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "callers write it down where they ask")]
    fn done(&mut self, who: &str, tool: &str, args: Value) -> Value {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": { "name": who, "version": "1" },
        });
        let params = json!({ "_meta": meta, "name": tool, "arguments": args });
        let answer = self.0.ask("tools/call", params)["result"].clone();
        assert_eq!(answer["isError"], false, "{who} {tool}: {answer}");
        answer["structuredContent"].clone()
    }

    /// Whether a viewer sees the zebra, for each way to ask.
    fn seen(&mut self, who: &str) -> Vec<bool> {
        let mut says = |tool: &str, args: Value| {
            self.done(who, tool, args).to_string().contains("the zebra lies")
        };
        vec![
            says("bclaw_context", json!({ "kind": "memory" })),
            says("bclaw_context", json!({ "kind": "memory", "query": "zebra" })),
            says("bclaw_context", json!({ "kind": "memory", "path": "zoo/a.rs" })),
            says("bclaw_context", json!({ "kind": "memory", "query": "lies", "matching": true })),
            says("bclaw_context", json!({ "kind": "delta", "since": 0 })),
            says("bclaw_find", json!({ "entity": "trap" })),
            says("bclaw_work", json!({ "intent": "consult", "task": "zebra" })),
        ]
    }
}

/// A server leaks nothing that it keeps between calls to the next caller.
#[test]
fn one_server_shows_each_viewer_what_is_theirs() {
    let project = Sandbox::new();
    let mut host = Switching(Host::silent(&project, &["--dialect", "memory"]));
    let own =
        json!({ "text": "the zebra lies", "visibility": "private", "related_paths": ["zoo"] });
    let made = host.done("ann", "bclaw_create", json!({ "entity": "trap", "data": own }));
    let other = json!({ "text": "the lion sleeps", "related_paths": ["zoo"] });
    host.done("ben", "bclaw_create", json!({ "entity": "trap", "data": other }));
    for round in 0..3 {
        assert_eq!(host.seen("ann"), [true; 7], "round {round}");
        assert_eq!(host.seen("ben"), [false; 7], "round {round}");
    }
    let counted = |host: &mut Switching, who: &str| {
        let summary = host.done(who, "bclaw_context", json!({ "kind": "board_summary" }));
        let found = host.done(who, "bclaw_find", json!({ "entity": "trap" }));
        (summary["counts"]["open_traps"].clone(), found["total"].clone())
    };
    assert_eq!(counted(&mut host, "ann"), (json!(2), json!(2)));
    assert_eq!(counted(&mut host, "ben"), (json!(1), json!(1)));
    let seen =
        |word: &str| json!({ "entity": "trap", "id": made["id"], "patch": { "visibility": word } });
    host.done("ann", "bclaw_update", seen("shared"));
    assert_eq!(host.seen("ben"), [true; 7], "it was shown");
    host.done("ann", "bclaw_update", seen("private"));
    assert_eq!(host.seen("ben"), [false; 7], "and hidden again");
    assert_eq!(host.seen("ann"), [true; 7]);
    let mut alone = agent(&project, "carol");
    assert_eq!(find(&mut alone, "trap", json!({})), ["trp#2"]);
}

/// A name alone does not show what is private to it: whoever reads as an agent holds its key.
#[test]
fn nobody_reads_as_an_agent_without_its_key() {
    let project = Sandbox::new();
    let mut alice = agent(&project, "alice");
    let id =
        create(&mut alice, "trap", json!({ "text": "the zebra lies", "visibility": "private" }));
    alice.end();
    let ask = ["ask", "zebra", "--as", "alice"];
    let before = project.entries().len();
    assert!(project.ok(&ask).out.contains("lies"));
    assert_eq!(project.entries().len(), before, "reading writes nothing");
    std::fs::rename(project.state().join("keys/agent-alice.key"), project.path().join("key"))
        .unwrap();
    let failures = || {
        let kinds = project.kinds();
        kinds.iter().filter(|kind| *kind == "authentication_failed").count()
    };
    let find = ["memory", "find", "trap", "--as", "alice"];
    let get = ["memory", "get", &id, "--as", "alice"];
    let context = ["memory", "context", "memory", "--as", "alice"];
    for args in [&ask[..], &find, &get, &context] {
        let before = failures();
        let ran = project.run(&[args, &["--json"]].concat());
        assert_eq!((ran.code, &ran.error()["rule"]), (Some(1), &json!("A-ID-01")), "{ran:?}");
        assert!(!ran.out.contains("lies"), "{ran:?}");
        assert_eq!(failures(), before + 1, "{args:?}");
    }
    let mut host = agent(&project, "alice");
    for (tool, args) in [
        ("bclaw_find", json!({ "entity": "trap" })),
        ("bclaw_get", json!({ "entity": "trap", "id": id })),
        ("bclaw_context", json!({ "kind": "memory" })),
    ] {
        let before = failures();
        let (output, error) = host.failed(tool, args);
        assert_eq!(error["rule"], "A-ID-01", "{error}");
        assert!(!output.to_string().contains("lies"), "{output}");
        assert!(failures() > before, "{tool}");
    }
}
