//! Tasks and graphs, as shown to callers.

use crate::machine::state::State;
use crate::model::runs::task::{Graph, Status, Task};
use crate::rules::runs::task::{is_of_this_run, unmet};
use crate::values::id::{GraphId, TaskId};

pub use crate::model::runs::task::view::*;

impl TaskView {
    pub(crate) fn of(state: &State, id: &TaskId, task: &Task) -> Self {
        let waits_for: Vec<TaskId> = unmet(state, task).cloned().collect();
        TaskView {
            task: id.clone(),
            graph: task.graph.clone(),
            name: task.name.to_string(),
            description: task.description.clone(),
            depends_on: task.depends_on.clone(),
            ready: waits_for.is_empty()
                && task.status == Status::Pending
                && is_of_this_run(state, task),
            waits_for,
            parent_task: task.parent.clone(),
            priority: task.priority,
            estimate: task.estimate.clone(),
            status: task.status,
            workspace: task.workspace.clone(),
            history: task.history.clone(),
            checkpoint: task.checkpoint.clone(),
            created_at: task.at,
        }
    }
}

impl GraphView {
    pub(crate) fn of(state: &State, id: &GraphId, graph: &Graph) -> Self {
        GraphView {
            graph: id.clone(),
            root_task: graph.root_task.clone(),
            run: graph.root.clone(),
            tasks: state.tasks_in(id).cloned().collect(),
            created_at: graph.at,
        }
    }
}
