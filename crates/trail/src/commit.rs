//! Commits: the unit of storage. The entries one batch of commands produced, and their head.

use serde::Deserialize;

use crate::archive::Stub;
use crate::hash::Hash;

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
    /// The hashes of its entries, where whoever made the commit knows them. They say nothing that
    /// the entries do not, so two commits are the same whether or not they are known.
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
    /// Its entries, one line each, as far as they can be read: those whose archive was deleted,
    /// or that nobody asked for, are left out.
    pub fn entries(&self) -> impl Iterator<Item = &str> {
        self.slots().filter(|line| !Stub::is_in(line))
    }

    /// Everything it holds, in its place: entries, and stubs of those that are elsewhere.
    pub fn slots(&self) -> impl Iterator<Item = &str> {
        self.lines.split('\n')
    }

    /// Whether some of its entries are elsewhere.
    pub fn has_stubs(&self) -> bool {
        // A line break inside an entry is escaped, so this can only be the start of a line.
        Stub::is_in(&self.lines) || memchr::memmem::find(self.lines.as_bytes(), b"\n#").is_some()
    }

    /// How many bytes it takes.
    pub fn bytes(&self) -> usize {
        self.lines.len() + self.head.len()
    }
}

/// The sequence number and hash an entry's line claims, without reading the rest.
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
