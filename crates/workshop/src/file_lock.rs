//! A lock between processes, as a file that nobody ever removes.
//!
//! The operating system lets go of it when its holder ends, however it ends. Removing such a file
//! would let a second holder in: those who wait would lock a file that is no longer there.

use std::fs::{File, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// How long others may take.
const PATIENCE: Duration = Duration::from_mins(1);

/// A lock that could not be taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Somebody else has it.
    #[error("another process works on {}", path.display())]
    Busy {
        /// The lock file.
        path: PathBuf,
    },
    /// The file cannot be used.
    #[error("the lock {} cannot be taken: {source}", path.display())]
    Unusable {
        /// The lock file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
}

impl LockError {
    /// The way out.
    pub fn hint(&self) -> String {
        match self {
            LockError::Busy { .. } => "repeat it when the other process is done".to_owned(),
            LockError::Unusable { .. } => "check that the folder can be written".to_owned(),
        }
    }
}

/// A lock, while it is this process's.
#[derive(Debug)]
pub(crate) struct FileLock {
    path: PathBuf,
    file: File,
}

impl FileLock {
    /// Waits for a lock. The folders above it are made.
    pub(crate) fn take(path: &Path) -> Result<Self, LockError> {
        let begun = Instant::now();
        let mut pause = Duration::from_millis(1);
        loop {
            if let Some(lock) = FileLock::try_take(path)? {
                return Ok(lock);
            }
            if begun.elapsed() >= PATIENCE {
                return Err(LockError::Busy { path: path.to_owned() });
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
        }
    }

    /// Takes a lock, unless somebody has it.
    pub(crate) fn try_take(path: &Path) -> Result<Option<Self>, LockError> {
        let unusable = |source| LockError::Unusable { path: path.to_owned(), source };
        if let Some(above) = path.parent() {
            std::fs::create_dir_all(above).map_err(unusable)?;
        }
        let mut options = File::options();
        let file = options.create(true).read(true).write(true).truncate(false).open(path);
        let file = file.map_err(unusable)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(FileLock { path: path.to_owned(), file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(source)) => Err(unusable(source)),
        }
    }

    /// The lock file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The same lock for a child: it is free only when the child has ended too. The child gets it
    /// as its standard input, which the calls that are made so do not read.
    pub(crate) fn shared(&self) -> std::io::Result<Stdio> {
        Ok(Stdio::from(self.file.try_clone()?))
    }

    /// An empty file beside the lock for a child's messages.
    pub(crate) fn notes(&self) -> std::io::Result<File> {
        let path = self.path.with_extension("notes");
        File::options().create(true).read(true).write(true).truncate(true).open(path)
    }

    /// The line written into it, if it was written to its end.
    pub(crate) fn line(&self) -> std::io::Result<Option<String>> {
        let mut text = String::new();
        (&self.file).rewind()?;
        (&self.file).take(10_000).read_to_string(&mut text)?;
        Ok(text.strip_suffix('\n').filter(|line| !line.is_empty()).map(str::to_owned))
    }

    /// Writes a line into it in place of the one before. A process killed half-way leaves none.
    pub(crate) fn set_line(&self, line: &str) -> std::io::Result<()> {
        self.file.set_len(0)?;
        (&self.file).rewind()?;
        (&self.file).write_all(format!("{line}\n").as_bytes())
    }
}
