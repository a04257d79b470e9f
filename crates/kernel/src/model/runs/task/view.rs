//! Tasks and graphs, as shown to callers.

use serde::Serialize;
use std::sync::Arc;

use crate::model::runs::task::terms::Terms;
use crate::model::runs::task::{Estimate, Priority, Status};
use crate::values::content::Blob;
use crate::values::id::{CheckpointId, GraphId, TaskId, WorkspaceId};
use crate::values::name::AgentName;
use crate::values::time::Timestamp;

/// A task, as shown to callers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TaskView {
    /// The task.
    pub task: TaskId,
    /// The plan that it is.
    pub plan: String,
    /// The graph it belongs to; `plans` if it was planned outside a run.
    pub graph: GraphId,
    /// The display name.
    pub name: String,
    /// The description, by hash.
    pub description: Blob,
    /// The text of a task that was planned outside a run, and of a step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The tasks it depends on.
    pub depends_on: Vec<TaskId>,
    /// The dependencies that are not done yet.
    pub waits_for: Vec<TaskId>,
    /// The parent task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_task: Option<TaskId>,
    /// The priority.
    pub priority: Priority,
    /// The estimated cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Estimate>,
    /// The current state.
    pub status: Status,
    /// Whether the current run governs it: only its workspace and the coordinator move it.
    pub governed: bool,
    /// Whether it can be assigned now.
    pub ready: bool,
    /// The agent that works on it, in a workspace or with an assignment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// The workspace it is bound to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceId>,
    /// Every workspace it was ever bound to, in order.
    pub history: Vec<WorkspaceId>,
    /// The final checkpoint of the workspace that completed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<CheckpointId>,
    /// Its terms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terms: Option<Arc<Terms>>,
    /// When it was planned.
    pub created_at: Timestamp,
}

/// A graph, as shown to callers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GraphView {
    /// The graph.
    pub graph: GraphId,
    /// The root task; tasks planned outside a run have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root_task: Option<TaskId>,
    /// The root of the run it was planned in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<WorkspaceId>,
    /// Its tasks, in the order they were planned.
    pub tasks: Vec<TaskId>,
    /// When it was planned.
    pub created_at: Timestamp,
}
