//! Records about the files, kept in the state folder: the entry each was written up to, and the digest
//! of its last content.

use althing_kernel::Blob;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::unusable;
use crate::error::Error;

/// How long somebody else may take with the files before it is left to the next command.
const PATIENCE: Duration = Duration::from_secs(5);

/// How far the files are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) seq: u64,
    pub(super) generation: u64,
}

/// The records of the files at one place. A project may have several: one for each worktree.
#[derive(Clone)]
pub(super) struct Records {
    folder: PathBuf,
}

/// The digest of a file's content, or a mark that the file is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Digest(String);

impl Digest {
    pub(super) fn of(text: Option<&str>) -> Self {
        Digest(text.map_or_else(|| "-".to_owned(), |text| Blob::of(text.as_bytes()).hex()))
    }
}

impl Records {
    pub(super) fn of(state: &Path, root: &Path) -> Self {
        let name = Blob::of(root.as_os_str().as_encoded_bytes()).hex();
        Records { folder: state.join("planning").join(&name[..16]) }
    }

    /// Keeps others from writing. None if somebody else has been writing for too long.
    pub(super) fn lock(&self) -> Result<Option<std::fs::File>, Error> {
        std::fs::create_dir_all(&self.folder).map_err(|error| unusable(&self.folder, &error))?;
        let path = self.folder.join("lock");
        let file = std::fs::File::options().create(true).append(true).open(&path);
        let file = file.map_err(|error| unusable(&path, &error))?;
        let begun = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(file)),
                Err(std::fs::TryLockError::WouldBlock) if begun.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_millis(2));
                }
                Err(std::fs::TryLockError::WouldBlock) => return Ok(None),
                Err(std::fs::TryLockError::Error(error)) => return Err(unusable(&path, &error)),
            }
        }
    }

    fn numbers(&self, name: &str) -> Option<(u64, u64)> {
        let text = std::fs::read_to_string(self.folder.join(name)).ok()?;
        let (first, second) = text.trim_end().split_once(' ')?;
        Some((first.parse().ok()?, second.parse().ok()?))
    }

    /// Written over the old one and not synced: a lost or torn one costs another look at the trail.
    fn set_numbers(&self, name: &str, first: u64, second: u64) -> Result<(), Error> {
        let path = self.folder.join(name);
        let file = std::fs::File::options().create(true).write(true).truncate(false).open(&path);
        // Of one width, so that nothing of a longer one is left behind it.
        let text = format!("{first:020} {second:020}\n");
        let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|error| unusable(&path, &error))
    }

    pub(super) fn mark(&self) -> Option<Mark> {
        self.numbers("mark").map(|(seq, generation)| Mark { seq, generation })
    }

    pub(super) fn set_mark(&self, mark: Mark) -> Result<(), Error> {
        self.set_numbers("mark", mark.seq, mark.generation)
    }

    /// Up to which entry a log goes, and how long it is then.
    pub(super) fn grown(&self, log: &str) -> (u64, u64) {
        self.numbers(&flat(log)).unwrap_or_default()
    }

    pub(super) fn set_grown(&self, log: &str, seq: u64, bytes: u64) -> Result<(), Error> {
        self.set_numbers(&flat(log), seq, bytes)
    }

    /// Whether this is what was written into a file last, or was about to be.
    pub(super) fn knows(&self, path: &str, is: &Digest) -> bool {
        let text = std::fs::read_to_string(self.folder.join("files").join(path));
        text.is_ok_and(|text| text.split_whitespace().any(|own| own == is.0))
    }

    /// Whether this is what a file was to say when it was written last, if it ever was.
    pub(super) fn was_last(&self, path: &str, is: &Digest) -> bool {
        let text = std::fs::read_to_string(self.folder.join("files").join(path));
        text.map_or(true, |text| text.split_whitespace().next_back() == Some(is.0.as_str()))
    }

    pub(super) fn set(&self, path: &str, is: &Digest, shall: &Digest) -> Result<(), Error> {
        let record = self.folder.join("files").join(path);
        if let Some(folder) = record.parent() {
            std::fs::create_dir_all(folder).map_err(|error| unusable(folder, &error))?;
        }
        replace(&self.folder.join("new"), &record, &format!("{} {}\n", is.0, shall.0))
    }
}

fn flat(log: &str) -> String {
    log.replace('/', "-")
}

/// Writes a file beside its place, syncs it and renames it.
pub(super) fn replace(new: &Path, path: &Path, text: &str) -> Result<(), Error> {
    // Remove what a killed process left there, and never write through a link.
    match std::fs::remove_file(new) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(unusable(new, &error));
        }
        _ => {}
    }
    let created = std::fs::File::options().write(true).create_new(true).open(new);
    let written = created.and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_data()
    });
    let renamed = written.and_then(|()| std::fs::rename(new, path));
    renamed.map_err(|error| unusable(path, &error))
}
