//! Tasks: units of work in graphs, bound to one workspace after another until one succeeds.
//!
//! A graph only grows, its edges never change, and it never has a cycle: dependencies must exist
//! before the task. A task is ready once all its dependencies are done; it can then be bound to a
//! workspace, whose signals move it on. A failed task can be retried.

pub mod follow;
pub mod graph;
pub mod orders;
pub mod view;

use crate::machine::state::State as Whole;
use crate::protocol::refusal::Refusal;
use crate::registry::rule::Rule;
use crate::rules::leasing::handover;
use crate::values::id::TaskId;

pub use crate::model::runs::task::*;

/// A task by its id or by the id of its record, or a refusal if there is none.
pub(crate) fn get(state: &Whole, id: &TaskId) -> Result<Task, Refusal> {
    state
        .task(id)
        .ok_or_else(|| Refusal::not_found(Rule::ReferenceKnown, format!("there is no task {id}")))
}

/// The dependencies of a task that are not done yet.
pub(crate) fn unmet<'s>(state: &'s Whole, task: &'s Task) -> impl Iterator<Item = &'s TaskId> {
    let done = |id: &TaskId| state.task(id).is_some_and(|task| task.status.is_done());
    task.depends_on.iter().filter(move |id| !done(id))
}

/// The task, if it can be bound to a workspace now; a refusal otherwise.
pub(crate) fn bindable(state: &Whole, id: &TaskId) -> Result<Task, Refusal> {
    let task = get(state, id)?;
    let id = &task.id;
    if !task.is_free() {
        let message = format!("task {id} is {}; only a pending one can be assigned", task.status);
        return Err(
            Refusal::denied(Rule::TaskStep, message).allowing(transitions_from(task.status))
        );
    }
    let unmet: Vec<String> = unmet(state, &task).map(ToString::to_string).collect();
    if !unmet.is_empty() {
        let message = format!("task {id} waits for {}", unmet.join(", "));
        return Err(Refusal::denied(Rule::TaskReady, message));
    }
    of_this_run(state, &task)?;
    not_taken(state, &task)?;
    Ok(task)
}

/// Refuses a task that an agent has an active assignment for, naming the agent.
pub(crate) fn not_taken(state: &Whole, task: &Task) -> Result<(), Refusal> {
    let Some(record) = state.task_record(&task.id) else { return Ok(()) };
    let mut at_work = state.memory.at_work_on(record.id);
    let Some(work) = at_work.next().and_then(|id| state.memory.records.get(&id)) else {
        return Ok(());
    };
    Err(handover::assigned(record.id, work))
}

/// Whether the current run may take a task: it was planned in it, or outside any run.
pub(crate) fn is_of_this_run(state: &Whole, task: &Task) -> bool {
    if task.graph == Graph::standing() {
        return state.root.is_some();
    }
    let graph = state.graphs.get(&task.graph);
    graph.is_some_and(|graph| Some(&graph.root) == state.root.as_ref())
}

/// Refuses a task of a run that has ended.
pub(crate) fn of_this_run(state: &Whole, task: &Task) -> Result<(), Refusal> {
    if is_of_this_run(state, task) {
        return Ok(());
    }
    let message = format!("task {} was planned in another run; plan it anew", task.id);
    Err(Refusal::denied(Rule::TaskStep, message))
}

/// The transitions out of a state, for people to read.
pub(crate) fn transitions_from(from: Status) -> impl Iterator<Item = String> {
    STEPS.iter().filter(move |(own, _)| *own == from).map(|(from, to)| format!("{from} -> {to}"))
}
