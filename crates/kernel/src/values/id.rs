//! Ids: opaque strings, minted by the runtime and never parsed.
//!
//! Relations between things live in explicit fields; no code may read meaning out of an id.
//! The kernel asks a [`Mint`] for fresh ones, so a test can use any scheme it likes.

use std::sync::Arc;

use crate::values::string_newtype::string_newtype;
use crate::values::time::Timestamp;

/// The longest id accepted from outside, in bytes.
pub(crate) const ID_BYTES_MAX: usize = 64;

/// The kinds of things that get an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IdKind {
    /// An entry of the trail. Its ids must grow with the trail.
    Entry,
    /// A lease.
    Lease,
    /// A workspace (every session has one).
    Workspace,
    /// An envelope.
    Envelope,
    /// A port right.
    Right,
    /// A signal.
    Signal,
    /// A checkpoint. Ids must grow within a workspace.
    Checkpoint,
    /// An artifact of a checkpoint.
    Artifact,
    /// A task graph.
    Graph,
    /// A task.
    Task,
    /// A conflict found while integrating.
    Conflict,
    /// A gate that waits for a person.
    Gate,
}

/// A source of fresh ids. Two calls never return the same id for one kind.
pub trait Mint {
    /// A fresh id. Ids of [`IdKind::Entry`] and [`IdKind::Checkpoint`] sort in the order of `at`.
    fn mint(&mut self, kind: IdKind, at: Timestamp) -> Arc<str>;
}

/// Text that is not a valid id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an id is 1 to {ID_BYTES_MAX} letters, digits, `_` or `-`")]
pub struct IdError;

fn check(text: &str) -> Result<(), IdError> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    let fits = !text.is_empty() && text.len() <= ID_BYTES_MAX && text.bytes().all(allowed);
    if fits { Ok(()) } else { Err(IdError) }
}

/// Text with a 64-bit hash of itself. Comparing two keys mostly compares two numbers that lie side
/// by side in a map's node, instead of following two pointers to texts that begin alike. The order
/// carries no meaning, but is the same on every machine.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    tag: u64,
    text: Arc<str>,
}

impl Key {
    pub(crate) fn new(text: Arc<str>) -> Self {
        let mut tag: u64 = 0xcbf2_9ce4_8422_2325;
        for chunk in text.as_bytes().chunks(8) {
            let mut bytes = [0; 8];
            bytes[..chunk.len()].copy_from_slice(chunk);
            tag = (tag ^ u64::from_le_bytes(bytes)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            tag ^= tag >> 29;
        }
        Key { tag, text }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }
}

impl From<Arc<str>> for Key {
    fn from(text: Arc<str>) -> Self {
        Key::new(text)
    }
}

impl AsRef<str> for Key {
    fn as_ref(&self) -> &str {
        &self.text
    }
}

macro_rules! id_type {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        string_newtype!(
            $(#[$doc])*
            $name($inner): check => IdError, "an id", "^[A-Za-z0-9_-]{1,64}$"
        );

        impl From<Arc<str>> for $name {
            fn from(minted: Arc<str>) -> Self {
                debug_assert!(check(&minted).is_ok(), "a mint must make valid ids: {minted}");
                $name(minted.into())
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}({})", stringify!($name), self.as_str())
            }
        }
    };
}

id_type!(
    /// The id of an entry of the trail.
    EntryId(Arc<str>)
);

id_type!(
    /// The id of a lease.
    LeaseId(Key)
);

id_type!(
    /// The id of a workspace; a session is known by the workspace it opened.
    WorkspaceId(Key)
);

id_type!(
    /// The id of an envelope.
    EnvelopeId(Key)
);

id_type!(
    /// The id of a port right.
    RightId(Key)
);

id_type!(
    /// The id of a signal.
    SignalId(Arc<str>)
);

id_type!(
    /// The id of a checkpoint.
    CheckpointId(Key)
);

id_type!(
    /// The id of an artifact.
    ArtifactId(Arc<str>)
);

id_type!(
    /// The id of a task graph.
    GraphId(Key)
);

id_type!(
    /// The id of a task.
    TaskId(Key)
);

id_type!(
    /// The id of a conflict.
    ConflictId(Arc<str>)
);

id_type!(
    /// The id of a gate.
    GateId(Key)
);

id_type!(
    /// The id of anything, where one field may refer to several kinds of things.
    AnyId(Arc<str>)
);

id_type!(
    /// The id of a project, and of its trail.
    ProjectId(Arc<str>)
);

/// A value that sorts before every id of a kind and that no item has, used as the start of a range
/// in an index.
pub(crate) trait First {
    fn first() -> Self;
}

macro_rules! first_of {
    ($($name:ident),*) => {
        $(impl First for $name {
            fn first() -> Self {
                $name(Key { tag: 0, text: "".into() })
            }
        })*
    };
}

first_of!(LeaseId, WorkspaceId, EnvelopeId, RightId, TaskId, CheckpointId);

macro_rules! any_of {
    ($($name:ident),*) => {
        $(impl From<&$name> for AnyId {
            fn from(id: &$name) -> Self {
                AnyId(id.as_str().into())
            }
        })*
    };
}

any_of!(WorkspaceId, EnvelopeId, CheckpointId, TaskId, ConflictId);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_from_outside_are_checked() {
        for good in ["a", "lease_01k9", "A-b_9", &"x".repeat(64)] {
            assert!(LeaseId::new(good).is_ok(), "{good}");
        }
        for bad in ["", "../x", "a b", "é", "a\n", &"x".repeat(65)] {
            assert!(LeaseId::new(bad).is_err(), "{bad}");
        }
    }
}
