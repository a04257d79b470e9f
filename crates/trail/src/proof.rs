//! Proofs to hand to others: that an entry is in the trail, or that one trail continues another.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use althing_kernel::PublicKey;

use crate::entry::Entry;
use crate::hash::Hash;
use crate::head::SignedHead;
use crate::log::{LogError, LogErrorKind, LogLeaves, LogReader};
use crate::stub::{Stub, Wanted};
use crate::tree;

/// Proof that an entry is part of the trail a head was signed for.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inclusion {
    /// The entry's line.
    pub entry: Box<RawValue>,
    /// The signed head.
    pub head: String,
    /// The audit path from the entry's leaf to the root.
    pub path: Vec<Hash>,
}

/// Proof that the trail of one head continues that of an older one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Consistency {
    /// The older signed head.
    pub from: String,
    /// The newer signed head.
    pub to: String,
    /// The consistency path.
    pub path: Vec<Hash>,
}

/// Reasons why a proof is invalid or cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ProofError {
    /// The trail has no such entry.
    #[error("the trail has no entry {0}")]
    NoEntry(u64),
    /// The content of the entry was deleted.
    #[error("entry {0} was in an archive that is deleted; its place is all that is left")]
    Pruned(u64),
    /// The proof is not of the right form.
    #[error("the proof cannot be read: {0}")]
    Form(String),
    /// The hash of the entry does not match its content.
    #[error("the entry's hash does not fit its content")]
    EntryHash,
    /// The path does not lead to the root.
    #[error("the path does not lead from the entry to the root of the head")]
    Path,
    /// A head is not signed with any of the keys.
    #[error("a head is not signed with a key that is known to be the trail's")]
    Signature,
    /// The newer head does not continue the older.
    #[error("the newer head does not continue the older one")]
    NotConsistent,
    /// The log could not be read.
    #[error("{0}")]
    Log(#[from] LogError),
}

fn newest_head(log: &mut dyn LogReader) -> Result<SignedHead, ProofError> {
    let last = log.position()?;
    let (_, head) = log.head_of(last)?.ok_or(ProofError::NoEntry(last))?;
    SignedHead::parse(&head).map_err(|error| corrupt(&error))
}

fn check_signature(text: &str, keys: &[PublicKey]) -> Result<(), ProofError> {
    let head = SignedHead::parse(text).map_err(|error| ProofError::Form(error.to_string()))?;
    let known = keys.iter().any(|key| head.is_signed_by(key));
    if known { Ok(()) } else { Err(ProofError::Signature) }
}

fn corrupt(error: &dyn std::fmt::Display) -> ProofError {
    LogError::new(LogErrorKind::Corrupt, error.to_string()).into()
}

impl Inclusion {
    /// Proves that the newest head covers an entry.
    pub fn make(log: &mut dyn LogReader, seq: u64) -> Result<Self, ProofError> {
        let head = newest_head(log)?;
        let size = head.head().size;
        if seq == 0 || seq > size {
            return Err(ProofError::NoEntry(seq));
        }
        // Other entries of the same commit need not be fetched from archives.
        log.narrow(Wanted { after: seq - 1, upto: Some(seq), ..Wanted::default() });
        let commit = log.commit_of(seq);
        log.narrow(Wanted::default());
        let commit = commit?.ok_or(ProofError::NoEntry(seq))?;
        let at = usize::try_from(seq - commit.first).unwrap_or(usize::MAX);
        let line = commit.slots().nth(at).ok_or(ProofError::NoEntry(seq))?;
        if Stub::is_in(line) {
            return Err(ProofError::Pruned(seq));
        }
        let entry = RawValue::from_string(line.to_owned()).map_err(|error| corrupt(&error))?;
        let path = tree::inclusion(&mut LogLeaves(log), seq - 1, size)?;
        let proof = Inclusion { entry, head: head.text().to_owned(), path };
        // Check the proof before it leaves: a damaged tile must not make a proof that fails
        // elsewhere.
        proof.check_path().map(|_| proof)
    }

    /// Checks the proof against the keys of the trail.
    pub fn check(&self, keys: &[PublicKey]) -> Result<Entry, ProofError> {
        let entry = self.check_path()?;
        check_signature(&self.head, keys).map(|()| entry)
    }

    fn check_path(&self) -> Result<Entry, ProofError> {
        let form = |error: &dyn std::fmt::Display| ProofError::Form(error.to_string());
        let head = SignedHead::parse(&self.head).map_err(|error| form(&error))?;
        let entry = Entry::read(self.entry.get()).map_err(|error| form(&error))?;
        if !entry.is_own_hash(self.entry.get()) {
            return Err(ProofError::EntryHash);
        }
        let root =
            tree::root_by_inclusion(&entry.hash, entry.seq - 1, head.head().size, &self.path);
        if root == Some(head.head().root) { Ok(entry) } else { Err(ProofError::Path) }
    }
}

impl Consistency {
    /// Proves that the newest head continues an older one.
    pub fn make(log: &mut dyn LogReader, from: &SignedHead) -> Result<Self, ProofError> {
        let to = newest_head(log)?;
        let (old, new) = (from.head(), to.head());
        if old.project != new.project || old.size > new.size {
            return Err(ProofError::NotConsistent);
        }
        let path = tree::consistency(&mut LogLeaves(log), old.size, new.size)?;
        let proof = Consistency { from: from.text().to_owned(), to: to.text().to_owned(), path };
        proof.check_path().map(|()| proof)
    }

    /// Checks the proof against the keys of the trail: each head must be signed with one of them.
    pub fn check(&self, keys: &[PublicKey]) -> Result<(), ProofError> {
        for text in [&self.from, &self.to] {
            check_signature(text, keys)?;
        }
        self.check_path()
    }

    fn check_path(&self) -> Result<(), ProofError> {
        let form = |error: &dyn std::fmt::Display| ProofError::Form(error.to_string());
        let from = SignedHead::parse(&self.from).map_err(|error| form(&error))?;
        let to = SignedHead::parse(&self.to).map_err(|error| form(&error))?;
        let (old, new) = (from.head(), to.head());
        let holds = old.project == new.project
            && tree::is_consistent(old.size, &old.root, new.size, &new.root, &self.path);
        if holds { Ok(()) } else { Err(ProofError::NotConsistent) }
    }
}
