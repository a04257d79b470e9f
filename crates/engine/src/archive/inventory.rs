//! Taking stock of content: what is whole, what is damaged, what the trail names and is not there;
//! and carrying content from one folder to another.

use althing_kernel::Blob;
use althing_trail::{Commit, Entry, LogReader};
use serde::Serialize;
use std::collections::BTreeSet;

use crate::blobs::Blobs;
use crate::error::EngineError;
use crate::world::READ_BYTES;

/// What there is of content, after looking at all of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Inventory {
    /// How many are whole.
    pub whole: u64,
    /// How many bytes those have.
    pub bytes: u64,
    /// Those whose file holds something else than its name says, or cannot be read.
    pub damaged: Vec<Blob>,
    /// Those the trail names that are not there.
    pub missing: Vec<Blob>,
}

impl Inventory {
    fn count(&mut self, bytes: u64) {
        self.whole += 1;
        self.bytes += bytes;
    }
}

impl Blobs {
    /// Reads all content. `named` is what should be there; `progress` hears how many are done,
    /// out of how many.
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

    /// Copies all content from elsewhere to here, each piece compared with its name on the way.
    /// Nothing that is here goes away. What is damaged there and not whole here is left out and
    /// said to be so, as is what should be here afterwards and is not.
    pub(crate) fn carry_from(
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

/// The content the entries of a log name.
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

/// Adds the content that a commit's entries cite. What was only asked for does not count: a
/// refused command may name content that never was.
pub(crate) fn note_named(commit: &Commit, named: &mut BTreeSet<Blob>) {
    for line in commit.entries().filter(|line| line.contains("\"sha256:")) {
        // A line that is no entry is for the verifier to complain about.
        if let Ok(entry) = Entry::read(line) {
            named.extend(entry.stamped.draft.event.blobs().into_iter().cloned());
        }
    }
}
