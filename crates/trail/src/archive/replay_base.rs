//! Replay bases: the state that replay begins with once earlier archives were deleted.
//!
//! A replay base (the kernel's [`ReplayBase`]) is one compressed file beside the archives. The trail
//! records its hash. This crate does not interpret its content.

use althing_kernel::archive::ReplayBase;
use std::io::Read as _;
use std::path::PathBuf;

use super::write::put_synced;
use super::{Archives, blob_of, sync_folder, unwritable};
use crate::error::{LogError, LogErrorKind};

/// Prefix of a replay base's file name.
const PREFIX: &str = "floor-";
/// Largest uncompressed size of a replay base, in bytes.
const BYTES_MAX: u64 = 4 << 30;
const LEVEL: i32 = 3;

impl Archives {
    /// Path of a replay base.
    pub fn replay_base(&self, base: &ReplayBase) -> PathBuf {
        let hash = base.hash.hex();
        self.folder().join(format!("{PREFIX}{:012}-{}.{}", base.seq, &hash[..16], super::DATA))
    }

    /// Writes a replay base; it is on the disk when this returns.
    pub fn put_replay_base(&self, seq: u64, content: &[u8]) -> Result<ReplayBase, LogError> {
        let folder = self.folder();
        let failed = |error: std::io::Error| unwritable(folder, &error);
        std::fs::create_dir_all(folder).map_err(failed)?;
        let pressed = zstd::bulk::compress(content, LEVEL).map_err(failed)?;
        let base = ReplayBase { seq, hash: blob_of(&pressed) };
        let path = self.replay_base(&base);
        put_synced(&path, &pressed)?;
        sync_folder(folder)?;
        Ok(base)
    }

    /// Reads a replay base. Fails unless the content has the recorded hash.
    pub fn read_replay_base(&self, base: &ReplayBase) -> Result<Vec<u8>, LogError> {
        let path = self.replay_base(base);
        let shown = path.display();
        let damaged = |what: &dyn std::fmt::Display| {
            let message = format!("the replay base {shown} is damaged: {what}");
            LogError::new(LogErrorKind::Corrupt, message)
        };
        let pressed = std::fs::read(&path).map_err(|error| {
            let kind = match error.kind() {
                std::io::ErrorKind::NotFound => LogErrorKind::ArchiveMissing,
                _ => LogErrorKind::Unreadable,
            };
            LogError::new(kind, format!("the replay base {shown}: {error}"))
        })?;
        if blob_of(&pressed) != base.hash {
            return Err(damaged(&"it is not what is on record"));
        }
        let mut content = Vec::new();
        let unfolded = zstd::stream::read::Decoder::new(pressed.as_slice())
            .and_then(|decoder| decoder.take(BYTES_MAX).read_to_end(&mut content));
        unfolded.map(|_| content).map_err(|error| damaged(&error))
    }
}
