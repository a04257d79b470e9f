//! Payloads, settings and stores that are broken: an agent is never stopped without a reason.

use super::{CALLS, refusal};
use crate::support::{Ran, Sandbox};
use serde_json::json;

const PAYLOADS: &[&[u8]] = &[
    b"{",
    b"nonsense",
    b"\xff\xfe\x00",
    b"null",
    b"[]",
    b"17",
    b"\"text\"",
    b"{}",
    b"",
    b"{\"tool_name\":7}",
    b"{\"tool_name\":\"Write\"}",
    b"{\"tool_name\":\"Write\",\"tool_input\":null}",
    b"{\"tool_name\":\"Write\",\"tool_input\":{\"file_path\":[1]}}",
    b"{\"tool_name\":\"Write\",\"tool_input\":{\"file_path\":\"\"}}",
    b"{\"tool_name\":\"Write\",\"tool_input\":{\"file_path\":\"a\\u0000b\"}}",
    b"{\"tool_name\":\"Write\",\"cwd\":\"\",\"tool_input\":{\"file_path\":\"../../../..\"}}",
    b"{\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"cat <<E > \"}}",
    b"{\"toolName\":\"edit\",\"toolArgs\":\"{\"}",
    b"{\"tool_call\":{\"name\":\"editor\"}}",
];

const AGENTS: &[&str] = &["claude", "codex", "gemini", "copilot", "opencode", "cline", "cursor"];

#[test]
fn a_payload_that_cannot_be_read_stops_no_agent_and_is_told_on_standard_error() {
    let project = Sandbox::new();
    project.claim("bob", "held.txt");
    let deep = [b"[".repeat(100_000), b"]".repeat(100_000)].concat();
    for agent in AGENTS {
        for payload in PAYLOADS.iter().copied().chain([deep.as_slice()]) {
            for word in ["edit", "session", "prompt", "stop"] {
                let args = ["hook", word, "--agent", agent, "--as", "mia"];
                let ran = project.run_with(&args, payload);
                let shown = String::from_utf8_lossy(&payload[..payload.len().min(60)]).into_owned();
                assert_eq!(ran.code, Some(0), "{agent} {word} {shown}: {ran:?}");
                assert!(!ran.err.contains("panicked"), "{agent} {word} {shown}: {ran:?}");
                let is_json = payload.is_empty()
                    || serde_json::from_slice::<serde_json::Value>(payload).is_ok();
                let is_told =
                    ran.err.contains("went on unchecked") && ran.err.contains("is not the JSON");
                assert!(is_json || is_told, "{agent} {word} {shown}: {ran:?}");
            }
        }
    }
    project.ok(&["trail", "verify"]);
}

#[test]
fn a_closed_project_refuses_what_cannot_be_looked_at() {
    let project = Sandbox::new();
    project.write("althing.toml", "[hooks]\nbroken = \"closed\"\n");
    let args = ["hook", "edit", "--agent", "claude", "--as", "mia"];
    let reason = refusal("claude", &project.run_with(&args, b"nonsense")).unwrap();
    assert!(reason.contains("is not the JSON") && reason.contains("althing doctor"), "{reason}");
    let args = ["hook", "prompt", "--agent", "claude", "--as", "mia"];
    assert_eq!(project.run_with(&args, b"nonsense").out, "", "only edits are refused");
}

/// An edit of a file that is held, in a project whose store is garbage.
fn with_garbage(settings: &str) -> (Sandbox, Ran) {
    let project = Sandbox::new();
    project.claim("bob", "held.txt");
    project.write("althing.toml", settings);
    for entry in std::fs::read_dir(project.state()).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap().to_string_lossy().starts_with("trail.db") && path.is_file() {
            std::fs::write(
                path,
                "this is no database, and long enough to be read as one".repeat(99),
            )
            .unwrap();
        }
    }
    let ran = CALLS[0].edit(&project, "mia", "held.txt");
    (project, ran)
}

#[test]
fn a_broken_store_is_open_by_default_and_closed_by_setting() {
    let (project, ran) = with_garbage("");
    assert_eq!(refusal("claude", &ran), None);
    assert!(ran.err.contains("went on unchecked"), "{ran:?}");
    let path = project.run(&["hook", "edit", "--path", "held.txt", "--as", "mia"]);
    assert_eq!(path.code, Some(0), "{path:?}");
    let (project, ran) = with_garbage("[hooks]\nbroken = \"closed\"\n");
    assert!(refusal("claude", &ran).unwrap().contains("asks to be refused"), "{ran:?}");
    let path = project.run(&["hook", "edit", "--path", "held.txt", "--as", "mia"]);
    assert_eq!(path.code, Some(4), "{path:?}");
}

#[test]
fn a_call_that_is_written_wrongly_never_looks_like_a_refusal() {
    let project = Sandbox::new();
    for args in [
        &["hook"][..],
        &["hook", "edit"],
        &["hook", "edit", "--agent", "nobody"],
        &["hook", "edit", "--agnt", "claude"],
        &["hook", "frob", "--agent", "claude"],
        &["hook", "prompt"],
    ] {
        let ran = project.run_with(args, b"{}");
        assert_eq!((ran.code, ran.out.as_str()), (Some(0), ""), "{args:?}: {ran:?}");
        assert!(!ran.err.is_empty(), "{args:?}");
    }
    // A file of settings with a mistake is told, and stops nobody.
    project.write("althing.toml", "[hooks]\nbroke = \"closed\"\n");
    let payload =
        json!({ "cwd": project.path(), "tool_name": "Write", "tool_input": { "file_path": "a" } });
    let args = ["hook", "edit", "--agent", "claude", "--as", "mia"];
    let ran = project.run_with(&args, payload.to_string().as_bytes());
    assert_eq!(refusal("claude", &ran), None);
    assert!(ran.err.contains("althing.toml"), "{ran:?}");
}
