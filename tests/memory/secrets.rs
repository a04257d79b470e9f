//! Secrets, wherever somebody might put one: in a name, a tag, a path, a note, a claim, an argument that
//! nobody knows.

use super::{agent, create, refused, transition};
use crate::mcp::Host;
use crate::support::Sandbox;
use serde_json::{Value, json};

const KEY: &str = "AKIAIOSFODNN7EXAMPLE";
const MASKED: &str = "[AWS access key, 20 characters]";

/// No part of the key stands in a text, however short.
#[track_caller]
fn tells_nothing(text: &str) {
    for part in [KEY, "AKIA", "KIAI", "IOSF", "MPLE"] {
        assert!(!text.contains(part), "{part} in {text}");
    }
}

#[track_caller]
fn is_refused(host: &mut Host, tool: &str, args: Value) {
    let error = refused(host, tool, args, "validation_error", &["secret"]);
    tells_nothing(&error.to_string());
}

#[test]
fn a_refusal_tells_what_was_found_and_nothing_of_it() {
    let project = Sandbox::new();
    let mut host = agent(&project, "alice");
    let trap = |text: &str| json!({ "entity": "trap", "data": { "text": text } });
    let error = refused(&mut host, "bclaw_create", trap(KEY), "validation_error", &[MASKED]);
    assert_eq!(error["details"]["findings"][0]["excerpt"], MASKED);
    tells_nothing(&error.to_string());
    for text in [
        "the password is Tr0ub4dor&3",
        "{\"password\":\"Xy7kq2\"}",
        "deploy --password S3cure99",
        "curl -u alice:open-sesame https://api",
        "Authorization: Basic YWxpY2U6c2VzYW1l",
        "bot 110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsawx",
        "AKIA\u{200b}IOSF\u{ad}ODNN7EXAMPLE",
    ] {
        is_refused(&mut host, "bclaw_create", trap(text));
    }
    for text in [
        "the password is hashed with argon2",
        "token budget is 4000",
        "key lease_06abcdefghjkmnpqrstvwxyz01 of epoch 42, commit \
         4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    ] {
        host.done("bclaw_create", trap(text));
    }
    assert!(project.entries().iter().all(|entry| !entry.to_string().contains("AKIA")));
}

/// Everything that is stored is looked through: names of fields with their values, tags, paths,
/// agents, reasons, notes, messages, artifacts.
#[test]
fn nothing_that_is_stored_goes_unread() {
    let project = Sandbox::new();
    let mut host = agent(&project, "alice");
    host.done("bclaw_work", json!({ "intent": "consult" }));
    let work = json!({ "text": "t", "agent": "alice" });
    let id = create(&mut host, "assignment", work);
    transition(&mut host, "assignment", &id, "accepted");
    transition(&mut host, "assignment", &id, "started");
    let claim = create(&mut host, "claim", json!({ "scope": "lib" }));
    let create =
        |entity: &str, data: Value| ("bclaw_create", json!({ "entity": entity, "data": data }));
    let progress = |rest: Value| {
        let mut args = json!({ "entity": "assignment", "id": id, "to": "progress" });
        args.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        ("bclaw_transition", args)
    };
    let words = format!("because of {KEY}");
    for (tool, args) in [
        create("trap", json!({ "text": "t", "tags": ["ok", KEY] })),
        create("trap", json!({ "text": "t", "tags": format!("ok,{KEY}") })),
        create("trap", json!({ "text": "t", "related_paths": [format!("src/{KEY}/a.rs")] })),
        create("plan", json!({ "text": "t", "steps": [{ "text": words }] })),
        create("plan", json!({ "text": "t", "assignee": KEY })),
        create("message", json!({ "text": words, "to": "alice" })),
        create("handoff", json!({ "text": "t", "contract": { "pre_conditions": [words] } })),
        create("claim", json!({ "scope": "src", "text": words })),
        progress(json!({ "reason": words })),
        (
            "bclaw_transition",
            json!({ "entity": "claim", "id": claim, "to": "released", "reason": words }),
        ),
        progress(json!({ "artifacts": [{ "type": "note", "ref": "x", "description": words }] })),
        (
            "bclaw_coordinate",
            json!({ "intent": "consult", "task": words, "targetAgents": ["alice"] }),
        ),
        (
            "bclaw_loop",
            json!({ "intent": "open", "kind": "review", "task": words, "allow_orphan": true }),
        ),
    ] {
        is_refused(&mut host, tool, args);
    }
    // Nobody is called so: that is found first, and told without the name.
    for args in [
        json!({ "intent": "consult", "task": "t", "targetAgents": [KEY] }),
        json!({ "intent": "assign", "task": "t", "scopes": { KEY: "src" } }),
    ] {
        let answer = host.call("bclaw_coordinate", args);
        assert_eq!(answer["isError"], true, "{answer}");
        tells_nothing(&answer.to_string());
    }
    // A field that nobody knows is refused before anything is read from it, and not repeated.
    let (tool, args) =
        progress(json!({ "artifacts": [{ "type": "note", "ref": "x", "password": "x7Kq92" }] }));
    let error = refused(&mut host, tool, args, "validation_error", &["'password'"]);
    assert!(!error.to_string().contains("x7Kq92"), "{error}");
    for args in [
        &["claim", "src", "--purpose", &words][..],
        &["claim", "src", "--task", &words],
        &["claim", &format!("src/{KEY}")],
        &["do", "lease.open", &json!({ "surfaces": ["src"], "purpose": words }).to_string()],
        &["do", "work.begin", &json!({ "claim": { "surfaces": [KEY] } }).to_string()],
        &["do", "memory.progress", &json!({ "id": id, "text": words }).to_string()],
        &["remember", &words],
        &["memory", "transition", &id, "blocked", "--reason", &words],
    ] {
        let ran = project.run(&[args, &["--as", "alice", "--json"]].concat());
        assert_eq!(ran.code, Some(1), "{args:?}: {ran:?}");
        tells_nothing(&format!("{}{}", ran.out, ran.err));
        assert!(ran.out.contains("secret"), "{args:?}: {ran:?}");
    }
    // Arguments that cannot be read are never stored, and not repeated either.
    for args in
        [json!({ "kind": "trap", "text": "t", KEY: 1 }), json!({ "kind": KEY, "text": "t" })]
    {
        let args = args.to_string();
        let ran = project.run(&["do", "memory.create", &args, "--as", "alice", "--json"]);
        assert_eq!(ran.code, Some(2), "{args:?}: {ran:?}");
        tells_nothing(&format!("{}{}", ran.out, ran.err));
        assert!(ran.out.contains(MASKED), "{args:?}: {ran:?}");
    }
    // Who writes is written down as well.
    let mut named = agent(&project, KEY);
    is_refused(&mut named, "bclaw_work", json!({ "intent": "consult" }));
    is_refused(&mut named, "bclaw_create", json!({ "entity": "trap", "data": { "text": "t" } }));
    for args in [&["claim", "src"][..], &["do", "memory.create", r#"{"kind":"trap","text":"t"}"#]] {
        let ran = project.run(&[args, &["--as", KEY, "--json"]].concat());
        assert_eq!(ran.code, Some(1), "{args:?}: {ran:?}");
        tells_nothing(&format!("{}{}", ran.out, ran.err));
    }
    assert!(project.entries().iter().all(|entry| !entry.to_string().contains(KEY)));
    project.write("althing.toml", "[memory]\nsecrets = \"warn\"\n");
    let ran = project.ok(&["claim", "docs", "--purpose", &words, "--as", "alice"]);
    assert!(ran.err.contains(MASKED) && !ran.err.contains(KEY), "{ran:?}");
}

/// Errors about unknown names repeat no secret that was given by mistake, in any mode and by any verb.
#[test]
fn unknown_names_are_repeated_with_care() {
    let project = Sandbox::new();
    project.write("althing.toml", "[memory]\nsecrets = \"warn\"\n");
    let mut host = agent(&project, "alice");
    let long = "x".repeat(300);
    for odd in [KEY, "q8Zr2Xw5Tn7Lk4Vb", &long] {
        for (tool, args) in [
            ("bclaw_find", json!({ "entity": "plan", odd: 1 })),
            ("bclaw_find", json!({ "entity": "plan", "filter": { odd: 1 } })),
            ("bclaw_get", json!({ "entity": "plan", "id": "pln#1", odd: 1 })),
            ("bclaw_context", json!({ "kind": "memory", odd: 1 })),
            ("bclaw_context", json!({ "kind": odd })),
            ("bclaw_work", json!({ "intent": "consult", odd: 1 })),
            ("bclaw_create", json!({ "entity": "plan", "data": { "text": "t", odd: 1 } })),
            ("bclaw_create", json!({ "entity": "plan", "data": { "text": "t", "priority": odd } })),
            ("bclaw_update", json!({ "entity": "plan", "id": "pln#1", "patch": { odd: 1 } })),
        ] {
            let (text, error) = host.failed(tool, args);
            assert_eq!(error["kind"], "validation_error", "{error}");
            for shown in [text.to_string(), error.to_string()] {
                assert!(!shown.contains(odd), "{tool}: {shown}");
                assert!(shown.contains("characters]"), "{tool}: {shown}");
            }
        }
    }
    let args = json!({ "entity": "plan", "filer": {} });
    refused(&mut host, "bclaw_find", args, "validation_error", &["'filer'"]);
}
