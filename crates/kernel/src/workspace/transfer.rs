//! Giving a workspace to somebody else to answer for: one workspace, at once, and nothing below
//! it. Who caused it stays as it is, and so does everything that was recorded before.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

use super::Party;
use crate::event::Event;
use crate::id::WorkspaceId;
use crate::name::UserId;
use crate::principal::{Actor, Caller};
use crate::refusal::Refusal;
use crate::rule::Rule;
use crate::state::{ApplyError, State};
use crate::text::Text;
use crate::turn::{Halt, Reply, Turn};
use crate::user;

/// `workspace.transfer`: gives a workspace to another person to answer for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Transfer {
    /// Why, for others to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// Who answers for it from now on.
    pub to: UserId,
    /// Which workspace.
    pub workspace: WorkspaceId,
}

/// `workspace_ownership_transferred`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transferred {
    /// Who answered for it; the system, where there were no people.
    pub from_user: Party,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// Who answers for it from now on.
    pub to_user: UserId,
    /// Who said so.
    pub transferred_by: Actor,
    /// The workspace.
    pub workspace_id: WorkspaceId,
}

pub(crate) fn decide_transfer(
    turn: &mut Turn<'_>,
    caller: &Caller,
    transfer: &Transfer,
) -> Result<Reply, Halt> {
    super::coordinator_only(turn.state(), caller, "transfer a workspace")?;
    let id = &transfer.workspace;
    let workspace = super::get(turn.state(), id)?;
    if workspace.status.is_terminal() {
        return Err(super::abort::ended(id, workspace.status).into());
    }
    user::can_own(turn.state(), &transfer.to)?;
    let from_user = workspace.owner.clone();
    if from_user == Party::User(transfer.to.clone()) {
        let message = format!("user {} answers for workspace {id} as it is", transfer.to);
        return Err(Refusal::denied(Rule::Transfer, message).into());
    }
    let transferred_by: Actor = caller.principal.clone().into();
    let event = Event::OwnershipTransferred(Transferred {
        from_user,
        reason: transfer.reason.clone(),
        to_user: transfer.to.clone(),
        transferred_by: transferred_by.clone(),
        workspace_id: id.clone(),
    });
    turn.note(Some(id), transferred_by, event)?;
    turn.workspace_reply(id)
}

pub(crate) fn apply_transferred(state: &mut State, moved: &Transferred) -> Result<(), ApplyError> {
    if !state.users.contains_key(&moved.to_user) {
        return Err(ApplyError::Unknown("the user"));
    }
    let known = state.workspaces.get_mut(&moved.workspace_id);
    let known = known.ok_or(ApplyError::Unknown("the workspace"))?;
    if known.owner != moved.from_user || known.status.is_terminal() {
        return Err(ApplyError::Mismatch("who answered for the workspace"));
    }
    Arc::make_mut(known).owner = Party::User(moved.to_user.clone());
    Ok(())
}
