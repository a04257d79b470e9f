//! The files that a database was opened on.
//!
//! A deleted file can be written to for as long as it is open, and nobody would ever read it. So
//! each use compares the open files with those at the path: the database, its journal, and the
//! memory that processes share about it.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::log::{LogError, LogErrorKind};

/// Endings of the journal and of the file for shared memory.
const BESIDE: [&str; 2] = ["-wal", "-shm"];

/// Most attempts to open a database whose files change meanwhile.
const OPEN_TRIES: usize = 8;

/// Databases this process has open. SQLite shares its memory maps between all connections of a
/// process to one file: a later connection gets the files that the first one opened, whatever is at
/// the path now.
static OPEN: Mutex<Vec<Weak<OpenFiles>>> = Mutex::new(Vec::new());

/// Device and inode, which tell a file from any other that takes its name.
type Number = (u64, u64);

/// The files of an open database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OpenFiles {
    path: PathBuf,
    /// The path itself, which may be a symbolic link.
    name: Number,
    file: Number,
    /// The journal and the shared-memory file, as far as they exist.
    beside: Vec<(PathBuf, Number)>,
}

impl OpenFiles {
    /// Looks up the files at a path. A database has all of its files once something was read from
    /// it.
    pub(super) fn of(path: &Path) -> Result<Self, LogError> {
        let (name, file) = numbers(path)?;
        let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let beside = BESIDE.into_iter().filter_map(|ending| {
            let mut name = real.clone().into_os_string();
            name.push(ending);
            let path = PathBuf::from(name);
            let found = std::fs::metadata(&path).ok()?;
            Some((path, number(&found)))
        });
        Ok(OpenFiles { path: path.to_owned(), name, file, beside: beside.collect() })
    }

    /// Opens a database and determines which files it has open. Files that are the same before and
    /// after are the ones that were opened; if one was replaced in between, the database is opened
    /// once more. A writer needs all files.
    pub(super) fn opened<T>(
        path: &Path,
        to_write: bool,
        open: impl Fn() -> Result<T, LogError>,
    ) -> Result<(T, Arc<OpenFiles>), LogError> {
        let mut known = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|open_files| open_files.strong_count() > 0);
        for tries in 1..=OPEN_TRIES {
            let before = OpenFiles::of(path).ok();
            let made = open()?;
            let now = OpenFiles::of(path)?;
            let is_enough = if to_write { now.is_whole() } else { now.shared().is_some() };
            // After several attempts without such a file there is none: nothing was written yet.
            let shares = |own: &Arc<OpenFiles>| own.file == now.file && own.shared().is_some();
            let is_sure = match known.iter().filter_map(Weak::upgrade).find(shares) {
                Some(held) => {
                    held.check()?;
                    held.shared() == now.shared()
                }
                None => before.as_ref() == Some(&now),
            };
            // Where journal files come and go with each connection, a reader accepts what it has.
            if (is_sure && is_enough) || (tries == OPEN_TRIES && !to_write) {
                let now = Arc::new(now);
                known.push(Arc::downgrade(&now));
                return Ok((made, now));
            }
        }
        Err(replaced("files of the store are being replaced; repeat the command"))
    }

    fn is_whole(&self) -> bool {
        self.beside.len() == BESIDE.len()
    }

    /// The shared-memory file, if there is one.
    fn shared(&self) -> Option<Number> {
        let own = |path: &Path| path.as_os_str().as_encoded_bytes().ends_with(b"-shm");
        self.beside.iter().find(|(path, _)| own(path)).map(|(_, number)| *number)
    }

    /// Path of the database.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Fails if a file was deleted or replaced.
    pub(super) fn check(&self) -> Result<(), LogError> {
        if numbers(&self.path)? != (self.name, self.file) {
            return Err(replaced(
                "the trail was replaced by another meanwhile; repeat the command",
            ));
        }
        for (path, was) in &self.beside {
            if std::fs::metadata(path).map(|found| number(&found)).ok() != Some(*was) {
                let message = format!(
                    "{} was removed or replaced while it was in use; repeat the command, and look \
                     with `althing doctor` whether anything is missing",
                    path.display()
                );
                return Err(replaced(message));
            }
        }
        // Detects a file that was truncated in place: its journal is useless without it.
        match std::fs::metadata(&self.path) {
            Ok(found) if found.len() == 0 && !self.beside.is_empty() => {
                let message = format!("{} was emptied while it was in use", self.path.display());
                Err(replaced(message))
            }
            _ => Ok(()),
        }
    }
}

fn replaced(message: impl Into<String>) -> LogError {
    LogError::new(LogErrorKind::Replaced, message)
}

/// Identity of the path itself, and of the file it leads to.
fn numbers(path: &Path) -> Result<(Number, Number), LogError> {
    let both = std::fs::symlink_metadata(path)
        .and_then(|name| Ok((number(&name), number(&std::fs::metadata(path)?))));
    both.map_err(|error| {
        if error.kind() == std::io::ErrorKind::NotFound {
            let message = format!("there is no store at {}", path.display());
            return LogError::new(LogErrorKind::Missing, message);
        }
        let message = format!("cannot look for the store at {}: {error}", path.display());
        LogError::new(LogErrorKind::Unreadable, message)
    })
}

#[cfg(unix)]
fn number(found: &Metadata) -> Number {
    use std::os::unix::fs::MetadataExt as _;
    (found.dev(), found.ino())
}

/// Elsewhere than on Unix an open file cannot be deleted or replaced.
#[cfg(not(unix))]
fn number(_found: &Metadata) -> Number {
    (0, 0)
}
