//! Logs: where commits are kept, and what every keeper of them must promise.
//!
//! A log holds commits in one order. It needs to do three things: hand out what comes after a
//! position, append at an expected position or say that somebody else was faster, and wake
//! whoever waits for more. That is all a database, a stream server or a file needs to offer, and
//! it is enough to make many writers safe: catch up, decide, append, and start over on conflict.
//!
//! A position is the sequence number of the last entry, 0 before the first. Appending is honest
//! about failure: it distinguishes "somebody was faster", "nothing was written" and "nobody can
//! tell yet", because a remote log may lose the answer to an append that went through.

pub mod memory;
pub mod sqlite;

use std::time::Duration;

use althing_kernel::archive::Floor;

use crate::archive::{Shelf, Wanted};
use crate::commit::Commit;
use crate::hash::Hash;

/// Why a log could not do something.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct LogError {
    /// What sort of trouble it is.
    pub kind: LogErrorKind,
    /// What was being done, and what the storage said.
    pub message: String,
}

/// Sorts of trouble with a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogErrorKind {
    /// There is no log there.
    Missing,
    /// Somebody else keeps it locked.
    Locked,
    /// The storage refuses writes: full, read-only, failing.
    Unwritable,
    /// The storage cannot be read.
    Unreadable,
    /// What is stored is damaged.
    Corrupt,
    /// It was written by a newer version.
    Newer,
    /// It is not one of ours.
    Foreign,
    /// It was replaced by another log since it was opened.
    Replaced,
    /// Entries that are asked for are in an archive that is not there.
    ArchiveMissing,
}

/// How an append did not happen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AppendError {
    /// The log is not at the expected position: somebody else was faster.
    #[error("the log has moved on")]
    Conflict,
    /// Nothing was written.
    #[error("{0}")]
    Refused(LogError),
    /// It may or may not have been written; reading the log will tell once that works again.
    #[error("{0}")]
    Unknown(LogError),
}

/// Something a log makes from its entries, and that does not fit them any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// Which one it is.
    pub number: u64,
    /// The last entry it covers.
    pub last: u64,
    /// The root over those entries.
    pub expected: Hash,
    /// What is stored instead.
    pub stored: Vec<u8>,
}

/// Reading a log. Readers never block writers, nor wait for them.
pub trait LogReader: Send {
    /// The position of the end.
    fn position(&mut self) -> Result<u64, LogError>;

    /// Commits after a position, in order: at least one if there is any, and then as many as fit
    /// into about `bytes` bytes.
    fn tail(&mut self, after: u64, bytes: usize) -> Result<Vec<Commit>, LogError>;

    /// The same as it is stored, without fetching anything from archives.
    fn raw_tail(&mut self, after: u64, bytes: usize) -> Result<Vec<Commit>, LogError> {
        self.tail(after, bytes)
    }

    /// Fetches from archives only what can be among this from now on; stubs of the rest stay.
    fn narrow(&mut self, _wanted: Wanted) {}

    /// The archives this log gave entries to.
    fn shelves(&mut self) -> Result<Vec<Shelf>, LogError> {
        Ok(Vec::new())
    }

    /// Where replay begins, if what came before cannot be read any more.
    fn floor(&mut self) -> Result<Option<Floor>, LogError> {
        Ok(None)
    }

    /// The head of the commit that holds an entry, and where that commit ends.
    fn head_of(&mut self, seq: u64) -> Result<Option<(u64, String)>, LogError> {
        Ok(self.commit_of(seq)?.map(|commit| (commit.last, commit.head)))
    }

    /// The commit that holds an entry, if it is there.
    fn commit_of(&mut self, seq: u64) -> Result<Option<Commit>, LogError>;

    /// The root of the subtree over the entries `[start, start + size)`, counted from 0, where
    /// `size` is a power of two and `start` a multiple of it.
    fn subtree(&mut self, start: u64, size: u64) -> Result<Hash, LogError>;

    /// Whether what is kept to make proofs quick says the same of the entries whose hashes these
    /// are: [`TILE`] of them, the `number`th so many. What is not kept is not wrong.
    fn tile_fits(&mut self, _number: u64, _hashes: &[Hash]) -> Result<bool, LogError> {
        Ok(true)
    }

    /// What the log keeps besides its entries, is made from entries after a position, and does not
    /// fit them.
    fn misfits(&mut self, _after: u64) -> Result<Vec<Misfit>, LogError> {
        Ok(Vec::new())
    }

    /// A number that grows when the whole log is replaced by another, where that can happen.
    fn generation(&mut self) -> Result<u64, LogError> {
        Ok(0)
    }

    /// Refuses if the log that is open is not the one at its place any more: it was deleted, or
    /// another was put there.
    fn in_place(&mut self) -> Result<(), LogError> {
        Ok(())
    }

    /// Waits until there is something after a position, or the time is over. Returns whether
    /// there is.
    fn watch(&mut self, after: u64, timeout: Duration) -> Result<bool, LogError>;
}

/// Writing a log.
pub trait Log: LogReader {
    /// Queues until there is at most one other writer left before this one, which then holds a
    /// place that [`Log::hold`] goes on from. It is the moment to read what others appended, while
    /// the last of them is still writing. A log without a queue returns at once.
    fn queue(&mut self) -> Result<(), LogError> {
        Ok(())
    }

    /// Asks to be the only one who appends until the next append or [`Log::let_go`]. A log that
    /// has no such thing returns at once; appending stays a compare-and-set either way.
    fn hold(&mut self) -> Result<(), LogError>;

    /// The same, but without waiting: returns `false` if somebody else is the only one now.
    fn try_hold(&mut self) -> Result<bool, LogError>;

    /// Gives up what [`Log::hold`] asked for.
    fn let_go(&mut self);

    /// Appends a commit after the expected position, durably, or not at all.
    fn append(&mut self, expected: u64, commit: &Commit) -> Result<(), AppendError>;

    /// Makes what does not fit its entries anew from them.
    fn remake(&mut self, _misfit: &Misfit) -> Result<(), LogError> {
        Ok(())
    }

    /// How large a commit of many commands should be at most, in bytes. One command may need more,
    /// up to [`COMMIT_BYTES_LIMIT`].
    fn commit_bytes_max(&self) -> usize;
}

/// Where a log is: something that hands out handles to it.
pub trait Store: Send + Sync {
    /// A handle for reading.
    fn reader(&self) -> Result<Box<dyn LogReader>, LogError>;

    /// A handle for writing.
    fn writer(&self) -> Result<Box<dyn Log>, LogError>;
}

impl LogError {
    /// An error of a kind.
    pub fn new(kind: LogErrorKind, message: impl Into<String>) -> Self {
        LogError { kind, message: message.into() }
    }
}

/// How many entries a log may keep the hashes of together.
pub const TILE: u64 = 256;

/// The largest commit any log takes, in bytes. One command may fail thousands of workspaces, and
/// all of that is one piece.
pub const COMMIT_BYTES_LIMIT: usize = 512 << 20;

/// A log as a source of subtree roots for proofs.
pub struct LogLeaves<'a>(pub &'a mut dyn LogReader);

impl crate::tree::Leaves for LogLeaves<'_> {
    type Error = LogError;

    fn subtree(&mut self, start: u64, size: u64) -> Result<Hash, LogError> {
        self.0.subtree(start, size)
    }
}
