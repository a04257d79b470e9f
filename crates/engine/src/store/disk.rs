//! The disk of a state folder: sizes of stored content, and free space.

use althing_kernel::Blob;
use althing_kernel::surroundings::Surroundings;
use std::path::PathBuf;

use crate::store::blobs::Blobs;
use crate::store::home::Home;

/// The disk that a state folder is on.
pub(crate) struct Disk {
    blobs: Blobs,
    folder: PathBuf,
}

impl Disk {
    /// The disk of a state folder.
    pub(crate) fn of(home: &Home) -> Self {
        Disk { blobs: Blobs::of(home), folder: home.root().to_owned() }
    }
}

impl Surroundings for Disk {
    fn bytes_of(&self, blob: &Blob) -> u64 {
        std::fs::metadata(self.blobs.path(blob)).map_or(0, |data| data.len())
    }

    fn disk_free(&self) -> Option<u64> {
        free_bytes(&self.folder)
    }
}

#[cfg(unix)]
fn free_bytes(folder: &std::path::Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// The free space is unknown where no safe interface reports it.
#[cfg(not(unix))]
fn free_bytes(_: &std::path::Path) -> Option<u64> {
    None
}

/// Used where nothing is known: content has size 0.
pub(crate) struct Unknown;

impl Surroundings for Unknown {
    fn bytes_of(&self, _: &Blob) -> u64 {
        0
    }

    fn disk_free(&self) -> Option<u64> {
        None
    }
}
