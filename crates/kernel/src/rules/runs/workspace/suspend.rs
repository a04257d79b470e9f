//! Suspending and resuming workspaces.

use crate::machine::coordinator;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::runs::signal::SignalType;
use crate::model::runs::workspace::{Status, Trigger, edges};
use crate::protocol::event::Event;
use crate::protocol::refusal::Refusal;
use crate::protocol::reply::Reply;
use crate::registry::rule::Rule;
use crate::rules::runs::signal::SignalContent;
use crate::rules::runs::workspace::change::Change;
use crate::rules::runs::workspace::{abort, authority, change};
use crate::rules::runs::{signal, workspace};
use crate::values::id::WorkspaceId;
use crate::values::principal::{Actor, Caller};

pub use crate::model::runs::workspace::suspend::*;

/// The state of a workspace that must be active or blocked for a command; a refusal otherwise.
pub(crate) fn at_work(
    tx: &Transaction<'_>,
    id: &WorkspaceId,
    order: &str,
) -> Result<Status, Refusal> {
    let workspace = workspace::get(tx.state(), id)?;
    if tx.state().is_open_attempt(workspace) {
        return Err(workspace::needs_run(workspace, id, order));
    }
    match workspace.status {
        Status::Active | Status::Blocked if workspace.parent.is_some() => Ok(workspace.status),
        status if status.is_terminal() => Err(abort::ended(id, status)),
        status => {
            let message = format!("workspace {id} is {status}; {order} needs active or blocked");
            let refusal = Refusal::denied(Rule::StateAllows, message);
            Err(refusal.allowing(edges::transitions_from(status)))
        }
    }
}

pub(crate) fn decide_suspend(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    suspend: &Suspend,
) -> Result<Reply, DecisionError> {
    let initiator = workspace::coordinator_only(tx.state(), caller, "suspend a workspace")?;
    let id = &suspend.workspace;
    let before = at_work(tx, id, "suspending")?;
    let change = Change {
        to: Status::Suspended,
        trigger: Trigger::Suspend,
        initiator,
        reason: suspend.reason.clone(),
        actor: caller.principal.clone().into(),
    };
    change::take(tx, id, change)?;
    let event = Event::SuspensionStarted(SuspensionStarted {
        pre_suspension_state: before,
        reason: suspend.reason.clone(),
        workspace_id: id.clone(),
    });
    tx.note(Some(id), Actor::Protocol, event)?;
    from_the_root(tx, SignalType::Suspend, id)?;
    tx.workspace_reply(id)
}

/// Emits the signal that accompanies a command: from the root, about the workspace.
pub(crate) fn from_the_root(
    tx: &mut Transaction<'_>,
    signal: SignalType,
    about: &WorkspaceId,
) -> Result<(), DecisionError> {
    let root = coordinator::root(tx.state())?.clone();
    signal::emit_to(tx, &root, None, SignalContent::plain(signal, about.into()), Actor::Protocol)?;
    Ok(())
}

pub(crate) fn decide_resume(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    resume: &Resume,
) -> Result<Reply, DecisionError> {
    let initiator = workspace::coordinator_only(tx.state(), caller, "resume a workspace")?;
    let id = &resume.workspace;
    let workspace = workspace::get(tx.state(), id)?;
    let Some(back) = workspace.interrupted.filter(|_| workspace.status == Status::Suspended) else {
        let message = format!("workspace {id} is {}, not suspended", workspace.status);
        let allowed = edges::transitions_from(workspace.status);
        return Err(Refusal::denied(Rule::StateAllows, message).allowing(allowed).into());
    };
    let duration = tx.now().since(workspace.since);
    let actor = caller.principal.clone().into();
    let change = Change { to: back, trigger: Trigger::Resume, initiator, reason: None, actor };
    change::take(tx, id, change)?;
    authority::open(tx, &caller.principal, id)?;
    let event = Event::SuspensionResumed(SuspensionResumed {
        duration,
        resumed_to_state: back,
        workspace_id: id.clone(),
    });
    tx.note(Some(id), Actor::Protocol, event)?;
    tx.workspace_reply(id)
}
