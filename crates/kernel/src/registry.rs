//! The kinds of the closed registry that no command of this version leads to yet.
//!
//! The registry is the protocol's and is closed: 72 kinds, known here by name and body so that
//! nothing else can ever be written under these names. An entry of such a kind cannot have
//! been decided by this version, so `apply` and the audit refuse it.

use serde::{Deserialize, Serialize};

use crate::id::AnyId;
use crate::name::UserId;
use crate::text::Text;
use crate::time::{Span, exact_integer};

/// A count that every JSON implementation reads the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Count(#[serde(deserialize_with = "exact_integer")] u64);

macro_rules! sets {
    ($( $(#[$doc:meta])* $name:ident { $($value:ident)* } )*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
            #[serde(rename_all = "snake_case")]
            pub enum $name {
                $( #[doc = concat!("`", stringify!($value), "`")] $value, )*
            }
        )*
    };
}

sets! {
}

macro_rules! bodies {
    ($( $kind:literal $name:ident { $($field:ident: $type:ty),* $(,)? } )*) => {
        $(
            #[doc = concat!("`", $kind, "`")]
            #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
            #[serde(deny_unknown_fields)]
            pub struct $name {
                $( #[doc = concat!("`", stringify!($field), "`")] pub $field: $type, )*
            }
        )*
    };
}

bodies! {
    "recovery_completed" RecoveryCompleted {
        downtime: Span, envelopes_redelivered: Count, quarantined_entries: Count,
        signals_requeued: Count, timers_reconstructed: Count, trail_entries_examined: Count,
        workspaces_failed: Count, workspaces_recovered: Count,
    }
}
