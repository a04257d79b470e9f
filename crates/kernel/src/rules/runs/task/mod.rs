//! Tasks: units of work in graphs, bound to one workspace after another until one succeeds.
//!
//! A graph only grows, its edges never change, and it never has a cycle: dependencies must exist
//! before the task. A task is ready once all its dependencies are done; it can then be bound to a
//! workspace, whose signals move it on. A failed task can be retried.

pub mod follow;
pub mod graph;
pub mod orders;
pub mod view;

use std::sync::Arc;

use crate::machine::state::State;
use crate::protocol::refusal::Refusal;
use crate::registry::rule::Rule;
use crate::values::id::TaskId;

pub use crate::model::runs::task::*;

/// A task by id, or a refusal if there is none.
pub(crate) fn get<'s>(state: &'s State, id: &TaskId) -> Result<&'s Arc<Task>, Refusal> {
    state
        .tasks
        .get(id)
        .ok_or_else(|| Refusal::not_found(Rule::ReferenceKnown, format!("there is no task {id}")))
}

/// The dependencies of a task that are not done yet.
pub(crate) fn unmet<'s>(state: &'s State, task: &'s Task) -> impl Iterator<Item = &'s TaskId> {
    let done = |id: &TaskId| state.tasks.get(id).is_some_and(|task| task.status.is_done());
    task.depends_on.iter().filter(move |id| !done(id))
}

/// The task, if it can be bound to a workspace now; a refusal otherwise.
pub(crate) fn bindable<'s>(state: &'s State, id: &TaskId) -> Result<&'s Arc<Task>, Refusal> {
    let task = get(state, id)?;
    if task.status != Status::Pending {
        let message = format!("task {id} is {}; only a pending one can be assigned", task.status);
        return Err(Refusal::denied(Rule::TaskStep, message).allowing(ways_from(task.status)));
    }
    let unmet: Vec<String> = unmet(state, task).map(ToString::to_string).collect();
    if !unmet.is_empty() {
        let message = format!("task {id} waits for {}", unmet.join(", "));
        return Err(Refusal::denied(Rule::TaskReady, message));
    }
    of_this_run(state, id, task)?;
    Ok(task)
}

/// Whether a task was planned in the current run.
pub(crate) fn is_of_this_run(state: &State, task: &Task) -> bool {
    let graph = state.graphs.get(&task.graph);
    graph.is_some_and(|graph| Some(&graph.root) == state.root.as_ref())
}

/// Refuses a task of a run that has ended.
pub(crate) fn of_this_run(state: &State, id: &TaskId, task: &Task) -> Result<(), Refusal> {
    if is_of_this_run(state, task) {
        return Ok(());
    }
    let message = format!("task {id} was planned in another run; plan it anew");
    Err(Refusal::denied(Rule::TaskStep, message))
}

/// The transitions out of a state, for people to read.
pub(crate) fn ways_from(from: Status) -> impl Iterator<Item = String> {
    STEPS.iter().filter(move |(own, _)| *own == from).map(|(from, to)| format!("{from} -> {to}"))
}
