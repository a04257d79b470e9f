//! Queries about workspaces, rights and task dependencies.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::runs::right::Right;
use crate::model::runs::workspace::group::GroupName;
use crate::model::runs::workspace::{Party, Status};
use crate::values::id::{TaskId, WorkspaceId};
use crate::values::name::AgentName;
use crate::values::token::RoleName;

/// `workspace.list`
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WorkspaceList {
    /// Only ancestors of this workspace.
    pub above: Option<WorkspaceId>,
    /// Only workspaces bound to this agent.
    pub agent: Option<AgentName>,
    /// Only descendants of this workspace.
    pub below: Option<WorkspaceId>,
    /// Only siblings of this workspace.
    pub beside: Option<WorkspaceId>,
    /// Only workspaces of this group.
    pub group: Option<GroupName>,
    /// Only workspaces without children.
    pub leaves: bool,
    /// Only workspaces that have not ended.
    pub live: bool,
    /// Only live workspaces that lost their parent and have not been given another.
    pub orphans: bool,
    /// Only workspaces this user caused, or `system`.
    #[schemars(with = "Option<String>")]
    pub originator: Option<Party>,
    /// Only workspaces this user owns, or `system`.
    #[schemars(with = "Option<String>")]
    pub owner: Option<Party>,
    /// Only workspaces with this role.
    pub role: Option<RoleName>,
    /// Only workspaces in this state.
    pub status: Option<Status>,
}

/// `right.list`
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RightList {
    /// Only rights that this workspace holds: workspaces it may write to.
    pub from: Option<WorkspaceId>,
    /// Only rights to this workspace: workspaces that may write to it.
    pub to: Option<WorkspaceId>,
    /// Only rights that this workspace holds, and rights to it.
    pub workspace: Option<WorkspaceId>,
}

/// `task.deps`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskDeps {
    /// Include indirect dependencies.
    #[serde(default)]
    pub all: bool,
    /// Return the tasks that depend on this one instead.
    #[serde(default)]
    pub dependents: bool,
    /// The task.
    pub task: TaskId,
}

/// The reason why one workspace can see another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Because {
    /// It is the same workspace.
    Itself,
    /// The workspace that is seen is a descendant.
    Below,
    /// Visibility was granted.
    Shown,
}

/// One side of a visibility relation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SightView {
    /// The workspace.
    pub workspace: WorkspaceId,
    /// Its role.
    pub role: RoleName,
    /// The agent bound to it.
    pub agent: Option<AgentName>,
    /// Its state.
    pub status: Status,
    /// The reason why it is visible, or can see.
    pub because: Because,
}

impl WorkspaceList {
    /// The workspaces the query refers to, which the viewer must be able to read.
    pub(crate) fn anchors(&self) -> impl Iterator<Item = &WorkspaceId> {
        [&self.above, &self.below, &self.beside].into_iter().flatten()
    }
}

impl RightList {
    pub(crate) fn fits(&self, right: &Right) -> bool {
        let about = |id: &WorkspaceId| right.holder == *id || right.target == *id;
        self.from.as_ref().is_none_or(|from| right.holder == *from)
            && self.to.as_ref().is_none_or(|to| right.target == *to)
            && self.workspace.as_ref().is_none_or(about)
    }
}
