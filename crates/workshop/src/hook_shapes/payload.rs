//! The payload of a hook: who calls, from where, and which files are about to be written.

use serde_json::Value;
use std::path::{Path, PathBuf};

use super::{Agent, Reads, Shape, patch, shell};

/// The largest payload that is read, in bytes: more than any agent sends with a file in it.
pub const PAYLOAD_BYTES_MAX: u64 = 64 << 20;

/// A payload that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("the hook's input is not the JSON that {agent} sends: {error}")]
pub struct PayloadError {
    agent: &'static str,
    error: serde_json::Error,
}

/// What a hook was told.
#[derive(Clone, Debug)]
pub struct Payload {
    agent: Agent,
    value: Value,
}

impl Payload {
    /// Reads a payload. An empty one says nothing.
    pub fn read(agent: Agent, bytes: &[u8]) -> Result<Self, PayloadError> {
        let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes).trim_ascii();
        if bytes.is_empty() {
            return Ok(Payload { agent, value: Value::Null });
        }
        let value = serde_json::from_slice(bytes)
            .map_err(|error| PayloadError { agent: agent.shape().title, error })?;
        Ok(Payload { agent, value })
    }

    fn shape(&self) -> &'static Shape {
        self.agent.shape()
    }

    /// The agent that sent it.
    pub fn agent(&self) -> Agent {
        self.agent
    }

    fn text(&self, pointers: &[&str]) -> Option<&str> {
        let found = pointers.iter().filter_map(|at| self.value.pointer(at)?.as_str());
        found.into_iter().find(|text| !text.is_empty())
    }

    /// The id of the session.
    pub fn session(&self) -> Option<&str> {
        self.text(self.shape().session)
    }

    /// The folder that the agent works in.
    pub fn folder(&self) -> Option<PathBuf> {
        self.text(self.shape().folder).map(PathBuf::from)
    }

    /// The event, as the agent names it.
    pub fn event(&self) -> Option<&str> {
        self.text(&["/hook_event_name", "/hookName"])
    }

    /// The tool that is about to run.
    pub fn tool(&self) -> Option<&str> {
        self.text(self.shape().tool)
    }

    /// Whether the agent goes on only because a hook kept it from ending.
    pub fn was_kept_going(&self) -> bool {
        let is_set = |at: &str| self.value.pointer(at).and_then(Value::as_bool).unwrap_or(false);
        let rounds = self.value.pointer("/loop_count").and_then(Value::as_u64).unwrap_or(0);
        is_set("/stop_hook_active") || is_set("/stopHookActive") || rounds > 0
    }

    /// Whether a session ends, where one hook is called for both.
    pub fn is_end(&self) -> bool {
        let end = self.shape().events.end;
        // Copilot names no event, and gives a reason only at the end.
        let is_reasoned = self.event().is_none() && self.end_reason().is_some();
        end.is_some() && (self.event() == end || is_reasoned)
    }

    /// Why a session ends, as the agent says it.
    pub fn end_reason(&self) -> Option<&str> {
        self.text(&["/reason"])
    }

    /// Whether it names a tool that writes files and no file in a form that can be read.
    pub fn hides_its_files(&self) -> bool {
        let row =
            self.tool().and_then(|tool| self.shape().tools.iter().find(|(name, _)| *name == tool));
        let Some((_, Reads::Path(fields))) = row else { return false };
        let input = self.shape().input.iter().find_map(|at| self.value.pointer(at));
        let input = input.map(unpacked).unwrap_or_default();
        written(&input, fields).is_empty()
    }

    /// The files that are about to be written, as far as can be told. Paths are relative to `here`
    /// where the payload names no folder.
    pub fn writes(&self, here: &Path) -> Vec<PathBuf> {
        let Some(tool) = self.tool() else { return Vec::new() };
        let row = self.shape().tools.iter().find(|(name, _)| *name == tool);
        let Some((_, reads)) = row else { return Vec::new() };
        let folder = self.folder().unwrap_or_else(|| here.to_owned());
        let input = self.shape().input.iter().find_map(|at| self.value.pointer(at));
        let input = input.map(unpacked).unwrap_or_default();
        let mut paths = match reads {
            Reads::Path(fields) => written(&input, fields),
            Reads::Patch(fields) => patched(&input, fields),
            Reads::Shell(field) => {
                commands(&input, field).iter().flat_map(|one| shell::writes(one, &folder)).collect()
            }
        };
        for path in &mut paths {
            *path = folder.join(&path);
        }
        paths.sort();
        paths.dedup();
        paths
    }
}

/// The arguments of a tool. Some agents write the object as a text.
fn unpacked(input: &Value) -> Value {
    let inner = input.as_str().filter(|text| text.trim_start().starts_with('{'));
    inner.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_else(|| input.clone())
}

fn written(input: &Value, fields: &[&str]) -> Vec<PathBuf> {
    let one = fields.iter().find_map(|field| input.get(field)?.as_str());
    one.filter(|path| !path.is_empty()).map(PathBuf::from).into_iter().collect()
}

fn patched(input: &Value, fields: &[&str]) -> Vec<PathBuf> {
    let named = fields.iter().find_map(|field| input.get(field)?.as_str());
    let text = named.or(input.as_str()).unwrap_or_default();
    // Models sometimes send a whole file to a tool for patches.
    let plain = ["file_path", "path"].iter().find_map(|field| input.get(field)?.as_str());
    let mut paths = patch::paths(text);
    paths.extend(plain.map(PathBuf::from));
    paths
}

fn commands(input: &Value, field: &str) -> Vec<String> {
    let words = |value: &Value| match value {
        Value::String(text) => text.clone(),
        // A command as a list of words, each of them plain.
        Value::Array(words) => {
            let words = words.iter().filter_map(Value::as_str).map(shell::quoted);
            words.collect::<Vec<String>>().join(" ")
        }
        _ => String::new(),
    };
    match input.get(field) {
        Some(Value::Array(list)) if field == "commands" => list.iter().map(words).collect(),
        Some(one) => vec![words(one)],
        None => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn writes(agent: &str, payload: &Value) -> Vec<String> {
        let agent = Agent::named(agent).unwrap();
        let payload = Payload::read(agent, payload.to_string().as_bytes()).unwrap();
        let found = payload.writes(Path::new("/here"));
        found.into_iter().map(|own| own.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn the_files_of_each_agents_tools_are_found() {
        let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-x\n+y\n*** End Patch\n";
        let both = |tool: &str, input: Value| json!({ "cwd": "/r", "tool_name": tool, "tool_input": input });
        for (agent, payload) in [
            ("claude", both("Write", json!({ "file_path": "/r/a.txt", "content": "c" }))),
            ("claude", both("Edit", json!({ "file_path": "a.txt" }))),
            ("claude", both("Edit", json!({ "path": "/r/a.txt", "old_str": "x" }))),
            ("claude", both("NotebookEdit", json!({ "notebook_path": "/r/a.txt" }))),
            ("claude", both("Bash", json!({ "command": "echo x > a.txt" }))),
            ("codex", both("apply_patch", json!({ "command": patch }))),
            ("codex", both("Bash", json!({ "command": format!("apply_patch <<'E'\n{patch}E\n") }))),
            ("gemini", both("replace", json!({ "file_path": "/r/a.txt" }))),
            ("gemini", both("run_shell_command", json!({ "command": "tee a.txt" }))),
            ("qwen", both("write_file", json!({ "file_path": "/r/a.txt" }))),
            ("opencode", both("edit", json!({ "filePath": "/r/a.txt" }))),
            ("kilo", both("apply_patch", json!({ "patchText": patch }))),
            ("pi", both("write", json!({ "path": "a.txt" }))),
            ("cursor", both("Write", json!({ "file_path": "/r/a.txt" }))),
            (
                "copilot",
                json!({ "cwd": "/r", "toolName": "edit", "toolArgs": { "path": "/r/a.txt" } }),
            ),
            ("copilot", json!({ "cwd": "/r", "toolName": "apply_patch", "toolArgs": patch })),
            (
                "copilot",
                json!({ "cwd": "/r", "toolName": "create", "toolArgs": "{\"path\":\"/r/a.txt\"}" }),
            ),
            (
                "cline",
                json!({ "workspaceRoots": ["/r"],
                    "tool_call": { "name": "editor", "input": { "path": "/r/a.txt" } } }),
            ),
            (
                "cline",
                json!({ "workspaceRoots": ["/r"],
                    "tool_call": { "name": "run_commands", "input": { "commands": ["ls", "rm a.txt"] } } }),
            ),
        ] {
            assert_eq!(writes(agent, &payload), ["/r/a.txt"], "{agent} {payload}");
        }
    }

    #[test]
    fn tools_that_only_read_write_nothing() {
        let read =
            json!({ "cwd": "/r", "tool_name": "Read", "tool_input": { "file_path": "/r/a" } });
        assert!(writes("claude", &read).is_empty());
        let view = json!({ "toolName": "view", "toolArgs": { "path": "/r/a" } });
        assert!(writes("copilot", &view).is_empty());
        assert!(writes("claude", &Value::Null).is_empty());
    }

    #[test]
    fn an_empty_payload_says_nothing_and_garbage_is_an_error() {
        assert!(Payload::read(Agent::Claude, b" \n").unwrap().tool().is_none());
        assert!(Payload::read(Agent::Claude, b"{").is_err());
        let error = Payload::read(Agent::Gemini, b"nonsense").unwrap_err().to_string();
        assert!(error.contains("Gemini CLI"), "{error}");
    }
}
