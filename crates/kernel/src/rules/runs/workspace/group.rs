//! Groups: workspaces that are aborted or reprioritized together.
//!
//! A group is a name given to a workspace at its creation, at most one, for good. Groups are flat,
//! exist within one run only, and grant no rights.

use crate::values::id::First as _;

use crate::machine::coordinator;
use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::runs::approvals::GateType;
use crate::model::runs::workspace::{Status, Trigger};
use crate::protocol::event::Event;
use crate::protocol::refusal::Refusal;
use crate::protocol::reply::Reply;
use crate::registry::rule::Rule;
use crate::rules::runs::approvals::gate;
use crate::rules::runs::workspace;
use crate::rules::runs::workspace::change::Change;
use crate::rules::runs::workspace::{change, priority};
use crate::values::id::WorkspaceId;
use crate::values::principal::{Actor, Caller};
use crate::values::time::Timestamp;

pub use crate::model::runs::workspace::group::*;

/// The root of the run, and the members of a group that a command affects and those it skips.
type Members = (WorkspaceId, Vec<WorkspaceId>, Vec<WorkspaceId>);

fn members(
    state: &State,
    group: &GroupName,
    touched: impl Fn(Status) -> bool,
) -> Result<Members, Refusal> {
    let root = coordinator::root(state)?;
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
    tx: &mut Transaction<'_>,
    caller: &Caller,
    abort: &AbortGroup,
) -> Result<Reply, DecisionError> {
    let initiator = workspace::coordinator_only(tx.state(), caller, "abort a group")?;
    gate::not_around(tx.state(), caller, GateType::WorkspaceAbort)?;
    let goes_on = |status: Status| !status.is_terminal();
    let (root, affected, skipped) = members(tx.state(), &abort.group, goes_on)?;
    let event = Event::BatchAbort(BatchAbort {
        affected_workspaces: affected.clone(),
        group_id: abort.group.clone(),
        reason: abort.reason.clone(),
        skipped_workspaces: skipped.clone(),
    });
    tx.note(Some(&root), caller.principal.clone().into(), event)?;
    // Youngest first: each ends for this reason, before the end of a parent cascades to it.
    for id in affected.iter().rev() {
        let (trigger, reason) = (Trigger::BatchAbort, abort.reason.clone());
        let actor = Actor::Protocol;
        change::fail(tx, id, Change { to: Status::Failed, trigger, initiator, reason, actor })?;
    }
    Ok(Reply::Batch(BatchReply { group: abort.group.clone(), affected, skipped }))
}

pub(crate) fn decide_priority(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    order: &GroupPriority,
) -> Result<Reply, DecisionError> {
    workspace::coordinator_only(tx.state(), caller, "change the priority of a group")?;
    let (root, affected, skipped) = members(tx.state(), &order.group, priority::is_changeable)?;
    let state = tx.state();
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
    tx.note(Some(&root), caller.principal.clone().into(), event)?;
    for id in &affected {
        priority::change(tx, id, order.priority, Actor::Protocol)?;
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
