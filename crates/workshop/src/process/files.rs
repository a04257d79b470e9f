//! The files of an attempt's folder, each read and replaced as a whole.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::WorkshopError;
use crate::scratch::remove_leftover;

/// The paths in an attempt's folder.
#[derive(Clone, Debug)]
pub(super) struct Files {
    folder: PathBuf,
}

impl Files {
    pub(super) fn of(folder: &Path) -> Self {
        Files { folder: folder.to_owned() }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Held by the supervising process as long as it lives. It is never removed.
    pub(super) fn lock(&self) -> PathBuf {
        self.folder.join("lock")
    }

    /// What to start.
    pub(super) fn start(&self) -> PathBuf {
        self.folder.join("start.json")
    }

    /// Who runs.
    pub(super) fn process(&self) -> PathBuf {
        self.folder.join("process.json")
    }

    /// An order to stop.
    pub(super) fn stop(&self) -> PathBuf {
        self.folder.join("stop.json")
    }

    /// How it ended.
    pub(super) fn ended(&self) -> PathBuf {
        self.folder.join("ended.json")
    }

    /// Room on the disk for `ended.json`, taken before the agent starts.
    pub(super) fn reserve(&self) -> PathBuf {
        self.folder.join("ended.new")
    }

    /// Makes the folder, for the owner's eyes only.
    pub(super) fn make_folder(&self) -> Result<(), WorkshopError> {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&self.folder).map_err(failed("make", &self.folder))
    }
}

/// Says what failed on which file.
pub(super) fn failed<'a>(
    act: &'a str,
    path: &'a Path,
) -> impl Fn(std::io::Error) -> WorkshopError + 'a {
    move |error| WorkshopError::new(format!("cannot {act} {}: {error}", path.display()))
}

/// Options of a file that only its owner may read: output and variables may have secrets in them.
pub(super) fn private() -> std::fs::OpenOptions {
    let mut options = File::options();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Reads a JSON file; none if there is none. A file that cannot be understood counts as none: it
/// was cut off by a power failure, or a newer version wrote it.
pub(super) fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, WorkshopError> {
    let text = match std::fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed("read", path)(error)),
    };
    let read = serde_json::from_slice(&text);
    if let Err(error) = &read {
        tracing::warn!(%error, path = %path.display(), "a file of a process is not readable");
    }
    Ok(read.ok())
}

/// Replaces a JSON file: readers see the old content or the new, also after a power failure.
pub(super) fn write<T: Serialize>(path: &Path, value: &T) -> Result<(), WorkshopError> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let new = path.with_extension(format!("new-{}-{number}", std::process::id()));
    let text = to_json(path, value)?;
    let written = private()
        .write(true)
        .create(true)
        .truncate(true)
        .open(&new)
        .and_then(|mut file| file.write_all(&text).and_then(|()| file.sync_all()))
        .and_then(|()| std::fs::rename(&new, path))
        .map_err(failed("write", path));
    if written.is_err() {
        remove_leftover(&new);
    }
    written.and_then(|()| sync_folder_of(path))
}

/// Takes room on the disk for a JSON file that has to be written later, whatever happens.
pub(super) fn reserve(path: &Path) -> Result<(), WorkshopError> {
    let room = [b' '; 4096];
    let file = private().write(true).create(true).truncate(true).open(path);
    let taken = file.and_then(|mut file| file.write_all(&room).and_then(|()| file.sync_all()));
    taken.map_err(failed("write", path))
}

/// Writes a JSON file into the room taken for it, so that a full disk does not stop it.
pub(super) fn write_reserved<T: Serialize>(
    reserve: &Path,
    path: &Path,
    value: &T,
) -> Result<(), WorkshopError> {
    let text = to_json(path, value)?;
    let length = u64::try_from(text.len()).unwrap_or(u64::MAX);
    private()
        .write(true)
        .create(true)
        .truncate(false)
        .open(reserve)
        .and_then(|mut file| {
            file.write_all(&text)?;
            file.set_len(length)?;
            file.sync_all()
        })
        .and_then(|()| std::fs::rename(reserve, path))
        .map_err(failed("write", path))?;
    sync_folder_of(path)
}

fn to_json<T: Serialize>(path: &Path, value: &T) -> Result<Vec<u8>, WorkshopError> {
    let cannot = |error| WorkshopError::new(format!("cannot write {}: {error}", path.display()));
    let mut text = serde_json::to_vec_pretty(value).map_err(cannot)?;
    text.push(b'\n');
    Ok(text)
}

/// Syncs the folder of a file, so that its new name survives a power failure.
fn sync_folder_of(path: &Path) -> Result<(), WorkshopError> {
    // Only Unix can open and sync a folder like a file.
    #[cfg(unix)]
    if let Some(folder) = path.parent() {
        let synced = File::open(folder).and_then(|folder| folder.sync_all());
        synced.map_err(failed("sync", folder))?;
    }
    Ok(())
}
