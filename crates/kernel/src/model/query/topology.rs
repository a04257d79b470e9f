//! Types of `topology`: state, arguments of commands and bodies of events.

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
    /// Only those above this one, up to the root.
    pub above: Option<WorkspaceId>,
    /// Only those bound to this agent.
    pub agent: Option<AgentName>,
    /// Only those below this one, down to the leaves.
    pub below: Option<WorkspaceId>,
    /// Only those with the same workspace above them as this one.
    pub beside: Option<WorkspaceId>,
    /// Only those of this group.
    pub group: Option<GroupName>,
    /// Only those with nothing below them.
    pub leaves: bool,
    /// Only those that have not ended.
    pub live: bool,
    /// Only those that lost their parent and go on, and were given no other.
    pub orphans: bool,
    /// Only those this user caused, or `system`.
    #[schemars(with = "Option<String>")]
    pub originator: Option<Party>,
    /// Only those this user answers for, or `system`.
    #[schemars(with = "Option<String>")]
    pub owner: Option<Party>,
    /// Only those of this role.
    pub role: Option<RoleName>,
    /// Only those in this state.
    pub status: Option<Status>,
}

/// `right.list`
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RightList {
    /// Only rights this workspace holds: whom it may write to.
    pub from: Option<WorkspaceId>,
    /// Only rights to this workspace: who may write to it.
    pub to: Option<WorkspaceId>,
    /// Only rights this workspace holds, and those to it.
    pub workspace: Option<WorkspaceId>,
}

/// `task.deps`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskDeps {
    /// Also what those depend on, and so on.
    #[serde(default)]
    pub all: bool,
    /// The other way round: what waits for this task.
    #[serde(default)]
    pub dependents: bool,
    /// Which task.
    pub task: TaskId,
}

/// Why one workspace sees another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Because {
    /// It is the same.
    Itself,
    /// The one that is seen is below the other.
    Below,
    /// It was shown.
    Shown,
}

/// One side of what is seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SightView {
    /// The workspace.
    pub workspace: WorkspaceId,
    /// Its role.
    pub role: RoleName,
    /// The agent bound to it.
    pub agent: Option<AgentName>,
    /// The state it is in.
    pub status: Status,
    /// Why it is seen, or sees.
    pub because: Because,
}

impl WorkspaceList {
    /// The workspaces the question starts from, which whoever asks must be able to read.
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
