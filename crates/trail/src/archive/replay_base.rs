//! Replay bases: the state that replay begins with once earlier archives were deleted.
//!
//! A replay base (the kernel's [`Floor`]) is one compressed file beside the archives. The trail
//! records its hash. This crate does not interpret its content.

use althing_kernel::archive::Floor;
use std::io::Read as _;
use std::path::PathBuf;

use super::write::put_synced;
use super::{Archives, blob_of, sync_folder, unwritable};
use crate::error::{LogError, LogErrorKind};

/// Prefix of a replay base's file name.
const FLOOR: &str = "floor-";
/// Largest uncompressed size of a replay base, in bytes.
const FLOOR_BYTES_MAX: u64 = 4 << 30;
const LEVEL: i32 = 3;

impl Archives {
    /// Path of a replay base.
    pub fn floor(&self, floor: &Floor) -> PathBuf {
        let hash = floor.hash.hex();
        self.folder().join(format!("{FLOOR}{:012}-{}.{}", floor.seq, &hash[..16], super::DATA))
    }

    /// Writes a replay base; it is on the disk when this returns.
    pub fn put_floor(&self, seq: u64, content: &[u8]) -> Result<Floor, LogError> {
        let folder = self.folder();
        let failed = |error: std::io::Error| unwritable(folder, &error);
        std::fs::create_dir_all(folder).map_err(failed)?;
        let pressed = zstd::bulk::compress(content, LEVEL).map_err(failed)?;
        let floor = Floor { seq, hash: blob_of(&pressed) };
        let path = self.floor(&floor);
        put_synced(&path, &pressed)?;
        sync_folder(folder)?;
        Ok(floor)
    }

    /// Reads a replay base. Fails unless the content has the recorded hash.
    pub fn read_floor(&self, floor: &Floor) -> Result<Vec<u8>, LogError> {
        let path = self.floor(floor);
        let shown = path.display();
        let damaged = |what: &dyn std::fmt::Display| {
            let message =
                format!("the floor {shown}, from which replay begins, is damaged: {what}");
            LogError::new(LogErrorKind::Corrupt, message)
        };
        let pressed = std::fs::read(&path).map_err(|error| {
            let kind = match error.kind() {
                std::io::ErrorKind::NotFound => LogErrorKind::ArchiveMissing,
                _ => LogErrorKind::Unreadable,
            };
            LogError::new(kind, format!("the floor {shown}, from which replay begins: {error}"))
        })?;
        if blob_of(&pressed) != floor.hash {
            return Err(damaged(&"it is not what is on record"));
        }
        let mut content = Vec::new();
        let unfolded = zstd::stream::read::Decoder::new(pressed.as_slice())
            .and_then(|decoder| decoder.take(FLOOR_BYTES_MAX).read_to_end(&mut content));
        unfolded.map(|_| content).map_err(|error| damaged(&error))
    }
}
