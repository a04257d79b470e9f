//! Ids: opaque strings, minted by the runtime and never parsed.
//!
//! Relations between things live in explicit fields; no code may read meaning out of an id.
//! The kernel asks a [`Mint`] for fresh ones, so a test can use any scheme it likes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

use crate::time::Timestamp;

/// The longest id accepted from outside, in bytes.
pub const ID_BYTES_MAX: usize = 64;

/// The kinds of things that get an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IdKind {
    /// An entry of the trail. Its ids must grow with the trail.
    Entry,
    /// A lease.
    Lease,
    /// A workspace (every session has one).
    Workspace,
}

/// Where fresh ids come from. Two calls never return the same id for one kind.
pub trait Mint {
    /// A fresh id. Ids of [`IdKind::Entry`] sort in the order of `at`.
    fn mint(&mut self, kind: IdKind, at: Timestamp) -> Arc<str>;
}

/// An id that could not be one of ours.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an id is 1 to {ID_BYTES_MAX} letters, digits, `_` or `-`")]
pub struct IdError;

fn check(text: &str) -> Result<(), IdError> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    let fits = !text.is_empty() && text.len() <= ID_BYTES_MAX && text.bytes().all(allowed);
    if fits { Ok(()) } else { Err(IdError) }
}

macro_rules! id_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Takes an id that came in from outside.
            pub fn new(text: &str) -> Result<Self, IdError> {
                check(text).map(|()| $name(text.into()))
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<Arc<str>> for $name {
            fn from(minted: Arc<str>) -> Self {
                debug_assert!(check(&minted).is_ok(), "a mint must make valid ids: {minted}");
                $name(minted)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                crate::de::from_str(deserializer, "an id", $name::new)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$" })
            }
        }
    };
}

id_type!(
    /// The id of an entry of the trail.
    EntryId
);
id_type!(
    /// The id of a lease.
    LeaseId
);
id_type!(
    /// The id of a workspace; a session is known by the workspace it opened.
    WorkspaceId
);
id_type!(
    /// The id of a project, and of its trail.
    ProjectId
);

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
