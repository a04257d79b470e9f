//! Types of `account`: state, arguments of commands and bodies of events.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::runs::workspace::budget::Dimension;
use crate::model::runs::workspace::group::GroupName;
use crate::model::runs::workspace::{Status, Workspace, meter};
use crate::values::id::WorkspaceId;
use crate::values::name::AgentName;
use crate::values::time::{Span, Timestamp};

/// `meter.get`
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MeterGet {
    /// Also those of runs that are over; without, those of the newest run.
    pub all: bool,
    /// Only those of this group.
    pub group: Option<GroupName>,
    /// Only those that have not ended.
    pub live: bool,
    /// Only this one.
    pub workspace: Option<WorkspaceId>,
}

/// What was used. Times are in microseconds, cost in millionths of a currency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Used {
    /// Time at work.
    pub active_time: Span,
    /// Time blocked.
    pub blocked_time: Span,
    /// Content of checkpoints.
    pub checkpoint_bytes: u64,
    /// Context and working memory, as they are now.
    pub context_bytes: u64,
    /// Cost.
    pub cost: u64,
    /// Envelopes received.
    pub received_bytes: u64,
    /// Envelopes sent.
    pub sent_bytes: u64,
    /// Tokens.
    pub tokens: u64,
    /// Local trails.
    pub trail_bytes: u64,
}

impl Used {
    pub(crate) fn by(known: &Workspace, now: Timestamp) -> Self {
        let meter = &known.meter;
        Used {
            active_time: known.time_in(Status::Active, now),
            blocked_time: known.time_in(Status::Blocked, now),
            checkpoint_bytes: meter.checkpoints,
            context_bytes: meter.context,
            cost: meter.cost,
            received_bytes: meter.received,
            sent_bytes: meter.sent,
            tokens: meter.tokens,
            trail_bytes: meter.trail,
        }
    }

    pub(crate) fn add(&mut self, more: &Used) {
        let times = [
            (&mut self.active_time, more.active_time),
            (&mut self.blocked_time, more.blocked_time),
        ];
        for (own, more) in times {
            *own = Span::from_micros(own.micros().saturating_add(more.micros()));
        }
        let counts = [
            (&mut self.checkpoint_bytes, more.checkpoint_bytes),
            (&mut self.context_bytes, more.context_bytes),
            (&mut self.cost, more.cost),
            (&mut self.received_bytes, more.received_bytes),
            (&mut self.sent_bytes, more.sent_bytes),
            (&mut self.tokens, more.tokens),
            (&mut self.trail_bytes, more.trail_bytes),
        ];
        for (own, more) in counts {
            *own = own.saturating_add(more);
        }
    }
}

/// A limit, and how far it is used up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LimitView {
    /// What is limited.
    pub dimension: Dimension,
    /// What it used itself.
    pub used: u64,
    /// What was given to the workspaces below it: their limits while they go on, what they used
    /// once they have ended.
    pub given: u64,
    /// How much there is.
    pub limit: u64,
    /// How much is left.
    pub left: u64,
    /// Whether it was warned of.
    pub warned: bool,
}

/// The meter of a workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MeterView {
    /// The workspace.
    pub workspace: WorkspaceId,
    /// The agent bound to it.
    pub agent: Option<AgentName>,
    /// The current state.
    pub status: Status,
    /// The group it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// What it used itself.
    pub used: Used,
    /// Its budget.
    pub limits: Vec<LimitView>,
    /// The limit that ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exceeded: Option<Dimension>,
    /// How many intervals have passed without anything happening in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub silent_intervals: Option<u64>,
}

impl MeterView {
    pub(crate) fn of(now: Timestamp, id: &WorkspaceId, known: &Workspace) -> Self {
        let limit = |(dimension, limit): (&Dimension, &meter::Amount)| LimitView {
            dimension: *dimension,
            used: known.used(*dimension, now),
            given: known.given.get(dimension).copied().unwrap_or_default(),
            limit: limit.get(),
            left: known.left(*dimension, now).unwrap_or_default(),
            warned: known.warned.contains(dimension),
        };
        MeterView {
            workspace: id.clone(),
            agent: known.agent.clone(),
            status: known.status,
            group: known.charter.group.as_ref().map(ToString::to_string),
            used: Used::by(known, now),
            limits: known.budget.iter().map(limit).collect(),
            exceeded: known.exceeded,
            silent_intervals: Some(known.pulse.silent).filter(|silent| *silent > 0),
        }
    }
}

/// The meter of a workspace, and of everything below it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MeterRow {
    /// Its own.
    #[serde(flatten)]
    pub own: MeterView,
    /// What it and everything below it used.
    pub subtree: Used,
}

/// What a group used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GroupUse {
    /// The group; none for the workspaces without one.
    pub group: Option<String>,
    /// How many workspaces it has.
    pub workspaces: usize,
    /// How many of those go on.
    pub live: usize,
    /// What they used.
    pub used: Used,
}

/// What was used, by workspace, by group, and in all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MeterReport {
    /// By workspace, oldest first.
    pub workspaces: Vec<MeterRow>,
    /// By group.
    pub groups: Vec<GroupUse>,
    /// In all.
    pub total: Used,
}
