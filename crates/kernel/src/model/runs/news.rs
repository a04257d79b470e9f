//! Types of `news`: state, arguments of commands and bodies of events.

use serde::Deserialize;
use serde::Serialize;

use crate::registry::kind::Kind;
use crate::values::id::EntryId;
use crate::values::text::Text;
use crate::values::time::Timestamp;

/// Something the coordinator is told of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct News {
    /// The entry that tells it.
    pub entry: EntryId,
    /// What happened.
    pub kind: Kind,
    /// To whom or what.
    pub about: Text<128>,
    /// When.
    pub at: Timestamp,
}
