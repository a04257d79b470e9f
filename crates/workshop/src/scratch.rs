//! A place for commits in the making, for one process at a time.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::error::WorkshopError;

/// How long others may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// How throw-away indexes are called.
const INDEX: &str = "index-";

/// The place, while it is this process's. A process that is killed lets go of it, so whatever is
/// found here was left by somebody who did not come to an end.
pub struct Scratch {
    folder: PathBuf,
    _lock: File,
}

impl Scratch {
    /// Waits for the place, and clears away what others left there.
    pub fn take(folder: &Path) -> Result<Self, WorkshopError> {
        let path = folder.join("conflicts.lock");
        let cannot = |error: std::io::Error| {
            WorkshopError::new(format!("{}: {error}", folder.join("conflicts.lock").display()))
        };
        let file = File::options().create(true).append(true).open(path).map_err(cannot)?;
        let begun = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if begun.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_millis(10));
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(WorkshopError::new(
                        "another process makes a commit here; repeat it later",
                    ));
                }
                Err(TryLockError::Error(error)) => return Err(cannot(error)),
            }
        }
        let scratch = Scratch { folder: folder.to_owned(), _lock: file };
        scratch.clear();
        Ok(scratch)
    }

    fn clear(&self) {
        for entry in std::fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(INDEX) {
                // A leftover that cannot be removed does no harm.
                remove_leftover(&entry.path());
            }
        }
    }

    /// A name for a throw-away index.
    pub(crate) fn index(&self) -> PathBuf {
        self.folder.join(format!("{INDEX}{}", std::process::id()))
    }
}

/// Removes a file that nobody needs any more. One that stays is in nobody's way, so a failure is
/// only logged; one that is gone already is none.
pub(crate) fn remove_leftover(path: &Path) {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            tracing::debug!(%error, path = %path.display(), "a leftover stays");
        }
        _ => {}
    }
}
