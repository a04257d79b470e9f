//! The conformance report, joined with what a test run said.
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn conformance(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.arg("conformance").args(args).current_dir(folder).output().unwrap()
}

fn report(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A requirement of level 1 with a test, and what cargo would have said about that test.
fn a_shown_one(folder: &Path, outcome: &str) -> (String, String, String) {
    std::fs::write(folder.join("nothing.txt"), "").unwrap();
    let report =
        report(&conformance(folder, &["--results", "nothing.txt", "--level", "1", "--json"]));
    let mut rows = report["requirements"].as_array().unwrap().iter();
    let row = rows.find(|row| row["standing"] == "shown").unwrap();
    assert_eq!(row["tests"][0]["outcome"], "not_run");
    let test = row["tests"][0]["test"].as_str().unwrap();
    let (binary, name) = test.split_once("::").unwrap();
    let shown = format!(
        "     Running unittests (target/debug/deps/{binary}-1a2b)\ntest {name} ... {outcome}\n"
    );
    (row["id"].as_str().unwrap().to_owned(), test.to_owned(), shown)
}

#[test]
fn a_failed_test_fails_what_it_shows() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("said.txt");
    let (id, test, shown) = a_shown_one(folder.path(), "FAILED");
    std::fs::write(&file, shown).unwrap();
    let ran = conformance(folder.path(), &["--results", "said.txt", "--json"]);
    assert_eq!(ran.status.code(), Some(1));
    let shown = report(&ran);
    assert_eq!(shown["failed"][0], test.as_str());
    let mut rows = shown["requirements"].as_array().unwrap().iter();
    let row = rows.find(|row| row["id"] == id.as_str()).unwrap();
    assert_eq!(row["tests"][0]["outcome"], "failed");

    let ran = conformance(folder.path(), &["--results", "said.txt"]);
    assert_eq!(ran.status.code(), Some(1));
    let (out, err) =
        (String::from_utf8(ran.stdout).unwrap(), String::from_utf8(ran.stderr).unwrap());
    assert!(out.contains(&format!("FAILED   {test}")), "{out}");
    assert!(err.contains(&test) && err.contains("[A-CONF-01]"), "{err}");

    let (_, _, shown) = a_shown_one(folder.path(), "ok");
    std::fs::write(&file, shown).unwrap();
    let ran = conformance(folder.path(), &["--results", "said.txt"]);
    assert!(ran.status.success(), "{ran:?}");
    let out = String::from_utf8(ran.stdout).unwrap();
    assert!(out.contains(&format!("ok       {test}")), "{out}");
    assert!(out.contains("Outcomes are from said.txt."), "{out}");
    let ran = conformance(folder.path(), &["--results", "no-such-file"]);
    assert_eq!(ran.status.code(), Some(1), "{ran:?}");
}
