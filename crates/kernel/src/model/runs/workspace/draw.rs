//! Drawing on a budget: a workspace's own use plus what its children were given.

use crate::model::runs::workspace::Workspace;
use crate::model::runs::workspace::budget::Dimension;
use crate::values::time::Timestamp;

impl Workspace {
    /// The amount drawn from its budget: its own use, and what its descendants were given.
    pub fn drawn(&self, dimension: Dimension, now: Timestamp) -> u64 {
        let given = self.given.get(&dimension).copied().unwrap_or_default();
        self.used(dimension, now).saturating_add(given)
    }

    /// The amount left of its budget; `None` if it is not limited.
    pub fn left(&self, dimension: Dimension, now: Timestamp) -> Option<u64> {
        let limit = self.budget.get(&dimension)?;
        Some(limit.get().saturating_sub(self.drawn(dimension, now)))
    }
}
