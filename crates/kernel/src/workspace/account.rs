//! What was used, as doors show it: by workspace, by group, and in all.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::budget::Dimension;
use super::group::GroupName;
use super::{Status, Workspace};
use crate::id::WorkspaceId;
use crate::name::AgentName;
use crate::state::State;
use crate::time::{Span, Timestamp};

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
    fn by(known: &Workspace, now: Timestamp) -> Self {
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

    fn add(&mut self, more: &Used) {
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
    /// The state it is in.
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
        let limit = |(dimension, limit): (&Dimension, &super::meter::Amount)| LimitView {
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

/// Adds up what the workspaces used that fit.
pub(crate) fn report(
    state: &State,
    now: Timestamp,
    fits: &dyn Fn(&WorkspaceId, &Workspace) -> bool,
) -> MeterReport {
    let mut ordered: Vec<(&WorkspaceId, &Workspace)> = state.workspaces().collect();
    ordered.sort_by_key(|(_, known)| known.charter.created_at);
    let subtrees = subtrees(&ordered, now);
    let mut groups: BTreeMap<Option<&GroupName>, GroupUse> = BTreeMap::new();
    let mut found =
        MeterReport { workspaces: Vec::new(), groups: Vec::new(), total: Used::default() };
    for (id, known) in ordered.into_iter().filter(|(id, known)| fits(id, known)) {
        let own = MeterView::of(now, id, known);
        found.total.add(&own.used);
        let group = known.charter.group.as_ref();
        let sum = groups.entry(group).or_insert_with(|| GroupUse {
            group: group.map(ToString::to_string),
            workspaces: 0,
            live: 0,
            used: Used::default(),
        });
        sum.workspaces += 1;
        sum.live += usize::from(!known.status.is_terminal());
        sum.used.add(&own.used);
        let subtree = subtrees.get(id).copied().unwrap_or_default();
        found.workspaces.push(MeterRow { own, subtree });
    }
    found.groups = groups.into_values().collect();
    found
}

/// What each workspace and everything below it used. Nothing is older than what is above it, so
/// one pass from the youngest on finds every sum complete.
fn subtrees<'a>(
    ordered: &[(&'a WorkspaceId, &'a Workspace)],
    now: Timestamp,
) -> BTreeMap<&'a WorkspaceId, Used> {
    let mut sums: BTreeMap<&WorkspaceId, Used> = BTreeMap::new();
    for (id, known) in ordered.iter().rev() {
        let sum = sums.entry(id).or_default();
        sum.add(&Used::by(known, now));
        let sum = *sum;
        if let Some(parent) = &known.parent {
            sums.entry(parent).or_default().add(&sum);
        }
    }
    sums
}
