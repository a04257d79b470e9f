//! Archives: files for entries that the store no longer has to hold.
//!
//! An archive is two files in the folder `archive` beside the store. One holds the lines of
//! entries, byte for byte as they stood in the trail, in their order, compressed in segments
//! ([`Segment`]) so that reading one line does not cost the whole file. The other, its
//! [`Manifest`], lists the content and its hashes. The trail records the hash of the manifest, so a
//! signed head covers everything in both files.
//!
//! In the store a [`Stub`](crate::stub::Stub) stands in the place of an entry that is in an archive. It keeps both
//! hashes of the entry, so the chains and the tree can be followed without the archive.

mod manifest;
mod read;
mod replay_base;
mod write;

pub use manifest::{Manifest, Segment};
pub(crate) use read::ArchiveFetcher;
pub use read::{Checked, Lines, check_files};
pub use write::{ArchiveWriter, UNFINISHED, Written};

use althing_kernel::Blob;
use althing_kernel::archive::Number;
use sha2::Digest as _;
use std::path::{Path, PathBuf};

use crate::error::{LogError, LogErrorKind};

/// The folder beside the store.
pub const FOLDER: &str = "archive";
/// Extension of the file with the lines.
pub const DATA: &str = "zst";
/// Extension of the manifest.
pub const MANIFEST: &str = "json";
/// Hex digits of the hash in a file name.
const NAME_DIGITS: usize = 16;

/// The folder that holds the archives of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Archives(PathBuf);

/// Progress of an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Entries are being replaced by stubs in the store.
    Moving,
    /// All its entries are stubs in the store.
    Moved,
    /// The archive is deleted; only stubs are left.
    Pruned,
}

/// The store's record of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchiveRecord {
    /// Its number.
    pub number: Number,
    /// The hash of its manifest.
    pub hash: Blob,
    /// Progress of the archive.
    pub stage: Stage,
}

impl Archives {
    /// The archives of the store at a path.
    pub fn beside(store: &Path) -> Self {
        Archives(store.parent().unwrap_or_else(|| Path::new("")).join(FOLDER))
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.0
    }

    /// The name of an archive's files, without extension. It contains a part of the hash, so no two
    /// archives share a name.
    pub fn name(number: Number, hash: &Blob) -> String {
        format!("{:06}-{}", number.0, &hash.hex()[..NAME_DIGITS])
    }

    /// The file with the lines of an archive.
    pub fn data(&self, number: Number, hash: &Blob) -> PathBuf {
        self.0.join(format!("{}.{DATA}", Archives::name(number, hash)))
    }

    /// The manifest of an archive.
    pub fn manifest(&self, number: Number, hash: &Blob) -> PathBuf {
        self.0.join(format!("{}.{MANIFEST}", Archives::name(number, hash)))
    }

    /// Reads a manifest. Fails unless its text has this hash.
    pub fn read_manifest(&self, number: Number, hash: &Blob) -> Result<Manifest, LogError> {
        let path = self.manifest(number, hash);
        let text = std::fs::read(&path).map_err(|error| unreadable(number, &path, &error))?;
        if blob_of(&text) != *hash {
            let message = format!("its manifest {} was changed", path.display());
            return Err(damaged(number, message));
        }
        let manifest = Manifest::read(&text).map_err(|what| damaged(number, what))?;
        if manifest.number == number {
            Ok(manifest)
        } else {
            Err(damaged(number, "its manifest is that of another"))
        }
    }
}

/// The plain SHA-256 of some bytes.
pub fn blob_of(bytes: &[u8]) -> Blob {
    Blob::from_digest(sha2::Sha256::digest(bytes).into())
}

pub(crate) fn damaged(number: Number, what: impl std::fmt::Display) -> LogError {
    LogError::new(LogErrorKind::Corrupt, format!("archive {number} is damaged: {what}"))
}

pub(crate) fn unreadable(number: Number, path: &Path, error: &std::io::Error) -> LogError {
    let path = path.display();
    if error.kind() == std::io::ErrorKind::NotFound {
        let message = format!("archive {number} is missing: there is no {path}");
        return LogError::new(LogErrorKind::ArchiveMissing, message);
    }
    let message = format!("archive {number} cannot be read: {path}: {error}");
    LogError::new(LogErrorKind::Unreadable, message)
}

pub(crate) fn unwritable(path: &Path, error: &std::io::Error) -> LogError {
    let message = format!("cannot write the archive {}: {error}", path.display());
    LogError::new(LogErrorKind::Unwritable, message)
}

/// Syncs a folder, so that new file names in it survive a power cut.
pub(crate) fn sync_folder(folder: &Path) -> Result<(), LogError> {
    // Only Unix can open and sync a folder like a file.
    #[cfg(unix)]
    {
        let synced = std::fs::File::open(folder).and_then(|folder| folder.sync_all());
        synced.map_err(|error| unwritable(folder, &error))?;
    }
    #[cfg(not(unix))]
    let _ = folder;
    Ok(())
}
