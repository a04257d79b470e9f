//! Types of `budget`: state, arguments of commands and bodies of events.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use std::collections::BTreeMap;

use crate::model::runs::workspace::Status;
use crate::model::runs::workspace::meter::Amount;
use crate::values::id::WorkspaceId;

/// What a budget limits.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Dimension {
    /// Bytes of envelopes sent and received.
    BandwidthLimit,
    /// Bytes of the content of checkpoints.
    CheckpointLimit,
    /// Time at work, in microseconds.
    ComputeTimeout,
    /// Bytes of context and working memory.
    ContextLimit,
    /// Cost, in millionths of the currency the deployment counts in.
    CostLimit,
    /// Tokens.
    TokenLimit,
    /// Bytes of the local trail.
    TrailLimit,
}

impl Dimension {
    /// All seven.
    pub const ALL: &'static [Dimension] = &[
        Dimension::BandwidthLimit,
        Dimension::CheckpointLimit,
        Dimension::ComputeTimeout,
        Dimension::ContextLimit,
        Dimension::CostLimit,
        Dimension::TokenLimit,
        Dimension::TrailLimit,
    ];

    /// The name.
    pub fn as_str(self) -> &'static str {
        match self {
            Dimension::BandwidthLimit => "bandwidth_limit",
            Dimension::CheckpointLimit => "checkpoint_limit",
            Dimension::ComputeTimeout => "compute_timeout",
            Dimension::ContextLimit => "context_limit",
            Dimension::CostLimit => "cost_limit",
            Dimension::TokenLimit => "token_limit",
            Dimension::TrailLimit => "trail_limit",
        }
    }
}

impl std::fmt::Display for Dimension {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// Limits by what they limit; what is not in it is not limited. Tokens, bytes, microseconds, and
/// millionths of the currency the deployment counts in.
pub type Budget = BTreeMap<Dimension, Amount>;

/// A part in a hundred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Percent(#[schemars(range(max = 100))] u8);

/// A number that is no percentage.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a percentage is 0 to 100, not {0}")]
pub struct PercentError(u64);

impl Percent {
    /// The share of a limit that is warned of, where nothing else is said.
    pub const WARNING: Percent = Percent(80);

    /// How far an agent's figure may be from the meter's.
    pub const TOLERANCE: Percent = Percent(10);

    /// How much further critical work may go, where nothing else is said.
    pub const HEADROOM: Percent = Percent(10);

    /// Checks and takes a percentage.
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
        // A share of an amount is no more than the amount.
        u64::try_from(share).unwrap_or(amount)
    }
}

impl<'de> Deserialize<'de> for Percent {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let percent = u8::deserialize(deserializer)?;
        Percent::new(percent.into()).map_err(serde::de::Error::custom)
    }
}

/// What an agent says about its budget when it stops because of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Notice {
    /// How much is used.
    pub consumed: Amount,
    /// Of what.
    pub dimension: Dimension,
    /// How much there is.
    pub limit: Amount,
}

/// `workspace.modify_budget`: raises limits of a workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Modify {
    /// The new limits, each above the one it takes the place of.
    pub limits: Budget,
    /// The workspace.
    pub workspace: WorkspaceId,
}

/// `budget_modified`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BudgetModified {
    /// What is limited.
    pub budget_dimension: Dimension,
    /// The limit from now on.
    pub new_limit: Amount,
    /// The limit before.
    pub old_limit: Amount,
    /// The workspace.
    pub workspace_id: WorkspaceId,
}

/// Whether the runtime ends a workspace in this state for what it used.
pub(crate) fn is_enforced(status: Status) -> bool {
    matches!(status, Status::Active | Status::Blocked)
}
