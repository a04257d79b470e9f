//! Types of `enforce`: state, arguments of commands and bodies of events.

use serde::Deserialize;
use serde::Serialize;

use crate::model::runs::workspace::budget::{Dimension, is_enforced};
use crate::model::runs::workspace::meter::Amount;
use crate::model::runs::workspace::{Status, Workspace};
use crate::values::id::WorkspaceId;
use crate::values::time::{Span, Timestamp};

/// `budget_warning`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BudgetWarning {
    /// What is limited.
    pub budget_dimension: Dimension,
    /// How much is used, and given to the workspaces below.
    pub consumed: Amount,
    /// How much there is.
    pub limit: Amount,
    /// The share of the limit that is warned of.
    pub threshold_percent: u8,
    /// The workspace.
    pub workspace_id: WorkspaceId,
}

/// `budget_exceeded`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BudgetExceeded {
    /// What is limited.
    pub budget_dimension: Dimension,
    /// How much is used, and given to the workspaces below.
    pub consumed: Amount,
    /// How much there was.
    pub limit: Amount,
    /// The workspace.
    pub workspace_id: WorkspaceId,
}

impl Workspace {
    /// Whether a warning about a limit is due.
    pub(crate) fn is_to_be_warned(&self, dimension: Dimension, now: Timestamp) -> bool {
        let Some(limit) = self.budget.get(&dimension) else { return false };
        let nears = self.drawn(dimension, now) >= self.warn_at.of(limit.get());
        is_enforced(self.status) && nears && !self.warned.contains(&dimension)
    }

    /// Whether a limit is reached of which was warned.
    pub(crate) fn is_used_up(&self, dimension: Dimension, now: Timestamp) -> bool {
        let Some(limit) = self.budget.get(&dimension) else { return false };
        let reached = self.drawn(dimension, now) >= limit.get();
        is_enforced(self.status) && reached && self.warned.contains(&dimension)
    }

    /// When its time at work is to be warned of, or over.
    pub(crate) fn compute_deadline(&self) -> Option<Timestamp> {
        let limit = self.budget.get(&Dimension::ComputeTimeout)?.get();
        if self.status != Status::Active {
            return None;
        }
        let warned = self.warned.contains(&Dimension::ComputeTimeout);
        let mark = if warned { limit } else { self.warn_at.of(limit) };
        let left = mark.saturating_sub(self.drawn(Dimension::ComputeTimeout, self.since));
        Some(self.since.after(Span::from_micros(left)))
    }
}
