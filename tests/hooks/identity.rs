//! Who asks: the agent that was set, or each session on its own.

use super::{CALLS, claims, refusal};
use crate::support::{BINARY, Ran, Sandbox};
use serde_json::{Value, json};
use std::io::Write as _;
use std::process::{Child, Command, Stdio};

/// A window of an agent: a program that calls hooks, as long as it runs.
struct Window {
    program: Child,
    agent: &'static str,
}

impl Window {
    /// A program that starts a shell for each line it is given, like an agent for each hook.
    fn open(agent: &'static str) -> Self {
        let mut program = Command::new("xargs");
        program.args(["-d", "\\n", "-n", "1", "sh", "-c"]).stdin(Stdio::piped());
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("ALTHING_") {
                program.env_remove(name);
            }
        }
        Window { program: program.spawn().unwrap(), agent }
    }

    /// Runs something in a shell of the window, and waits for it.
    fn shell(&mut self, project: &Sandbox, command: &str) -> Ran {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name).display().to_string();
        let (out, err, code) = (file("out"), file("err"), file("code"));
        let line = format!(
            "cd '{}'; {{ {command}; }} > {out} 2> {err} < /dev/null; echo $? > {code}.new; mv {code}.new {code}",
            project.path().display()
        );
        writeln!(self.program.stdin.as_mut().unwrap(), "{line}").unwrap();
        let deadline = std::time::Instant::now() + std::time::Duration::from_mins(2);
        while !std::path::Path::new(&code).exists() {
            assert!(std::time::Instant::now() < deadline, "{command}");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let read = |name: &str| std::fs::read_to_string(name).unwrap();
        Ran { code: read(&code).trim().parse().ok(), out: read(&out), err: read(&err) }
    }

    /// Calls a hook of this window.
    fn hook(&mut self, project: &Sandbox, word: &str, payload: &Value) -> Ran {
        let file = project.path().join(".git/payload.json");
        std::fs::write(&file, payload.to_string()).unwrap();
        let command =
            format!("cat {} | {BINARY} hook {word} --agent {}", file.display(), self.agent);
        self.shell(project, &command)
    }

    fn edit(&mut self, project: &Sandbox, session: &str, file: &str) -> Option<String> {
        let call = CALLS.iter().find(|call| call.agent == self.agent).unwrap();
        let payload = call.payload(project.path(), session, file);
        refusal(self.agent, &self.hook(project, "edit", &payload))
    }

    /// Closes the window: its program ends.
    fn close(mut self) {
        drop(self.program.stdin.take());
        self.program.wait().unwrap();
    }
}

#[test]
fn two_windows_are_two_agents_and_a_session_keeps_its_name() {
    let project = Sandbox::new();
    let (mut left, mut right) = (Window::open("claude"), Window::open("claude"));
    assert_eq!(left.edit(&project, "one", "a.txt"), None);
    let reason = right.edit(&project, "two", "a.txt").unwrap();
    let holder = claims(&project)[0].0.clone();
    let name = holder.strip_prefix("agent:").unwrap();
    assert!(name.starts_with("claude-"), "{name}");
    assert!(reason.contains(&format!("held by {name}")), "{reason}");
    // The same session is the same agent, also in another window.
    assert_eq!(left.edit(&project, "one", "a.txt"), None);
    assert_eq!(right.edit(&project, "one", "a.txt"), None);
    assert_eq!(claims(&project).len(), 1);
    left.close();
    right.close();
}

#[test]
fn what_a_window_edited_is_free_once_its_program_has_ended() {
    let project = Sandbox::new();
    let mut left = Window::open("codex");
    assert_eq!(left.edit(&project, "one", "a.txt"), None);
    project.ok(&[
        "claim",
        "mine.txt",
        "--as",
        claims(&project)[0].0.strip_prefix("agent:").unwrap(),
    ]);
    left.close();
    let mut right = Window::open("codex");
    assert_eq!(right.edit(&project, "two", "a.txt"), None, "nobody closes what is gone");
    let held = claims(&project);
    assert!(held.iter().any(|(_, file)| file == "mine.txt"), "a claim of its own stays: {held:?}");
    right.close();
    project.ok(&["trail", "verify"]);
}

#[test]
fn everything_that_one_program_starts_is_one_agent() {
    let project = Sandbox::new();
    project.write("a.txt", "x");
    let mut window = Window::open("claude");
    assert_eq!(window.edit(&project, "one", "a.txt"), None);
    // Another conversation in the same window, or an agent below it.
    assert_eq!(window.edit(&project, "two", "a.txt"), None);
    // A commit from its shell.
    project.ok(&["init", "--agent", "git"]);
    super::git(project.path(), &["add", "a.txt"]);
    let commit = format!(
        "PATH=\"$(dirname {BINARY}):$PATH\" git -c user.name=x -c user.email=x@x commit -qm x"
    );
    let ran = window.shell(&project, &commit);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    // A call of its own.
    let ran = window.shell(&project, &format!("{BINARY} hook edit --path a.txt"));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(claims(&project).len(), 1);
    // And its server: what is claimed there can be edited here, and the other way round.
    let about = json!({ "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": "claude-code", "version": "1" } });
    let claim = json!({ "name": "claim", "arguments": { "paths": ["a.txt", "b.txt"] } });
    let server = format!(
        "printf '%s\\n' '{}' '{}' '{}' | {BINARY} mcp",
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": claim }),
    );
    let ran = window.shell(&project, &server);
    assert!(ran.out.contains("you hold a.txt, b.txt"), "{ran:?}");
    assert_eq!(window.edit(&project, "one", "b.txt"), None);
    window.close();
}

#[test]
fn chats_of_one_editor_are_apart() {
    let project = Sandbox::new();
    let mut editor = Window::open("cursor");
    assert_eq!(editor.edit(&project, "one", "a.txt"), None);
    assert!(editor.edit(&project, "two", "a.txt").is_some());
    let lease = &project.json(&["claims"])[0];
    assert_eq!(lease["ttl_s"], 900, "nobody notices that a chat is over");
    editor.close();
}

#[test]
fn the_agent_that_is_set_asks_and_never_somebody_else() {
    let project = Sandbox::new();
    let mut window = Window::open("claude");
    let payload = CALLS[0].payload(project.path(), "one", "a.txt");
    std::fs::write(project.path().join(".git/p"), payload.to_string()).unwrap();
    let call = format!("cat .git/p | ALTHING_AGENT=amy {BINARY} hook edit --agent claude");
    assert_eq!(window.shell(&project, &call).code, Some(0));
    assert_eq!(claims(&project)[0].0, "agent:amy");
    // A name whose key is on another machine is refused.
    std::fs::remove_file(project.state().join("keys/agent-amy.key")).unwrap();
    let reason = refusal("claude", &window.shell(&project, &call)).unwrap();
    assert!(reason.contains("A-ID-01"), "{reason}");
    window.close();
}

#[test]
fn the_end_of_a_session_releases_what_was_only_edited() {
    let project = Sandbox::new();
    let mut window = Window::open("claude");
    assert_eq!(window.edit(&project, "one", "edited.txt"), None);
    let name = claims(&project)[0].0.clone();
    let name = name.strip_prefix("agent:").unwrap();
    project.ok(&["claim", "claimed.txt", "--as", name]);
    let end = |reason: &str| {
        json!({ "session_id": "one", "cwd": project.path(), "hook_event_name": "SessionEnd",
            "reason": reason })
    };
    assert_eq!(window.hook(&project, "session", &end("clear")).code, Some(0));
    assert_eq!(claims(&project).len(), 2, "the window goes on");
    let ran = window.hook(&project, "session", &end("other"));
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), ""), "{ran:?}");
    assert_eq!(claims(&project), [(format!("agent:{name}"), "claimed.txt".to_owned())]);
    window.close();
}

#[test]
fn a_name_that_is_nobodys_edits_nothing() {
    let project = Sandbox::new();
    let mut window = Window::open("claude");
    let payload = CALLS[0].payload(project.path(), "one", "a.txt");
    std::fs::write(project.path().join(".git/p"), payload.to_string()).unwrap();
    for name in ["me", "two words", "../bob", "user:bob"] {
        let call = format!("cat .git/p | ALTHING_AGENT='{name}' {BINARY} hook edit --agent claude");
        let reason = refusal("claude", &window.shell(&project, &call));
        let reason = reason.unwrap_or_else(|| panic!("{name}"));
        assert!(reason.contains("ALTHING_AGENT"), "{name}: {reason}");
    }
    assert!(claims(&project).is_empty());
    window.close();
}

#[test]
fn a_payload_cannot_speak_for_somebody_else() {
    let (project, _) = Sandbox::with_run();
    project.claim("bob", "held.txt");
    let own = project.worker("w1");
    let mut window = Window::open("claude");
    // Whatever a session calls itself, it is one of its own.
    for session in ["bob", "agent:bob", "../keys/agent-bob"] {
        assert!(window.edit(&project, session, "held.txt").is_some(), "{session}");
    }
    // The attempt of somebody else is theirs.
    let payload = CALLS[0].payload(project.path(), "s", "free.txt");
    std::fs::write(project.path().join(".git/p"), payload.to_string()).unwrap();
    let call = format!(
        "cat .git/p | ALTHING_AGENT=eve ALTHING_WORKSPACE={own} {BINARY} hook edit --agent claude"
    );
    assert!(refusal("claude", &window.shell(&project, &call)).is_some());
    assert_eq!(claims(&project).len(), 1);
    window.close();
}
