//! Metering of the resources that workspaces use.

use imbl::OrdMap;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::runs::checkpoint::ResourceUsage;
use crate::model::runs::file::FilePath;
use crate::model::runs::workspace::budget::{Dimension, Percent};
use crate::model::runs::workspace::{Status, Workspace};
use crate::values::id::{CheckpointId, WorkspaceId};
use crate::values::time::{JSON_INTEGER_MAX, Span, Timestamp};

/// The flat size of an entry's frame: ids, hashes and streams around its body.
pub(crate) const FRAME_BYTES: u64 = 512;

/// The minimum tolerance for times: an agent's clock is not the runtime's.
const WALL_TIME_TOLERANCE: Span = Span::from_secs(1);

/// An amount of tokens, bytes, microseconds or millionths of a currency, at most 2^53 − 1 so that
/// JSON holds it exactly.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Amount(
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    #[schemars(range(max = 9_007_199_254_740_991_u64))]
    u64,
);

impl Amount {
    /// An amount, capped at the largest that JSON holds exactly.
    pub const fn new(amount: u64) -> Self {
        Amount(if amount < JSON_INTEGER_MAX { amount } else { JSON_INTEGER_MAX })
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    pub(crate) fn is_zero(&self) -> bool {
        self.0 == 0
    }
}

/// The resources a workspace has used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meter {
    /// Tokens, as reported by agents.
    pub tokens: u64,
    /// Cost in millionths of the deployment's currency, as reported by agents.
    pub cost: u64,
    /// Time in state `active`, not counting the current state.
    pub active: Span,
    /// Time in state `blocked`, not counting the current state.
    pub blocked: Span,
    /// Current bytes of its context and working memory.
    pub context: u64,
    /// Bytes of the content of its checkpoints.
    pub checkpoints: u64,
    /// Bytes of its local trail.
    pub trail: u64,
    /// Bytes of the envelopes it sent.
    pub sent: u64,
    /// Bytes of the envelopes it received.
    pub received: u64,
    /// The size in bytes of each file of its working memory.
    #[serde(with = "crate::values::ordered::map")]
    pub files: OrdMap<FilePath, u64>,
    /// The use at the last checkpoint.
    pub marked: Mark,
}

/// The use at some moment of the resources that agents report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// Tokens.
    pub tokens: u64,
    /// Time active and blocked.
    pub wall_time: Span,
    /// Cost.
    pub cost: u64,
}

/// `meter.report`: reports resources that the runtime cannot measure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// Cost since the last report, in millionths of the deployment's currency.
    #[serde(default)]
    pub cost: Amount,
    /// Tokens since the last report.
    #[serde(default)]
    pub tokens: Amount,
    /// The workspace; the caller's own if it has only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceId>,
}

/// `meter.reported`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reported {
    /// Cost since the last report.
    pub cost: Amount,
    /// Tokens since the last report.
    pub tokens: Amount,
    /// The workspace.
    pub workspace_id: WorkspaceId,
}

/// A figure that an agent reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UsageField {
    /// Tokens.
    TokensConsumed,
    /// Wall time.
    WallTime,
    /// Cost.
    Cost,
}

/// `resource_discrepancy`: an agent's figure deviates from the meter's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResourceDiscrepancy {
    /// The agent's figure.
    pub agent_value: Amount,
    /// The checkpoint with that figure.
    pub checkpoint_id: CheckpointId,
    /// The figure in question.
    pub field: UsageField,
    /// The meter's figure.
    pub runtime_value: Amount,
    /// The workspace.
    pub workspace: WorkspaceId,
}

impl Workspace {
    /// The amount it has used itself of a budget dimension.
    pub fn used(&self, dimension: Dimension, now: Timestamp) -> u64 {
        let meter = &self.meter;
        match dimension {
            Dimension::BandwidthLimit => meter.sent.saturating_add(meter.received),
            Dimension::CheckpointLimit => meter.checkpoints,
            Dimension::ComputeTimeout => self.time_in(Status::Active, now).micros(),
            Dimension::ContextLimit => meter.context,
            Dimension::CostLimit => meter.cost,
            Dimension::TokenLimit => meter.tokens,
            Dimension::TrailLimit => meter.trail,
        }
    }

    /// The time spent in a state, active or blocked.
    pub(crate) fn time_in(&self, status: Status, now: Timestamp) -> Span {
        let passed = match status {
            Status::Active => self.meter.active,
            Status::Blocked => self.meter.blocked,
            _ => Span::default(),
        };
        let running = if self.status == status { now.since(self.since) } else { Span::default() };
        Span::from_micros(passed.micros().saturating_add(running.micros()))
    }

    /// The use by now of the resources that agents report.
    pub(crate) fn mark(&self, now: Timestamp) -> Mark {
        let active = self.time_in(Status::Active, now).micros();
        let wall_time = active.saturating_add(self.time_in(Status::Blocked, now).micros());
        let wall_time = Span::from_micros(wall_time);
        Mark { tokens: self.meter.tokens, wall_time, cost: self.meter.cost }
    }

    /// Adds the time in the current state to the totals, before the state changes.
    pub(crate) fn meter_state(&mut self, now: Timestamp) {
        self.meter.active = self.time_in(Status::Active, now);
        self.meter.blocked = self.time_in(Status::Blocked, now);
    }
}

/// The differences between an agent's figures and the meter's since the previous checkpoint.
pub(crate) fn discrepancies(
    workspace: &Workspace,
    usage: &ResourceUsage,
    now: Timestamp,
) -> Vec<(UsageField, u64, u64)> {
    let (mark, last) = (workspace.mark(now), workspace.meter.marked);
    let wall_time = mark.wall_time.micros().saturating_sub(last.wall_time.micros());
    let fields = [
        (
            UsageField::TokensConsumed,
            usage.tokens_consumed,
            mark.tokens.saturating_sub(last.tokens),
            0,
        ),
        (UsageField::WallTime, usage.wall_time, wall_time, WALL_TIME_TOLERANCE.micros()),
        (UsageField::Cost, usage.cost, mark.cost.saturating_sub(last.cost), 0),
    ];
    let differs = |agent: u64, runtime: u64, least: u64| {
        agent.abs_diff(runtime) > least.max(Percent::TOLERANCE.of(runtime))
    };
    let beyond = fields.into_iter().filter(|(_, agent, own, least)| differs(*agent, *own, *least));
    beyond.map(|(field, agent, own, _)| (field, agent, own)).collect()
}
