//! Which agents are installed.

use std::ffi::OsStr;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use super::table::{ADAPTERS, Adapter};

/// How long a program may take to say its version.
const PATIENCE: Duration = Duration::from_secs(10);

/// An agent that is installed.
#[derive(Clone, Debug)]
pub struct Found {
    /// The agent.
    pub adapter: &'static Adapter,
    /// Its program.
    pub program: PathBuf,
    /// Its version, in its own words.
    pub version: String,
}

/// All agents that are installed, in the order of the table. `path` is the variable `PATH`.
pub fn detect_all(path: &OsStr) -> Vec<Found> {
    std::thread::scope(|threads| {
        let looks: Vec<_> =
            ADAPTERS.iter().map(|adapter| threads.spawn(move || detect(adapter, path))).collect();
        looks.into_iter().filter_map(|look| look.join().ok().flatten()).collect()
    })
}

/// One agent, if it is installed and says its version in time.
pub fn detect(adapter: &'static Adapter, path: &OsStr) -> Option<Found> {
    let program = adapter.programs.iter().find_map(|name| search(name, path))?;
    let program = native(adapter, &program).unwrap_or(program);
    let version = version(&program, path)?;
    Some(Found { adapter, program, version })
}

/// A program on `PATH`.
fn search(name: &str, path: &OsStr) -> Option<PathBuf> {
    std::env::split_paths(path).map(|folder| folder.join(name)).find(|file| is_program(file))
}

fn is_program(file: &Path) -> bool {
    let Ok(data) = std::fs::metadata(file) else { return false };
    #[cfg(unix)]
    let may_run = std::os::unix::fs::PermissionsExt::mode(&data.permissions()) & 0o111 != 0;
    #[cfg(not(unix))]
    let may_run = true;
    data.is_file() && may_run
}

/// The program behind a launcher that may leave it running when it is ended: Copilot's npm package
/// launches a binary in a package beside it.
fn native(adapter: &Adapter, program: &Path) -> Option<PathBuf> {
    if adapter.name != "copilot" {
        return None;
    }
    let system = if cfg!(target_os = "macos") { "darwin" } else { "linux" };
    let machine = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
    let package = format!("copilot-{system}-{machine}");
    let launcher = program.canonicalize().ok()?;
    let own = launcher.parent()?;
    let places = [
        own.parent()?.join(&package).join("copilot"),
        own.join("node_modules/@github").join(&package).join("copilot"),
    ];
    places.into_iter().find(|file| is_program(file))
}

/// What a program prints when it is asked for its version.
fn version(program: &Path, path: &OsStr) -> Option<String> {
    let (mut said, end) = std::io::pipe().ok()?;
    let second = end.try_clone().ok()?;
    let mut command = Command::new(program);
    command.arg("--version").env("PATH", path).env("NO_COLOR", "1");
    command.stdin(Stdio::null()).stdout(end).stderr(second);
    let mut child = command.spawn().ok()?;
    drop(command);
    let (say, heard) = mpsc::channel();
    std::thread::spawn(move || {
        let mut text = Vec::new();
        // Whatever could be read is looked at; nobody may be waiting any more.
        let _ = said.by_ref().take(64 << 10).read_to_end(&mut text);
        let _ = say.send(text);
    });
    let text = heard.recv_timeout(PATIENCE);
    if text.is_err() {
        // It may have ended by itself meanwhile.
        let _ = child.kill();
    }
    let ended = child.wait().ok()?;
    let text = String::from_utf8_lossy(&text.ok()?).into_owned();
    ended.success().then(|| version_in(&text)).flatten()
}

/// The line that has a version in it. Programs print warnings before it.
fn version_in(text: &str) -> Option<String> {
    let is_version = |word: &str| {
        let parts: Vec<&str> = word.trim_start_matches('v').split('.').collect();
        parts.len() >= 2
            && parts[..2]
                .iter()
                .all(|part| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit()))
    };
    let lines = text.lines().map(str::trim);
    lines
        .filter(|line| line.split_whitespace().any(is_version))
        .map(|line| line.trim_end_matches('.').to_owned())
        .next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_among_warnings() {
        let found = |text| version_in(text).unwrap_or_default();
        assert_eq!(found("2.1.325 (Claude Code)\n"), "2.1.325 (Claude Code)");
        let noisy = "WARNING: proceeding without an alias\ncodex-cli 0.166.0\n";
        assert_eq!(found(noisy), "codex-cli 0.166.0");
        assert_eq!(found("GitHub Copilot CLI 1.0.102.\nRun update."), "GitHub Copilot CLI 1.0.102");
        assert_eq!(found("aider 0.86.2"), "aider 0.86.2");
        assert_eq!(found("no such file"), "");
    }

    #[cfg(unix)]
    #[test]
    fn programs_on_the_path_are_asked() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pi");
        std::fs::write(&file, "#!/bin/sh\necho 0.73.1 >&2\n").unwrap();
        let path = folder.path().as_os_str();
        assert!(detect(crate::agents::find("pi").unwrap(), path).is_none(), "it may not be run");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        std::fs::write(folder.path().join("qwen"), "").unwrap();
        let mut path = path.to_owned();
        path.push(":/bin:/usr/bin");
        let found = detect(crate::agents::find("pi").unwrap(), &path).unwrap();
        assert_eq!((found.program, found.version.as_str()), (file, "0.73.1"));
    }

    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    #[test]
    fn copilot_is_started_without_its_launcher() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let packages = folder.path().join("node_modules/@github");
        let script = |path: &Path, text: &str| {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
        };
        script(&packages.join("copilot/npm-loader.js"), "#!/bin/sh\nexit 1\n");
        let native = packages.join("copilot-linux-x64/copilot");
        script(&native, "#!/bin/sh\necho GitHub Copilot CLI 1.0.102.\n");
        let bin = folder.path().join("bin");
        std::fs::create_dir(&bin).unwrap();
        std::os::unix::fs::symlink(packages.join("copilot/npm-loader.js"), bin.join("copilot"))
            .unwrap();
        let mut path = bin.into_os_string();
        path.push(":/bin:/usr/bin");
        let found = detect(crate::agents::find("copilot").unwrap(), &path).unwrap();
        assert_eq!(found.program, native.canonicalize().unwrap());
    }
}
