//! The entry that later entries of the runtime may name as their cause.

use serde::Deserialize;
use serde::Serialize;

use crate::registry::kind::Kind;
use crate::values::id::EntryId;
use crate::values::principal::Actor;

/// The entry that the entries after it may name as their cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CausalRoot {
    /// The entry.
    pub id: EntryId,
    /// The actor who caused it.
    pub actor: Actor,
    /// Its kind.
    pub kind: Kind,
}
