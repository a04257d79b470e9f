//! Starting an agent under a supervising process of its own.

use std::fs::{File, TryLockError};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::ending::end_all;
use super::files::{self, Files, failed, private};
use super::record::{Ended, MARKER, Process, Spec, WORKSPACE};
use super::shim::STARTED;
use super::system;
use super::table::Scope;
use crate::error::WorkshopError;

/// How a start went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// It was started. If the program could not be, the status says why.
    Started,
    /// Something runs in this folder, or somebody else is starting it.
    Running,
    /// This turn was started before.
    AlreadyRan,
}

/// Starts an agent. `althing` is the program whose hidden command `supervise` watches over it.
///
/// The caller may be killed at any instant: either nothing was started, or the agent runs under
/// its supervising process. Of several callers at once exactly one starts it. Processes that a
/// turn before left behind, because its supervising process was killed, are ended first.
pub fn start(althing: &Path, folder: &Path, spec: &Spec) -> Result<Start, WorkshopError> {
    if !system::SUPPORTED {
        return Err(WorkshopError::new("agents are started on Linux and macOS only"));
    }
    let files = Files::of(folder);
    files.make_folder()?;
    let Some(lock) = take_lock(&files)? else { return Ok(Start::Running) };
    let before: Option<Process> = files::read(&files.process())?;
    let ended: Option<Ended> = files::read(&files.ended())?;
    let turns = [before.as_ref().map(|own| own.turn), ended.as_ref().map(|own| own.turn)];
    let last = turns.into_iter().flatten().max();
    if last.is_some_and(|last| last >= spec.turn) {
        return Ok(Start::AlreadyRan);
    }
    if let Some(lost) = before.filter(|own| ended.is_none_or(|ended| ended.turn < own.turn)) {
        let left = end_all(&Scope::new(&lost.workspace, None, lost.agent), spec.grace());
        if !left.stuck.is_empty() {
            let stuck = left.stuck;
            return Err(WorkshopError::new(format!("processes {stuck:?} do not end")));
        }
    }
    files::write(&files.start(), spec)?;
    launch(althing, &files, lock)
}

/// Takes the lock; none if somebody has it to run an agent. Those who only look take it for a
/// moment, shared among them.
pub(super) fn take_lock(files: &Files) -> Result<Option<File>, WorkshopError> {
    let path = files.lock();
    let lock = private().create(true).append(true).open(&path).map_err(failed("open", &path))?;
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(Some(lock)),
            Err(TryLockError::Error(error)) => return Err(failed("lock", &path)(error)),
            Err(TryLockError::WouldBlock) => {}
        }
        match lock.try_lock_shared() {
            Ok(()) => lock.unlock().map_err(failed("unlock", &path))?,
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(failed("lock", &path)(error)),
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Starts the supervising process, hands it the lock and waits until it has written down whom it
/// watches.
fn launch(althing: &Path, files: &Files, lock: File) -> Result<Start, WorkshopError> {
    let cannot = failed("start", althing);
    let (said, end) = std::io::pipe().map_err(&cannot)?;
    let second = end.try_clone().map_err(&cannot)?;
    let mut command = Command::new(althing);
    command.arg("supervise").arg(files.folder()).current_dir(files.folder());
    command.stdin(Stdio::from(lock)).stdout(end).stderr(second);
    // It is none of the attempt's processes, also if the caller is one of another attempt's.
    command.env_remove(MARKER).env_remove(WORKSPACE);
    let mut child = command.spawn().map_err(&cannot)?;
    // Our own copies of the lock and of the pipe go with this.
    drop(command);
    let mut told = Vec::new();
    for line in BufReader::new(said).lines().map_while(Result::ok) {
        if line == STARTED {
            // It ends long after; somebody has to take note of that.
            std::thread::spawn(move || child.wait());
            return Ok(Start::Started);
        }
        told.push(line);
    }
    let ended = child.wait().map_err(&cannot)?;
    let told = told.join(" ");
    Err(WorkshopError::new(format!("the supervising process did not start: {ended}: {told}")))
}
