//! News: events that the coordinator is notified of.

use serde::Deserialize;
use serde::Serialize;

use crate::registry::kind::Kind;
use crate::values::id::EntryId;
use crate::values::text::Text;
use crate::values::time::Timestamp;

/// An event that the coordinator is notified of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct News {
    /// The entry that records it.
    pub entry: EntryId,
    /// The kind of event.
    pub kind: Kind,
    /// The id or name it is about.
    pub about: Text<128>,
    /// When it happened.
    pub at: Timestamp,
}
