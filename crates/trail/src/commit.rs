//! Commits: the unit of storage. A commit holds the entries of one batch of commands, and their
//! head.

use serde::Deserialize;

use crate::hash::Hash;
use crate::stub::Stub;

/// Entries that became durable together, with the head that covers them.
#[derive(Clone, Debug)]
pub struct Commit {
    /// The sequence number of its first entry.
    pub first: u64,
    /// The sequence number of its last entry, which is the size of the tree after it.
    pub last: u64,
    /// Its entries, one line of canonical JSON each, without a line break at the end. A stub may
    /// stand in the place of one that is in an archive.
    pub lines: String,
    /// The signed head after it.
    pub head: String,
    /// The hashes of its entries, if the maker of the commit knows them. They follow from the
    /// entries, so comparing two commits ignores them.
    pub hashes: Vec<Hash>,
}

impl PartialEq for Commit {
    fn eq(&self, other: &Self) -> bool {
        let Commit { first, last, lines, head, hashes: _ } = self;
        (first, last, lines, head) == (&other.first, &other.last, &other.lines, &other.head)
    }
}

impl Eq for Commit {}

impl Commit {
    /// Its entries, one line each, without stubs: entries whose archive was deleted, or that the
    /// reader did not ask for, are left out.
    pub fn entries(&self) -> impl Iterator<Item = &str> {
        self.slots().filter(|line| !Stub::is_in(line))
    }

    /// All lines in their order: entries, and stubs of archived entries.
    pub fn slots(&self) -> impl Iterator<Item = &str> {
        self.lines.split('\n')
    }

    /// Whether some of its entries are stubs.
    pub fn has_stubs(&self) -> bool {
        // A line break inside an entry is escaped, so this matches only the start of a line.
        Stub::is_in(&self.lines) || memchr::memmem::find(self.lines.as_bytes(), b"\n#").is_some()
    }

    /// Size in bytes.
    pub fn bytes(&self) -> usize {
        self.lines.len() + self.head.len()
    }
}

/// The sequence number and hash that an entry's line claims, without reading the rest.
#[derive(Deserialize)]
pub(crate) struct Claimed {
    pub(crate) hash: Hash,
    pub(crate) seq: u64,
}

impl Claimed {
    pub(crate) fn of(line: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(line)
    }
}
