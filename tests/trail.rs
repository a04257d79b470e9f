//! The trail from the command line: looking, following, proving, moving.

use crate::support::Sandbox;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

fn grown() -> Sandbox {
    let project = Sandbox::new();
    for n in 0..5 {
        project.claim("alice", &format!("a{n}"));
        project.run(&["claim", &format!("a{n}"), "--as", "bob"]);
    }
    project
}

/// Shows W-TRAIL-07, W-TRAIL-32.
#[test]
fn entries_can_be_filtered() {
    let project = grown();
    let lines = |args: &[&str]| -> Vec<Value> {
        let ran = project.ok(&[&["trail", "--json"], args].concat());
        ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    assert_eq!(lines(&["--kind", "lease.opened"]).len(), 5);
    assert_eq!(lines(&["--kind", "lease.opened", "--kind", "command.refused"]).len(), 10);
    assert_eq!(lines(&["--actor", "agent:bob", "--kind", "command.refused"]).len(), 5);
    assert_eq!(lines(&["--last", "3"]).len(), 3);
    assert_eq!(lines(&["--after", "3", "--all"])[0]["seq"], 4);
    assert_eq!(lines(&["--since", "1h", "--all"]).len(), project.entries().len());
    assert_eq!(lines(&["--until", "1h", "--all"]).len(), 0);
    let lease = project.json(&["claims"])[0]["lease"].as_str().unwrap().to_owned();
    assert!(lines(&["--mentions", &lease]).len() >= 2, "granted, and cited in a refusal");
    let workspace = project.json(&["claims"])[0]["workspace"].as_str().unwrap().to_owned();
    let local = lines(&["--workspace", &workspace, "--all"]);
    assert_eq!(local[0]["kind"], "session.opened");
    assert_eq!(local[0].get("local_prev"), None);
    for pair in local.windows(2) {
        assert_eq!(pair[1]["local_prev"], pair[0]["local_hash"], "a chain of its own");
    }
    let shown = project.ok(&["trail"]).out;
    assert!(shown.contains("lease.opened") && shown.contains("[A-LEASE-01]"), "{shown}");
    assert!(project.ok(&["trail", "show", "1"]).out.contains("project.created"));
}

#[test]
fn the_past_can_be_looked_at() {
    let project = Sandbox::new();
    let first = project.claim("alice", "src");
    let after_first = project.entries().len();
    std::thread::sleep(std::time::Duration::from_millis(1100));
    project.ok(&["release", "--all", "--as", "alice"]);
    let second = project.claim("bob", "src");
    let now = project.entries().len();

    let then = project.json(&["trail", "at", &after_first.to_string()]);
    assert_eq!(then["seq"], after_first);
    assert_eq!(then["leases"], json!([first]), "what was granted, as it was shown");
    assert_eq!(then["agents"].as_array().unwrap().len(), 1, "bob had not come yet");
    assert_eq!(project.json(&["trail", "at", "1s"])["leases"], json!([first]));
    assert_eq!(project.json(&["trail", "at", "1"])["leases"], json!([]));
    assert_eq!(project.json(&["trail", "at", "now"])["leases"], json!([second]));
    assert_eq!(project.json(&["trail", "at", "10d"])["seq"], 0, "before there was anything");
    let by_name = project.json(&["do", "trail.at", &json!({ "seq": after_first }).to_string()]);
    assert_eq!(by_name, then);
    assert!(project.ok(&["trail", "at", "1s"]).out.contains("agent:alice"));

    let changed = project.json(&["trail", "diff", &after_first.to_string()]);
    assert_eq!(changed["to_seq"], now);
    assert_eq!(changed["leases"]["added"], json!([second]));
    assert_eq!(changed["leases"]["gone"], json!([first]));
    assert_eq!(changed["agents"]["added"][0]["agent"], "bob");
    let backwards = project.json(&["trail", "diff", &now.to_string(), &after_first.to_string()]);
    assert_eq!(backwards["leases"], changed["leases"], "the order of the moments does not matter");
    let shown = project.ok(&["trail", "diff", &after_first.to_string(), "now"]).out;
    assert!(shown.contains("- lease    agent:alice  src"), "{shown}");
    assert!(shown.contains("+ lease    agent:bob  src"), "{shown}");
    assert!(project.ok(&["trail", "diff", "now", "now"]).out.contains("nothing changed"));

    for (moment, code, rule) in [
        ("0", 1, "A-USE-05"),
        ("9999", 1, "A-USE-05"),
        ("2200-01-01", 2, "A-USE-01"),
        ("someday", 2, "A-USE-01"),
    ] {
        let ran = project.run(&["trail", "at", moment, "--json"]);
        assert_eq!((ran.code, ran.error()["rule"].as_str()), (Some(code), Some(rule)), "{moment}");
    }
    assert_eq!(project.run(&["do", "trail.at", r#"{"seq":1,"time":1}"#]).code, Some(2));
}

#[test]
fn a_lease_is_gone_from_the_past_once_it_had_run_out() {
    let project = Sandbox::new();
    project.ok(&["claim", "src", "--ttl", "1s", "--as", "alice"]);
    let granted = project.entries().len();
    std::thread::sleep(std::time::Duration::from_millis(2100));
    project.claim("bob", "docs");
    // No entry says so between these two moments: the lease ended by itself.
    assert_eq!(project.json(&["trail", "at", "1s"])["leases"], json!([]));
    let right_after = project.json(&["trail", "at", &granted.to_string()]);
    assert_eq!(right_after["leases"][0]["surfaces"], json!(["src"]));
}

#[test]
fn keys_and_proofs_go_together_across_a_takeover() {
    let project = grown();
    let kept = project.path().join("kept");
    std::fs::write(&kept, project.ok(&["trail", "head"]).out).unwrap();
    let old = project.ok(&["trail", "head", "--key"]).out.trim().to_owned();
    project.ok(&["trail", "verify", "--key", &old]);
    let words = project.ok(&["doctor", "--rekey", "--reason", "just because"]).err;
    assert!(words.contains("nothing to take over"), "{words}");
    std::fs::remove_file(project.state().join("keys/runtime.key")).unwrap();
    project.ok(&["doctor", "--rekey", "--reason", "lost"]);
    assert!(project.kinds().contains(&"runtime.rekeyed".to_owned()));
    let new = project.ok(&["trail", "head", "--key"]).out.trim().to_owned();
    assert_eq!(project.run(&["trail", "verify", "--key", &old]).code, Some(5), "not expected");
    project.ok(&["trail", "verify", "--key", &old, "--key", &new, "--signatures"]);
    let proof = project.path().join("proof.json");
    let made = project.ok(&["trail", "prove", "--from", kept.to_str().unwrap()]).out;
    std::fs::write(&proof, made).unwrap();
    let proof = proof.to_str().unwrap();
    project.ok(&["trail", "verify", "--proof", proof]);
    project.ok(&["trail", "verify", "--proof", proof, "--key", &old, "--key", &new]);
    assert_eq!(project.run(&["trail", "verify", "--proof", proof, "--key", &new]).code, Some(5));
    let empty = project.path().join("empty");
    std::fs::write(&empty, "").unwrap();
    assert_eq!(project.run(&["trail", "verify", "--file", empty.to_str().unwrap()]).code, Some(5));
}

/// Shows W-HH-01, W-TRAIL-34.
#[test]
fn following_shows_what_other_processes_do() {
    let project = Sandbox::new();
    let mut follower = project
        .command()
        .args(["trail", "--follow", "--json", "--kind", "lease.opened"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines();
    for n in 0..3 {
        let lease = project.claim("alice", &format!("f{n}"));
        let line: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        assert_eq!(line["body"]["lease"], lease["lease"]);
    }
    follower.kill().unwrap();
    follower.wait().unwrap();
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let project = grown();
    let mut child =
        project.command().args(["trail", "export"]).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn proofs_and_heads_convince_a_stranger() {
    let project = grown();
    let files = tempfile::tempdir().unwrap();
    let file = |name: &str| files.path().join(name).to_str().unwrap().to_owned();
    let kept = project.ok(&["trail", "head"]).out;
    std::fs::write(file("head"), &kept).unwrap();
    std::fs::write(file("proof"), project.ok(&["trail", "prove", "4"]).out).unwrap();
    project.claim("alice", "later");
    std::fs::write(file("growth"), project.ok(&["trail", "prove", "--from", &file("head")]).out)
        .unwrap();
    let key = project.entries()[0]["body"]["runtime_key"].as_str().unwrap().to_owned();

    let stranger = Sandbox::bare();
    for proof in ["proof", "growth"] {
        stranger.ok(&["trail", "verify", "--proof", &file(proof), "--key", &key]);
        let other = "ed25519:".to_owned() + &"0".repeat(64);
        let ran = stranger.run(&["trail", "verify", "--proof", &file(proof), "--key", &other]);
        assert_eq!(ran.code, Some(5), "{ran:?}");
        let text = std::fs::read_to_string(file(proof)).unwrap();
        let at = text.find("\"path\":[\"").unwrap() + 9;
        let changed = format!("{}{}{}", &text[..at], "0000", &text[at + 4..]);
        std::fs::write(file("changed"), changed).unwrap();
        let ran = stranger.run(&["trail", "verify", "--proof", &file("changed"), "--key", &key]);
        assert_eq!(ran.code, Some(5), "{ran:?}");
    }
    project.ok(&["trail", "verify", "--head", &file("head"), "--signatures", "--key", &key]);
    for (head, kept) in [(vec![], 0), (vec!["--head", &file("head")], 1)] {
        let verify = [&["trail", "verify"], head.as_slice()].concat();
        let json = project.json(&verify);
        assert_eq!(json["checked"]["kept_heads"], kept, "{json}");
        let words = project.ok(&verify).out;
        assert!(words.contains(&format!("kept heads found: {kept}")), "{words}");
    }
    let verifier_key = project.ok(&["trail", "head", "--key"]).out;
    assert!(verifier_key.starts_with("althing/") && verifier_key.contains('+'));
}

/// Shows W-TRAIL-24.
#[test]
fn an_exported_trail_is_verified_by_itself_and_by_another_program() {
    let project = grown();
    project.login("ada");
    let export = project.path().join("trail.jsonl");
    std::fs::write(&export, project.ok(&["trail", "export"]).out).unwrap();
    let file = export.to_str().unwrap();
    let stranger = Sandbox::bare();
    let report = stranger.json(&["trail", "verify", "--file", file, "--signatures"]);
    assert_eq!(report["sound"], true);
    assert_eq!(report["checked"]["entries"], json!(project.entries().len()));

    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/verify.py");
    match Command::new("python3").arg(script).arg(&export).output() {
        Ok(output) => assert!(output.status.success(), "{output:?}"),
        Err(error) => println!("no python3 here, so its half is not tested: {error}"),
    }

    let text = std::fs::read_to_string(&export).unwrap();
    std::fs::write(&export, text.replacen("a3", "b3", 1)).unwrap();
    let ran = stranger.run(&["trail", "verify", "--file", file, "--json"]);
    assert_eq!(ran.code, Some(5), "{ran:?}");
    assert!(ran.error()["details"]["entry"].as_u64() > Some(0));
    if let Ok(output) = Command::new("python3").arg(script).arg(&export).output() {
        assert!(!output.status.success(), "{output:?}");
    }
}

#[test]
fn a_trail_moves_to_another_machine_and_goes_on_there() {
    let project = grown();
    let export = project.ok(&["trail", "export"]).out;
    let other = Sandbox::without_project();
    let ran = other.run_with(&["trail", "import"], export.as_bytes());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(other.ok(&["trail", "export"]).out, export, "byte for byte");
    assert_eq!(other.json(&["claims"]), project.json(&["claims"]));

    let ran = other.run(&["claim", "new", "--as", "carol", "--json"]);
    assert_eq!((ran.code, ran.error()["rule"].as_str()), (Some(4), Some("A-PROJ-03")));
    other.ok(&["doctor", "--rekey", "--reason", "moved here"]);
    other.claim("carol", "new");
    let ran = other.run(&["claim", "mine", "--as", "alice", "--json"]);
    assert_eq!(ran.error()["rule"], "A-ID-01", "alice's key stayed where it was");
    let report = other.json(&["trail", "verify", "--signatures"]);
    assert_eq!(report["checked"]["keys"].as_array().unwrap().len(), 2);

    let ran = other.run_with(&["trail", "import"], export.as_bytes());
    assert_eq!(ran.code, Some(2), "what is there is never overwritten: {ran:?}");
    let third = Sandbox::without_project();
    let ran = third.run_with(&["trail", "import"], b"nonsense\n");
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(!third.store().exists());
}
