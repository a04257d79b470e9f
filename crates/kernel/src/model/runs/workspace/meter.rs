//! Types of `meter`: state, arguments of commands and bodies of events.

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

/// What the frame of an entry counts for: ids, hashes and streams around its body.
pub const FRAME_BYTES: u64 = 512;

/// How far a time may be from the meter's in any case: an agent's clock is not the runtime's.
const WALL_TIME_TOLERANCE: Span = Span::from_secs(1);

/// A number of tokens, bytes, microseconds or millionths of a currency: one that every JSON
/// implementation reads the same.
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
    /// An amount; beyond what JSON holds exactly, the largest there is.
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

/// What a workspace has used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meter {
    /// Tokens, as reported.
    pub tokens: u64,
    /// Millionths of the currency the deployment counts in, as reported.
    pub cost: u64,
    /// Time at work, not counting the state it is in.
    pub active: Span,
    /// Time blocked, not counting the state it is in.
    pub blocked: Span,
    /// Bytes of its context and its working memory as they are now.
    pub context: u64,
    /// Bytes of the content of its checkpoints.
    pub checkpoints: u64,
    /// Bytes of its local trail.
    pub trail: u64,
    /// Bytes of the envelopes it sent.
    pub sent: u64,
    /// Bytes of the envelopes it received.
    pub received: u64,
    /// Bytes of each file of its working memory.
    #[serde(with = "crate::values::ordered::map")]
    pub files: OrdMap<FilePath, u64>,
    /// What was used at the last checkpoint.
    pub marked: Mark,
}

/// What was used at some moment, of what agents report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// Tokens.
    pub tokens: u64,
    /// Time active and blocked.
    pub wall_time: Span,
    /// Cost.
    pub cost: u64,
}

/// `meter.report`: adds what was used outside of the runtime's sight.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// Cost since the last report, in millionths of the currency the deployment counts in.
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

/// What an agent's figures are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UsageField {
    /// Tokens.
    TokensConsumed,
    /// Time.
    WallTime,
    /// Cost.
    Cost,
}

/// `resource_discrepancy`: an agent's figure is not the meter's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResourceDiscrepancy {
    /// What the agent says.
    pub agent_value: Amount,
    /// The checkpoint it says so in.
    pub checkpoint_id: CheckpointId,
    /// What it is about.
    pub field: UsageField,
    /// What the meter says.
    pub runtime_value: Amount,
    /// The workspace.
    pub workspace: WorkspaceId,
}

impl Workspace {
    /// What it has used itself of what a budget limits.
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

    /// How long it has been active, or blocked.
    pub fn time_in(&self, status: Status, now: Timestamp) -> Span {
        let passed = match status {
            Status::Active => self.meter.active,
            Status::Blocked => self.meter.blocked,
            _ => Span::default(),
        };
        let running = if self.status == status { now.since(self.since) } else { Span::default() };
        Span::from_micros(passed.micros().saturating_add(running.micros()))
    }

    /// What it has used by now of what agents report.
    pub(crate) fn mark(&self, now: Timestamp) -> Mark {
        let active = self.time_in(Status::Active, now).micros();
        let wall_time = active.saturating_add(self.time_in(Status::Blocked, now).micros());
        let wall_time = Span::from_micros(wall_time);
        Mark { tokens: self.meter.tokens, wall_time, cost: self.meter.cost }
    }

    /// Closes the account of the state it is about to leave.
    pub(crate) fn meter_state(&mut self, now: Timestamp) {
        self.meter.active = self.time_in(Status::Active, now);
        self.meter.blocked = self.time_in(Status::Blocked, now);
    }
}

/// What differs between an agent's figures and the meter's since the checkpoint before.
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
    let differs = |agent: u64, runtime: u64, floor: u64| {
        agent.abs_diff(runtime) > floor.max(Percent::TOLERANCE.of(runtime))
    };
    let beyond = fields.into_iter().filter(|(_, agent, own, floor)| differs(*agent, *own, *floor));
    beyond.map(|(field, agent, own, _)| (field, agent, own)).collect()
}
