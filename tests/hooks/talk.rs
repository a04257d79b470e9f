//! What agents are told when a session begins, with a prompt, and before they end.

use crate::support::{Ran, Sandbox};
use althing_dialects::frugal::tokens;
use serde_json::{Value, json};
use std::io::Write as _;
use std::process::{Command, Stdio};

/// Runs a command with something on standard input.
pub(super) fn with_input(mut command: Command, input: &[u8]) -> Ran {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A hook that is given paths does not read what is piped in.
    let _ = child.stdin.take().unwrap().write_all(input);
    Ran::of(&child.wait_with_output().unwrap())
}

/// Calls a hook as mia, with settings from the environment.
fn hook(project: &Sandbox, word: &str, agent: &str, more: &Value, set: &[(&str, &str)]) -> Ran {
    let mut payload = json!({ "session_id": "s", "sessionId": "s", "taskId": "s",
        "conversation_id": "s", "cwd": project.path(), "workspaceRoots": [project.path()] });
    payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let mut command = project.command();
    command.args(["hook", word, "--agent", agent]).env("ALTHING_AGENT", "mia");
    command.envs(set.iter().copied());
    with_input(command, payload.to_string().as_bytes())
}

/// The text that reaches the conversation; none if there is none.
#[track_caller]
fn told(agent: &str, ran: &Ran) -> Option<String> {
    assert_eq!(ran.code, Some(0), "{ran:?}");
    if ran.out.is_empty() {
        return None;
    }
    let text = match agent {
        "opencode" | "kilo" | "pi" => return Some(ran.out.trim().to_owned()),
        "copilot" => ran.json()["additionalContext"].clone(),
        "cursor" => ran.json()["additional_context"].clone(),
        "cline" => ran.json()["contextModification"].clone(),
        _ => ran.json()["hookSpecificOutput"]["additionalContext"].clone(),
    };
    Some(text.as_str().unwrap_or_else(|| panic!("{agent}: {ran:?}")).to_owned())
}

/// A project that knows mia and bob.
fn with_two() -> Sandbox {
    let project = Sandbox::new();
    for name in ["mia", "bob"] {
        project.ok(&["agents", "register", "--as", name]);
    }
    project
}

const AGENTS: &[&str] =
    &["claude", "codex", "gemini", "copilot", "qwen", "opencode", "kilo", "cline", "pi", "cursor"];

#[test]
fn every_agent_is_told_its_name_and_its_messages_when_a_session_begins() {
    let project = with_two();
    for agent in AGENTS {
        let text = format!("the lexer is ready for {agent}");
        project.ok(&["send", "agent:mia", &text, "--as", "bob"]);
        let said = told(agent, &hook(&project, "session", agent, &json!({}), &[])).unwrap();
        assert!(said.contains("You are mia"), "{agent}: {said}");
        assert!(said.contains(&text) && said.contains("from bob"), "{agent}: {said}");
        assert!(tokens::count(&said) <= 400, "{agent}: {said}");
    }
}

#[test]
fn a_message_is_told_once_and_nothing_is_recorded_without_news() {
    let project = with_two();
    project.ok(&["send", "agent:mia", "the lexer is ready", "--as", "bob"]);
    let prompt = || told("claude", &hook(&project, "prompt", "claude", &json!({}), &[]));
    assert!(prompt().unwrap().contains("the lexer is ready"));
    let before = project.entries().len();
    assert_eq!(prompt(), None);
    assert_eq!(project.entries().len(), before);
    let waiting = project.json(&["inbox", "--as", "mia"]);
    assert!(!waiting.to_string().contains("the lexer is ready"), "{waiting}");
}

#[test]
fn what_is_told_never_has_more_tokens_than_the_cap() {
    let project = with_two();
    let long = "a long story about the parser and its many tokens ".repeat(20);
    for number in 0..12 {
        project.ok(&["send", "agent:mia", &format!("{number}: {long}"), "--as", "bob"]);
    }
    project.ok(&["send", "agent:mia", "short", "--as", "bob"]);
    for cap in ["0", "1", "40", "120", "400"] {
        for word in ["session", "prompt"] {
            let ran = hook(&project, word, "claude", &json!({}), &[("ALTHING_HOOKS_TOKENS", cap)]);
            let said = told("claude", &ran).unwrap_or_default();
            let count = tokens::count(&said);
            assert!(count <= cap.parse().unwrap(), "{word} {cap}: {count} {said}");
        }
    }
    // What did not fit waits in the inbox.
    let waiting = project.json(&["inbox", "--as", "mia"]).to_string();
    assert!(waiting.contains("11: a long story"), "{waiting}");
    let ran = hook(&project, "prompt", "claude", &json!({}), &[("ALTHING_HOOKS_TOKENS", "99999")]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), ""), "a wrong setting stops no agent");
    assert!(ran.err.contains("0 to 10000"), "{ran:?}");
}

#[test]
fn what_others_decided_since_is_news_once() {
    let project = with_two();
    let prompt = || told("codex", &hook(&project, "prompt", "codex", &json!({}), &[]));
    hook(&project, "session", "codex", &json!({}), &[]);
    project.ok(&["remember", "The lexer never allocates.", "--as", "bob"]);
    project.ok(&["remember", "My own rule.", "--as", "mia"]);
    let said = prompt().unwrap();
    assert!(said.contains("The lexer never allocates.") && said.contains("bob"), "{said}");
    assert!(!said.contains("My own rule"), "{said}");
    assert_eq!(prompt(), None);
}

#[test]
fn an_agent_with_a_task_in_hand_is_kept_going_once() {
    let project = with_two();
    project.ok(&["plan", "Write the lexer @src"]);
    project.ok(&["next", "--as", "mia"]);
    let stop = |more: Value, set: &[(&str, &str)]| hook(&project, "stop", "claude", &more, set);
    let on = [("ALTHING_HOOKS_STOP", "on")];
    // A person's own session ends when it wants to.
    assert_eq!(stop(json!({}), &[]).out, "");
    let kept = stop(json!({ "stop_hook_active": true }), &on);
    assert_eq!(kept.out, "", "it goes on because of us already");
    let answer = stop(json!({}), &on).json();
    assert_eq!(answer["decision"], "block");
    let reason = answer["reason"].as_str().unwrap();
    assert!(reason.contains("althing done --as mia"), "{reason}");
    assert_eq!(stop(json!({}), &on).out, "", "the same reason is given once");
    project.ok(&["done", "--as", "mia"]);
    assert_eq!(stop(json!({ "session_id": "other" }), &on).out, "", "nothing is left to do");
}

#[test]
fn a_folder_without_a_project_has_nothing_to_tell() {
    let folder = Sandbox::without_project();
    for word in ["session", "prompt", "stop", "edit"] {
        let ran = hook(&folder, word, "claude", &json!({}), &[]);
        assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (Some(0), "", ""), "{word}");
    }
    assert!(!folder.state().exists());
}
