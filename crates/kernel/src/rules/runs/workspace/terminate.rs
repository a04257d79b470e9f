//! Graceful termination: the agent is told its grace period, and the time runs.
//!
//! The agent is told in a `feedback` envelope from the parent workspace. Its content is derived
//! from the command alone, so its hash is known here and a verifier of the trail can check it. The
//! grace period counts like the timeout: it stops while the workspace is suspended or migrating.

use std::sync::Arc;

use crate::machine::coordinator;
use crate::machine::state::{Deadline, State};
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::runs::approvals::GateType;
use crate::model::runs::envelope::{Payload, PayloadArg, Send};
use crate::model::runs::workspace::{Status, Trigger};
use crate::protocol::event::{Event, Stamped};
use crate::protocol::refusal::Refusal;
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::registry::rule::Rule;
use crate::rules::runs::approvals::gate;
use crate::rules::runs::workspace::change::Change;
use crate::rules::runs::workspace::{change, peer, suspend};
use crate::rules::runs::{envelope, workspace};
use crate::values::content::Content;
use crate::values::id::WorkspaceId;
use crate::values::principal::{Actor, Caller};
use crate::values::token::TypeName;

pub use crate::model::runs::workspace::terminate::*;

pub(crate) fn decide_terminate(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    terminate: &Terminate,
) -> Result<Reply, DecisionError> {
    let id = &terminate.workspace;
    // A peer has no directive to finish, so there is nothing to wait for.
    if tx.state().sessions.contains_key(id) {
        return peer::decide_end(tx, caller, id, terminate.reason.as_ref());
    }
    coordinator::root(tx.state())?;
    workspace::get(tx.state(), id)?;
    if !workspace::commands(tx.state(), caller, id) {
        let message = format!("{} may not ask workspace {id} to finish", caller.principal);
        return Err(Refusal::denied(Rule::CoordinatorOnly, message).into());
    }
    gate::not_around(tx.state(), caller, GateType::WorkspaceAbort)?;
    suspend::at_work(tx, id, "asking it to finish")?;
    let workspace = workspace::get(tx.state(), id)?;
    if let Some(due) = workspace.grace_ends() {
        let left = due.since(tx.now()).secs();
        let message = format!("workspace {id} was asked to finish and has {left} seconds left");
        return Err(Refusal::denied(Rule::AskedOnce, message).into());
    }
    let from = workspace.parent.clone().ok_or(ApplyError::Unknown("the parent"))?;
    let payload = payload(&terminate.notice());
    let send = to_agent(id, &payload);
    let right = envelope::check(tx.state(), &from, &send).map_err(|(_, refusal)| refusal)?;
    let event = Event::GracefulTerminationInitiated(Initiated {
        grace_period: terminate.grace_s.span(),
        reason: terminate.reason.clone(),
        workspace_id: id.clone(),
    });
    tx.note(Some(id), caller.principal.clone().into(), event)?;
    envelope::send_notice(tx, &from, &send, payload, &right)?;
    tx.workspace_reply(id)
}

/// The envelope to the agent, as if sent by a command.
fn to_agent(to: &WorkspaceId, payload: &Payload) -> Send {
    Send {
        in_reply_to: None,
        payload: PayloadArg {
            attachments: Vec::new(),
            content: Content::Blob(payload.content.clone()),
            format: Some(payload.format.clone()),
        },
        priority: envelope::Priority::Urgent,
        rights: Vec::new(),
        to: to.clone(),
        kind: TypeName::feedback(),
        workspace: None,
    }
}

/// Ends a workspace whose grace period is over: its checkpoints stay, and it fails.
pub(crate) fn on_expired(tx: &mut Transaction<'_>, id: &WorkspaceId) -> Result<(), ApplyError> {
    let workspace = tx.state().workspaces.get(id).ok_or(ApplyError::Unknown("the workspace"))?;
    let asked = workspace.termination.as_ref().ok_or(ApplyError::Unknown("the termination"))?;
    let event = Event::GracefulTerminationExpired(Expired {
        grace_period: asked.grace,
        partial_checkpoint: workspace.head.clone(),
        workspace_id: id.clone(),
    });
    tx.note(Some(id), Actor::Protocol, event)?;
    let over = Trigger::GracefulTerminationExpired;
    change::fail(tx, id, Change::of_runtime(Status::Failed, over))
}

pub(crate) fn apply_initiated(
    state: &mut State,
    entry: &Stamped,
    initiated: &Initiated,
) -> Result<(), ApplyError> {
    let id = &initiated.workspace_id;
    let known = state.workspaces.get_mut(id).ok_or(ApplyError::Unknown("the workspace"))?;
    let at_work = matches!(known.status, Status::Active | Status::Blocked);
    if !at_work || known.parent.is_none() || known.termination.is_some() {
        return Err(ApplyError::Mismatch("the workspace's state"));
    }
    let workspace = Arc::make_mut(known);
    let before = workspace.deadline();
    workspace.termination = Some(Termination {
        grace: initiated.grace_period,
        reason: initiated.reason.clone(),
        worked: workspace.worked(entry.at),
    });
    let after = workspace.deadline();
    state.reschedule(before, after, &Deadline::Workspace(id.clone()));
    Ok(())
}

pub(crate) fn apply_expired(state: &State, expired: &Expired) -> Result<(), ApplyError> {
    let known = state.workspaces.get(&expired.workspace_id);
    let known = known.ok_or(ApplyError::Unknown("the workspace"))?;
    let grace = known.termination.as_ref().map(|asked| asked.grace);
    if grace != Some(expired.grace_period) || known.head != expired.partial_checkpoint {
        return Err(ApplyError::Mismatch("what it was asked"));
    }
    Ok(())
}
