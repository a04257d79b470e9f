//! Which file a database was opened on, so that it is noticed when that file is not there any more
//! or another one took its place. A file that was deleted can be written to for as long as it is
//! open, and nobody would ever read what was written.

use std::path::Path;

use crate::log::{LogError, LogErrorKind};

/// A file, told apart from any other that may come to have its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spot((u64, u64));

impl Spot {
    /// The file at a path.
    pub(super) fn of(path: &Path) -> Result<Self, LogError> {
        match std::fs::metadata(path) {
            Ok(found) => Ok(Spot(number(&found))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let message = format!("there is no store at {}", path.display());
                Err(LogError::new(LogErrorKind::Missing, message))
            }
            Err(error) => {
                let message = format!("cannot look for the store at {}: {error}", path.display());
                Err(LogError::new(LogErrorKind::Unreadable, message))
            }
        }
    }

    /// Refuses a path at which there is another file by now.
    pub(super) fn check(self, path: &Path) -> Result<(), LogError> {
        if Spot::of(path)? == self {
            return Ok(());
        }
        let message = "the trail was replaced by another meanwhile; repeat the command";
        Err(LogError::new(LogErrorKind::Replaced, message))
    }
}

#[cfg(unix)]
fn number(found: &std::fs::Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt as _;
    (found.dev(), found.ino())
}

/// Elsewhere a file that is open cannot be deleted or replaced.
#[cfg(not(unix))]
fn number(_found: &std::fs::Metadata) -> (u64, u64) {
    (0, 0)
}
