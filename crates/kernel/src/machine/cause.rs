//! The entry that consequences may follow from.

use serde::Deserialize;
use serde::Serialize;

use crate::registry::kind::Kind;
use crate::values::id::EntryId;
use crate::values::principal::Actor;

/// The entry that the ones after it follow from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CausalRoot {
    /// The entry.
    pub id: EntryId,
    /// Who caused it.
    pub actor: Actor,
    /// What it was.
    pub kind: Kind,
}
