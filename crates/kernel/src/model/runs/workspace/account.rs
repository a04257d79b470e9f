//! Reports of resource use, by workspace and group.

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
    /// Include workspaces of ended runs; by default only those of the newest run.
    pub all: bool,
    /// Only workspaces of this group.
    pub group: Option<GroupName>,
    /// Only workspaces that have not ended.
    pub live: bool,
    /// Only this workspace.
    pub workspace: Option<WorkspaceId>,
}

/// Resources used. Times are in microseconds, cost in millionths of a currency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Used {
    /// Time in state `active`.
    pub active_time: Span,
    /// Time in state `blocked`.
    pub blocked_time: Span,
    /// Bytes of checkpoint content.
    pub checkpoint_bytes: u64,
    /// Current bytes of context and working memory.
    pub context_bytes: u64,
    /// Cost.
    pub cost: u64,
    /// Bytes of envelopes received.
    pub received_bytes: u64,
    /// Bytes of envelopes sent.
    pub sent_bytes: u64,
    /// Tokens.
    pub tokens: u64,
    /// Bytes of local trails.
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

/// A limit and its use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LimitView {
    /// The dimension.
    pub dimension: Dimension,
    /// The amount used by the workspace itself.
    pub used: u64,
    /// The amount given to descendants: their limits while they live, their actual use once they
    /// have ended.
    pub given: u64,
    /// The limit.
    pub limit: u64,
    /// The amount left.
    pub left: u64,
    /// Whether a warning was issued.
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
    /// The resources it used itself.
    pub used: Used,
    /// Its budget.
    pub limits: Vec<LimitView>,
    /// The limit that ended it, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exceeded: Option<Dimension>,
    /// The number of intervals without activity.
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

/// The meter of a workspace and of its descendants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MeterRow {
    /// The meter of the workspace itself.
    #[serde(flatten)]
    pub own: MeterView,
    /// The resources used by it and its descendants.
    pub subtree: Used,
}

/// The resources used by a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GroupUse {
    /// The group; none for the workspaces without one.
    pub group: Option<String>,
    /// The number of its workspaces.
    pub workspaces: usize,
    /// The number of its live workspaces.
    pub live: usize,
    /// The resources they used.
    pub used: Used,
}

/// Resources used, by workspace, by group, and in total.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MeterReport {
    /// By workspace, oldest first.
    pub workspaces: Vec<MeterRow>,
    /// By group.
    pub groups: Vec<GroupUse>,
    /// In total.
    pub total: Used,
}
