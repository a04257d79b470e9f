//! Orphans: workspaces whose parent ended and whose owner is another person.
//!
//! They move to the root, which is notified by a `started` signal of theirs. The coordinator may
//! keep them there, end them, or give each of them another parent, once.

use std::sync::Arc;

use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::runs::signal::SignalType;
use crate::model::runs::workspace::Workspace;
use crate::protocol::event::Event;
use crate::protocol::refusal::Refusal;
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::registry::rule::Rule;
use crate::rules::runs::signal::SignalContent;
use crate::rules::runs::workspace::{abort, change, draw, sight};
use crate::rules::runs::{signal, workspace};
use crate::values::id::WorkspaceId;
use crate::values::principal::{Actor, Caller};
use crate::values::text::Text;
use crate::values::time::Timestamp;

pub use crate::model::runs::workspace::reparent::*;

/// Moves a workspace whose parent ended to the root, and notifies the root.
pub(crate) fn to_the_root(
    tx: &mut Transaction<'_>,
    child: &WorkspaceId,
    reason: ReparentReason,
) -> Result<(), ApplyError> {
    let root = tx.state().root.clone().ok_or(ApplyError::Unknown("the root"))?;
    let workspace = tx.state().workspaces.get(child).ok_or(ApplyError::Unknown("the workspace"))?;
    let old = workspace.parent.clone().ok_or(ApplyError::Unknown("the parent"))?;
    let event = Event::WorkspaceReparented(Reparented {
        new_parent: root.clone(),
        old_parent: old.clone(),
        reason,
        workspace_id: child.clone(),
    });
    tx.note(Some(child), Actor::Protocol, event)?;
    // The workspace and its new parent need rights to send to each other.
    crate::rules::runs::right::grant_between(tx, &root, child)?;
    let reason = Some(Text::lossy(reason.as_str()));
    let saying = SignalContent { signal: SignalType::Started, reason, about: Some((&old).into()) };
    signal::signal_parent(tx, child, saying)
}

pub(crate) fn decide_reparent(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    reparent: &Reparent,
) -> Result<Reply, DecisionError> {
    workspace::coordinator_only(tx.state(), caller, "give a workspace another parent")?;
    let (id, parent) = (&reparent.workspace, &reparent.parent);
    fits(tx.state(), id, parent, tx.stamp())?;
    let old = workspace::get(tx.state(), id)?.parent.clone();
    let event = Event::WorkspaceReparented(Reparented {
        new_parent: parent.clone(),
        old_parent: old.ok_or(ApplyError::Unknown("the parent"))?,
        reason: ReparentReason::ReassignedByCoordinator,
        workspace_id: id.clone(),
    });
    tx.note(Some(id), caller.principal.clone().into(), event)?;
    crate::rules::runs::right::grant_between(tx, parent, id)?;
    tx.workspace_reply(id)
}

/// Checks whether an orphan may be moved below another workspace.
pub(crate) fn fits(
    state: &State,
    id: &WorkspaceId,
    parent: &WorkspaceId,
    now: Timestamp,
) -> Result<(), Refusal> {
    let (workspace, above) = (workspace::get(state, id)?, workspace::get(state, parent)?);
    let no = |message: String| Err(Refusal::denied(Rule::OrphansOnly, message));
    if workspace.status.is_terminal() {
        return Err(abort::ended(id, workspace.status));
    }
    if workspace.orphan_of.is_none() {
        return no(format!("workspace {id} did not lose its parent, or was given another one"));
    }
    if workspace.status.is_sealed() {
        return no(format!("workspace {id} is {}; its work is being merged", workspace.status));
    }
    let below = parent == id || sight::is_above(state, id, parent);
    if below || above.parent.is_none() || above.charter.root != workspace.charter.root {
        return no(format!("workspace {parent} cannot be above {id}"));
    }
    if !above.status.is_open() {
        return no(format!("workspace {parent} is {} and takes no children", above.status));
    }
    draw::may_have(above, &workspace.budget, now)?;
    contained(state, (id, workspace), (parent, above))
}

/// Checks containment: a workspace sees and changes nothing that its parent does not.
fn contained(
    state: &State,
    (id, workspace): (&WorkspaceId, &Workspace),
    (parent, above): (&WorkspaceId, &Workspace),
) -> Result<(), Refusal> {
    let breach = |message: String| Err(Refusal::denied(Rule::Containment, message));
    // The workspace and its descendants will be visible to the new parent too.
    let own = |seen: &&WorkspaceId| *seen != id && !sight::is_above(state, id, seen);
    let mut shown = workspace.visibility.iter().filter(own);
    if let Some(seen) = shown.find(|seen| !sight::sees(state, parent, seen)) {
        return breach(format!("workspace {parent} does not see {seen}, which {id} sees"));
    }
    match sight::within_authority(above, &workspace.charter.authority) {
        None => Ok(()),
        Some(beyond) => breach(format!("workspace {parent} may not change {beyond}")),
    }
}

pub(crate) fn apply_reparented(
    state: &mut State,
    at: Timestamp,
    reparented: &Reparented,
) -> Result<(), ApplyError> {
    let (id, parent) = (&reparented.workspace_id, &reparented.new_parent);
    let reassigned = reparented.reason == ReparentReason::ReassignedByCoordinator;
    if reassigned {
        fits(state, id, parent, at).map_err(|_| ApplyError::Mismatch("the parent it gets"))?;
    } else {
        lost_its_parent(state, reparented)?;
    }
    let known = state.workspaces.get(id).ok_or(ApplyError::Unknown("the workspace"))?;
    if known.parent.as_ref() != Some(&reparented.old_parent) {
        return Err(ApplyError::Mismatch("the parent it had"));
    }
    let budget = known.budget.clone();
    draw::on_left(state, id, &reparented.old_parent, at);
    draw::on_created(state, parent, &budget);
    let known = state.workspaces.get_mut(id).ok_or(ApplyError::Unknown("the workspace"))?;
    let workspace = Arc::make_mut(known);
    workspace.parent = Some(parent.clone());
    workspace.orphan_of = (!reassigned).then(|| reparented.old_parent.clone());
    let created = workspace.charter.created_at;
    state.children.remove(&(reparented.old_parent.clone(), created, id.clone()));
    state.children.insert((parent.clone(), created, id.clone()));
    Ok(())
}

/// Checks that the old parent ended, the owners differ, and the new parent is the root.
fn lost_its_parent(state: &State, reparented: &Reparented) -> Result<(), ApplyError> {
    let new = state.workspaces.get(&reparented.new_parent);
    if new.is_none_or(|new| new.status.is_terminal() || new.parent.is_some()) {
        return Err(ApplyError::Mismatch("the root it goes to"));
    }
    let old = state.workspaces.get(&reparented.old_parent);
    let own = change::same_owner(state, &reparented.workspace_id, &reparented.old_parent);
    if own || old.is_none_or(|old| !old.status.is_terminal()) {
        return Err(ApplyError::Mismatch("the parent it had"));
    }
    Ok(())
}
