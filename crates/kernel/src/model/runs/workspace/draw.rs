//! Types of `draw`: state, arguments of commands and bodies of events.

use crate::model::runs::workspace::Workspace;
use crate::model::runs::workspace::budget::Dimension;
use crate::values::time::Timestamp;

impl Workspace {
    /// What is drawn on its budget: own use, and what was given to the workspaces below it.
    pub fn drawn(&self, dimension: Dimension, now: Timestamp) -> u64 {
        let given = self.given.get(&dimension).copied().unwrap_or_default();
        self.used(dimension, now).saturating_add(given)
    }

    /// What is left of its budget; none if it is not limited.
    pub fn left(&self, dimension: Dimension, now: Timestamp) -> Option<u64> {
        let limit = self.budget.get(&dimension)?;
        Some(limit.get().saturating_sub(self.drawn(dimension, now)))
    }
}
