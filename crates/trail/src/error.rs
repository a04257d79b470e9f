//! Errors of logs and of the archives beside them.

/// Error of a log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct LogError {
    /// Kind of error.
    pub kind: LogErrorKind,
    /// The operation that failed, and the message of the storage.
    pub message: String,
}

/// Kinds of log errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogErrorKind {
    /// There is no log there.
    Missing,
    /// Another process keeps it locked.
    Locked,
    /// The storage refuses writes: full, read-only, failing.
    Unwritable,
    /// The storage cannot be read.
    Unreadable,
    /// The stored data is damaged.
    Corrupt,
    /// Written by a newer version.
    Newer,
    /// Not a log of Althing.
    Foreign,
    /// Replaced by another log since it was opened.
    Replaced,
    /// The requested entries are in an archive that is missing.
    ArchiveMissing,
}

impl LogError {
    /// Makes an error of a kind.
    pub fn new(kind: LogErrorKind, message: impl Into<String>) -> Self {
        LogError { kind, message: message.into() }
    }
}
