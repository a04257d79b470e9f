//! Which files a database was opened on, so that it is noticed when one of them is not there any
//! more or another one took its place. A file that was deleted can be written to for as long as it
//! is open, and nobody would ever read what was written. That goes for the file itself, for its
//! journal, and for what tells processes apart who have both open.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::log::{LogError, LogErrorKind};

/// The journal, and what is shared about it.
const BESIDE: [&str; 2] = ["-wal", "-shm"];

/// How often a database is opened anew whose files change meanwhile.
const OPEN_TRIES: usize = 8;

/// What this process has open. SQLite shares what it has mapped between all connections of a process
/// to one file: who comes later gets what was there when the first one came, whatever is there now.
static OPEN: Mutex<Vec<Weak<Spot>>> = Mutex::new(Vec::new());

/// A file, told apart from any other that may come to have its name.
type Number = (u64, u64);

/// The files of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    path: PathBuf,
    /// What the path says, which may be a link.
    name: Number,
    file: Number,
    /// The journal and what is shared about it, as far as they were there.
    beside: Vec<(PathBuf, Number)>,
}

impl Spot {
    /// The files at a path. A database has all of its files once something was read from it.
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
        Ok(Spot { path: path.to_owned(), name, file, beside: beside.collect() })
    }

    /// Opens a database, and says which files it has open then. What was there before and is still
    /// there afterwards is what was opened; if something was replaced in between nobody can tell,
    /// and it is opened once more. Whoever is to write needs all files.
    pub(super) fn opened<T>(
        path: &Path,
        to_write: bool,
        open: impl Fn() -> Result<T, LogError>,
    ) -> Result<(T, Arc<Spot>), LogError> {
        let mut known = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|spot| spot.strong_count() > 0);
        for tries in 1..=OPEN_TRIES {
            let before = Spot::of(path).ok();
            let made = open()?;
            let now = Spot::of(path)?;
            let is_enough = if to_write { now.is_whole() } else { now.shared().is_some() };
            // Who found no such file, time and again, has none: the file is a plain one so far.
            let shares = |own: &Arc<Spot>| own.file == now.file && own.shared().is_some();
            let is_sure = match known.iter().filter_map(Weak::upgrade).find(shares) {
                Some(held) => {
                    held.check()?;
                    held.shared() == now.shared()
                }
                None => before.as_ref() == Some(&now),
            };
            // Where files come and go with whoever opens them, a reader takes what it can get.
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

    /// What connections of a process share, if it was there.
    fn shared(&self) -> Option<Number> {
        let own = |path: &Path| path.as_os_str().as_encoded_bytes().ends_with(b"-shm");
        self.beside.iter().find(|(path, _)| own(path)).map(|(_, number)| *number)
    }

    /// Where the database is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Refuses if other files are there by now, or none.
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
        // A file that was emptied in its place. Its journal cannot be read without it.
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

/// The name at a path, and the file it leads to.
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

/// Elsewhere a file that is open cannot be deleted or replaced.
#[cfg(not(unix))]
fn number(_found: &Metadata) -> Number {
    (0, 0)
}
