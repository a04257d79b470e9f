//! Leases from the command line: claim, check, renew, release, list.

use crate::support::{Sandbox, passphrase};
use serde_json::json;
use std::path::Path;

#[test]
fn a_claim_keeps_others_out_until_it_is_released() {
    let project = Sandbox::new();
    let lease = project.claim("alice", "src/parser");
    assert_eq!(lease["holder"], "agent:alice");
    assert_eq!(lease["surfaces"], json!(["src/parser"]));

    let refused = project.run(&["claim", "src/**/*.rs", "--as", "bob", "--json"]);
    assert_eq!(refused.code, Some(3));
    let error = refused.error();
    assert_eq!(error["rule"], "A-LEASE-01");
    let collision = &error["details"]["collisions"][0];
    assert_eq!(collision["lease"], lease["lease"]);
    assert_eq!(collision["holder"], "agent:alice");
    assert_eq!(collision["expires_at"], lease["expires_at"]);

    let id = lease["lease"].as_str().unwrap();
    assert_eq!(project.run(&["release", id, "--as", "bob"]).code, Some(1), "not bob's");
    project.ok(&["release", id, "--as", "alice"]);
    let granted = project.json(&["claim", "src/**/*.rs", "--as", "bob"]);
    assert!(granted["epoch"].as_u64() > lease["epoch"].as_u64());
}

#[test]
fn people_read_who_holds_what_and_what_to_do() {
    let project = Sandbox::new();
    project.ok(&["claim", "src", "--as", "alice", "-m", "rewrite the parser"]);
    let refused = project.run(&["claim", "src/lib.rs", "--as", "bob"]);
    assert_eq!(refused.code, Some(3));
    assert!(refused.out.is_empty(), "data goes to standard output, messages do not");
    for words in ["agent:alice", "src", "rewrite the parser", "[A-LEASE-01]", "Wait until"] {
        assert!(refused.err.contains(words), "{words}: {}", refused.err);
    }
    let claims = project.ok(&["claims"]);
    for words in ["HOLDER", "agent:alice", "src", "in 90 min", "rewrite the parser"] {
        assert!(claims.out.contains(words), "{words}: {}", claims.out);
    }
}

/// Shows W-HH-01.
#[test]
fn a_check_asks_without_leaving_a_trace() {
    let project = Sandbox::new();
    let lease = project.claim("alice", "src");
    let before = project.bytes_of_state();
    assert_eq!(project.run(&["check", "src/a.rs", "--as", "bob"]).code, Some(3));
    assert_eq!(project.run(&["check", "src/a.rs"]).code, Some(3));
    assert_eq!(project.json(&["check", "src/a.rs", "--as", "alice"])["held"], true);
    assert_eq!(project.json(&["check", "docs", "--as", "bob"])["free"], true);
    let epoch = lease["epoch"].to_string();
    project.ok(&["check", "src/a.rs", "--as", "alice", "--epoch", &epoch]);
    let stale = project.run(&["check", "src/a.rs", "--as", "alice", "--epoch", "999", "--json"]);
    assert_eq!((stale.code, stale.error()["rule"].as_str()), (Some(1), Some("A-LEASE-04")));
    project.ok(&["claims"]);
    project.ok(&["status"]);
    project.ok(&["trail"]);
    project.ok(&["trail", "verify"]);
    project.ok(&["agents"]);
    assert!(project.bytes_of_state() == before, "reads never write");
}

#[test]
fn a_lease_runs_out_by_itself_and_is_taken_over() {
    let project = Sandbox::new();
    let first = project.json(&["claim", "a", "--as", "alice", "--ttl", "1s"]);
    assert_eq!(project.run(&["claim", "a", "--as", "bob"]).code, Some(3));
    std::thread::sleep(std::time::Duration::from_millis(1100));
    project.ok(&["check", "a", "--as", "bob"]);
    let second = project.json(&["claim", "a", "--as", "bob"]);
    assert!(second["epoch"].as_u64() > first["epoch"].as_u64());
    assert!(project.kinds().contains(&"lease.expired".to_owned()));
    let late = project.run(&["renew", first["lease"].as_str().unwrap(), "--as", "alice", "--json"]);
    assert_eq!((late.code, late.error()["kind"].as_str()), (Some(1), Some("not_found")));
}

#[test]
fn renewing_and_releasing_take_ids_beginnings_surfaces_and_all() {
    let project = Sandbox::new();
    let lease = project.json(&["claim", "a", "--as", "alice", "--ttl", "10m"]);
    let id = lease["lease"].as_str().unwrap();
    for name in [id, &id[..id.len() - 3], "a", "./a/"] {
        let renewed = project.json(&["renew", name, "--as", "alice", "--ttl", "2h"]);
        assert_eq!(renewed[0]["ttl_s"], 7200, "{name}");
        assert_eq!(renewed[0]["epoch"], lease["epoch"], "{name}");
    }
    let other = project.claim("alice", "b");
    assert_eq!(project.run(&["release", "lease_0", "--as", "alice"]).code, Some(2), "ambiguous");
    let epoch = lease["epoch"].to_string();
    let fenced = project.run(&["release", "b", "--as", "alice", "--epoch", &epoch, "--json"]);
    assert_eq!((fenced.code, fenced.error()["rule"].as_str()), (Some(1), Some("A-LEASE-04")));
    assert_eq!(other["holder"], "agent:alice");
    let released = project.json(&["release", "--all", "--as", "alice"]);
    assert_eq!(released.as_array().unwrap().len(), 2);
    assert_eq!(project.json(&["claims"]), json!([]));
    assert_eq!(project.run(&["release", "a", "--as", "alice"]).code, Some(1));
}

#[test]
fn surfaces_are_read_from_where_one_stands() {
    let project = Sandbox::new();
    std::fs::create_dir_all(project.path().join("src/deep")).unwrap();
    let claim = |surface: &str, agent: &str| {
        let mut command = project.command();
        command.current_dir(project.path().join("src/deep"));
        let output = command.args(["claim", surface, "--as", agent, "--json"]).output().unwrap();
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()["surfaces"][0].clone()
    };
    assert_eq!(claim("a.rs", "a"), "src/deep/a.rs");
    assert_eq!(claim("../b.rs", "b"), "src/b.rs");
    assert_eq!(claim(":/README.md", "c"), "README.md");
    assert_eq!(claim("*.md", "d"), "src/deep/*.md");
}

#[test]
fn a_file_whose_name_looks_like_a_glob_is_not_claimed_by_accident() {
    let project = Sandbox::new();
    std::fs::create_dir_all(project.path().join("app/[id]")).unwrap();
    std::fs::write(project.path().join("app/[id]/page.tsx"), "").unwrap();
    let refused = project.run(&["claim", "app/[id]/page.tsx", "--as", "alice", "--json"]);
    assert_eq!((refused.code, refused.error()["rule"].as_str()), (Some(2), Some("A-USE-02")));
    let lease = project.json(&["claim", "--literal", "app/[id]/page.tsx", "--as", "alice"]);
    assert_eq!(lease["surfaces"], json!(["app/[[]id]/page.tsx"]));
    assert_eq!(project.run(&["claim", "app", "--as", "bob"]).code, Some(3));
}

#[test]
fn worktrees_share_one_project() {
    let project = Sandbox::new();
    let git = |args: &[&str]| {
        let identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
        let status = std::process::Command::new("git")
            .args(identity)
            .args(args)
            .current_dir(project.path())
            .status();
        assert!(status.unwrap().success(), "{args:?}");
    };
    git(&["commit", "--quiet", "--allow-empty", "-m", "first"]);
    let other = tempfile::tempdir().unwrap();
    let tree = other.path().join("tree");
    git(&["worktree", "add", "--quiet", tree.to_str().unwrap()]);
    project.claim("alice", "src");
    let mut command = project.command();
    let from_tree = command.current_dir(&tree).args(["claim", "src/a.rs", "--as", "bob"]);
    assert_eq!(from_tree.output().unwrap().status.code(), Some(3));
}

#[test]
fn a_project_without_git_works_from_its_subfolders() {
    let project = Sandbox::bare();
    project.ok(&["init"]);
    assert!(project.path().join(".althing/trail.db").exists());
    project.claim("alice", "src");
    std::fs::create_dir(project.path().join("src")).unwrap();
    let mut command = project.command();
    command.current_dir(project.path().join("src"));
    let output = command.args(["claim", "a.rs", "--as", "bob"]).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn sessions_end_with_their_leases() {
    let project = Sandbox::new();
    let opened =
        project.ok(&["do", "session.open", r#"{"client":"test"}"#, "--as", "alice"]).json();
    let session = opened["workspace"].as_str().unwrap();
    project.ok(&["claim", "a", "--as", "alice", "--session", session]);
    project.ok(&["claim", "b", "--as", "alice"]);
    let stolen = project.run(&["claim", "c", "--as", "bob", "--session", session, "--json"]);
    assert_eq!((stolen.code, stolen.error()["rule"].as_str()), (Some(1), Some("A-SESS-01")));
    project.ok(&["do", "session.close", "{}", "--as", "alice", "--session", session]);
    let left = project.json(&["claims"]);
    assert_eq!(left.as_array().unwrap().len(), 1);
    assert_eq!(left[0]["surfaces"], json!(["b"]));
}

#[test]
fn every_command_and_question_works_by_name() {
    let project = Sandbox::new();
    let doors = project.json(&["do", "--list"]);
    let names: Vec<&str> =
        doors.as_array().unwrap().iter().map(|door| door["name"].as_str().unwrap()).collect();
    for name in &names {
        let schema = project.json(&["do", "--schema", name]);
        assert_eq!(schema["type"], "object", "{name}");
        assert!(schema["description"].is_string(), "{name}");
    }
    let lease = project.ok(&["do", "lease.open", r#"{"surfaces":["a"]}"#, "--as", "x"]).json();
    let id = lease["lease"].as_str().unwrap().to_owned();
    let by_id = format!(r#"{{"lease":"{id}"}}"#);
    project.ok(&["do", "lease.renew", &by_id, "--as", "x"]);
    let listed = project.ok(&["do", "lease.list", r#"{"holder":"agent:x"}"#]).json();
    assert_eq!(listed[0]["lease"], id.as_str());
    let check = project.run_with(&["do", "lease.check", "-"], br#"{"surfaces":["a/b"]}"#);
    assert_eq!(check.json()["free"], false);
    project.ok(&["do", "lease.release", &by_id, "--as", "x"]);
    assert_eq!(project.ok(&["do", "session.list"]).json()[0]["agent"], "x");
    assert_eq!(project.ok(&["do", "agent.list"]).json()[0]["leases"], 0);
    assert_eq!(project.ok(&["do", "user.list"]).json(), json!([]));
    let query = r#"{"kinds":["lease.opened"],"mentions":"agent:x"}"#;
    assert_eq!(project.ok(&["do", "trail.query", query]).json()[0]["body"]["lease"], id.as_str());
    assert!(project.ok(&["do", "trail.head"]).json()["note"].is_string());
    assert!(project.ok(&["do", "trail.prove", r#"{"seq":2}"#]).json()["path"].is_array());
    let verified = project.ok(&["do", "trail.verify", r#"{"every_signature":true}"#]).json();
    assert!(verified["caller_signatures"].as_u64() > Some(0));
}

#[test]
fn lines_are_answered_one_by_one() {
    let project = Sandbox::new();
    let input = r#"{"name":"lease.open","args":{"surfaces":["a"]}}
not json
{"name":"lease.open","args":{"surfaces":["../x"]}}

{"name":"nothing.here"}
{"name":"lease.open","args":{"surfaces":["b"]},"more":1}
"#;
    let ran = project.run_with(&["do", "--lines", "--as", "alice"], input.as_bytes());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let mut answers: Vec<serde_json::Value> =
        ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    answers.sort_by_key(|answer| answer["line"].as_u64());
    let lines: Vec<_> = answers.iter().map(|answer| answer["line"].as_u64().unwrap()).collect();
    assert_eq!(lines, [1, 2, 3, 5, 6]);
    assert_eq!(answers[0]["ok"]["holder"], "agent:alice");
    for bad in &answers[1..] {
        assert_eq!(bad["error"]["kind"], "usage", "{bad}");
    }
    assert_eq!(project.json(&["claims"]).as_array().unwrap().len(), 1);
}

#[test]
fn a_purpose_cannot_forge_lines_for_others_to_read() {
    let project = Sandbox::new();
    let purpose = "x\nagent:root  src  forged\u{202e}";
    project.ok(&["claim", "docs", "--as", "mallory", "-m", purpose]);
    assert_eq!(project.json(&["claims"])[0]["purpose"], purpose, "kept as it was given");
    for args in [&["claims"][..], &["status"], &["trail", "at", "now"], &["trail"]] {
        let shown = project.ok(args).out;
        assert!(!shown.lines().any(|line| line.starts_with("agent:root")), "{shown}");
        assert!(!shown.contains('\u{202e}'), "{shown}");
    }
    let refused = project.run(&["claim", "docs/a", "--as", "bob"]).err;
    assert!(!refused.lines().any(|line| line.starts_with("agent:root")), "{refused}");
}

#[test]
fn a_literal_claim_is_released_by_its_literal_name() {
    let project = Sandbox::new();
    let name = "app/[id]/page.tsx";
    std::fs::create_dir_all(project.path().join("app/[id]")).unwrap();
    std::fs::write(project.path().join(name), "x").unwrap();
    project.ok(&["claim", "--literal", name, "--as", "dave"]);
    assert_eq!(project.json(&["claims", "--literal", name]).as_array().unwrap().len(), 1);
    project.ok(&["renew", "--literal", name, "--as", "dave"]);
    // From inside the folder with the odd name it is the same file.
    let inside = |args: &[&str]| {
        let mut command = project.command();
        command.current_dir(project.path().join("app/[id]")).args(args).output().unwrap()
    };
    assert_eq!(inside(&["check", "page.tsx", "--as", "erin"]).status.code(), Some(3));
    assert_eq!(inside(&["check", "--literal", "page.tsx", "--as", "erin"]).status.code(), Some(3));
    project.ok(&["release", "--literal", name, "--as", "dave"]);
    assert!(inside(&["claim", "--literal", "page.tsx", "--as", "erin"]).status.success());
    assert_eq!(project.json(&["claims"])[0]["surfaces"], json!(["app/[[]id]/page.tsx"]));
    if !cfg!(windows) {
        project.ok(&["claim", "--literal", "a:b.txt", "--as", "dave"]);
    }
}

/// Shows W-SEC-12.
#[test]
fn releasing_by_surface_releases_all_that_hold_it_and_others_leases_are_refused_on_record() {
    let project = Sandbox::new();
    let first = project.claim("alice", "y");
    project.claim("alice", "y");
    let id = first["lease"].as_str().unwrap();
    let ran = project.run(&["release", id, "--as", "bob", "--json"]);
    assert_eq!((ran.code, ran.error()["rule"].as_str()), (Some(1), Some("A-LEASE-03")));
    assert_eq!(project.kinds().last().unwrap(), "command.refused");
    let printed = project.run(&["release", "y", "--as", "bob"]).err;
    assert!(printed.contains("agent:alice holds y"), "{printed}");
    let printed = project.run(&["release", "y/deep", "--as", "alice"]).err;
    assert!(
        printed.contains("agent:alice holds y") && printed.contains("as it was claimed"),
        "{printed}"
    );
    assert_eq!(project.run(&["release", "", "--as", "alice"]).code, Some(2));
    let ended = project.json(&["release", "y", "--as", "alice"]);
    assert_eq!(ended.as_array().unwrap().len(), 2);
    assert_eq!(project.json(&["claims"]), json!([]));
}

#[test]
fn everything_you_hold_is_yours_alone() {
    let project = Sandbox::new();
    project.login("ada");
    project.claim("alice", "a");
    let ran = project.run(&["release", "--all", "--force", "--reason", "x", "--user", "ada"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let second = project.claim("alice", "b");
    let epoch = second["epoch"].to_string();
    let ended = project.json(&["release", "--all", "--epoch", &epoch, "--as", "alice"]);
    assert_eq!(ended.as_array().unwrap().len(), 1);
    assert_eq!(project.json(&["release", "--all", "--as", "nobody-yet"]), json!([]));
    assert!(!project.state().join("keys/agent-nobody-yet.key").exists(), "no key for nothing");
    let shown = project.as_user("ada", &["release", "a", "--force", "--reason", "gone"]);
    assert!(shown.out.contains("user:ada") || shown.json()[0]["holder"] == "agent:alice");
    assert!(project.ok(&["claims", "--holder", "alice"]).out.contains("no live lease fits"));
}

#[test]
fn a_claim_can_wait_for_its_turn() {
    let project = Sandbox::new();
    project.ok(&["claim", "src", "--ttl", "1s", "--as", "alice"]);
    let waited = project.json(&["claim", "src/a.rs", "--wait", "20s", "--as", "bob"]);
    assert_eq!(waited["holder"], "agent:bob");
    let ran = project.run(&["claim", "src", "--wait", "1s", "--as", "carol", "--json"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert_eq!(project.run(&["claim", "x", "--wait", "soon", "--as", "carol"]).code, Some(2));
}

#[test]
fn a_name_on_the_command_line_overrides_the_environment() {
    let project = Sandbox::new();
    project.login("ada");
    let run = |variables: &[(&str, &str)], args: &[&str]| {
        let mut command = project.command();
        command.envs(variables.iter().copied()).args(args).output().unwrap()
    };
    let claim = ["claim", "a", "--as", "alice", "--json"];
    assert!(run(&[("ALTHING_USER", "ada")], &claim).status.success());
    assert_eq!(project.json(&["claims"])[0]["holder"], "agent:alice");
    let both = [("ALTHING_USER", "ada"), ("ALTHING_AGENT", "bob")];
    assert_eq!(run(&both, &["claim", "b"]).status.code(), Some(2));
    assert_eq!(run(&[], &["claim", "b", "--as", "x", "--user", "ada"]).status.code(), Some(2));
    // A name as listings show it is the same name.
    project.ok(&["claim", "a/b", "--as", "agent:alice"]);
    assert_eq!(project.json(&["agents"]).as_array().unwrap().len(), 1);
}

#[test]
fn lines_are_carried_out_and_answered_in_their_order() {
    let project = Sandbox::new();
    project.login("ada");
    let mut input = String::new();
    for n in 0..200 {
        let open = json!({ "name": "lease.open", "args": { "surfaces": [format!("l{n}")] } });
        input.extend([open.to_string().as_str(), "\n{\"name\":\"lease.list\"}\n"]);
    }
    let ran = project.run_with(&["do", "--lines", "--as", "alice"], input.as_bytes());
    let answers: Vec<serde_json::Value> =
        ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), 400);
    for (n, answer) in answers.iter().enumerate() {
        assert_eq!(answer["line"], n + 1);
        if n % 2 == 1 {
            assert_eq!(
                answer["ok"].as_array().unwrap().len(),
                n / 2 + 1,
                "it sees what came before"
            );
        }
    }
    // A passphrase on standard input comes before the lines.
    let with_passphrase = format!(
        "{}{{\"name\":\"lease.open\",\"args\":{{\"surfaces\":[\"hers\"]}}}}\n",
        passphrase("ada")
    );
    let args = ["do", "--lines", "--user", "ada", "--passphrase-stdin"];
    let ran = project.run_with(&args, with_passphrase.as_bytes());
    assert!(ran.out.contains("\"holder\":\"user:ada\""), "{ran:?}");
}

#[test]
fn a_store_named_in_the_project_is_one_for_all_worktrees() {
    let project = Sandbox::without_project();
    std::fs::write(project.path().join("althing.toml"), "store = \"sqlite:shared.db\"\n").unwrap();
    let git = |args: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.current_dir(project.path()).args([
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@example.org",
        ]);
        assert!(git.args(args).output().unwrap().status.success(), "{args:?}");
    };
    git(&["add", "."]);
    git(&["commit", "-qm", "x"]);
    git(&["worktree", "add", "-q", "tree"]);
    project.ok(&["init"]);
    assert!(project.state().join("shared.db").exists());
    project.claim("alice", "src");
    let mut elsewhere = project.command();
    elsewhere.current_dir(project.path().join("tree")).args(["claim", "src", "--as", "bob"]);
    assert_eq!(elsewhere.output().unwrap().status.code(), Some(3));
}

#[test]
fn a_project_keeps_its_place_when_git_comes_later_and_its_keys_to_itself() {
    let project = Sandbox::bare();
    project.ok(&["init"]);
    project.claim("alice", "src");
    let git = |args: &[&str]| {
        let output =
            std::process::Command::new("git").current_dir(project.path()).args(args).output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    git(&["init", "-q"]);
    git(&["add", "-A"]);
    assert!(!git(&["diff", "--cached", "--name-only"]).contains(".althing"));
    assert_eq!(project.json(&["claims"])[0]["holder"], "agent:alice");
}

#[cfg(target_os = "linux")]
#[test]
fn folders_whose_names_are_not_text_are_no_trap() {
    use std::os::unix::ffi::OsStrExt as _;
    let project = Sandbox::new();
    let odd = project.path().join(std::ffi::OsStr::from_bytes(b"sub\xff"));
    std::fs::create_dir(&odd).unwrap();
    let inside = |args: &[&str]| {
        let mut command = project.command();
        command.current_dir(&odd).args(args).output().unwrap()
    };
    assert_eq!(inside(&["claim", "f.txt", "--as", "alice"]).status.code(), Some(2));
    assert!(inside(&["claim", ":/f.txt", "--as", "alice"]).status.success());
    for args in [&["status", "--json"][..], &["init", "--json"], &["claims", "--json"]] {
        assert!(inside(args).status.success(), "{args:?}");
    }
    let other = odd.join("project");
    std::fs::create_dir_all(other.join(".althing")).unwrap();
    let mut command = project.command();
    command.current_dir(&other).env("ALTHING_HOME", other.join(".althing"));
    let output = command.args(["init", "--json"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// The hook that the documents show, as they show it.
#[cfg(unix)]
#[test]
fn the_documented_hook_refuses_to_commit_what_somebody_else_holds() {
    use std::os::unix::fs::PermissionsExt as _;
    let project = Sandbox::new();
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/how-to/hold-files.md");
    let page = std::fs::read_to_string(page).unwrap();
    let mut scripts = page.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let script = scripts.find(|script| script.starts_with("#!/bin/sh")).unwrap();
    let hook = project.path().join(".git/hooks/pre-commit");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(&hook, script).unwrap();
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_althing")).parent().unwrap();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());
    let commit = |agent: &str| {
        let mut git = std::process::Command::new("git");
        git.current_dir(project.path()).env("PATH", &path).env("ALTHING_AGENT", agent);
        git.args(["-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "x"]);
        git.output().unwrap()
    };
    for name in ["-dash", "app/[id].tsx", "free"] {
        let file = project.path().join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, "x").unwrap();
    }
    let add =
        std::process::Command::new("git").current_dir(project.path()).args(["add", "."]).output();
    assert!(add.unwrap().status.success());
    project.claim("alice", "app");
    let refused = commit("bob");
    assert!(!refused.status.success(), "{refused:?}");
    assert!(
        String::from_utf8_lossy(&refused.stderr).contains("agent:alice holds app"),
        "{refused:?}"
    );
    let done = commit("alice");
    assert!(done.status.success(), "{done:?}");
    // A file is not got hold of by giving it another name.
    let git = |args: &[&str]| {
        std::process::Command::new("git").current_dir(project.path()).args(args).output().unwrap()
    };
    assert!(git(&["mv", "app/[id].tsx", "moved.tsx"]).status.success());
    assert!(!commit("bob").status.success());
    assert!(commit("alice").status.success());
}
