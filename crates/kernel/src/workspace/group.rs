//! Groups: workspaces that are ended or hurried together.
//!
//! A group is a name that a workspace is created with, at most one, and keeps. It is flat, it
//! means something within one run only, and it gives nobody any right.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::change::{self, Change};
use super::{Priority, Status, Trigger, priority};
use crate::event::Event;
use crate::highway::GateType;
use crate::highway::gate;
use crate::id::{First as _, WorkspaceId};
use crate::principal::{Actor, Caller};
use crate::refusal::Refusal;
use crate::rule::Rule;
use crate::state::State;
use crate::text::Text;
use crate::time::Timestamp;
use crate::turn::{Halt, Reply, Turn};

/// What a group is called.
pub type GroupName = Text<64>;
/// The most workspaces of one group: one entry lists them all.
pub const MEMBERS_MAX: usize = 10_000;

/// `workspace.batch_abort`: ends every workspace of a group that goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AbortGroup {
    /// Which group.
    pub group: GroupName,
    /// Why, for others to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
}

/// `workspace.batch_priority`: makes the workspaces of a group more or less urgent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GroupPriority {
    /// Which group.
    pub group: GroupName,
    /// How urgent they are from now on.
    pub priority: Priority,
}

/// `batch_abort`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BatchAbort {
    /// Those that end because of it.
    pub affected_workspaces: Vec<WorkspaceId>,
    /// The group.
    pub group_id: GroupName,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// Those that had ended before.
    pub skipped_workspaces: Vec<WorkspaceId>,
}

/// `batch_priority_changed`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BatchPriorityChanged {
    /// Those that change.
    pub affected_workspaces: Vec<WorkspaceId>,
    /// The group.
    pub group_id: GroupName,
    /// How urgent they are from now on.
    pub new_priority: Priority,
    /// How urgent they were, if all were the same.
    pub old_priority: Option<Priority>,
    /// Those that are not at work.
    pub skipped_workspaces: Vec<WorkspaceId>,
}

/// What became of the workspaces of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BatchReply {
    /// The group.
    pub group: GroupName,
    /// Those that changed.
    pub affected: Vec<WorkspaceId>,
    /// Those that stayed as they were.
    pub skipped: Vec<WorkspaceId>,
}

/// The root of the run, and those of a group that an order touches and those that it does not.
type Members = (WorkspaceId, Vec<WorkspaceId>, Vec<WorkspaceId>);

fn members(
    state: &State,
    group: &GroupName,
    touched: impl Fn(Status) -> bool,
) -> Result<Members, Refusal> {
    let root = super::root(state)?;
    let status = |id: &WorkspaceId| state.workspaces.get(id).map(|known| known.status);
    let all = state.members_of(root, group).cloned();
    let (affected, skipped): (Vec<_>, Vec<_>) =
        all.partition(|id| status(id).is_some_and(&touched));
    if affected.is_empty() && skipped.is_empty() {
        let message = format!("there is no group {:?} in this run", group.as_str());
        return Err(Refusal::not_found(Rule::ReferenceKnown, message));
    }
    Ok((root.clone(), affected, skipped))
}

pub(crate) fn decide_abort(
    turn: &mut Turn<'_>,
    caller: &Caller,
    abort: &AbortGroup,
) -> Result<Reply, Halt> {
    let initiator = super::coordinator_only(turn.state(), caller, "abort a group")?;
    gate::not_around(turn.state(), caller, GateType::WorkspaceAbort)?;
    let goes_on = |status: Status| !status.is_terminal();
    let (root, affected, skipped) = members(turn.state(), &abort.group, goes_on)?;
    let event = Event::BatchAbort(BatchAbort {
        affected_workspaces: affected.clone(),
        group_id: abort.group.clone(),
        reason: abort.reason.clone(),
        skipped_workspaces: skipped.clone(),
    });
    turn.note(Some(&root), caller.principal.clone().into(), event)?;
    // The youngest first: each ends for this reason, before one above it takes it along.
    for id in affected.iter().rev() {
        let (trigger, reason) = (Trigger::BatchAbort, abort.reason.clone());
        let actor = Actor::Protocol;
        change::fail(turn, id, Change { to: Status::Failed, trigger, initiator, reason, actor })?;
    }
    Ok(Reply::Batch(BatchReply { group: abort.group.clone(), affected, skipped }))
}

pub(crate) fn decide_priority(
    turn: &mut Turn<'_>,
    caller: &Caller,
    order: &GroupPriority,
) -> Result<Reply, Halt> {
    super::coordinator_only(turn.state(), caller, "change the priority of a group")?;
    let (root, affected, skipped) = members(turn.state(), &order.group, priority::is_changeable)?;
    let state = turn.state();
    let mut before =
        affected.iter().filter_map(|id| state.workspaces.get(id).map(|known| known.priority));
    let first = before.next();
    let event = Event::BatchPriorityChanged(BatchPriorityChanged {
        affected_workspaces: affected.clone(),
        group_id: order.group.clone(),
        new_priority: order.priority,
        old_priority: first.filter(|first| before.all(|other| other == *first)),
        skipped_workspaces: skipped.clone(),
    });
    turn.note(Some(&root), caller.principal.clone().into(), event)?;
    for id in &affected {
        priority::change(turn, id, order.priority, Actor::Protocol)?;
    }
    Ok(Reply::Batch(BatchReply { group: order.group.clone(), affected, skipped }))
}

impl State {
    /// The workspaces of a group of a run, oldest first.
    pub(crate) fn members_of(
        &self,
        root: &WorkspaceId,
        group: &GroupName,
    ) -> impl Iterator<Item = &WorkspaceId> {
        let (root, group) = (root.clone(), group.clone());
        let first = (root.clone(), group.clone(), Timestamp::default(), WorkspaceId::first());
        let from = self.groups.range(first..);
        from.take_while(move |(run, name, ..)| *run == root && *name == group).map(|(.., id)| id)
    }
}
