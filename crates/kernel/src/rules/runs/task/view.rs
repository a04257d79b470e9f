//! Tasks and graphs, as shown to callers.

use crate::machine::state::State as Whole;
use crate::model::knowledge::records::field::Step;
use crate::model::knowledge::records::record::Record;
use crate::model::runs::task::{Graph, Status, Task};
use crate::rules::runs::task::{is_of_this_run, not_taken, unmet};
use crate::values::content::Blob;
use crate::values::id::{GraphId, TaskId};
use crate::values::text::Text;

pub use crate::model::runs::task::view::*;

impl TaskView {
    pub(crate) fn of(state: &Whole, task: &Task) -> Self {
        let waits_for: Vec<TaskId> = unmet(state, task).cloned().collect();
        let record = state.task_record(&task.id);
        let text = record.filter(|_| task.graph == Graph::standing());
        let status = record.map_or(task.status, |record| state.task_status_of(record));
        let attempt = record.and_then(|record| state.live_attempt(record));
        TaskView {
            task: task.id.clone(),
            plan: record.map(|record| record.id.to_string()).unwrap_or_default(),
            graph: task.graph.clone(),
            name: task.name.to_string(),
            description: task.description.clone(),
            text: text.map(|record| record.text.to_string()),
            depends_on: task.depends_on.clone(),
            ready: waits_for.is_empty()
                && status == Status::Pending
                && is_of_this_run(state, task)
                && not_taken(state, task).is_ok(),
            waits_for,
            parent_task: task.parent.clone(),
            priority: task.priority,
            estimate: task.estimate.clone(),
            status,
            agent: record.and_then(|record| state.at_work_on(record)).cloned(),
            governed: record.is_some_and(|record| state.is_governed(record)),
            workspace: task.workspace.clone().or_else(|| attempt.map(|(id, _)| id.clone())),
            history: task.history.clone(),
            checkpoint: task.checkpoint.clone(),
            terms: record.and_then(|record| record.task()?.terms.clone()),
            created_at: task.at,
        }
    }

    /// The steps of a task, as tasks below it.
    pub(crate) fn steps(&self, record: &Record) -> impl Iterator<Item = Self> {
        let step = |step: &Step| {
            let id = step.id.map(|id| format!("{}-{id}", record.id))?;
            Some(TaskView {
                task: TaskId::new(&id).ok()?,
                name: Text::<200>::lossy(step.text.as_str()).to_string(),
                description: Blob::of(step.text.as_str().as_bytes()),
                text: Some(step.text.to_string()),
                depends_on: Vec::new(),
                waits_for: Vec::new(),
                parent_task: Some(self.task.clone()),
                estimate: None,
                status: step.status.in_runs(),
                ready: false,
                agent: None,
                workspace: None,
                history: Vec::new(),
                checkpoint: None,
                terms: None,
                ..self.clone()
            })
        };
        record.fields.steps.iter().filter_map(step)
    }
}

impl GraphView {
    pub(crate) fn of(state: &Whole, id: &GraphId, graph: &Graph) -> Self {
        GraphView {
            graph: id.clone(),
            root_task: Some(graph.root_task.clone()),
            run: Some(graph.root.clone()),
            tasks: state.tasks_in(id).cloned().collect(),
            created_at: graph.at,
        }
    }

    /// The graph of the tasks planned outside a run, if there are any.
    pub(crate) fn standing(state: &Whole) -> Option<Self> {
        let graph = Graph::standing();
        let tasks: Vec<TaskId> = state.tasks_in(&graph).cloned().collect();
        let created_at = state.task(tasks.first()?)?.at;
        Some(GraphView { graph, root_task: None, run: None, tasks, created_at })
    }
}
