//! The place of the demo: a folder with a repository, which is thrown away afterwards.

use althing_engine::Home;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command as Process, Output, Stdio};

use crate::error::Error;

/// The person of the demo.
pub(super) const PERSON: &str = "ada";

const FILES: &[(&str, &str)] =
    &[("README.md", include_str!("calc/README.md")), ("CHANGES", include_str!("calc/CHANGES"))];
const PLAN: &str = include_str!("calc/plan.toml");
/// The kinds of agents, and how many there are of each.
const KINDS: &[(&str, usize)] = &[("awk", 3), ("shell", 1), ("writer", 2)];
/// Settings of git that lead to another repository.
const GIT_PLACES: &[&str] = &["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR"];

/// The folder of the demo; gone afterwards unless it is to be kept.
pub(super) struct Stage {
    folder: PathBuf,
    pub(super) keep: bool,
    passphrase: String,
}

impl Stage {
    /// Makes the folder, the repository in it, and a project with one person.
    pub(super) fn set_up(keep: bool) -> Result<Self, Error> {
        let failed = |error: &dyn std::fmt::Display| {
            Error::unavailable(format!("no folder for the demo: {error}"))
        };
        let random: [u8; 16] = althing_engine::mint::random().map_err(|error| failed(&error))?;
        let passphrase = format!("{:032x}", u128::from_be_bytes(random));
        let random: [u8; 4] = althing_engine::mint::random().map_err(|error| failed(&error))?;
        let name = format!("althing-demo-{:08x}", u32::from_be_bytes(random));
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir(&folder).map_err(|error| failed(&error))?;
        let own = Stage { folder, keep, passphrase };
        for folder in [own.repository(), own.meet()] {
            std::fs::create_dir(folder).map_err(|error| failed(&error))?;
        }
        own.make_repository()?;
        own.althing(&["init"])?;
        own.as_person(&["login", PERSON])?;
        Ok(own)
    }

    pub(super) fn repository(&self) -> PathBuf {
        self.folder.join("calc")
    }

    /// Where agents leave signs for each other.
    pub(super) fn meet(&self) -> PathBuf {
        self.folder.join("meet")
    }

    pub(super) fn home(&self) -> Home {
        Home::new(&self.repository().join(".git").join("althing"))
    }

    fn make_repository(&self) -> Result<(), Error> {
        let write = |path: PathBuf, text: &str| {
            std::fs::write(&path, text)
                .map_err(|error| Error::unavailable(format!("{}: {error}", path.display())))
        };
        for (name, text) in FILES {
            write(self.repository().join(name), text)?;
        }
        write(self.plan(), PLAN)?;
        write(self.repository().join("althing.toml"), &self.settings()?)?;
        self.git(&["init", "--quiet"])?;
        self.git(&["symbolic-ref", "HEAD", "refs/heads/main"])?;
        self.git(&["add", "--all"])?;
        let author = ["-c", "user.name=ada", "-c", "user.email=ada@example.org"];
        let commit = ["-c", "commit.gpgsign=false", "commit", "--quiet", "-m", "Begin"];
        self.git(&[author.as_slice(), commit.as_slice()].concat())
    }

    fn plan(&self) -> PathBuf {
        self.folder.join("plan.toml")
    }

    /// The settings: three kinds of agents, all of them this program.
    fn settings(&self) -> Result<String, Error> {
        // A string of JSON is one of TOML, too.
        let quoted = |path: &Path| serde_json::Value::from(path.display().to_string()).to_string();
        let (program, meet) = (quoted(&this_program()?), quoted(&self.meet()));
        let agent = |(kind, _): &(&str, usize)| {
            format!(
                "[agents.{kind}]\n\
                 command = [{program}, \"demo-agent\", \"{{task}}\", \"--meet\", {meet}]\n\n"
            )
        };
        let text: String = KINDS.iter().map(agent).collect();
        let trees = quoted(&self.folder.join("worktrees"));
        Ok(format!("{text}[workshop]\nworktrees = {trees}\n"))
    }

    pub(super) fn agents() -> usize {
        KINDS.iter().map(|(_, count)| count).sum()
    }

    pub(super) fn kinds() -> usize {
        KINDS.len()
    }

    /// Starts the run.
    pub(super) fn start(&self) -> Result<Child, Error> {
        let team: Vec<String> =
            KINDS.iter().map(|(kind, count)| format!("{kind}:{count}")).collect();
        let plan = self.plan().display().to_string();
        let team = team.join(",");
        let args = ["run", &plan, "--agents", &team, "--into", "main", "--preset", "off", "--json"];
        let mut command = self.command(&this_program()?);
        command.args(args).args(["--user", PERSON, "--passphrase-stdin"]);
        let errors = std::fs::File::create(self.folder.join("run.log"));
        let errors = errors.map_err(|error| Error::unavailable(error.to_string()))?;
        command.stdout(Stdio::piped()).stderr(errors);
        self.with_passphrase(command)
    }

    /// What the run said beside its events.
    pub(super) fn run_log(&self) -> String {
        std::fs::read_to_string(self.folder.join("run.log")).unwrap_or_default()
    }

    /// Runs this program in the repository, as nobody in particular.
    pub(super) fn althing(&self, args: &[&str]) -> Result<String, Error> {
        let mut command = self.command(&this_program()?);
        let output = command.args(args).stdin(Stdio::null()).output();
        succeeded("althing", args, &output.map_err(|error| cannot_start("althing", &error))?)
    }

    /// Runs this program in the repository, as the person.
    pub(super) fn as_person(&self, args: &[&str]) -> Result<String, Error> {
        let mut command = self.command(&this_program()?);
        command.args(args);
        if args.first() != Some(&"login") {
            command.args(["--user", PERSON]);
        }
        command.arg("--passphrase-stdin").stdout(Stdio::piped()).stderr(Stdio::piped());
        let output = self.with_passphrase(command)?.wait_with_output();
        succeeded("althing", args, &output.map_err(|error| cannot_start("althing", &error))?)
    }

    /// Runs a script in the repository.
    pub(super) fn sh(&self, args: &[&str]) -> Result<String, Error> {
        let output = self.command(Path::new("sh")).args(args).stdin(Stdio::null()).output();
        succeeded("sh", args, &output.map_err(|error| cannot_start("sh", &error))?)
    }

    fn git(&self, args: &[&str]) -> Result<(), Error> {
        let output = self.command(Path::new("git")).args(args).stdin(Stdio::null()).output();
        succeeded("git", args, &output.map_err(|error| cannot_start("git", &error))?).map(drop)
    }

    /// A program in the repository, without the settings of the project around the caller.
    fn command(&self, program: &Path) -> Process {
        let mut command = Process::new(program);
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("ALTHING_") || GIT_PLACES.contains(&text.as_ref()) {
                command.env_remove(&name);
            }
        }
        command.env_remove(crate::planning::VARIABLE);
        command.current_dir(self.repository());
        command
    }

    fn with_passphrase(&self, mut command: Process) -> Result<Child, Error> {
        let child = command.stdin(Stdio::piped()).spawn();
        let mut child = child.map_err(|error| cannot_start("althing", &error))?;
        if let Some(mut input) = child.stdin.take() {
            // One that ended before it has read it says why itself.
            let _ = input.write_all(self.passphrase.as_bytes());
        }
        Ok(child)
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if !self.keep {
            // If it cannot be removed, it is left to the system's own clean-up.
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

/// The path of this program.
pub(super) fn this_program() -> Result<PathBuf, Error> {
    std::env::current_exe()
        .map_err(|error| Error::unavailable(format!("this program cannot be found: {error}")))
}

/// Lets a file be executed.
pub(super) fn make_executable(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))
}

fn cannot_start(program: &str, error: &std::io::Error) -> Error {
    Error::unavailable(format!("`{program}` cannot be run, and the demo needs it: {error}"))
}

fn succeeded(program: &str, args: &[&str], output: &Output) -> Result<String, Error> {
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    let said = String::from_utf8_lossy(&said).trim().to_owned();
    Err(Error::unavailable(format!("`{program} {}` failed: {said}", args.join(" "))))
}
