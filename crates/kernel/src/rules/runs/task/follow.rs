//! Task transitions that follow from workspaces: there are no signals for tasks.

use std::sync::Arc;

use crate::machine::state::State;
use crate::machine::transaction::Transaction;
use crate::model::runs::task::{STEPS, Status, Task};
use crate::model::runs::workspace::Trigger;
use crate::protocol::event::Event;
use crate::registry::apply_error::ApplyError;
use crate::values::id::{TaskId, WorkspaceId};
use crate::values::principal::Actor;

pub use crate::model::runs::task::follow::*;

/// Records a transition of a task, in the local trail of its run's root.
pub(crate) fn step(
    tx: &mut Transaction<'_>,
    id: &TaskId,
    to: Status,
    workspace: Option<&WorkspaceId>,
    actor: Actor,
) -> Result<(), ApplyError> {
    let task = tx.state().tasks.get(id).ok_or(ApplyError::Unknown("the task"))?;
    let home = home_of(tx.state(), task);
    let event = Event::TaskStatusChanged(StatusChanged {
        from_status: task.status,
        task_id: id.clone(),
        to_status: to,
        workspace_id: workspace.cloned(),
    });
    tx.note(home.as_ref(), actor, event)
}

/// The workspace whose local trail records a task: the root of the run it was planned in.
pub(crate) fn home_of(state: &State, task: &Task) -> Option<WorkspaceId> {
    state.graphs.get(&task.graph).map(|graph| graph.root.clone())
}

fn attempt_number(task: &Task) -> u32 {
    u32::try_from(task.history.len()).unwrap_or(u32::MAX)
}

/// The task a workspace works on now, if it is still bound to it.
fn bound_task(state: &State, workspace: &WorkspaceId) -> Option<(TaskId, Arc<Task>)> {
    let id = state.workspaces.get(workspace)?.charter.task.clone()?;
    let task = state.tasks.get(&id)?.clone();
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
    let task = tx.state().tasks.get(id).cloned().ok_or(ApplyError::Unknown("the task"))?;
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

pub(crate) fn apply_status_changed(
    state: &mut State,
    changed: &StatusChanged,
) -> Result<(), ApplyError> {
    let known = state.tasks.get_mut(&changed.task_id).ok_or(ApplyError::Unknown("the task"))?;
    if known.status != changed.from_status {
        return Err(ApplyError::Mismatch("the state it comes from"));
    }
    if !STEPS.contains(&(changed.from_status, changed.to_status)) {
        return Err(ApplyError::Mismatch("the table of steps"));
    }
    let task = Arc::make_mut(known);
    task.status = changed.to_status;
    if changed.to_status == Status::Pending {
        // The next attempt starts afresh; the history keeps the earlier ones.
        task.workspace = None;
        task.checkpoint = None;
    }
    Ok(())
}

pub(crate) fn apply_assigned(state: &mut State, assigned: &Assigned) -> Result<(), ApplyError> {
    let at = state.workspaces.get(&assigned.workspace_id);
    if at.is_none_or(|at| at.charter.task.as_ref() != Some(&assigned.task_id)) {
        return Err(ApplyError::Mismatch("the workspace of a task"));
    }
    let known = state.tasks.get_mut(&assigned.task_id).ok_or(ApplyError::Unknown("the task"))?;
    if known.workspace.is_some() || known.status != Status::Pending {
        return Err(ApplyError::Mismatch("a task that is free"));
    }
    if assigned.attempt_number != attempt_number(known) + 1 {
        return Err(ApplyError::Mismatch("the number of the attempt"));
    }
    let task = Arc::make_mut(known);
    task.workspace = Some(assigned.workspace_id.clone());
    task.history.push(assigned.workspace_id.clone());
    Ok(())
}

pub(crate) fn apply_completed(state: &mut State, completed: &Completed) -> Result<(), ApplyError> {
    let known = state.tasks.get_mut(&completed.task_id).ok_or(ApplyError::Unknown("the task"))?;
    if known.workspace.as_ref() != Some(&completed.workspace_id) {
        return Err(ApplyError::Mismatch("the workspace of a task"));
    }
    Arc::make_mut(known).checkpoint.clone_from(&completed.checkpoint_id);
    Ok(())
}
