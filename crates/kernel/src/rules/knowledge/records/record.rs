//! Bookkeeping of changes to a record.

use crate::protocol::event::Stamped;
use crate::values::principal::{Actor, Principal};

pub use crate::model::knowledge::records::record::*;

/// The principal who caused an entry; the system for entries by the runtime.
pub(crate) fn caused_by(entry: &Stamped) -> Principal {
    match &entry.draft.actor {
        Actor::Principal(who) => who.clone(),
        Actor::Protocol => Principal::System,
    }
}

impl Record {
    /// Updates the version, time and author of the last change.
    pub(crate) fn touch(&mut self, entry: &Stamped, seq: u64) {
        self.version = self.version.saturating_add(1);
        (self.updated_at, self.updated_seq) = (entry.at, seq);
        self.updated_by = caused_by(entry);
        self.last_door = entry.door;
    }
}
