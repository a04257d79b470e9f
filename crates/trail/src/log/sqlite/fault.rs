//! Translation of SQLite's errors into log errors.

use rusqlite::ErrorCode;
use std::path::Path;

use crate::log::{LogError, LogErrorKind};

/// The operation that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    Open,
    Read,
    Write,
    Copy,
}

impl Doing {
    fn words(self) -> &'static str {
        match self {
            Doing::Open => "cannot open the store",
            Doing::Read => "cannot read the store",
            Doing::Write => "cannot write the store",
            Doing::Copy => "cannot write the copy",
        }
    }
}

pub(super) fn fault(doing: Doing, path: &Path, error: &rusqlite::Error) -> LogError {
    let kind = kind_of(doing, error);
    let hint = match kind {
        LogErrorKind::Corrupt => " (it is damaged, or not a store)",
        LogErrorKind::Locked => " (another program keeps it locked)",
        _ => "",
    };
    LogError::new(kind, format!("{} {}: {error}{hint}", doing.words(), path.display()))
}

/// Whether a commit failed before all of it was written, so that it certainly did not happen. If
/// only the sync failed, the data may still reach the disk.
pub(super) fn is_before_sync(error: &rusqlite::Error) -> bool {
    let Some(failure) = error.sqlite_error() else { return false };
    match failure.code {
        ErrorCode::DiskFull
        | ErrorCode::ReadOnly
        | ErrorCode::DatabaseBusy
        | ErrorCode::DatabaseLocked => true,
        ErrorCode::SystemIoFailure => failure.extended_code == rusqlite::ffi::SQLITE_IOERR_WRITE,
        _ => false,
    }
}

fn kind_of(doing: Doing, error: &rusqlite::Error) -> LogErrorKind {
    match error {
        rusqlite::Error::SqliteFailure(failure, _) => match failure.code {
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => LogErrorKind::Locked,
            // The statements are fixed, so SQLite rejects one only if the tables of the file are
            // wrong.
            ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::Unknown => {
                LogErrorKind::Corrupt
            }
            ErrorCode::DiskFull | ErrorCode::ReadOnly => LogErrorKind::Unwritable,
            _ if doing == Doing::Read || doing == Doing::Open => LogErrorKind::Unreadable,
            _ => LogErrorKind::Unwritable,
        },
        // A row with unexpected column types.
        _ => LogErrorKind::Corrupt,
    }
}
