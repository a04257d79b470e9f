//! The program's own log: off by default, on standard error, in text or JSON.

use crate::support::{Ran, Sandbox};
use serde_json::Value;

/// Enough changes in one process that a snapshot is due.
fn many_changes() -> String {
    let call = |n: u32| {
        let surfaces = [format!("src/file{n}.rs")];
        let call = serde_json::json!({ "name": "lease.open", "args": { "surfaces": surfaces } });
        format!("{call}\n")
    };
    (0..80).map(call).collect()
}

/// Makes those changes with these arguments and variables.
fn change(project: &Sandbox, args: &[&str], variables: &[(&str, &str)]) -> Ran {
    use std::io::Write as _;
    let mut child = project
        .command()
        .args(["do", "--lines", "--as", "alice"])
        .args(args)
        .envs(variables.iter().copied())
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || input.write_all(many_changes().as_bytes()));
    let ran = Ran::of(&child.wait_with_output().unwrap());
    writer.join().unwrap().unwrap();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran
}

/// A project whose snapshots cannot be written: a file is where their folder has to be.
fn without_snapshots() -> Sandbox {
    let project = Sandbox::new();
    let status = project.json(&["status"]);
    let folder = project.state().join("snapshots").join(status["project"].as_str().unwrap());
    std::fs::write(folder, "in the way").unwrap();
    project
}

fn all_are_answers(out: &str) {
    for line in out.lines() {
        assert!(serde_json::from_str::<Value>(line).unwrap().is_object(), "{line}");
    }
    assert_eq!(out.lines().count(), 80, "{out}");
}

#[test]
fn a_snapshot_that_fails_is_told_with_v_and_not_without() {
    let silent = change(&without_snapshots(), &[], &[]);
    assert_eq!(silent.err, "");
    let shown = change(&without_snapshots(), &["-v"], &[]);
    assert!(
        shown.err.contains(" WARN ") && shown.err.contains("no snapshot was saved"),
        "{shown:?}"
    );
    assert!(!shown.err.contains("DEBUG"), "{shown:?}");
    all_are_answers(&shown.out);
    let set = change(&without_snapshots(), &[], &[("ALTHING_LOG", "warn")]);
    assert!(set.err.contains("no snapshot was saved"), "{set:?}");
}

#[test]
fn a_witness_that_cannot_be_kept_is_told() {
    let project = Sandbox::new();
    std::fs::create_dir(project.state().join("trail.db-head")).unwrap();
    let shown = change(&project, &["-v"], &[]);
    assert!(shown.err.contains("the witness file cannot be read"), "{shown:?}");
}

#[test]
fn a_command_s_steps_are_told_with_their_times() {
    let shown = change(&Sandbox::new(), &["-vv"], &[]);
    for step in ["commit", "decide", "append", "apply"] {
        let of_step = |line: &&str| line.contains(&format!(": {step} ")) && line.contains(" took=");
        assert!(shown.err.lines().any(|line| of_step(&line)), "{step}: {}", shown.err);
    }
    all_are_answers(&shown.out);
}

#[test]
fn lines_of_json_can_be_read() {
    let json = [("ALTHING_LOG_FORMAT", "json"), ("ALTHING_LOG", "althing_engine=debug")];
    let shown = change(&without_snapshots(), &[], &json);
    let lines: Vec<Value> =
        shown.err.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let warned = |line: &&Value| line["level"] == "WARN";
    let warning = lines.iter().find(warned).unwrap();
    assert_eq!(warning["message"], "no snapshot was saved");
    assert!(warning["fields"]["error"].is_string(), "{warning}");
    assert_eq!(warning["target"], "althing_engine::commit::writer");
    assert!(
        lines.iter().any(|line| line["message"] == "append" && line["took_us"].is_u64()),
        "{}",
        shown.err
    );
    all_are_answers(&shown.out);
}

#[test]
fn a_wrong_filter_is_wrong_usage() {
    let project = Sandbox::new();
    for (name, value) in [("ALTHING_LOG", "althing=loud"), ("ALTHING_LOG_FORMAT", "xml")] {
        let mut command = project.command();
        command.env("ALTHING_LOG", "warn").env(name, value).arg("claims");
        let ran = Ran::of(&command.output().unwrap());
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.err.contains(name), "{ran:?}");
    }
}
