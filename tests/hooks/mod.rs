//! The hooks of agents, editors and git, and the files they are called from.

mod broken;
mod commits;
mod edits;
#[cfg(target_os = "linux")]
mod identity;
mod settings;
mod talk;
mod wiring;

use crate::support::{Ran, Sandbox};
use serde_json::{Value, json};
use std::path::Path;

/// One way in which an agent writes a file: its payload, with the tool's arguments in its own shape.
struct Call {
    agent: &'static str,
    tool: &'static str,
    /// The arguments of the tool for a file.
    input: fn(&str) -> Value,
}

fn patch(file: &str) -> String {
    format!("*** Begin Patch\n*** Update File: {file}\n@@\n-old\n+new\n*** End Patch\n")
}

const fn call(agent: &'static str, tool: &'static str, input: fn(&str) -> Value) -> Call {
    Call { agent, tool, input }
}

/// Every agent with its tools that write.
const CALLS: &[Call] = &[
    call("claude", "Write", |file| json!({ "file_path": file, "content": "x" })),
    call(
        "claude",
        "Edit",
        |file| json!({ "file_path": file, "old_string": "a", "new_string": "b" }),
    ),
    call("claude", "NotebookEdit", |file| json!({ "notebook_path": file })),
    call("claude", "Bash", |file| json!({ "command": format!("echo x >> {file}") })),
    call("codex", "apply_patch", |file| json!({ "command": patch(file) })),
    call(
        "codex",
        "Bash",
        |file| json!({ "command": format!("apply_patch <<'E'\n{}E", patch(file)) }),
    ),
    call("codex", "Bash", |file| json!({ "command": format!("sed -i s/a/b/ {file}") })),
    call("gemini", "write_file", |file| json!({ "file_path": file, "content": "x" })),
    call("gemini", "replace", |file| json!({ "file_path": file })),
    call("gemini", "run_shell_command", |file| json!({ "command": format!("rm -f {file}") })),
    call("copilot", "edit", |file| json!({ "path": file, "old_str": "a", "new_str": "b" })),
    call("copilot", "create", |file| json!({ "path": file, "file_text": "x" })),
    call("copilot", "apply_patch", |file| json!(patch(file))),
    call("copilot", "bash", |file| json!({ "command": format!("tee {file} < other") })),
    call("qwen", "edit", |file| json!({ "file_path": file })),
    call("qwen", "run_shell_command", |file| json!({ "command": format!("mv {file} /tmp/x") })),
    call("opencode", "edit", |file| json!({ "filePath": file })),
    call("opencode", "apply_patch", |file| json!({ "patchText": patch(file) })),
    call("opencode", "bash", |file| json!({ "command": format!("cp other {file}") })),
    call("kilo", "write", |file| json!({ "filePath": file, "content": "x" })),
    call("cline", "editor", |file| json!({ "path": file, "old_text": "a", "new_text": "b" })),
    call("cline", "run_commands", |file| json!({ "commands": ["ls", format!("echo > {file}")] })),
    call("pi", "edit", |file| json!({ "path": file, "edits": [] })),
    call("pi", "bash", |file| json!({ "command": format!("git checkout -- {file}") })),
    call("cursor", "Write", |file| json!({ "file_path": file })),
    call("cursor", "Shell", |file| json!({ "command": format!("echo x > {file}") })),
];

impl Call {
    /// What the agent sends.
    fn payload(&self, folder: &Path, session: &str, file: &str) -> Value {
        let (folder, input) = (folder.to_str().unwrap(), (self.input)(file));
        match self.agent {
            "copilot" => json!({ "sessionId": session, "cwd": folder, "toolName": self.tool,
                "toolArgs": input }),
            "cline" => json!({ "taskId": session, "workspaceRoots": [folder],
                "tool_call": { "id": "1", "name": self.tool, "input": input } }),
            "cursor" => json!({ "conversation_id": session, "workspace_roots": [folder],
                "hook_event_name": "preToolUse", "tool_name": self.tool, "tool_input": input }),
            "gemini" => json!({ "session_id": session, "cwd": folder,
                "hook_event_name": "BeforeTool", "tool_name": self.tool, "tool_input": input }),
            _ => json!({ "session_id": session, "cwd": folder, "hook_event_name": "PreToolUse",
                "tool_name": self.tool, "tool_input": input }),
        }
    }

    /// Calls the hook before an edit, as an agent of this name.
    fn edit(&self, project: &Sandbox, who: &str, file: &str) -> Ran {
        let payload = self.payload(project.path(), "s", file).to_string();
        let args = ["hook", "edit", "--agent", self.agent, "--as", who];
        project.run_with(&args, payload.as_bytes())
    }
}

/// The reason that an agent reads in a refusal; none if it may go on.
#[track_caller]
fn refusal(agent: &str, ran: &Ran) -> Option<String> {
    if matches!(agent, "opencode" | "kilo" | "pi") {
        assert!(matches!(ran.code, Some(0 | 2)), "{ran:?}");
        return (ran.code == Some(2)).then(|| ran.err.trim().to_owned());
    }
    assert_eq!(ran.code, Some(0), "{ran:?}");
    if ran.out.is_empty() {
        return None;
    }
    let answer = ran.json();
    let reason = match agent {
        "claude" | "codex" | "qwen" => {
            let own = &answer["hookSpecificOutput"];
            assert_eq!(own["hookEventName"], "PreToolUse", "{answer}");
            assert_eq!(own["permissionDecision"], "deny", "{answer}");
            &own["permissionDecisionReason"]
        }
        "gemini" => {
            assert_eq!(answer["decision"], "deny", "{answer}");
            &answer["reason"]
        }
        "copilot" => {
            assert_eq!(answer["permissionDecision"], "deny", "{answer}");
            &answer["permissionDecisionReason"]
        }
        "cursor" => {
            assert_eq!(answer["permission"], "deny", "{answer}");
            &answer["agent_message"]
        }
        "cline" => {
            assert_eq!(answer["cancel"], false, "it would end the run: {answer}");
            assert!(answer["overrideInput"].is_object(), "{answer}");
            &answer["contextModification"]
        }
        other => panic!("{other}"),
    };
    Some(reason.as_str().unwrap().to_owned())
}

/// The claims there are: holder and surfaces.
fn claims(project: &Sandbox) -> Vec<(String, String)> {
    let list = project.json(&["claims"]);
    let claim = |lease: &Value| {
        let surfaces: Vec<&str> =
            lease["surfaces"].as_array().unwrap().iter().map(|own| own.as_str().unwrap()).collect();
        (lease["holder"].as_str().unwrap().to_owned(), surfaces.join(" "))
    };
    list.as_array().unwrap().iter().map(claim).collect()
}

/// Commits everything that is there, without hooks.
fn commit_all(folder: &Path) {
    git(folder, &["add", "-A"]);
    git(folder, &["commit", "--quiet", "--no-verify", "--message", "work"]);
}

/// Runs git as somebody.
#[track_caller]
fn git(folder: &Path, args: &[&str]) -> String {
    let ran = try_git(folder, args, &[]);
    assert_eq!(ran.code, Some(0), "{args:?}: {ran:?}");
    ran.out
}

/// Runs git with the program under test on its search path.
fn try_git(folder: &Path, args: &[&str], variables: &[(&str, &str)]) -> Ran {
    let program = Path::new(crate::support::BINARY).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    let mut command = std::process::Command::new("git");
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if name.starts_with("ALTHING_") || name.starts_with("GIT_") {
            command.env_remove(name);
        }
    }
    let output = command
        .args(["-c", "user.name=ada", "-c", "user.email=ada@example.com"])
        .args(args)
        .current_dir(folder)
        .env("PATH", format!("{}:{path}", program.display()))
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    Ran::of(&output)
}
