//! One inbox per agent: whatever is addressed to it, from every door, taken with one verb.

use crate::mcp::Host;
use crate::native::{answer_of, native};
use crate::support::Sandbox;
use serde_json::{Value, json};

/// The kinds of letters that wait for an agent.
fn waiting(project: &Sandbox, name: &str) -> Vec<String> {
    let found = project.json(&["inbox", "--as", name]);
    let kind = |letter: &Value| match &letter["kind"] {
        Value::String(kind) => kind.clone(),
        other => other["envelope"].as_str().unwrap().to_owned(),
    };
    let mut kinds: Vec<String> = found["letters"].as_array().unwrap().iter().map(kind).collect();
    kinds.sort();
    kinds
}

#[test]
fn an_agent_sends_to_an_agent_without_a_run() {
    let project = Sandbox::new();
    project.claim("bob", "docs");
    let ran = project.ok(&["send", "agent:bob", "The parser is ready.", "--as", "alice"]);
    assert!(ran.out.contains("msg#1 is in the inbox of bob"), "{ran:?}");
    let before = project.entries().len();
    let ran = project.ok(&["inbox", "--as", "bob"]);
    assert!(ran.out.contains("message    from alice  msg#1"), "{ran:?}");
    assert_eq!(project.entries().len(), before, "reading writes nothing");
    let status = project.ok(&["status", "--as", "bob"]).out;
    assert!(status.contains("1 message waits"), "{status}");
    let ran = project.ok(&["inbox", "--take", "--as", "bob"]);
    assert!(ran.out.contains("The parser is ready."), "{ran:?}");
    assert_eq!(project.ok(&["inbox", "--as", "bob"]).out, "the inbox is empty\n");
    assert!(project.ok(&["inbox", "--all", "--as", "bob"]).out.contains("The parser is ready."));
    // An answer stays in the thread.
    project.ok(&["send", "agent:alice", "Thanks.", "--reply-to", "msg#1", "--as", "bob"]);
    let found = project.json(&["inbox", "--as", "alice"]);
    assert_eq!(found["letters"][0]["thread"], "msg_00000001", "{found}");
    project.ok(&["trail", "verify"]);
}

#[test]
fn whoever_is_not_there_is_named_with_the_way_out() {
    let project = Sandbox::new();
    let ran = project.run(&["send", "agent:nobody", "Hello", "--as", "alice"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("there is no agent nobody") && ran.err.contains("althing agents"));
    let ran = project.run(&["send", "user:ada", "Hello", "--as", "alice"]);
    assert!(ran.err.contains("there is no person ada") && ran.err.contains("althing login"));
    project.login("ada");
    project.ok(&["send", "user:ada", "May I merge?", "--as", "alice"]);
    let ran = project.run_as("ada", &["inbox"]);
    assert!(ran.out.contains("message    from alice"), "{ran:?}");
}

/// A message, a handoff, a conflict, an envelope and an injection lie in one inbox, and are taken
/// from there with one verb.
#[test]
fn letters_of_every_door_lie_in_one_inbox() {
    let project = Sandbox::new();
    project.login("ada");
    project.ok(&["agents", "register", "--as", "bob"]);
    project.as_user("ada", &["coordinator", "start", "--agent", "lead"]);
    let create =
        ["workspace", "create", "--agent", "bob", "--directive", "Write the docs.", "--as", "lead"];
    project.ok(&create);
    project.as_user("ada", &["inject", "agent:bob", "Mind the style guide."]);
    let mut memory = crate::memory::agent(&project, "carol");
    let message = json!({ "text": "See you at noon", "to": "bob" });
    memory.done("bclaw_create", json!({ "entity": "message", "data": message }));
    let handoff = json!({ "text": "The guide is half done", "to": "bob" });
    memory.done("bclaw_create", json!({ "entity": "handoff", "data": handoff }));
    project.ok(&["send", "agent:bob", "The parser is ready.", "--as", "alice"]);
    let mut frugal = Host::named(&project, "cursor");
    frugal.done(
        "raise_conflict_pr",
        json!({ "id": "c1", "title": "Two parsers", "surfaces": ["src"], "displaced_haid": "bob" }),
    );
    let kinds = waiting(&project, "bob");
    let messages = kinds.iter().filter(|kind| *kind == "message").count();
    assert_eq!(messages, 3, "carol's, alice's and the conflict: {kinds:?}");
    assert!(kinds.contains(&"handoff".to_owned()), "{kinds:?}");
    assert!(kinds.contains(&"directive".to_owned()), "{kinds:?}");
    assert!(kinds.contains(&"feedback".to_owned()), "injected: {kinds:?}");
    assert_eq!(kinds.len(), 6, "{kinds:?}");
    let mut host = native(&project, "bob");
    let (text, taken) = answer_of(&mut host, "inbox", json!({}));
    assert_eq!(taken["letters"].as_array().unwrap().len(), 6, "{taken}");
    for part in ["Write the docs.", "Mind the style", "noon", "half done", "parser", "Conflict c1"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let (text, _) = answer_of(&mut host, "inbox", json!({}));
    assert_eq!(text, "the inbox is empty");
    assert_eq!(project.ok(&["inbox", "--as", "bob"]).out, "the inbox is empty\n");
    // The doors it came through see that it was taken.
    let seen = memory.done("bclaw_get", json!({ "entity": "message", "id": "msg#1" }));
    assert_eq!(seen["item"]["status"], "acknowledged", "{seen}");
    let seen = memory.done("bclaw_get", json!({ "entity": "handoff", "id": "hnd#1" }));
    assert_eq!(seen["item"]["status"], "accepted", "{seen}");
    project.ok(&["trail", "verify"]);
}

/// A host is told of mail with its next answer, in every dialect, in at most three lines, once.
#[test]
fn a_host_is_told_of_mail_once_with_its_next_answer() {
    let project = Sandbox::new();
    for (dialect, tool) in [
        ("native", "status"),
        ("frugal", "read_claims"),
        ("memory", "bclaw_find"),
        ("wacp", "wacp_task_list"),
    ] {
        let mut host = Host::silent(&project, &["--dialect", dialect, "--as", dialect]);
        host.introduce(dialect, "2025-11-25");
        project.claim(dialect, dialect);
        let arguments = if tool == "bclaw_find" { json!({ "entity": "plan" }) } else { json!({}) };
        let answer = host.call(tool, arguments.clone());
        assert!(answer["structuredContent"].get("mail").is_none(), "{answer}");
        let to = format!("agent:{dialect}");
        for text in ["One", "Two", "Three", "Four"] {
            project.ok(&["send", &to, text, "--as", "alice"]);
        }
        let before = project.entries().len();
        let answer = host.call(tool, arguments.clone());
        let mail = answer["structuredContent"]["mail"].as_array().unwrap().clone();
        assert_eq!(mail.len(), 3, "{answer}");
        assert!(mail[0].as_str().unwrap().contains("from alice: Four"), "{answer}");
        assert_eq!(mail[2], "and 2 more", "{answer}");
        let text = answer["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("from alice: Four"), "{text}");
        let answer = host.call(tool, arguments.clone());
        assert!(answer["structuredContent"].get("mail").is_none(), "once: {answer}");
        project.ok(&["send", &to, "Five", "--as", "alice"]);
        // An answer that is a failure tells of it too.
        let answer = host.call("no_such_tool", json!({}));
        assert_eq!(answer["isError"], true, "{answer}");
        let mail = answer["structuredContent"]["mail"].as_array().unwrap().clone();
        assert_eq!(mail.len(), 1, "{answer}");
        let sent = project.entries().split_off(before);
        let written = sent.iter().filter(|entry| entry["kind"] == "inbox_taken").count();
        assert_eq!(written, 0, "telling takes nothing");
    }
}

/// A host that was started without a name is found by what it calls itself.
#[test]
fn a_host_is_found_by_its_tool() {
    let project = Sandbox::new();
    let mut host = Host::silent(&project, &["--dialect", "native"]);
    host.introduce("cursor", "2025-11-25");
    answer_of(&mut host, "claim", json!({ "paths": ["src"] }));
    project.ok(&["send", "agent:cursor", "Look at docs.", "--as", "alice"]);
    let (text, _) = answer_of(&mut host, "status", json!({}));
    assert!(text.contains("Mail waits:\nmessage msg#1 from alice: Look at docs."), "{text}");
    let (text, _) = answer_of(&mut host, "inbox", json!({}));
    assert!(text.contains("Look at docs."), "{text}");
    let (text, _) = answer_of(&mut host, "send", json!({ "to": "agent:alice", "text": "Done." }));
    assert!(text.contains("inbox of alice"), "{text}");
    assert!(project.ok(&["inbox", "--take", "--as", "alice"]).out.contains("Done."));
}
