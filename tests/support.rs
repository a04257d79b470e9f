//! A place to run the binary in, and what it says.

use serde_json::Value;
use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The binary under test.
pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_althing");

/// A folder with a git repository and a project in it.
pub(crate) struct Sandbox {
    folder: tempfile::TempDir,
}

/// The exit code and output of one run of the binary.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Sandbox {
    /// A git repository with a project.
    pub(crate) fn new() -> Self {
        let sandbox = Sandbox::without_project();
        sandbox.ok(&["init"]);
        sandbox
    }

    /// A git repository without a project.
    pub(crate) fn without_project() -> Self {
        let sandbox = Sandbox::bare();
        let git =
            Command::new("git").args(["init", "--quiet"]).current_dir(sandbox.path()).status();
        assert!(git.unwrap().success());
        sandbox
    }

    /// A folder with nothing in it.
    pub(crate) fn bare() -> Self {
        Sandbox { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The state folder of a project in a git repository.
    pub(crate) fn state(&self) -> PathBuf {
        self.path().join(".git").join("althing")
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.state().join("trail.db")
    }

    /// The binary, ready to be given arguments.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(BINARY);
        command.current_dir(self.path());
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("ALTHING_") {
                command.env_remove(name);
            }
        }
        command
    }

    pub(crate) fn run<S: AsRef<OsStr>>(&self, args: &[S]) -> Ran {
        let output = self.command().args(args).stdin(Stdio::null()).output().unwrap();
        Ran::of(&output)
    }

    /// Runs with something on standard input.
    pub(crate) fn run_with(&self, args: &[&str], input: &[u8]) -> Ran {
        let mut child = self
            .command()
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A process that refuses its arguments does not read what is piped in.
        let _ = child.stdin.take().unwrap().write_all(input);
        Ran::of(&child.wait_with_output().unwrap())
    }

    /// Runs and expects success.
    #[track_caller]
    pub(crate) fn ok(&self, args: &[&str]) -> Ran {
        let ran = self.run(args);
        assert_eq!(ran.code, Some(0), "{args:?}: {ran:?}");
        ran
    }

    /// Runs with `--json`, expects success, and reads the one document printed.
    #[track_caller]
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        self.ok(&[args, &["--json"]].concat()).json()
    }

    /// Claims a surface and returns the lease.
    #[track_caller]
    pub(crate) fn claim(&self, agent: &str, surface: &str) -> Value {
        self.json(&["claim", surface, "--as", agent])
    }

    /// Signs a person up, or finds them signed up.
    #[track_caller]
    pub(crate) fn login(&self, user: &str) -> Value {
        let args = ["login", user, "--passphrase-stdin", "--json"];
        let ran = self.run_with(&args, passphrase(user).as_bytes());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.json()
    }

    /// Runs as a person.
    pub(crate) fn as_user(&self, user: &str, args: &[&str]) -> Ran {
        let args = [args, &["--user", user, "--passphrase-stdin", "--json"]].concat();
        self.run_with(&args, passphrase(user).as_bytes())
    }

    /// Runs as a person, for people to read.
    pub(crate) fn run_as(&self, user: &str, args: &[&str]) -> Ran {
        let args = [args, &["--user", user, "--passphrase-stdin"]].concat();
        self.run_with(&args, passphrase(user).as_bytes())
    }

    /// All entries of the trail.
    #[track_caller]
    pub(crate) fn entries(&self) -> Vec<Value> {
        let ran = self.ok(&["trail", "--all", "--json"]);
        ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The kinds of all entries, in order.
    #[track_caller]
    pub(crate) fn kinds(&self) -> Vec<String> {
        self.entries().iter().map(|entry| entry["kind"].as_str().unwrap().to_owned()).collect()
    }

    /// Everything in the state folder, byte for byte.
    pub(crate) fn bytes_of_state(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut files = Vec::new();
        let mut folders = vec![self.state()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                // The shared-memory index is scratch space that SQLite keeps for readers, and an
                // empty journal is what it makes when there is none.
                let bytes = std::fs::read(&path).unwrap();
                let ending = path.extension().unwrap_or_default();
                if ending != "db-shm" && !(ending == "db-wal" && bytes.is_empty()) {
                    files.push((path, bytes));
                }
            }
        }
        files.sort();
        files
    }
}

/// Runs of work, in which alice coordinates.
impl Sandbox {
    /// A project in which alice coordinates.
    pub(crate) fn with_run() -> (Self, String) {
        let project = Sandbox::new();
        let root = project.json(&["coordinator", "start", "--as", "alice"]);
        let root = root["workspace"].as_str().unwrap().to_owned();
        (project, root)
    }

    /// Writes a file of the project.
    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// A worker who took its directive and is at work.
    #[track_caller]
    pub(crate) fn worker(&self, name: &str) -> String {
        let args =
            ["workspace", "create", "--agent", name, "--directive", "Work.", "--as", "alice"];
        let made = self.json(&args);
        self.ok(&["inbox", "--take", "--as", name]);
        made["workspace"].as_str().unwrap().to_owned()
    }

    /// Runs with `--json`, expects a refusal, and returns it with the rule it cites.
    #[track_caller]
    pub(crate) fn refused(&self, args: &[&str]) -> (Ran, String) {
        let ran = self.run(&[args, &["--json"]].concat());
        assert!(matches!(ran.code, Some(1 | 2)), "{args:?}: {ran:?}");
        let rule = ran.error()["rule"].as_str().unwrap().to_owned();
        (ran, rule)
    }
}

/// The passphrase of a person in these tests, with its line break.
pub(crate) fn passphrase(user: &str) -> String {
    format!("the passphrase of {user}\n")
}

impl Ran {
    pub(crate) fn of(output: &Output) -> Self {
        Ran {
            code: output.status.code(),
            out: String::from_utf8(output.stdout.clone()).unwrap(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// The one JSON document on standard output.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The error document, after checking that it says what every error says.
    #[track_caller]
    pub(crate) fn error(&self) -> Value {
        let error = self.json()["error"].clone();
        for field in ["kind", "rule", "message", "way_out"] {
            assert!(error[field].is_string(), "{field} in {self:?}");
        }
        error
    }
}
