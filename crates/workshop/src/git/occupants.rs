//! The processes that use a folder: work in it, run a program from it, or have a file in it open.
//!
//! They are found through `/proc`. Where there is none, it is not known whether a folder is used,
//! and whoever asks has to be as careful as if it were. Processes of other users are not seen.

use std::path::Path;
use std::time::Duration;

/// How a process uses a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Its working directory is there.
    WorksThere,
    /// It runs a program from there.
    RunsFromThere,
    /// It has a file there open.
    HasOpen,
}

/// A process that uses a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occupant {
    /// Its process id.
    pub pid: u32,
    /// The name of its program.
    pub program: String,
    /// How it uses the folder.
    pub how: Use,
}

/// Whether a folder is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Occupancy {
    /// By nobody.
    Free,
    /// By these.
    Used(Vec<Occupant>),
    /// That cannot be seen on this system.
    Unknown,
}

impl Occupancy {
    /// Looks for the processes that use a folder or a file.
    pub fn of(folder: &Path) -> Occupancy {
        let Ok(processes) = std::fs::read_dir("/proc") else { return Occupancy::Unknown };
        if !Path::new("/proc/self/fd").exists() {
            return Occupancy::Unknown;
        }
        let folder = crate::git::repository::real(folder);
        let mut found = Vec::new();
        for entry in processes.flatten() {
            let name = entry.file_name();
            let Some(pid) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else {
                continue;
            };
            if let Some(how) = use_of(&entry.path(), &folder) {
                let program = std::fs::read_to_string(entry.path().join("comm"));
                let program = program.unwrap_or_default().trim().to_owned();
                found.push(Occupant { pid, program, how });
            }
        }
        if found.is_empty() { Occupancy::Free } else { Occupancy::Used(found) }
    }
}

/// Whether a lock file of git's was left by a git that is gone: nobody has it open and no git works
/// in the tree, twice with a pause between. A git that waits for an editor holds its lock without
/// having it open.
pub(crate) fn is_abandoned(lock: &Path, tree: &Path) -> bool {
    let is_git = |own: &Occupant| own.program.starts_with("git");
    let is_unused = || {
        let no_git = match Occupancy::of(tree) {
            Occupancy::Free => true,
            Occupancy::Used(occupants) => !occupants.iter().any(is_git),
            Occupancy::Unknown => false,
        };
        no_git && Occupancy::of(lock) == Occupancy::Free
    };
    if !is_unused() {
        return false;
    }
    std::thread::sleep(Duration::from_millis(200));
    is_unused()
}

/// How a process uses a folder, if it does.
fn use_of(process: &Path, folder: &Path) -> Option<Use> {
    let leads_there = |link: &Path| {
        let target = std::fs::read_link(link);
        target.is_ok_and(|target| is_below(&target, folder))
    };
    if leads_there(&process.join("cwd")) {
        return Some(Use::WorksThere);
    }
    if leads_there(&process.join("exe")) {
        return Some(Use::RunsFromThere);
    }
    let files = std::fs::read_dir(process.join("fd")).ok()?;
    let mut files = files.flatten().map(|entry| entry.path());
    files.any(|file| leads_there(&file)).then_some(Use::HasOpen)
}

/// Whether a target is a path below a folder; one that was removed has a remark at its end.
fn is_below(target: &Path, folder: &Path) -> bool {
    let text = target.as_os_str().as_encoded_bytes();
    let removed = text.strip_suffix(b" (deleted)").map(crate::git::os);
    target.starts_with(folder) || removed.is_some_and(|path| Path::new(&path).starts_with(folder))
}
