//! What is known about an attempt's process.

use std::fs::{File, TryLockError};
use std::path::Path;

use super::files::{self, Files, failed};
use super::log::log_end;
use super::record::{Ended, Process, Spec};
use super::table::Scope;
use crate::error::WorkshopError;

/// The state of an attempt's process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// Nothing was started yet. A start that was cut off before the agent ran is none.
    NotStarted,
    /// It runs under its supervising process.
    Running(Running),
    /// It ended.
    Ended(Ended),
    /// Nobody knows how it ended: the supervising process was killed, or the power failed.
    Lost(Lost),
}

/// A running agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Running {
    /// The number of the start.
    pub turn: u32,
    /// The agent; none while it is being started.
    pub pid: Option<u32>,
    /// When it was started, in milliseconds since 1970.
    pub since_ms: Option<u64>,
    /// The position in the log at which its output begins.
    pub log_start: Option<u64>,
    /// The position after the last byte of the log.
    pub log_end: u64,
    /// When it last printed something, in milliseconds since 1970.
    pub last_output_ms: Option<u64>,
}

/// An agent that was lost sight of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The number of the start.
    pub turn: u32,
    /// When it was started, in milliseconds since 1970.
    pub since_ms: u64,
    /// Its processes that still run; [`stop`](super::stop) and the next start end them.
    pub left: Vec<u32>,
    /// The position in the log at which its output begins.
    pub log_start: u64,
    /// The position after the last byte of the log.
    pub log_end: u64,
    /// When it last printed something, in milliseconds since 1970.
    pub last_output_ms: Option<u64>,
}

impl Status {
    /// The number of the last start; 0 if there was none.
    pub fn turn(&self) -> u32 {
        match self {
            Status::NotStarted => 0,
            Status::Running(running) => running.turn,
            Status::Ended(ended) => ended.turn,
            Status::Lost(lost) => lost.turn,
        }
    }
}

/// Looks at an attempt's process. Nothing is written.
pub fn status(folder: &Path) -> Result<Status, WorkshopError> {
    let files = Files::of(folder);
    let path = files.lock();
    let lock = match File::open(&path) {
        Ok(lock) => lock,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(Status::NotStarted);
        }
        Err(error) => return Err(failed("open", &path)(error)),
    };
    // Held until everything is read, so that nobody starts meanwhile.
    match lock.try_lock_shared() {
        Ok(()) => at_rest(&files),
        Err(TryLockError::WouldBlock) => running(&files).map(Status::Running),
        Err(TryLockError::Error(error)) => Err(failed("lock", &path)(error)),
    }
}

fn running(files: &Files) -> Result<Running, WorkshopError> {
    let spec: Option<Spec> = files::read(&files.start())?;
    let process: Option<Process> = files::read(&files.process())?;
    let last = process.as_ref().map_or(0, |process| process.turn);
    // The caller that has the lock writes what to start first, the supervising process the rest.
    let turn = spec.map_or(last, |spec| spec.turn.max(last));
    let process = process.filter(|process| process.turn == turn);
    let (log_end, last_output_ms) = log_end(files.folder());
    Ok(Running {
        turn,
        pid: process.as_ref().and_then(|own| own.agent.as_ref()).map(|agent| agent.pid),
        since_ms: process.as_ref().map(|own| own.since_ms),
        log_start: process.as_ref().map(|own| own.log_start),
        log_end,
        last_output_ms,
    })
}

fn at_rest(files: &Files) -> Result<Status, WorkshopError> {
    let ended: Option<Ended> = files::read(&files.ended())?;
    let process: Option<Process> = files::read(&files.process())?;
    Ok(match (process, ended) {
        (None, None) => Status::NotStarted,
        (None, Some(ended)) => Status::Ended(ended),
        (Some(process), Some(ended)) if ended.turn >= process.turn => Status::Ended(ended),
        (Some(process), _) => Status::Lost(lost(files, process)),
    })
}

fn lost(files: &Files, process: Process) -> Lost {
    let (log_end, last_output_ms) = log_end(files.folder());
    let scope = Scope::new(&process.workspace, None, process.agent);
    Lost {
        turn: process.turn,
        since_ms: process.since_ms,
        left: scope.members().iter().map(|member| member.pid).collect(),
        log_start: process.log_start,
        log_end,
        last_output_ms,
    }
}

/// Waits until nothing runs in the folder, and says how it ended. It sleeps on the lock.
pub fn wait(folder: &Path) -> Result<Status, WorkshopError> {
    let path = Files::of(folder).lock();
    match File::open(&path) {
        Ok(lock) => lock.lock_shared().map_err(failed("lock", &path))?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(failed("open", &path)(error)),
    }
    status(folder)
}
