//! Edits: held by somebody else, free, one's own, and outside of what a task may change.

use super::{CALLS, claims, refusal};
use crate::support::Sandbox;
use serde_json::json;

#[test]
fn every_agent_is_kept_off_what_others_hold() {
    let project = Sandbox::new();
    let args = ["claim", "held.txt", "--as", "bob", "-m", "rewrite the lexer"];
    project.ok(&args);
    for call in CALLS {
        for file in ["held.txt".to_owned(), project.path().join("held.txt").display().to_string()] {
            let ran = call.edit(&project, "mia", &file);
            let reason = refusal(call.agent, &ran);
            let reason = reason.unwrap_or_else(|| panic!("{} {} {file}", call.agent, call.tool));
            // Who holds it, why, until when, and what to do now.
            for part in ["held.txt is held by bob", "rewrite the lexer", "ends in", "agent:bob"] {
                assert!(reason.contains(part), "{} {}: {reason}", call.agent, call.tool);
            }
        }
    }
    // Every refusal is an entry that cites the rule and came through this door.
    let refused: Vec<_> =
        project.entries().into_iter().filter(|entry| entry["kind"] == "command.refused").collect();
    assert_eq!(refused.len(), 2 * CALLS.len());
    for entry in refused {
        assert_eq!(entry["body"]["rule"], "A-LEASE-01", "{entry}");
        assert_eq!(entry["door"], "hook", "{entry}");
        assert_eq!(entry["actor"], "agent:mia", "{entry}");
    }
    assert_eq!(claims(&project).len(), 1);
}

#[test]
fn every_agent_claims_what_is_free_and_keeps_it() {
    let project = Sandbox::new();
    for (number, call) in CALLS.iter().enumerate() {
        let file = format!("free-{number}.txt");
        assert_eq!(refusal(call.agent, &call.edit(&project, "mia", &file)), None);
        let held = claims(&project);
        let own = ("agent:mia".to_owned(), file.clone());
        assert!(held.contains(&own), "{} {}: {held:?}", call.agent, call.tool);
        // Again: it is its own, and nothing is recorded.
        let before = project.entries().len();
        assert_eq!(refusal(call.agent, &call.edit(&project, "mia", &file)), None);
        assert_eq!(project.entries().len(), before, "{} {}", call.agent, call.tool);
    }
    let lease = &project.json(&["claims"])[0];
    assert_eq!(lease["purpose"], "edited by mia");
    project.ok(&["trail", "verify"]);
}

#[test]
fn every_agent_is_bounded_by_its_attempt() {
    let (project, _) = Sandbox::with_run();
    project.ok(&["agents", "register", "--as", "w1"]);
    let create = ["workspace", "create", "--agent", "w1", "--directive", "Work.", "--as", "alice"];
    let made = project.json(&[&create[..], &["--authority", "src/**"]].concat());
    let workspace = made["workspace"].as_str().unwrap();
    project.ok(&["inbox", "--take", "--as", "w1"]);
    for call in CALLS {
        let within = |file: &str, more: &[(&str, &str)]| {
            let payload = call.payload(project.path(), "s", file).to_string();
            let mut command = project.command();
            command.args(["hook", "edit", "--agent", call.agent]);
            command.envs([("ALTHING_AGENT", "w1"), ("ALTHING_WORKSPACE", workspace)]);
            command.envs(more.iter().copied());
            super::talk::with_input(command, payload.as_bytes())
        };
        assert_eq!(refusal(call.agent, &within("src/a.rs", &[])), None, "{}", call.agent);
        let reason = refusal(call.agent, &within("docs/a.md", &[])).unwrap();
        assert!(reason.contains("docs/a.md") && reason.contains("src/**"), "{reason}");
        assert!(reason.contains("W-VIS-04"), "{reason}");
        let allowed = within("docs/a.md", &[("ALTHING_CLAIMS_OUTSIDE", "allow")]);
        assert_eq!(refusal(call.agent, &allowed), None, "{}", call.agent);
    }
    // Asked for instead: those that can ask do, the others are refused.
    let ask = |agent: &str| {
        let call = CALLS.iter().find(|call| call.agent == agent).unwrap();
        let payload = call.payload(project.path(), "s", "other.md").to_string();
        let mut command = project.command();
        command.args(["hook", "edit", "--agent", agent]).env("ALTHING_CLAIMS_OUTSIDE", "ask");
        command.envs([("ALTHING_AGENT", "w1"), ("ALTHING_WORKSPACE", workspace)]);
        super::talk::with_input(command, payload.as_bytes())
    };
    let asked = ask("claude").json();
    assert_eq!(asked["hookSpecificOutput"]["permissionDecision"], "ask");
    assert_eq!(ask("copilot").json()["permissionDecision"], "ask");
    assert_eq!(ask("cursor").json()["permission"], "ask");
    assert!(refusal("codex", &ask("codex")).is_some());
    assert!(refusal("opencode", &ask("opencode")).is_some());
    // A stale agent that wakes up changes nothing more.
    project.ok(&["workspace", "abort", workspace, "--reason", "late", "--as", "alice"]);
    let late = {
        let payload = CALLS[0].payload(project.path(), "s", "src/a.rs").to_string();
        let mut command = project.command();
        command.args(["hook", "edit", "--agent", "claude"]);
        command.envs([("ALTHING_AGENT", "w1"), ("ALTHING_WORKSPACE", workspace)]);
        super::talk::with_input(command, payload.as_bytes())
    };
    assert!(refusal("claude", &late).unwrap().contains("has ended"), "{late:?}");
}

#[test]
fn an_attempt_without_files_of_its_own_claims_as_it_goes() {
    let (project, _) = Sandbox::with_run();
    let one = project.worker("w1");
    let two = project.worker("w2");
    let edit = |who: &str, workspace: &str| {
        let mut command = project.command();
        command.args(["hook", "edit", "--path", "src/a.rs"]);
        command.envs([("ALTHING_AGENT", who), ("ALTHING_WORKSPACE", workspace)]);
        super::talk::with_input(command, b"").code
    };
    assert_eq!(edit("w1", &one), Some(0));
    assert_eq!(edit("w2", &two), Some(3));
    project.ok(&["workspace", "abort", &one, "--reason", "enough", "--as", "alice"]);
    assert_eq!(edit("w2", &two), Some(0), "what an attempt claimed ends with it");
}

#[test]
fn paths_are_answered_with_exit_codes() {
    let project = Sandbox::new();
    project.claim("bob", "held");
    let edit = |args: &[&str]| project.run(&[&["hook", "edit", "--as", "mia"], args].concat());
    assert_eq!(edit(&["--path", "free.txt"]).code, Some(0));
    let held = edit(&["--path", "free.txt", "held/deep.txt"]);
    assert_eq!(held.code, Some(3), "{held:?}");
    assert!(held.out.is_empty() && held.err.contains("held by bob"), "{held:?}");
    assert!(held.err.contains("as part of held"), "{held:?}");
    let json = edit(&["--path", "held/deep.txt", "--json"]);
    assert_eq!(json.json()["error"]["kind"], "collision");
    let json = edit(&["--path", "other.txt", "--json"]).json();
    assert_eq!(json["claimed"][0]["surfaces"][0], "other.txt");
    // Git's own folder is refused, whoever asks.
    for path in [".git/config", ".git/hooks/pre-commit", ".git/althing/trail.db"] {
        let ran = edit(&["--path", path]);
        assert_eq!(ran.code, Some(1), "{path}: {ran:?}");
        assert!(ran.err.contains("A-LEASE-08"), "{ran:?}");
    }
    // Results of attempts are nobody's.
    assert_eq!(edit(&["--path", ".git/althing/workshop/ws/result.json"]).code, Some(0));
}

#[test]
fn files_outside_and_ignored_files_are_nobodys() {
    let project = Sandbox::new();
    project.write(".gitignore", "target/\n*.log\n!keep.log\n");
    project.write("keep/tracked.log", "tracked all the same");
    super::git(project.path(), &["add", "-f", "keep/tracked.log"]);
    project.claim("bob", ".");
    let code = |path: &str| project.run(&["hook", "edit", "--as", "mia", "--path", path]).code;
    let elsewhere = tempfile::tempdir().unwrap();
    let outside = elsewhere.path().join("x.txt");
    for path in ["target/debug/x", "a.log", outside.to_str().unwrap(), "/dev/null"] {
        assert_eq!(code(path), Some(0), "{path}");
    }
    for path in ["src/a.rs", "keep.log", "keep/tracked.log"] {
        assert_eq!(code(path), Some(3), "{path}");
    }
    assert_eq!(claims(&project).len(), 1, "nothing of it was claimed");
}

#[test]
fn a_file_of_a_linked_worktree_is_the_same_file() {
    let project = Sandbox::new();
    project.write("src/a.rs", "x");
    super::commit_all(project.path());
    let tree = tempfile::tempdir().unwrap();
    let tree = tree.path().join("tree");
    super::git(project.path(), &["worktree", "add", "--quiet", tree.to_str().unwrap()]);
    project.claim("bob", "src/a.rs");
    let file = tree.join("src/a.rs").display().to_string();
    let call = &CALLS[1];
    let payload = call.payload(&tree, "s", &file).to_string();
    let args = ["hook", "edit", "--agent", call.agent, "--as", "mia"];
    let reason = refusal(call.agent, &project.run_with(&args, payload.as_bytes())).unwrap();
    assert!(reason.starts_with("src/a.rs is held by bob"), "{reason}");
    let own = tree.join("src/b.rs").display().to_string();
    let payload = call.payload(&tree, "s", &own).to_string();
    assert_eq!(refusal(call.agent, &project.run_with(&args, payload.as_bytes())), None);
    assert!(claims(&project).contains(&("agent:mia".to_owned(), "src/b.rs".to_owned())));
    // Its git folder lies in that of the repository.
    let git = project.path().join(".git/worktrees/tree/HEAD").display().to_string();
    assert_eq!(project.run(&["hook", "edit", "--as", "mia", "--path", &git]).code, Some(1));
}

#[test]
fn links_are_followed_to_the_file_that_changes() {
    let project = Sandbox::new();
    project.write("real/a.txt", "x");
    std::os::unix::fs::symlink("real", project.path().join("link")).unwrap();
    std::os::unix::fs::symlink("/tmp", project.path().join("out")).unwrap();
    project.claim("bob", "real/a.txt");
    let code = |path: &str| project.run(&["hook", "edit", "--as", "mia", "--path", path]).code;
    assert_eq!(code("link/a.txt"), Some(3));
    assert_eq!(code("link/new.txt"), Some(0));
    assert!(claims(&project).contains(&("agent:mia".to_owned(), "real/new.txt".to_owned())));
    assert_eq!(code("out/x.txt"), Some(0), "it leads out of the project");
}

#[test]
fn names_with_special_characters_stand_for_themselves() {
    let project = Sandbox::new();
    let names = ["app/[id]/page.tsx", "a,b.txt", "with space.txt", "{x}.md", "a#b.txt", "ü.txt"];
    for name in names {
        let edit = |who: &str| project.run(&["hook", "edit", "--as", who, "--path", name]).code;
        assert_eq!(edit("mia"), Some(0), "{name}");
        assert_eq!(edit("you"), Some(3), "{name}");
    }
    let code = project.run(&["hook", "edit", "--as", "you", "--path", "app/i/page.tsx"]).code;
    assert_eq!(code, Some(0), "the brackets are no class");
}

#[test]
fn holders_of_parts_of_a_file_may_edit_it() {
    let project = Sandbox::new();
    project.claim("bob", "lib.rs#Config");
    project.claim("mia", "lib.rs#main");
    let code = |who: &str| project.run(&["hook", "edit", "--as", who, "--path", "lib.rs"]).code;
    assert_eq!((code("mia"), code("bob"), code("eve")), (Some(0), Some(0), Some(3)));
}

#[test]
fn commands_that_cannot_be_read_are_allowed() {
    let project = Sandbox::new();
    project.claim("bob", ".");
    for command in [
        "F=a; echo x >> $F.txt",
        "make",
        "rm *.o",
        "echo 'open",
        "python3 edit.py",
        "ls > /dev/null",
    ] {
        let payload = json!({ "session_id": "s", "cwd": project.path(), "tool_name": "Bash",
            "tool_input": { "command": command } });
        let args = ["hook", "edit", "--agent", "claude", "--as", "mia"];
        let ran = project.run_with(&args, payload.to_string().as_bytes());
        assert_eq!(refusal("claude", &ran), None, "{command}");
    }
}
