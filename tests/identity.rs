//! Who may act as whom, tried from the outside.

use crate::support::{Sandbox, passphrase};

/// Shows W-HH-35.
#[test]
fn a_person_signs_up_with_a_passphrase_and_acts_with_it() {
    let project = Sandbox::new();
    assert_eq!(project.login("ada")["state"], "signed_up");
    assert_eq!(project.login("ada")["state"], "in");
    let lease = project.claim("alice", "src");
    let id = lease["lease"].as_str().unwrap();
    let forced =
        project.as_user("ada", &["release", id, "--force", "--reason", "alice has gone home"]);
    assert_eq!(forced.code, Some(0), "{forced:?}");
    let entries = project.entries();
    let entry = entries.iter().find(|entry| entry["kind"] == "lease.forced").unwrap();
    assert_eq!(entry["actor"], "user:ada");
    assert_eq!(entry["body"]["reason"], "alice has gone home");
    assert_eq!(entry["proof"]["request"]["name"], "lease.force", "signed by ada herself");
    project.ok(&["trail", "verify", "--signatures"]);
}

#[test]
fn the_wrong_passphrase_opens_nothing() {
    let project = Sandbox::new();
    project.login("ada");
    let lease = project.claim("alice", "src");
    let id = lease["lease"].as_str().unwrap();
    let args = [
        "release",
        id,
        "--force",
        "--reason",
        "r",
        "--user",
        "ada",
        "--passphrase-stdin",
        "--json",
    ];
    let ran = project.run_with(&args, b"guess guess\n");
    assert_eq!((ran.code, ran.error()["rule"].as_str()), (Some(1), Some("A-ID-02")));
    assert_eq!(project.json(&["claims"]).as_array().unwrap().len(), 1);
    let ran = project.run_with(&["login", "ada", "--passphrase-stdin", "--json"], b"guess guess\n");
    assert_eq!(ran.code, Some(1), "{ran:?}");
}

#[test]
fn without_a_terminal_a_passphrase_is_not_waited_for() {
    let project = Sandbox::new();
    project.login("ada");
    let ran = project.run(&["claim", "a", "--user", "ada", "--json"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.error()["message"].as_str().unwrap().contains("terminal"));
}

#[test]
fn later_people_are_let_in_by_somebody_who_is_in() {
    let project = Sandbox::new();
    project.login("ada");
    let eve = project.login("eve");
    assert_eq!(eve["state"], "waiting");
    let ran = project.as_user("eve", &["claim", "a"]);
    assert_eq!((ran.code, ran.error()["rule"].as_str()), (Some(1), Some("A-ID-02")));

    let key = eve["key"].as_str().unwrap();
    let ran = project.run(&["users", "add", "eve", key, "--as", "mallory", "--json"]);
    assert_eq!((ran.code, ran.error()["rule"].as_str()), (Some(1), Some("A-ID-03")));
    let ran = project.as_user("eve", &["users", "add", "eve", key]);
    assert_eq!(ran.code, Some(1), "nobody lets themselves in: {ran:?}");
    let ran = project.as_user("ada", &["users", "add", "eve", key]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(project.as_user("eve", &["claim", "a"]).code, Some(0));
    let users = project.json(&["users"]);
    assert_eq!(users[1]["user"], "eve");
    assert_eq!(users[1]["created_by"], "user:ada");
}

/// Shows W-HH-35, W-SEC-03.
#[test]
fn an_agent_cannot_act_as_a_person_by_any_argument() {
    let project = Sandbox::new();
    project.login("ada");
    let lease = project.claim("alice", "src");
    let force = format!(r#"{{"lease":{},"reason":"r"}}"#, lease["lease"]);
    // As itself.
    let ran = project.run(&["do", "lease.force", &force, "--as", "bob", "--json"]);
    assert_eq!((ran.code, ran.error()["rule"].as_str()), (Some(1), Some("A-LEASE-05")));
    // By calling itself so.
    for name in ["user:ada", "agent:alice", "system", "protocol", "coordinator"] {
        let ran = project.run(&["do", "lease.force", &force, "--as", name, "--json"]);
        assert!(matches!(ran.code, Some(1 | 2)), "{name}: {ran:?}");
    }
    // By putting a plain key where a person's sealed key is expected.
    let keys = project.state().join("keys");
    std::fs::copy(keys.join("agent-bob.key"), keys.join("user-ada.key")).unwrap();
    let ran = project.as_user("ada", &["do", "lease.force", &force]);
    assert!(matches!(ran.code, Some(1 | 4)), "{ran:?}");
    // By making a fresh key under the person's name.
    std::fs::remove_file(keys.join("user-ada.key")).unwrap();
    let args = ["login", "ada", "--passphrase-stdin", "--json"];
    let ran = project.run_with(&args, b"a new passphrase\n");
    assert_eq!((ran.code, ran.error()["rule"].as_str()), (Some(1), Some("A-ID-02")));
    let mut forced = vec!["do", "lease.force", &force, "--user", "ada"];
    forced.extend(["--passphrase-stdin", "--json"]);
    let ran = project.run_with(&forced, b"a new passphrase\n");
    assert_eq!((ran.code, ran.error()["rule"].as_str()), (Some(1), Some("A-ID-02")));
    assert_eq!(project.json(&["claims"]).as_array().unwrap().len(), 1, "alice still holds it");
    assert!(project.kinds().contains(&"authentication_failed".to_owned()), "and it is on record");
}

/// Shows W-SEC-12.
#[test]
fn guessing_a_passphrase_is_on_record() {
    let project = Sandbox::new();
    project.login("ada");
    let guess = ["claim", "x", "--user", "ada", "--passphrase-stdin", "--json"];
    for _ in 0..2 {
        let ran = project.run_with(&guess, b"not the passphrase\n");
        assert_eq!((ran.code, ran.error()["rule"].as_str()), (Some(1), Some("A-ID-02")));
    }
    let entries = project.entries();
    let failed: Vec<_> =
        entries.iter().filter(|entry| entry["kind"] == "authentication_failed").collect();
    assert_eq!(failed.len(), 2);
    assert_eq!(
        (&failed[0]["actor"], &failed[0]["body"]["entity"]),
        (&"protocol".into(), &"user:ada".into())
    );
    project.ok(&["trail", "verify", "--signatures"]);
}

/// Shows W-SEC-04.
#[test]
fn an_agent_with_another_key_is_not_that_agent() {
    let project = Sandbox::new();
    project.claim("alice", "src");
    let keys = project.state().join("keys");
    project.claim("bob", "docs");
    std::fs::copy(keys.join("agent-bob.key"), keys.join("agent-alice.key")).unwrap();
    let ran = project.run(&["release", "--all", "--as", "alice", "--json"]);
    assert_eq!((ran.code, ran.error()["rule"].as_str()), (Some(1), Some("A-ID-01")));
    std::fs::remove_file(keys.join("agent-alice.key")).unwrap();
    let ran = project.run(&["claim", "x", "--as", "alice", "--json"]);
    assert_eq!((ran.code, ran.error()["rule"].as_str()), (Some(1), Some("A-ID-01")));
    assert!(!keys.join("agent-alice.key").exists(), "no key is made for a name that has one");
    assert_eq!(project.json(&["claims"]).as_array().unwrap().len(), 2);
}

#[cfg(unix)]
#[test]
fn keys_are_for_their_owner_only_and_doctor_notices_others() {
    use std::os::unix::fs::PermissionsExt as _;
    let project = Sandbox::new();
    project.claim("alice", "a");
    project.login("ada");
    let keys = project.state().join("keys");
    for entry in std::fs::read_dir(&keys).unwrap() {
        let mode = entry.unwrap().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    assert_eq!(std::fs::metadata(&keys).unwrap().permissions().mode() & 0o777, 0o700);
    project.ok(&["doctor"]);
    let open = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(keys.join("agent-alice.key"), open).unwrap();
    let ran = project.run(&["doctor"]);
    assert_eq!(ran.code, Some(4));
    assert!(ran.out.contains("agent-alice.key"), "{}", ran.out);
}

#[test]
fn a_persons_key_is_sealed() {
    let project = Sandbox::new();
    project.login("ada");
    let text = std::fs::read_to_string(project.state().join("keys/user-ada.key")).unwrap();
    assert!(text.starts_with("althing sealed key v1\n"));
    assert!(text.contains("argon2id"));
    let short = project.run_with(&["login", "bo", "--passphrase-stdin"], b"short\n");
    assert_eq!(short.code, Some(1), "{short:?}");
    assert!(!passphrase("ada").is_empty());
}
