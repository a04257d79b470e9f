//! Types of `group`: state, arguments of commands and bodies of events.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::runs::workspace::Priority;
use crate::values::id::WorkspaceId;
use crate::values::text::Text;

/// What a group is called.
pub type GroupName = Text<64>;

/// The most workspaces of one group: one entry lists them all.
pub const MEMBERS_MAX: usize = 10_000;

/// `workspace.batch_abort`: ends every workspace of a group that goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AbortGroup {
    /// Which group.
    pub group: GroupName,
    /// The reason, shown to others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
}

/// `workspace.batch_priority`: makes the workspaces of a group more or less urgent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GroupPriority {
    /// Which group.
    pub group: GroupName,
    /// The new priority.
    pub priority: Priority,
}

/// `batch_abort`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BatchAbort {
    /// Those that end because of it.
    pub affected_workspaces: Vec<WorkspaceId>,
    /// The group.
    pub group_id: GroupName,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// Those that had ended before.
    pub skipped_workspaces: Vec<WorkspaceId>,
}

/// `batch_priority_changed`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BatchPriorityChanged {
    /// Those that change.
    pub affected_workspaces: Vec<WorkspaceId>,
    /// The group.
    pub group_id: GroupName,
    /// The new priority.
    pub new_priority: Priority,
    /// How urgent they were, if all were the same.
    pub old_priority: Option<Priority>,
    /// Those that are not at work.
    pub skipped_workspaces: Vec<WorkspaceId>,
}

/// What became of the workspaces of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BatchReply {
    /// The group.
    pub group: GroupName,
    /// Those that changed.
    pub affected: Vec<WorkspaceId>,
    /// Those that stayed as they were.
    pub skipped: Vec<WorkspaceId>,
}
