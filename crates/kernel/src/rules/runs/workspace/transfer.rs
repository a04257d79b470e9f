//! Transfer of ownership: of one workspace, at once, and not of its descendants. The originator and
//! earlier entries stay as they are.

use std::sync::Arc;

use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::runs::workspace::Party;
use crate::protocol::event::Event;
use crate::protocol::refusal::Refusal;
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::registry::rule::Rule;
use crate::rules::identity::user;
use crate::rules::runs::workspace;
use crate::rules::runs::workspace::abort;
use crate::rules::runs::workspace::change::live_children;
use crate::values::id::WorkspaceId;
use crate::values::name::UserId;
use crate::values::principal::{Actor, Caller};

pub use crate::model::runs::workspace::transfer::*;

pub(crate) fn decide_transfer(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    transfer: &Transfer,
) -> Result<Reply, DecisionError> {
    workspace::coordinator_only(tx.state(), caller, "transfer a workspace")?;
    let id = &transfer.workspace;
    let workspace = workspace::get(tx.state(), id)?;
    if workspace.status.is_terminal() {
        return Err(abort::ended(id, workspace.status).into());
    }
    user::can_own(tx.state(), &transfer.to)?;
    let from_user = workspace.owner.clone();
    if from_user == Party::User(transfer.to.clone()) {
        let message = format!("user {} already owns workspace {id}", transfer.to);
        return Err(Refusal::denied(Rule::Transfer, message).into());
    }
    if let Some(merging) = merging_beside(tx.state(), id, &transfer.to) {
        let message = format!(
            "the work of workspace {merging} is being merged, and user {} would own both it and \
             a live workspace below it; wait until it is merged",
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
    tx.note(Some(id), transferred_by, event)?;
    tx.workspace_reply(id)
}

/// A workspace about to close that would get the same owner as one of its live children. Below a
/// closing workspace only children of other owners may live on.
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
