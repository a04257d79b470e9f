//! Budgets of workspaces: limits per dimension.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use std::collections::BTreeMap;

use crate::model::runs::workspace::Status;
use crate::model::runs::workspace::meter::Amount;
use crate::values::closed_set::closed_set;
use crate::values::id::WorkspaceId;

closed_set! {
    /// A dimension that a budget limits.
    Dimension {
        /// Bytes of envelopes sent and received.
        BandwidthLimit "bandwidth_limit",
        /// Bytes of the content of checkpoints.
        CheckpointLimit "checkpoint_limit",
        /// Time in state `active`, in microseconds.
        ComputeTimeout "compute_timeout",
        /// Bytes of context and working memory.
        ContextLimit "context_limit",
        /// Cost, in millionths of the deployment's currency.
        CostLimit "cost_limit",
        /// Tokens.
        TokenLimit "token_limit",
        /// Bytes of the local trail.
        TrailLimit "trail_limit",
    }
}

/// Limits by dimension; a dimension without an entry is not limited. Units are tokens, bytes,
/// microseconds, and millionths of the deployment's currency.
pub type Budget = BTreeMap<Dimension, Amount>;

/// A percentage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Percent(#[schemars(range(max = 100))] u8);

/// The error for a number that is no percentage.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a percentage is 0 to 100, not {0}")]
pub struct PercentError(u64);

impl Percent {
    /// The default share of a limit at which a warning is issued.
    pub(crate) const WARNING: Percent = Percent(80);

    /// How far an agent's figure may deviate from the meter's.
    pub(crate) const TOLERANCE: Percent = Percent(10);

    /// The default headroom of critical work above a limit.
    pub(crate) const HEADROOM: Percent = Percent(10);

    /// Validates a percentage.
    pub fn new(percent: u64) -> Result<Self, PercentError> {
        match u8::try_from(percent) {
            Ok(fits) if fits <= 100 => Ok(Percent(fits)),
            _ => Err(PercentError(percent)),
        }
    }

    /// The number.
    pub fn get(self) -> u8 {
        self.0
    }

    /// This share of an amount, rounded up.
    pub fn of(self, amount: u64) -> u64 {
        let share = (u128::from(amount) * u128::from(self.0)).div_ceil(100);
        // The share is at most 100 percent, so it fits.
        u64::try_from(share).unwrap_or(amount)
    }
}

impl<'de> Deserialize<'de> for Percent {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let percent = u8::deserialize(deserializer)?;
        Percent::new(percent.into()).map_err(serde::de::Error::custom)
    }
}

/// An agent's report that it stops because of its budget.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Notice {
    /// The amount used.
    pub consumed: Amount,
    /// The dimension.
    pub dimension: Dimension,
    /// The limit.
    pub limit: Amount,
}

/// `workspace.modify_budget`: raises limits of a workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Modify {
    /// The new limits, each above the one it replaces.
    pub limits: Budget,
    /// The workspace.
    pub workspace: WorkspaceId,
}

/// `budget_modified`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BudgetModified {
    /// The dimension.
    pub budget_dimension: Dimension,
    /// The new limit.
    pub new_limit: Amount,
    /// The old limit.
    pub old_limit: Amount,
    /// The workspace.
    pub workspace_id: WorkspaceId,
}

/// Whether the runtime enforces the budget in this state.
pub(crate) fn is_enforced(status: Status) -> bool {
    matches!(status, Status::Active | Status::Blocked)
}
