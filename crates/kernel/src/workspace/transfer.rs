//! Giving a workspace to somebody else to answer for: one workspace, at once, and nothing below
//! it. Who caused it stays as it is, and so does everything that was recorded before.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

use super::Party;
use super::change::live_children;
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
    if let Some(merging) = merging_beside(turn.state(), id, &transfer.to) {
        let message = format!(
            "the work of workspace {merging} is being merged, and user {} would answer for it and \
             for what goes on below it; wait until it is",
            transfer.to
        );
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

/// A workspace that is about to close and would come to have the same owner as something that goes
/// on below it. Nothing goes on below what closes but what is somebody else's.
fn merging_beside(state: &State, id: &WorkspaceId, to: &UserId) -> Option<WorkspaceId> {
    let (to, known) = (Party::User(to.clone()), state.workspaces.get(id)?);
    let owned = |id: &WorkspaceId| state.workspaces.get(id).is_some_and(|own| own.owner == to);
    let own = known.status.is_sealed() && live_children(state, id).iter().any(owned);
    let above = known.parent.as_ref().filter(|above| {
        owned(above) && state.workspaces.get(*above).is_some_and(|own| own.status.is_sealed())
    });
    if own { Some(id.clone()) } else { above.cloned() }
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
