//! Changing the priority of a workspace.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::runs::workspace::Priority;
use crate::values::id::WorkspaceId;

/// `workspace.set_priority`: changes the priority of a workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetPriority {
    /// The new priority.
    pub priority: Priority,
    /// The workspace.
    pub workspace: WorkspaceId,
}

/// `priority_changed`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriorityChanged {
    /// The new priority.
    pub new_priority: Priority,
    /// The old priority.
    pub old_priority: Priority,
    /// The workspace.
    pub workspace_id: WorkspaceId,
}
