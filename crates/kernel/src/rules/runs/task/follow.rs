//! Task transitions that follow from workspaces: there are no signals for tasks.

use std::sync::Arc;

use crate::machine::state::State as Whole;
use crate::machine::transaction::Transaction;
use crate::model::knowledge::records::record::Record;
use crate::model::leasing::lease::ReleaseCause;
use crate::model::runs::task::{STEPS, State, Status, TAKEN, Task};
use crate::model::runs::workspace::Trigger;
use crate::protocol::event::{Draft, Event, Stamped};
use crate::registry::apply_error::ApplyError;
use crate::rules::leasing::lease;
use crate::values::id::{TaskId, WorkspaceId};
use crate::values::principal::{Actor, Principal};

pub use crate::model::runs::task::follow::*;

/// Records a transition of a task, in the local trail of its run's root.
pub(crate) fn step(
    tx: &mut Transaction<'_>,
    id: &TaskId,
    to: Status,
    workspace: Option<&WorkspaceId>,
    actor: Actor,
) -> Result<(), ApplyError> {
    let task = tx.state().task(id).ok_or(ApplyError::Unknown("the task"))?;
    let home = home_of(tx.state(), &task);
    let event = Event::TaskStatusChanged(StatusChanged {
        from_status: task.status,
        task_id: id.clone(),
        to_status: to,
        workspace_id: workspace.cloned(),
    });
    tx.note(home.as_ref(), actor, event)?;
    if matches!(to, Status::Integrated | Status::Cancelled) {
        give_back(tx, &task)?;
    }
    Ok(())
}

/// Releases what the agent of a task that is over has claimed for it.
fn give_back(tx: &mut Transaction<'_>, task: &Task) -> Result<(), ApplyError> {
    let state = tx.state();
    let bound = task.workspace.as_ref().and_then(|id| state.workspaces.get(id));
    let Some(agent) = bound.and_then(|bound| bound.agent.clone()) else { return Ok(()) };
    let plan = state.task_record(&task.id).map(|record| record.id.to_string());
    let names = [plan.as_deref(), Some(task.id.as_str()).filter(|id| plan.as_deref() != Some(id))];
    let held = names.into_iter().flatten().flat_map(|name| state.leases_for(name));
    let own = held.filter(|lease| lease.holder == Principal::Agent(agent.clone()));
    let epochs: Vec<u64> = own.map(|lease| lease.epoch).collect();
    let causation = tx.entries().last().map(|entry| entry.id.clone());
    for epoch in epochs {
        let known = tx.state().lease_of_epoch(epoch);
        let (id, held) = known.ok_or(ApplyError::Unknown("the lease"))?;
        let event = lease::released(id, held, ReleaseCause::WorkOver);
        let draft = lease::about(held, Actor::Protocol, false, event);
        tx.emit(Draft { causation: causation.clone(), ..draft })?;
    }
    Ok(())
}

/// The workspace whose local trail records a task: the root of the run it was planned in, or the
/// current one for a task planned outside a run.
pub(crate) fn home_of(state: &Whole, task: &Task) -> Option<WorkspaceId> {
    let graph = state.graphs.get(&task.graph).map(|graph| graph.root.clone());
    graph.or_else(|| state.root.clone())
}

fn attempt_number(task: &Task) -> u32 {
    u32::try_from(task.history.len()).unwrap_or(u32::MAX)
}

/// The task a workspace works on now, if it is still bound to it.
fn bound_task(state: &Whole, workspace: &WorkspaceId) -> Option<(TaskId, Task)> {
    let id = state.workspaces.get(workspace)?.charter.task.clone()?;
    let task = state.task(&id)?;
    (task.workspace.as_ref() == Some(workspace)).then_some((id, task))
}

fn note(tx: &mut Transaction<'_>, task: &Task, event: Event) -> Result<(), ApplyError> {
    let home = home_of(tx.state(), task);
    tx.note(home.as_ref(), Actor::Protocol, event)
}

/// Records that a workspace was created for a task.
pub(crate) fn on_assigned(
    tx: &mut Transaction<'_>,
    id: &TaskId,
    workspace: &WorkspaceId,
) -> Result<(), ApplyError> {
    let task = tx.state().task(id).ok_or(ApplyError::Unknown("the task"))?;
    let assigned = Event::TaskAssigned(Assigned {
        attempt_number: attempt_number(&task) + 1,
        task_id: id.clone(),
        workspace_id: workspace.clone(),
    });
    note(tx, &task, assigned)?;
    step(tx, id, Status::Assigned, Some(workspace), Actor::Protocol)
}

/// Moves a task to `in_progress` when its agent starts. Returns whether that changed anything.
pub(crate) fn on_started(
    tx: &mut Transaction<'_>,
    workspace: &WorkspaceId,
) -> Result<bool, ApplyError> {
    let Some((id, task)) = bound_task(tx.state(), workspace) else { return Ok(false) };
    if task.status != Status::Assigned {
        return Ok(false);
    }
    step(tx, &id, Status::InProgress, Some(workspace), Actor::Protocol)?;
    Ok(true)
}

/// Completes a task when its agent is done, with the newest final checkpoint.
pub(crate) fn on_complete(
    tx: &mut Transaction<'_>,
    workspace: &WorkspaceId,
) -> Result<(), ApplyError> {
    // An agent that is done had started, even without a signal.
    on_started(tx, workspace)?;
    let Some((id, task)) = bound_task(tx.state(), workspace) else { return Ok(()) };
    if task.status != Status::InProgress {
        return Ok(());
    }
    let known = tx.state().workspaces.get(workspace);
    let checkpoint_id = known.and_then(|known| known.latest_final.clone());
    let completed = Event::TaskCompleted(Completed {
        checkpoint_id,
        task_id: id.clone(),
        workspace_id: workspace.clone(),
    });
    note(tx, &task, completed)?;
    step(tx, &id, Status::Completed, Some(workspace), Actor::Protocol)
}

/// Fails a task whose workspace failed.
pub(crate) fn on_failed(
    tx: &mut Transaction<'_>,
    workspace: &WorkspaceId,
    trigger: Trigger,
) -> Result<(), ApplyError> {
    let Some((id, task)) = bound_task(tx.state(), workspace) else { return Ok(()) };
    if !STEPS.contains(&(task.status, Status::Failed)) {
        return Ok(());
    }
    let failed = Event::TaskFailed(Failed {
        attempt_number: attempt_number(&task),
        failure_reason: trigger,
        task_id: id.clone(),
        workspace_id: workspace.clone(),
    });
    note(tx, &task, failed)?;
    step(tx, &id, Status::Failed, Some(workspace), Actor::Protocol)
}

/// Marks a task as integrated once its workspace's work was merged.
pub(crate) fn on_integrated(
    tx: &mut Transaction<'_>,
    workspace: &WorkspaceId,
) -> Result<(), ApplyError> {
    match bound_task(tx.state(), workspace) {
        Some((id, task)) if task.status == Status::Completed => {
            step(tx, &id, Status::Integrated, Some(workspace), Actor::Protocol)
        }
        _ => Ok(()),
    }
}

/// The record of a task that an entry names.
fn record_of<'s>(state: &'s Whole, id: &TaskId) -> Result<&'s Arc<Record>, ApplyError> {
    state.task_record(id).ok_or(ApplyError::Unknown("the task"))
}

pub(crate) fn apply_status_changed(
    state: &mut Whole,
    entry: &Stamped,
    changed: &StatusChanged,
) -> Result<(), ApplyError> {
    let known = record_of(state, &changed.task_id)?;
    let before = known.task_state().map(State::in_runs);
    if before != Some(changed.from_status) {
        return Err(ApplyError::Mismatch("the state it comes from"));
    }
    let step = (changed.from_status, changed.to_status);
    // An open task is taken by a workspace that is newer than its state.
    let bound = known.task().and_then(|part| state.workspaces.get(part.workspace.as_ref()?));
    let is_new = bound.is_some_and(|bound| bound.charter.created_at > known.since());
    let allowed = STEPS.contains(&step) || (is_new && TAKEN.contains(&step));
    if !allowed {
        return Err(ApplyError::Mismatch("the table of steps"));
    }
    state.change_record(entry, known.id, |task| {
        task.enter(State::governed(changed.to_status).stored(), entry.at);
        if changed.to_status == Status::Pending {
            // The next attempt starts afresh; the history keeps the earlier ones.
            (task.task_mut().workspace, task.task_mut().checkpoint) = (None, None);
        }
    })
}

pub(crate) fn apply_assigned(
    state: &mut Whole,
    entry: &Stamped,
    assigned: &Assigned,
) -> Result<(), ApplyError> {
    let at = state.workspaces.get(&assigned.workspace_id);
    if at.is_none_or(|at| at.charter.task.as_ref() != Some(&assigned.task_id)) {
        return Err(ApplyError::Mismatch("the workspace of a task"));
    }
    let known = record_of(state, &assigned.task_id)?;
    let task = state.task_of(known);
    let free = matches!(task.state, State::Pending | State::InProgress);
    if task.workspace.is_some() || !free {
        return Err(ApplyError::Mismatch("a task that is free"));
    }
    if assigned.attempt_number != attempt_number(&task) + 1 {
        return Err(ApplyError::Mismatch("the number of the attempt"));
    }
    state.change_record(entry, known.id, |task| {
        let part = task.task_mut();
        part.workspace = Some(assigned.workspace_id.clone());
        part.history.push(assigned.workspace_id.clone());
    })
}

pub(crate) fn apply_completed(
    state: &mut Whole,
    entry: &Stamped,
    completed: &Completed,
) -> Result<(), ApplyError> {
    let known = record_of(state, &completed.task_id)?;
    let bound = known.task().and_then(|part| part.workspace.as_ref());
    if bound != Some(&completed.workspace_id) {
        return Err(ApplyError::Mismatch("the workspace of a task"));
    }
    state.change_record(entry, known.id, |task| {
        task.task_mut().checkpoint.clone_from(&completed.checkpoint_id);
    })
}
