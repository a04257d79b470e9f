//! Archives: where entries go that the store no longer has to hold.
//!
//! An archive is two files in the folder `archive` beside the store. One holds the lines of
//! entries, byte for byte as they stood in the trail, in their order, compressed in pieces
//! ([`Segment`]) so that one line does not cost the whole file. The other, its [`Manifest`], says
//! what is in it and with which hashes. The trail records the hash of the manifest, so everything
//! in both files hangs on a signed head.
//!
//! In the store a [`Stub`] stands in the place of an entry that is in an archive. It keeps both
//! hashes of the entry, so the chains and the tree can be followed without the archive.

mod floor;
mod inspect;
mod manifest;
mod read;
mod stub;
mod write;

pub use inspect::inspect;
pub use manifest::{Manifest, Segment};
pub(crate) use read::Cold;
pub use read::{Checked, Lines, check_files};
pub use stub::{Stub, StubError, Wanted};
pub use write::{ArchiveWriter, UNFINISHED, Written};

use althing_kernel::Blob;
use althing_kernel::archive::Number;
use sha2::Digest as _;
use std::path::{Path, PathBuf};

use crate::log::{LogError, LogErrorKind};

/// The folder beside the store.
pub const FOLDER: &str = "archive";
/// How the file with the lines ends.
pub const DATA: &str = "zst";
/// How the manifest ends.
pub const MANIFEST: &str = "json";
/// How many digits of the hash a name has.
const NAME_DIGITS: usize = 16;

/// Where the archives of a store lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Archives(PathBuf);

/// How far an archive has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The store is letting go of what is in it.
    Moving,
    /// The store has let go of it.
    Moved,
    /// It is deleted; stubs are all that is left.
    Pruned,
}

/// What a store knows of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shelf {
    /// Its number.
    pub number: Number,
    /// The hash of its manifest.
    pub hash: Blob,
    /// How far it has come.
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

    /// The name of an archive's files, without their endings. It has a part of the hash in it, so
    /// no two archives ever want the same name.
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

    /// Reads a manifest. It is the very text whose hash this is, or an error.
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

/// Makes sure that names in a folder survive a power cut.
pub(crate) fn sync_folder(folder: &Path) -> Result<(), LogError> {
    // Only here can a folder be opened and synced like a file.
    #[cfg(unix)]
    {
        let synced = std::fs::File::open(folder).and_then(|folder| folder.sync_all());
        synced.map_err(|error| unwritable(folder, &error))?;
    }
    #[cfg(not(unix))]
    let _ = folder;
    Ok(())
}
