//! Care and feeding: status, config, doctor, backup, rules, completions, help.

use crate::support::Sandbox;
use serde_json::json;

#[test]
fn status_tells_what_is_going_on() {
    let project = Sandbox::new();
    project.claim("alice", "src");
    project.run(&["claim", "src", "--as", "bob"]);
    let status = project.json(&["status"]);
    assert_eq!(status["entries"], 9);
    assert_eq!(status["agents"], 2);
    assert_eq!(status["leases"].as_array().unwrap().len(), 1);
    assert_eq!(status["recent_refusals"][0]["body"]["rule"], "A-LEASE-01");
    let shown = project.ok(&["status"]).out;
    for words in ["9 entries", "2 agents", "agent:alice", "recently refused"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let agents = project.json(&["agents"]);
    assert_eq!(agents[0]["agent"], "alice");
    assert_eq!(agents[0]["leases"], 1);
}

#[test]
fn config_names_the_origin_of_every_value() {
    let project = Sandbox::new();
    std::fs::write(project.path().join("althing.toml"), "patience = \"10s\"\n").unwrap();
    let mut command = project.command();
    command.env("ALTHING_AGENT", "alice").env("ALTHING_LEASE_TTL", "5m");
    let output = command.args(["config", "--json", "--session", "ws_1"]).output().unwrap();
    let lines: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let of = |key: &str| {
        let line = lines.as_array().unwrap().iter().find(|line| line["key"] == key).unwrap();
        (line["value"].clone(), line["origin"].as_str().unwrap().to_owned())
    };
    assert_eq!(of("agent"), (json!("alice"), "environment".to_owned()));
    assert_eq!(of("lease_ttl"), (json!("5m"), "environment".to_owned()));
    assert_eq!(of("patience"), (json!("10s"), "althing.toml".to_owned()));
    assert_eq!(of("session"), (json!("ws_1"), "flag".to_owned()));
    assert_eq!(of("store_bytes_max"), (json!(null), "default".to_owned()));
    assert_eq!(of("state").1, "git common dir");
}

#[test]
fn the_state_folder_and_the_store_can_be_elsewhere() {
    let project = Sandbox::without_project();
    let elsewhere = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| {
        let mut command = project.command();
        command.env("ALTHING_HOME", elsewhere.path());
        command.args(args).output().unwrap().status.code()
    };
    assert_eq!(run(&["init"]), Some(0));
    assert_eq!(run(&["claim", "a", "--as", "alice"]), Some(0));
    assert!(elsewhere.path().join("trail.db").exists());
    assert!(!project.state().exists());
    let store = format!("sqlite:{}", elsewhere.path().join("other.db").display());
    assert_eq!(run(&["init", "--store", &store]), Some(0));
    assert_eq!(run(&["claim", "a", "--as", "bob", "--store", &store]), Some(0), "another trail");
}

#[test]
fn doctor_finds_a_healthy_project_healthy() {
    let project = Sandbox::new();
    project.claim("alice", "a");
    let findings = project.json(&["doctor"]);
    for finding in findings.as_array().unwrap() {
        assert_eq!(finding["level"], "good", "{finding}");
    }
    assert!(findings.as_array().unwrap().len() >= 7);
}

#[test]
fn a_trail_clock_ahead_of_the_machine_is_noticed() {
    let project = Sandbox::new();
    project.claim("alice", "a");
    // A machine whose clock was a day ahead once wrote here. The stamp is forged by hand, so
    // the chains do not hold any more, but opening does not hash and sees the clock.
    let conn = rusqlite::Connection::open(project.store()).unwrap();
    let lines: String =
        conn.query_row("SELECT entries FROM commits WHERE last = 5", [], |row| row.get(0)).unwrap();
    let mut last: serde_json::Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    let at = last["at"].as_u64().unwrap();
    last["at"] = json!(at + 86_400_000_000);
    let changed = lines.replacen(&format!("\"at\":{at}"), &format!("\"at\":{}", last["at"]), 1);
    conn.execute("UPDATE commits SET entries = ? WHERE last = 5", [changed]).unwrap();
    let ran = project.run(&["doctor"]);
    assert_eq!(ran.code, Some(4));
    assert!(ran.out.contains("ahead of this machine's"), "{}", ran.out);
    assert!(project.ok(&["status"]).out.contains("ahead"));
}

#[test]
fn stores_beside_each_other_do_not_confuse_each_other() {
    let project = Sandbox::new();
    project.claim("alice", "a");
    let other = format!("sqlite:{}", project.path().join("other.db").display());
    project.ok(&["--store", &other, "init"]);
    for n in 0..5 {
        project.ok(&["--store", &other, "claim", &format!("f{n}"), "--as", "alice"]);
    }
    project.ok(&["trail", "verify"]);
    project.ok(&["--store", &other, "trail", "verify"]);
    assert_eq!(project.json(&["claims"]).as_array().unwrap().len(), 1);
}

#[test]
fn a_backup_of_something_else_is_not_put_in_place() {
    let (project, other) = (Sandbox::new(), Sandbox::new());
    project.claim("alice", "a");
    let outside = tempfile::tempdir().unwrap();
    let folder = outside.path().join("theirs");
    other.ok(&["backup", folder.to_str().unwrap()]);
    let ran = project.run(&["backup", "--restore", folder.to_str().unwrap(), "--json"]);
    assert_eq!((ran.code, ran.error()["rule"].as_str()), (Some(4), Some("A-STORE-04")));
    let ran = project.run(&["backup", "--restore", outside.path().to_str().unwrap(), "--json"]);
    assert_eq!((ran.code, ran.error()["rule"].as_str()), (Some(1), Some("A-USE-05")));
    assert_eq!(project.json(&["claims"]).as_array().unwrap().len(), 1);
}

#[test]
fn a_setting_up_that_was_cut_short_can_be_done_again() {
    let project = Sandbox::without_project();
    std::fs::create_dir_all(project.state()).unwrap();
    // A killed process leaves an empty file, or one with a journal to roll back.
    std::fs::write(project.store(), "").unwrap();
    project.ok(&["init"]);
    project.claim("alice", "a");
    let elsewhere = Sandbox::without_project();
    std::fs::create_dir_all(elsewhere.state()).unwrap();
    std::fs::write(elsewhere.store(), "").unwrap();
    let export = project.ok(&["trail", "export"]).out;
    let ran = elsewhere.run_with(&["trail", "import"], export.as_bytes());
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn a_backup_goes_where_it_is_told_from_here() {
    let project = Sandbox::new();
    project.claim("alice", "a");
    project.ok(&["backup", "bk"]);
    assert!(project.path().join("bk/trail.db").exists());
    project.ok(&["backup", "--restore", "bk"]);
    project.ok(&["--store", "sqlite:deep/er/t.db", "init"]);
}

#[test]
fn a_trail_that_vanished_is_not_begun_anew_unnoticed() {
    let project = Sandbox::new();
    project.claim("alice", "a");
    for ending in ["", "-wal", "-shm"] {
        std::fs::remove_file(project.state().join(format!("trail.db{ending}"))).unwrap();
    }
    for args in [&["init", "--json"][..], &["claims", "--json"]] {
        let ran = project.run(args);
        assert_eq!((ran.code, ran.error()["rule"].as_str()), (Some(5), Some("A-TRAIL-02")));
    }
}

#[test]
fn a_backup_is_made_while_work_goes_on_and_restores() {
    let project = Sandbox::new();
    project.claim("alice", "a");
    let outside = tempfile::tempdir().unwrap();
    let folder = outside.path().join("monday");
    let folder = folder.to_str().unwrap();
    let made = project.json(&["backup", folder, "--keys"]);
    assert_eq!(made["entries"], 5);
    assert_eq!(project.run(&["backup", folder]).code, Some(2), "never over an old one");
    project.claim("alice", "b");
    let restored = project.json(&["backup", "--restore", folder]);
    assert_eq!(restored["restored"], 5);
    assert!(
        std::path::Path::new(restored["set_aside"].as_str().unwrap()).join("trail.db").exists()
    );
    assert_eq!(project.json(&["claims"]).as_array().unwrap().len(), 1);
    project.claim("alice", "c");
    project.ok(&["trail", "verify", "--signatures"]);

    let other = Sandbox::without_project();
    other.ok(&["backup", "--restore", folder]);
    other.claim("alice", "d");
    assert_eq!(project.run(&["backup", "--restore", "/no/such/folder"]).code, Some(1));
}

#[test]
fn rules_are_explained() {
    let project = Sandbox::bare();
    let all = project.json(&["rules"]);
    assert!(all.as_array().unwrap().len() > 20);
    let one = project.ok(&["rules", "a-lease-01"]).out;
    assert!(one.contains("Two holders never hold overlapping surfaces"), "{one}");
}

#[test]
fn help_has_examples_and_completions_exist_for_every_shell() {
    let project = Sandbox::bare();
    for command in ["claim", "release", "check", "do", "trail", "blob", "backup", "login"] {
        let help = project.ok(&[command, "--help"]).out;
        assert!(help.contains("Example"), "{command}: {help}");
    }
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = project.ok(&["completions", shell]).out;
        assert!(script.contains("althing") && script.len() > 1_000, "{shell}");
    }
    assert!(project.ok(&["--version"]).out.starts_with("althing "));
}

#[test]
fn output_is_plain_where_nobody_watches() {
    let project = Sandbox::new();
    project.claim("alice", "a");
    for args in [&["status"][..], &["claims"], &["trail"], &["doctor"], &["trail", "verify"]] {
        let ran = project.ok(args);
        assert!(!ran.out.contains('\u{1b}') && !ran.err.contains('\u{1b}'), "{args:?}");
    }
}

/// A process that is killed while it makes the store leaves a journal that only a writer may take back.
#[test]
fn a_store_whose_creation_was_killed_is_created_again() {
    let project = Sandbox::without_project();
    std::fs::create_dir_all(project.state()).unwrap();
    let made = tempfile::tempdir().unwrap();
    let at = made.path().join("trail.db");
    let store = rusqlite::Connection::open(&at).unwrap();
    store
        .execute_batch(
            "PRAGMA cache_size = 1; CREATE TABLE first (x); BEGIN; CREATE TABLE half (x);
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
             INSERT INTO half SELECT hex(randomblob(50)) FROM n;",
        )
        .unwrap();
    for name in ["trail.db", "trail.db-journal"] {
        std::fs::copy(made.path().join(name), project.state().join(name)).unwrap();
    }
    let ran = project.run(&["status"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("althing init"), "{ran:?}");
}
