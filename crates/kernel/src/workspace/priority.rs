//! Changing how urgent a workspace is, while it is at work.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

use super::{Priority, Status, edges};
use crate::event::Event;
use crate::id::WorkspaceId;
use crate::principal::{Actor, Caller};
use crate::refusal::Refusal;
use crate::rule::Rule;
use crate::state::{ApplyError, State};
use crate::turn::{Halt, Reply, Turn};

/// `workspace.set_priority`: makes a workspace more or less urgent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetPriority {
    /// How urgent it is from now on.
    pub priority: Priority,
    /// Which workspace.
    pub workspace: WorkspaceId,
}

/// `priority_changed`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriorityChanged {
    /// How urgent it is from now on.
    pub new_priority: Priority,
    /// How urgent it was.
    pub old_priority: Priority,
    /// The workspace.
    pub workspace_id: WorkspaceId,
}

pub(crate) fn decide_set(
    turn: &mut Turn<'_>,
    caller: &Caller,
    set: &SetPriority,
) -> Result<Reply, Halt> {
    super::coordinator_only(turn.state(), caller, "change a priority")?;
    let id = &set.workspace;
    let workspace = super::get(turn.state(), id)?;
    if !is_changeable(workspace.status) || workspace.parent.is_none() {
        let message = format!("workspace {id} is {}; its priority stays", workspace.status);
        let ways = edges::ways_from(workspace.status);
        return Err(Refusal::denied(Rule::PriorityChange, message).allowing(ways).into());
    }
    change(turn, id, set.priority, caller.principal.clone().into())?;
    turn.workspace_reply(id)
}

/// Whether the priority may change in this state.
pub(crate) fn is_changeable(status: Status) -> bool {
    matches!(status, Status::Active | Status::Blocked)
}

pub(crate) fn change(
    turn: &mut Turn<'_>,
    id: &WorkspaceId,
    new_priority: Priority,
    actor: Actor,
) -> Result<(), ApplyError> {
    let workspace = turn.state().workspaces.get(id).ok_or(ApplyError::Unknown("the workspace"))?;
    let old_priority = workspace.priority;
    let body = PriorityChanged { new_priority, old_priority, workspace_id: id.clone() };
    turn.note(Some(id), actor, Event::PriorityChanged(body))
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
