//! Enforcement of budgets: warnings, and ending a workspace that exceeds one.

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
    /// The dimension.
    pub budget_dimension: Dimension,
    /// The amount used, including what descendants were given.
    pub consumed: Amount,
    /// The limit.
    pub limit: Amount,
    /// The percentage of the limit at which the warning was issued.
    pub threshold_percent: u8,
    /// The workspace.
    pub workspace_id: WorkspaceId,
}

/// `budget_exceeded`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BudgetExceeded {
    /// The dimension.
    pub budget_dimension: Dimension,
    /// The amount used, including what descendants were given.
    pub consumed: Amount,
    /// The limit.
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

    /// Whether a limit was reached after its warning.
    pub(crate) fn is_used_up(&self, dimension: Dimension, now: Timestamp) -> bool {
        let Some(limit) = self.budget.get(&dimension) else { return false };
        let reached = self.drawn(dimension, now) >= limit.get();
        is_enforced(self.status) && reached && self.warned.contains(&dimension)
    }

    /// When its active time reaches the warning threshold or the limit.
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
