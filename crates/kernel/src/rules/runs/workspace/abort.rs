//! Aborting a workspace in any state, by the coordinator or a person.

use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::runs::approvals::GateType;
use crate::model::runs::approvals::request::Request;
use crate::model::runs::workspace::{Initiator, Status, Trigger};
use crate::protocol::refusal::Refusal;
use crate::protocol::reply::Reply;
use crate::registry::rule::Rule;
use crate::rules::runs::approvals::gate;
use crate::rules::runs::approvals::gate::{Stop, Way};
use crate::rules::runs::workspace;
use crate::rules::runs::workspace::change::Change;
use crate::rules::runs::workspace::{change, peer};
use crate::values::id::WorkspaceId;
use crate::values::principal::{Actor, Caller};
use crate::values::text::Text;

pub use crate::model::runs::workspace::abort::*;

pub(crate) fn decide_abort(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    abort: &Abort,
) -> Result<Reply, DecisionError> {
    if tx.state().sessions.contains_key(&abort.workspace) {
        return peer::decide_end(tx, caller, &abort.workspace, abort.reason.as_ref());
    }
    let initiator = workspace::coordinator_only(tx.state(), caller, "abort a workspace")?;
    let workspace = workspace::get(tx.state(), &abort.workspace)?;
    if workspace.status.is_terminal() {
        return Err(ended(&abort.workspace, workspace.status).into());
    }
    if workspace.parent.is_none() {
        let message =
            "the root ends with its run: `althing coordinator stop`, or `run.end` by name";
        return Err(Refusal::denied(Rule::StateAllows, message).into());
    }
    let stop = Stop {
        kind: GateType::WorkspaceAbort,
        subject: (&abort.workspace).into(),
        workspace: Some(abort.workspace.clone()),
        task: workspace.charter.task.clone(),
        request: Some(Request::Abort(Box::new(abort.clone()))),
    };
    let way = gate::pass(tx, caller, stop)?;
    if let Way::Waits(gate) = &way {
        return tx.gate_reply(gate);
    }
    abort_now(tx, &abort.workspace, initiator, abort.reason.clone(), caller)?;
    way.note(tx)?;
    tx.workspace_reply(&abort.workspace)
}

/// The refusal to change a workspace that has ended.
pub(crate) fn ended(id: &WorkspaceId, status: Status) -> Refusal {
    let message = format!("workspace {id} has ended ({status}) and cannot change");
    Refusal::denied(Rule::Ended, message)
}

pub(crate) fn abort_now(
    tx: &mut Transaction<'_>,
    id: &WorkspaceId,
    initiator: Initiator,
    reason: Option<Text<1000>>,
    caller: &Caller,
) -> Result<(), DecisionError> {
    let actor = tx.actor(caller);
    change::fail(tx, id, aborted(initiator, reason, actor)).map_err(DecisionError::from)
}

pub(crate) fn aborted(initiator: Initiator, reason: Option<Text<1000>>, actor: Actor) -> Change {
    let trigger = match initiator {
        Initiator::Human => Trigger::AbortedByHuman,
        _ => Trigger::AbortedByCoordinator,
    };
    Change { to: Status::Failed, trigger, initiator, reason, actor }
}
