//! Task events that follow from the workspaces that work on them.

use serde::Deserialize;
use serde::Serialize;

use crate::model::runs::task::Status;
use crate::model::runs::workspace::Trigger;
use crate::values::id::{CheckpointId, TaskId, WorkspaceId};

/// `task_status_changed`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatusChanged {
    /// The state before.
    pub from_status: Status,
    /// The task.
    pub task_id: TaskId,
    /// The state after.
    pub to_status: Status,
    /// The workspace that caused it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<WorkspaceId>,
}

/// `task_assigned`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Assigned {
    /// The number of the attempt, from one.
    pub attempt_number: u32,
    /// The task.
    pub task_id: TaskId,
    /// The workspace it is bound to.
    pub workspace_id: WorkspaceId,
}

/// `task_completed`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Completed {
    /// The final checkpoint; none if the agent made none.
    pub checkpoint_id: Option<CheckpointId>,
    /// The task.
    pub task_id: TaskId,
    /// The workspace that completed it.
    pub workspace_id: WorkspaceId,
}

/// `task_failed`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failed {
    /// The number of the attempt, from one.
    pub attempt_number: u32,
    /// The reason why its workspace failed.
    pub failure_reason: Trigger,
    /// The task.
    pub task_id: TaskId,
    /// The workspace that failed.
    pub workspace_id: WorkspaceId,
}
