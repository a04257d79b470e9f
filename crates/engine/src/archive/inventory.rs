//! Inventory of content: intact, damaged and missing files; and copying content between folders.

use althing_kernel::Blob;
use althing_trail::{Commit, Entry, LogReader};
use serde::Serialize;
use std::collections::BTreeSet;

use crate::error::EngineError;
use crate::snapshot::world::READ_BYTES;
use crate::store::blobs::Blobs;

/// Result of checking all content.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Inventory {
    /// Number of intact files.
    pub whole: u64,
    /// Their size, in bytes.
    pub bytes: u64,
    /// Content whose file does not match its name, or cannot be read.
    pub damaged: Vec<Blob>,
    /// Content that the trail names and that is missing.
    pub missing: Vec<Blob>,
}

impl Inventory {
    fn count(&mut self, bytes: u64) {
        self.whole += 1;
        self.bytes += bytes;
    }
}

impl Blobs {
    /// Checks all content. `named` is the content that should exist; `progress` gets the number of
    /// files done, and the total.
    pub fn check_all(
        &self,
        named: &BTreeSet<Blob>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Inventory, EngineError> {
        let stored = self.list()?;
        let mut found = Inventory::default();
        let mut missing = named.clone();
        for (done, own) in (1..).zip(&stored) {
            match self.read(&own.blob, &mut std::io::sink()) {
                Ok(bytes) => found.count(bytes),
                Err(_) => found.damaged.push(own.blob.clone()),
            }
            missing.remove(&own.blob);
            progress(done, stored.len() as u64);
        }
        found.missing = missing.into_iter().collect();
        Ok(found)
    }

    /// Copies all content from another folder, comparing each file with its name. Removes nothing
    /// here. Content that is damaged there and not intact here is left out and listed, as is
    /// content that is missing afterwards.
    pub(crate) fn copy_from(
        &self,
        from: &Blobs,
        named: &BTreeSet<Blob>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Inventory, EngineError> {
        let stored = from.list()?;
        let mut carried = Inventory::default();
        let mut missing = named.clone();
        for (done, own) in (1..).zip(&stored) {
            if self.put_from(from, &own.blob)? {
                carried.count(own.bytes);
            } else {
                carried.damaged.push(own.blob.clone());
            }
            missing.remove(&own.blob);
            progress(done, stored.len() as u64);
        }
        carried.missing = missing.into_iter().filter(|blob| !self.is_sound(blob)).collect();
        Ok(carried)
    }
}

/// The content that the entries of a log name.
pub fn named_in(log: &mut dyn LogReader) -> Result<BTreeSet<Blob>, EngineError> {
    let mut named = BTreeSet::new();
    let mut at = 0;
    loop {
        let commits = log.tail(at, READ_BYTES)?;
        let Some(last) = commits.last() else { return Ok(named) };
        at = last.last;
        for commit in &commits {
            note_named(commit, &mut named);
        }
    }
}

/// Adds the content that a commit's entries cite. Refused commands do not count: they may name
/// content that never existed.
pub(crate) fn note_named(commit: &Commit, named: &mut BTreeSet<Blob>) {
    for line in commit.entries().filter(|line| line.contains("\"sha256:")) {
        // The verifier reports lines that are no entries.
        if let Ok(entry) = Entry::read(line) {
            named.extend(entry.stamped.draft.event.blobs().into_iter().cloned());
        }
    }
}
