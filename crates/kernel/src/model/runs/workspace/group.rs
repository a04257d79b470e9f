//! Groups of workspaces, and commands on all members.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::runs::workspace::Priority;
use crate::values::id::WorkspaceId;
use crate::values::text::Text;

/// The name of a group.
pub type GroupName = Text<64>;

/// The most workspaces in one group: one entry lists them all.
pub(crate) const MEMBERS_MAX: usize = 10_000;

/// `workspace.batch_abort`: ends every live workspace of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AbortGroup {
    /// The group.
    pub group: GroupName,
    /// The reason, shown to others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
}

/// `workspace.batch_priority`: changes the priority of the workspaces of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GroupPriority {
    /// The group.
    pub group: GroupName,
    /// The new priority.
    pub priority: Priority,
}

/// `batch_abort`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BatchAbort {
    /// The workspaces that end because of it.
    pub affected_workspaces: Vec<WorkspaceId>,
    /// The group.
    pub group_id: GroupName,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// The workspaces that had already ended.
    pub skipped_workspaces: Vec<WorkspaceId>,
}

/// `batch_priority_changed`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BatchPriorityChanged {
    /// The workspaces that change.
    pub affected_workspaces: Vec<WorkspaceId>,
    /// The group.
    pub group_id: GroupName,
    /// The new priority.
    pub new_priority: Priority,
    /// The old priority, if all had the same.
    pub old_priority: Option<Priority>,
    /// The workspaces that are not active.
    pub skipped_workspaces: Vec<WorkspaceId>,
}

/// The reply to a command on a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BatchReply {
    /// The group.
    pub group: GroupName,
    /// The workspaces that changed.
    pub affected: Vec<WorkspaceId>,
    /// The workspaces that did not change.
    pub skipped: Vec<WorkspaceId>,
}
