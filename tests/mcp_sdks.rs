//! The official clients of the Model Context Protocol against the server.
//!
//! `scripts/test` installs them under `target/`. Where they are not, these tests say so; with
//! `ALTHING_SDKS=required`, which that script sets once it has installed them, they fail.

use crate::support::{BINARY, Sandbox};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A path in a folder of installed packages, if the installation is complete and up to date.
fn installed(folder: &str, from: &str, path: &str) -> Option<PathBuf> {
    let folder = root().join("target/mcp").join(folder);
    let marker = std::fs::read_to_string(folder.join(".done")).unwrap_or_default();
    if !marker.trim().is_empty() && marker.trim() == digest(from) {
        return Some(folder.join(path));
    }
    let required = std::env::var_os("ALTHING_SDKS").is_some_and(|value| value == "required");
    assert!(!required, "{} is not installed", folder.display());
    let folder = folder.display();
    let text = format!("skipped: {folder} is not installed from {from}; scripts/test does that\n");
    std::io::stderr().write_all(text.as_bytes()).unwrap();
    None
}

/// The digest of a file in `tests/mcp`, as `scripts/test` takes it.
fn digest(name: &str) -> String {
    let path = root().join("tests/mcp").join(name);
    let ran = Command::new("git").args(["hash-object", "--no-filters"]).arg(path).output().unwrap();
    String::from_utf8(ran.stdout).unwrap().trim().to_owned()
}

fn project() -> Sandbox {
    let project = Sandbox::new();
    let capsule = r#"{"id":"w1","what":"the engine","depends":[]}"#;
    project.ok(&["do", "capsule.write", capsule, "--as", "alice"]);
    project
}

#[track_caller]
fn all_well(command: &mut Command) {
    let ran = command.env_remove("ALTHING_AGENT").output().unwrap();
    let text = String::from_utf8_lossy(&ran.stdout);
    let err = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success() && text.contains("all well"), "{text}\n{err}");
}

#[test]
fn the_python_client_is_served() {
    let Some(python) = installed("python", "requirements.txt", "bin/python") else { return };
    let project = project();
    for mode in ["legacy", "auto"] {
        let script = root().join("tests/mcp/client.py");
        all_well(Command::new(&python).arg(script).arg(BINARY).arg(project.path()).arg(mode));
    }
    project.ok(&["trail", "verify"]);
}

#[test]
fn the_typescript_client_is_served() {
    let Some(modules) = installed("node", "package-lock.json", "node_modules") else { return };
    let project = project();
    let script = root().join("tests/mcp/client.mjs");
    let node = modules.parent().unwrap();
    all_well(Command::new("node").arg(script).arg(BINARY).arg(project.path()).arg(node));
    project.ok(&["trail", "verify"]);
}
