//! The benchmark, run briefly on the program that the other tests test.
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// The task under test.
const XTASK: &str = env!("CARGO_BIN_EXE_xtask");

#[test]
fn a_quick_benchmark_runs_and_compares() {
    let program =
        Path::new(XTASK).with_file_name(format!("althing{}", std::env::consts::EXE_SUFFIX));
    if !program.exists() {
        // Where only this package is tested, nothing else has built it.
        let build = ["build", "--quiet", "--locked", "--package", "althing"];
        assert!(Command::new(env!("CARGO")).args(build).status().unwrap().success());
    }
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(XTASK)
        .args(["bench", "--json", "--seconds", "1", "--entries", "2000", "--callers", "4"])
        .arg("--binary")
        .arg(&program)
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let rows: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    assert!(rows.len() > 15, "{}", rows.len());
    assert!(rows.iter().any(|row| row["limit"]["ratio"].as_f64().is_some_and(|r| r > 0.0)));
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}
