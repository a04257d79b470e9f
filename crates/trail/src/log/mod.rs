//! Logs: storage of commits, and the contract of every implementation.
//!
//! A log holds commits in one order. It offers three operations: read the commits after a position,
//! append at an expected position or report a conflict, and wait for more. A database, a stream
//! server or a file can offer that, and it is enough to make many writers safe: catch up, decide,
//! append, and start over on conflict.
//!
//! A position is the sequence number of the last entry, 0 before the first. A failed append
//! distinguishes "somebody was faster", "nothing was written" and "nobody can tell yet", because a
//! remote log may lose the answer to an append that went through.

pub mod memory;
pub mod sqlite;

use std::time::Duration;

use althing_kernel::archive::ReplayBase;

use crate::archive::ArchiveRecord;
use crate::commit::Commit;
use crate::hash::Hash;
use crate::stub::Wanted;

pub use crate::error::{LogError, LogErrorKind};

/// Reasons why an append did not succeed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AppendError {
    /// The log is not at the expected position: another writer was faster.
    #[error("the log has moved on")]
    Conflict,
    /// Nothing was written.
    #[error("{0}")]
    Refused(LogError),
    /// Maybe written, maybe not; reading the log will tell once that works again.
    #[error("{0}")]
    Unknown(LogError),
}

/// Derived data of a log (a tile of leaf hashes) that does not match its entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedTile {
    /// Number of the tile.
    pub number: u64,
    /// Last entry it covers.
    pub last: u64,
    /// Root over those entries.
    pub expected: Hash,
    /// The bytes that are stored instead.
    pub stored: Vec<u8>,
}

/// Read access to a log. Readers never block writers, nor wait for them.
pub trait LogReader: Send {
    /// The position of the end.
    fn position(&mut self) -> Result<u64, LogError>;

    /// Commits after a position, in order: at least one if there is any, and then as many as fit
    /// into about `bytes` bytes.
    fn tail(&mut self, after: u64, bytes: usize) -> Result<Vec<Commit>, LogError>;

    /// Commits after a position as they are stored, without fetching anything from archives.
    fn raw_tail(&mut self, after: u64, bytes: usize) -> Result<Vec<Commit>, LogError> {
        self.tail(after, bytes)
    }

    /// Fetches only archived entries that may match this filter from now on; other stubs stay.
    fn narrow(&mut self, _wanted: Wanted) {}

    /// The archives that hold entries of this log.
    fn archive_records(&mut self) -> Result<Vec<ArchiveRecord>, LogError> {
        Ok(Vec::new())
    }

    /// The base that replay begins with, if earlier entries cannot be read any more.
    fn replay_base(&mut self) -> Result<Option<ReplayBase>, LogError> {
        Ok(None)
    }

    /// The head of the commit that holds an entry, and the position where that commit ends.
    fn head_of(&mut self, seq: u64) -> Result<Option<(u64, String)>, LogError> {
        Ok(self.commit_of(seq)?.map(|commit| (commit.last, commit.head)))
    }

    /// The commit that holds an entry, if there is one.
    fn commit_of(&mut self, seq: u64) -> Result<Option<Commit>, LogError>;

    /// The root of the subtree over the entries `[start, start + size)`, counted from 0, where
    /// `size` is a power of two and `start` a multiple of it.
    fn subtree(&mut self, start: u64, size: u64) -> Result<Hash, LogError>;

    /// Whether the tile with this number matches the hashes of its [`TILE`] entries. A tile that is
    /// not stored matches.
    fn is_tile_intact(&mut self, _number: u64, _hashes: &[Hash]) -> Result<bool, LogError> {
        Ok(true)
    }

    /// The tiles over entries after a position that do not match their entries.
    fn damaged_tiles(&mut self, _after: u64) -> Result<Vec<DamagedTile>, LogError> {
        Ok(Vec::new())
    }

    /// A number that grows when the whole log is replaced by another, if that can happen.
    fn generation(&mut self) -> Result<u64, LogError> {
        Ok(0)
    }

    /// Fails if the open log is no longer the one at its path: it was deleted or replaced.
    fn in_place(&mut self) -> Result<(), LogError> {
        Ok(())
    }

    /// Waits until there is something after a position, or the timeout expires. Returns whether
    /// there is.
    fn watch(&mut self, after: u64, timeout: Duration) -> Result<bool, LogError>;
}

/// Write access to a log.
pub trait Log: LogReader {
    /// Waits until at most one other writer is ahead of this one, which then keeps its place for
    /// [`Log::hold`]. This is the moment to read new commits, while the last writer is still
    /// writing. A log without a queue returns at once.
    fn queue(&mut self) -> Result<(), LogError> {
        Ok(())
    }

    /// Takes the exclusive right to append until the next append or [`Log::release`]. A log without
    /// such a right returns at once; appending is a compare-and-set either way.
    fn hold(&mut self) -> Result<(), LogError>;

    /// Takes the exclusive right to append without waiting; returns `false` if another writer has
    /// it.
    fn try_hold(&mut self) -> Result<bool, LogError>;

    /// Gives up the right that [`Log::hold`] took.
    fn release(&mut self);

    /// Appends a commit after the expected position, durably, or not at all.
    fn append(&mut self, expected: u64, commit: &Commit) -> Result<(), AppendError>;

    /// Rebuilds a damaged tile from its entries.
    fn rebuild_tile(&mut self, _misfit: &DamagedTile) -> Result<(), LogError> {
        Ok(())
    }

    /// Largest size of a commit of many commands, in bytes. One command may need more, up to
    /// [`COMMIT_BYTES_LIMIT`].
    fn commit_bytes_max(&self) -> usize;
}

/// A place that opens handles to a log.
pub trait Store: Send + Sync {
    /// Opens a handle for reading.
    fn reader(&self) -> Result<Box<dyn LogReader>, LogError>;

    /// Opens a handle for writing.
    fn writer(&self) -> Result<Box<dyn Log>, LogError>;
}

/// Number of entries whose hashes one tile holds.
pub const TILE: u64 = 256;

/// Largest commit that any log accepts, in bytes. One command may fail thousands of workspaces, and
/// that is one commit.
pub const COMMIT_BYTES_LIMIT: usize = 512 << 20;

/// A log as a source of subtree roots for proofs.
pub struct LogLeaves<'a>(pub &'a mut dyn LogReader);

impl crate::tree::Leaves for LogLeaves<'_> {
    type Error = LogError;

    fn subtree(&mut self, start: u64, size: u64) -> Result<Hash, LogError> {
        self.0.subtree(start, size)
    }
}
