//! Errors of the engine.

use althing_kernel::{ApplyError, Blob, Refusal, RefusalKind, Rule};
use althing_trail::log::{LogError, LogErrorKind};
use althing_trail::verify::Finding;
use std::path::PathBuf;

use crate::mint::RandomError;

/// Reasons why a command or a query failed.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The kernel refused, and recorded it.
    #[error("{}", .0.message)]
    Refused(Box<Refusal>),
    /// The store cannot take the command now. It was not carried out.
    #[error("the store is unavailable: {0}")]
    Unavailable(LogError),
    /// The store stopped answering while the command was being stored. It may or may not count.
    #[error(
        "the store failed while the command was being stored, so it may or may not have taken effect: {0}"
    )]
    Unconfirmed(LogError),
    /// The store could not be opened or read.
    #[error("{0}")]
    Store(LogError),
    /// The command waited too long for its turn and was withdrawn. It was not carried out.
    #[error("the command waited {0} s for its turn to be written and was withdrawn")]
    TimedOut(u64),
    /// The stored trail is inconsistent.
    #[error("the trail is damaged at entry {seq}: {what}")]
    Damaged {
        /// Entry where it was noticed.
        seq: u64,
        /// Description of the damage.
        what: String,
    },
    /// The content of an entry was deleted, on record.
    #[error(
        "entry {seq} was in an archive that is deleted, so what came before it cannot be replayed"
    )]
    Pruned {
        /// The entry.
        seq: u64,
    },
    /// Stored content does not match its name.
    #[error("the content {blob} is damaged: {} holds something else", .path.display())]
    BlobDamaged {
        /// The name of the content.
        blob: Blob,
        /// File with other content.
        path: PathBuf,
    },
    /// Entries that this machine has seen are not in the trail.
    #[error(
        "the trail has {found} entries, but this machine remembers a head over {kept} that it does not contain ({})",
        .witness.display()
    )]
    CutOff {
        /// Number of entries there are.
        found: u64,
        /// Number of entries there were.
        kept: u64,
        /// File with the remembered head.
        witness: PathBuf,
    },
    /// The remembered head cannot be read.
    #[error("the head this machine remembers in {0} cannot be read")]
    WitnessUnreadable(PathBuf),
    /// This machine's clock cannot be right.
    #[error(
        "this machine's clock is beyond the year 2200, which cannot be right; nothing was recorded"
    )]
    Clock(althing_kernel::Timestamp),
    /// A snapshot does not match the state its trail leads to.
    #[error("the snapshot {0} is not the state the trail leads to; delete it, nothing is lost")]
    BadSnapshot(PathBuf),
    /// This runtime does not hold the key the trail is signed with.
    #[error("{0}")]
    RuntimeKey(String),
    /// A name is bound to a key that is not on this machine.
    #[error("{0}")]
    KeyMissing(String),
    /// A passphrase or a user key is wrong.
    #[error("{0}")]
    Credential(String),
    /// A file of the state folder could not be used.
    #[error("cannot {doing} {path}: {source}")]
    File {
        /// Operation that failed.
        doing: &'static str,
        /// File or folder.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// A command came without a caller.
    #[error("no agent or person was named, and this command needs one")]
    NoCaller,
    /// The requested thing does not exist.
    #[error("{0}")]
    NotFound(String),
    /// Content is larger than allowed.
    #[error("content has at most {0} bytes; nothing was stored")]
    TooLarge(u64),
    /// A value cannot be stored as it is.
    #[error("{0}")]
    Invalid(String),
    /// A defect of Althing itself. Nothing was stored.
    #[error("a defect in Althing kept this from being decided: {0}")]
    Defect(String),
}

/// The kinds of errors, a closed set. Every door tells them apart by these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The input cannot be used.
    Usage,
    /// A rule says no.
    Refused,
    /// It does not exist.
    NotFound,
    /// The caller could not prove who they are.
    NotAuthentic,
    /// Somebody else holds it.
    Collision,
    /// The store, a file or a program failed; nothing was done.
    Unavailable,
    /// The store failed while it was being done, so it may or may not count.
    Unconfirmed,
    /// The trail or stored content does not hold.
    Integrity,
    /// A requirement does not hold here.
    Unmet,
    /// A defect of Althing itself.
    Defect,
}

impl ErrorKind {
    /// The word for it at every door.
    pub fn as_str(self) -> &'static str {
        match self {
            ErrorKind::Usage => "usage",
            ErrorKind::Refused => "refused",
            ErrorKind::NotFound => "not_found",
            ErrorKind::NotAuthentic => "not_authentic",
            ErrorKind::Collision => "collision",
            ErrorKind::Unavailable => "unavailable",
            ErrorKind::Unconfirmed => "unconfirmed",
            ErrorKind::Integrity => "integrity",
            ErrorKind::Unmet => "unmet",
            ErrorKind::Defect => "defect",
        }
    }
}

impl EngineError {
    /// Whether the open store is no longer the one at its path.
    pub fn is_of_another_store(&self) -> bool {
        matches!(
            self,
            EngineError::Store(error)
                | EngineError::Unavailable(error)
                | EngineError::Unconfirmed(error)
                if matches!(error.kind, LogErrorKind::Replaced | LogErrorKind::Missing)
        )
    }

    /// The kind, the same at every door.
    pub fn kind(&self) -> ErrorKind {
        match self {
            EngineError::Refused(refusal) => match refusal.kind {
                RefusalKind::Denied => ErrorKind::Refused,
                RefusalKind::NotFound => ErrorKind::NotFound,
                RefusalKind::NotAuthentic => ErrorKind::NotAuthentic,
                RefusalKind::Collision => ErrorKind::Collision,
                RefusalKind::Integrity => ErrorKind::Integrity,
            },
            EngineError::Store(LogError { kind, .. }) => match kind {
                LogErrorKind::Missing => ErrorKind::NotFound,
                LogErrorKind::Corrupt | LogErrorKind::ArchiveMissing => ErrorKind::Integrity,
                _ => ErrorKind::Unavailable,
            },
            EngineError::Unavailable(error) | EngineError::Unconfirmed(error)
                if error.kind == LogErrorKind::Corrupt =>
            {
                ErrorKind::Integrity
            }
            EngineError::Unavailable(_)
            | EngineError::TimedOut(_)
            | EngineError::RuntimeKey(_)
            | EngineError::Clock(_)
            | EngineError::File { .. } => ErrorKind::Unavailable,
            EngineError::Unconfirmed(_) => ErrorKind::Unconfirmed,
            EngineError::Defect(_) => ErrorKind::Defect,
            EngineError::Damaged { .. }
            | EngineError::BadSnapshot(_)
            | EngineError::BlobDamaged { .. }
            | EngineError::CutOff { .. }
            | EngineError::WitnessUnreadable(_) => ErrorKind::Integrity,
            EngineError::KeyMissing(_) | EngineError::Credential(_) => ErrorKind::NotAuthentic,
            EngineError::NotFound(_) | EngineError::Pruned { .. } => ErrorKind::NotFound,
            EngineError::Invalid(_) | EngineError::NoCaller | EngineError::TooLarge(_) => {
                ErrorKind::Usage
            }
        }
    }

    /// The rule that the error rests on.
    pub fn rule(&self) -> Rule {
        match self {
            EngineError::Refused(refusal) => refusal.rule,
            EngineError::Store(error) => match error.kind {
                LogErrorKind::Missing => Rule::NoProject,
                LogErrorKind::Newer => Rule::StoreNewer,
                LogErrorKind::Foreign => Rule::StoreForeign,
                LogErrorKind::Corrupt => Rule::Integrity,
                LogErrorKind::ArchiveMissing => Rule::ArchiveThere,
                _ => Rule::StoreUnavailable,
            },
            EngineError::Unavailable(error) | EngineError::Unconfirmed(error)
                if error.kind == LogErrorKind::Corrupt =>
            {
                Rule::Integrity
            }
            EngineError::Unavailable(_)
            | EngineError::Unconfirmed(_)
            | EngineError::TimedOut(_)
            | EngineError::File { .. }
            | EngineError::Clock(_)
            | EngineError::Defect(_) => Rule::StoreUnavailable,
            EngineError::Damaged { .. }
            | EngineError::BadSnapshot(_)
            | EngineError::BlobDamaged { .. } => Rule::Integrity,
            EngineError::CutOff { .. } | EngineError::WitnessUnreadable(_) => Rule::KeptHead,
            EngineError::RuntimeKey(_) => Rule::RuntimeKeyKnown,
            EngineError::KeyMissing(_) => Rule::AgentKeyBound,
            EngineError::Credential(_) => Rule::PersonNeedsCredential,
            EngineError::TooLarge(_) => Rule::Limits,
            EngineError::Invalid(_) => Rule::Usage,
            EngineError::NoCaller => Rule::WhoAreYou,
            EngineError::NotFound(_) => Rule::NotFound,
            EngineError::Pruned { .. } => Rule::ArchiveThere,
        }
    }

    pub(crate) fn file(
        doing: &'static str,
        path: &std::path::Path,
    ) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| EngineError::File { doing, path, source }
    }
}

impl From<Refusal> for EngineError {
    fn from(refusal: Refusal) -> Self {
        EngineError::Refused(Box::new(refusal))
    }
}

impl From<LogError> for EngineError {
    fn from(error: LogError) -> Self {
        EngineError::Store(error)
    }
}

impl From<ApplyError> for EngineError {
    fn from(error: ApplyError) -> Self {
        EngineError::Defect(error.to_string())
    }
}

impl From<RandomError> for EngineError {
    fn from(error: RandomError) -> Self {
        EngineError::Defect(error.to_string())
    }
}

/// The error for a finding of the verifier.
pub(crate) fn damaged(finding: &Finding) -> EngineError {
    EngineError::Damaged { seq: finding.seq, what: finding.fault.to_string() }
}
