//! The frugal dialect under each of its names, as scripts call it: outputs, exit codes, bad input.

mod briefs;
mod claims;
mod commands;
mod edges;
mod ledger;
mod messages;
mod names;
mod shared;

use crate::support::{Ran, Sandbox, passphrase};
use std::io::Write as _;
use std::process::{Command, Stdio};

/// A repository with the tools in a folder beside it.
struct Tools {
    project: Sandbox,
    bin: tempfile::TempDir,
}

impl Tools {
    /// With a project that is set up.
    fn new() -> Self {
        let tools = Tools::without_project();
        tools.ok("heimdall-protocol", &["init"]);
        tools
    }

    /// Without one.
    fn without_project() -> Self {
        let project = Sandbox::without_project();
        let mail = ["config", "user.email", "rj@example.org"];
        let git = Command::new("git").args(mail).current_dir(project.path()).status();
        assert!(git.unwrap().success());
        let bin = tempfile::tempdir().unwrap();
        project.ok(&["shims", bin.path().to_str().unwrap()]);
        Tools { project, bin }
    }

    fn command(&self, tool: &str) -> Command {
        let mut command = Command::new(self.bin.path().join(tool));
        command.current_dir(self.project.path());
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            if name.starts_with("ALTHING_") || name.starts_with("HEIMDALL_") {
                command.env_remove(name);
            }
        }
        command
    }

    fn run(&self, tool: &str, args: &[&str]) -> Ran {
        self.with(self.command(tool).args(args), b"")
    }

    /// Runs something with this on its standard input.
    #[expect(clippy::unused_self, reason = "what is run lies in its folder, which has to live")]
    fn with(&self, command: &mut Command, input: &[u8]) -> Ran {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut pipe = child.stdin.take().unwrap();
        let _ = pipe.write_all(input);
        drop(pipe);
        Ran::of(&child.wait_with_output().unwrap())
    }

    fn piped(&self, tool: &str, args: &[&str], input: &[u8]) -> Ran {
        self.with(self.command(tool).args(args), input)
    }

    #[track_caller]
    fn ok(&self, tool: &str, args: &[&str]) -> String {
        let ran = self.run(tool, args);
        assert_eq!(ran.code, Some(0), "{tool} {args:?}: {ran:?}");
        ran.out
    }

    /// Runs and expects this exit code and this on standard error.
    #[track_caller]
    fn fails(&self, tool: &str, args: &[&str], code: i32, text: &str) -> Ran {
        let ran = self.run(tool, args);
        assert_eq!(ran.code, Some(code), "{tool} {args:?}: {ran:?}");
        assert!(ran.err.contains(text), "{tool} {args:?}: {ran:?}");
        ran
    }

    /// Runs as a person who signed up.
    fn as_user(&self, user: &str, tool: &str, args: &[&str]) -> Ran {
        let args = [args, &["--passphrase-stdin"]].concat();
        let mut command = self.command(tool);
        self.with(command.args(args).env("ALTHING_USER", user), passphrase(user).as_bytes())
    }

    /// The HAID of whoever runs this.
    fn own(&self) -> String {
        self.ok("heimdall-haid", &["current"]).trim().to_owned()
    }
}
