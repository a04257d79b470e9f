//! Commands on tasks: approve, assign, retry, cancel.

use crate::machine::state::State as Whole;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::runs::approvals::GateType;
use crate::model::runs::task::{STEPS, State, Status};
use crate::protocol::event::Event;
use crate::protocol::refusal::Refusal;
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::registry::rule::Rule;
use crate::rules::runs::approvals::gate::{Way, closed_by_fallback};
use crate::rules::runs::approvals::{gate, resolve};
use crate::rules::runs::task::follow;
use crate::rules::runs::workspace::abort::aborted;
use crate::rules::runs::workspace::{change, create};
use crate::rules::runs::{task, workspace};
use crate::values::id::{GateId, TaskId};
use crate::values::principal::{Actor, Caller, Principal};

pub use crate::model::runs::task::orders::*;

pub(crate) fn decide_approve(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    approve: &Approve,
) -> Result<Reply, DecisionError> {
    workspace::coordinator_only(tx.state(), caller, "approve tasks")?;
    let tasks = drafts(tx, approve)?;
    let sources = sources(tx.state(), caller, &tasks)?;
    for (n, (id, source)) in tasks.iter().zip(sources).enumerate() {
        // One entry is in the caller's name; the others follow from it.
        let actor = if n == 0 { caller.principal.clone().into() } else { Actor::Protocol };
        let answered = match &caller.principal {
            Principal::User(user) => resolve::approve_task(tx, user, id, actor.clone())?,
            _ => false,
        };
        let actor = if answered { Actor::Protocol } else { actor };
        approved_by(tx, id, source, actor)?;
        if source == ApprovalSource::Coordinator
            && let Some(gate) = closed_by_fallback(tx.state(), GateType::TaskApproval, &id.into())
        {
            Way::Again(gate, GateType::TaskApproval, id.into()).note(tx)?;
        }
    }
    Ok(tx.tasks_reply(&tasks))
}

/// The approval source of each task. If plans need a person's approval, the coordinator can only
/// approve tasks that nobody answered for in time.
fn sources(
    state: &Whole,
    caller: &Caller,
    tasks: &[TaskId],
) -> Result<Vec<ApprovalSource>, Refusal> {
    if matches!(caller.principal, Principal::User(_)) {
        return Ok(vec![ApprovalSource::Human; tasks.len()]);
    }
    let gated = state.approvals.gate(GateType::TaskApproval).is_some();
    let source = |id: &TaskId| {
        let subject = id.into();
        let closed = closed_by_fallback(state, GateType::TaskApproval, &subject);
        let is_open = state.open_gate(GateType::TaskApproval, &subject).is_some();
        match closed {
            Some(gate) if is_unanswered(state, &gate) && gated => {
                return Err(Refusal::denied(Rule::TaskWaits, gate::unanswered(&gate)));
            }
            Some(gate) if is_unanswered(state, &gate) => {}
            Some(_) => return Ok(ApprovalSource::Coordinator),
            None => {}
        }
        if gated || is_open {
            let message = format!("task {id} waits for a person's approval");
            return Err(Refusal::denied(Rule::TaskWaits, message));
        }
        Ok(ApprovalSource::GateDisabled)
    };
    tasks.iter().map(source).collect()
}

/// Whether a gate was rejected because nobody answered in time.
fn is_unanswered(state: &Whole, gate: &GateId) -> bool {
    state.closed_gates.get(gate).is_some_and(|closed| closed.is_unanswered())
}

/// Records the approval of a task at its gate.
pub(crate) fn approved(
    tx: &mut Transaction<'_>,
    id: &TaskId,
    source: ApprovalSource,
) -> Result<(), ApplyError> {
    approved_by(tx, id, source, Actor::Protocol)
}

fn approved_by(
    tx: &mut Transaction<'_>,
    id: &TaskId,
    approval_source: ApprovalSource,
    actor: Actor,
) -> Result<(), ApplyError> {
    let task = tx.state().task(id).ok_or(ApplyError::Unknown("the task"))?;
    let home = follow::home_of(tx.state(), &task);
    let event = Event::TaskApproved(Approved { approval_source, task_id: id.clone() });
    tx.note(home.as_ref(), actor, event)?;
    follow::step(tx, id, Status::Pending, None, Actor::Protocol)
}

fn drafts(tx: &Transaction<'_>, approve: &Approve) -> Result<Vec<TaskId>, Refusal> {
    let state = tx.state();
    let mut tasks = Vec::new();
    for id in &approve.tasks {
        let task = task::get(state, id)?;
        task::of_this_run(state, &task)?;
        let id = &task.id;
        if task.status != Status::Draft {
            let message = format!("task {id} is {}; only a draft is approved", task.status);
            let allowed = task::transitions_from(task.status);
            return Err(Refusal::denied(Rule::TaskStep, message).allowing(allowed));
        }
        if !tasks.contains(id) {
            tasks.push(id.clone());
        }
    }
    if let Some(graph) = &approve.graph {
        if !state.graphs.contains_key(graph) {
            let message = format!("there is no graph {graph}");
            return Err(Refusal::not_found(Rule::ReferenceKnown, message));
        }
        let draft = |id: &&TaskId| state.task(id).is_some_and(|t| t.status == Status::Draft);
        let more: Vec<TaskId> = state.tasks_in(graph).filter(draft).cloned().collect();
        let named = tasks.clone();
        tasks.extend(more.into_iter().filter(|id| !named.contains(id)));
    }
    if tasks.is_empty() {
        let message = "there is no draft to approve";
        return Err(Refusal::not_found(Rule::TaskStep, message));
    }
    Ok(tasks)
}

pub(crate) fn decide_assign(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    assign: &Assign,
) -> Result<Reply, DecisionError> {
    create::made(tx, caller, &assign.as_create())
}

pub(crate) fn decide_retry(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    retry: &Retry,
) -> Result<Reply, DecisionError> {
    workspace::coordinator_only(tx.state(), caller, "retry a task")?;
    let task = task::get(tx.state(), &retry.task)?;
    task::of_this_run(tx.state(), &task)?;
    if task.status != Status::Failed {
        let message = format!("task {} is {}, not failed", task.id, task.status);
        let allowed = task::transitions_from(task.status);
        return Err(Refusal::denied(Rule::TaskStep, message).allowing(allowed).into());
    }
    let actor = caller.principal.clone().into();
    follow::step(tx, &task.id, Status::Pending, None, actor)?;
    tx.task_reply(&task.id)
}

pub(crate) fn decide_cancel(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    cancel: &Cancel,
) -> Result<Reply, DecisionError> {
    let initiator = workspace::coordinator_only(tx.state(), caller, "cancel a task")?;
    let task = task::get(tx.state(), &cancel.task)?;
    task::of_this_run(tx.state(), &task)?;
    let over = task.state == State::Done;
    if over || !STEPS.contains(&(task.status, Status::Cancelled)) {
        let message = format!("task {} is {} and cannot be cancelled", task.id, task.state);
        return Err(Refusal::denied(Rule::TaskStep, message).into());
    }
    let bound = task.workspace.clone();
    let goes_on = bound.as_ref().and_then(|id| tx.state().workspaces.get(id));
    if goes_on.is_some_and(|known| !known.status.is_terminal()) {
        gate::not_around(tx.state(), caller, GateType::WorkspaceAbort)?;
    }
    let actor = caller.principal.clone().into();
    follow::step(tx, &task.id, Status::Cancelled, None, actor)?;
    let live = bound.filter(|id| {
        tx.state().workspaces.get(id).is_some_and(|known| !known.status.is_terminal())
    });
    if let Some(id) = live {
        change::fail(tx, &id, aborted(initiator, cancel.reason.clone(), Actor::Protocol))?;
    }
    tx.task_reply(&task.id)
}
