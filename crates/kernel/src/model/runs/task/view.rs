//! Types of `view`: state, arguments of commands and bodies of events.

use serde::Serialize;

use crate::model::runs::task::{Estimate, Priority, Status};
use crate::values::content::Blob;
use crate::values::id::{CheckpointId, GraphId, TaskId, WorkspaceId};
use crate::values::time::Timestamp;

/// A task, as doors show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TaskView {
    /// The task.
    pub task: TaskId,
    /// The graph it belongs to.
    pub graph: GraphId,
    /// What people call it.
    pub name: String,
    /// What is to be done, by hash.
    pub description: Blob,
    /// What has to be done before.
    pub depends_on: Vec<TaskId>,
    /// What of that is not done.
    pub waits_for: Vec<TaskId>,
    /// The task it is a part of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_task: Option<TaskId>,
    /// The priority.
    pub priority: Priority,
    /// What it is thought to cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Estimate>,
    /// The current state.
    pub status: Status,
    /// Whether it can be taken up now.
    pub ready: bool,
    /// The workspace it is bound to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceId>,
    /// Every workspace it was ever bound to, in order.
    pub history: Vec<WorkspaceId>,
    /// The final checkpoint of the workspace that completed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<CheckpointId>,
    /// When it was planned.
    pub created_at: Timestamp,
}

/// A graph, as doors show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GraphView {
    /// The graph.
    pub graph: GraphId,
    /// The task it began with.
    pub root_task: TaskId,
    /// The root of the run it was planned in.
    pub run: WorkspaceId,
    /// Its tasks, in the order they were planned.
    pub tasks: Vec<TaskId>,
    /// When it was planned.
    pub created_at: Timestamp,
}
