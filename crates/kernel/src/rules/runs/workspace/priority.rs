//! Changing the priority of a workspace that is active or blocked.

use std::sync::Arc;

use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::runs::workspace::{Priority, Status, edges};
use crate::protocol::event::Event;
use crate::protocol::refusal::Refusal;
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::registry::rule::Rule;
use crate::rules::runs::workspace;
use crate::values::id::WorkspaceId;
use crate::values::principal::{Actor, Caller};

pub use crate::model::runs::workspace::priority::*;

pub(crate) fn decide_set(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    set: &SetPriority,
) -> Result<Reply, DecisionError> {
    workspace::coordinator_only(tx.state(), caller, "change a priority")?;
    let id = &set.workspace;
    let workspace = workspace::get(tx.state(), id)?;
    if tx.state().is_open_attempt(workspace) {
        return Err(workspace::needs_run(workspace, id, "changing its priority").into());
    }
    if !is_changeable(workspace.status) || workspace.parent.is_none() {
        let message = format!("workspace {id} is {}; its priority cannot change", workspace.status);
        let allowed = edges::transitions_from(workspace.status);
        return Err(Refusal::denied(Rule::PriorityChange, message).allowing(allowed).into());
    }
    change(tx, id, set.priority, caller.principal.clone().into())?;
    tx.workspace_reply(id)
}

/// Whether the priority may change in this state.
pub(crate) fn is_changeable(status: Status) -> bool {
    matches!(status, Status::Active | Status::Blocked)
}

pub(crate) fn change(
    tx: &mut Transaction<'_>,
    id: &WorkspaceId,
    new_priority: Priority,
    actor: Actor,
) -> Result<(), ApplyError> {
    let workspace = tx.state().workspaces.get(id).ok_or(ApplyError::Unknown("the workspace"))?;
    let old_priority = workspace.priority;
    let body = PriorityChanged { new_priority, old_priority, workspace_id: id.clone() };
    tx.note(Some(id), actor, Event::PriorityChanged(body))
}

pub(crate) fn apply_changed(
    state: &mut State,
    changed: &PriorityChanged,
) -> Result<(), ApplyError> {
    let known = state.workspaces.get_mut(&changed.workspace_id);
    let known = known.ok_or(ApplyError::Unknown("the workspace"))?;
    if !is_changeable(known.status) || known.priority != changed.old_priority {
        return Err(ApplyError::Mismatch("the priority before"));
    }
    Arc::make_mut(known).priority = changed.new_priority;
    Ok(())
}
