//! Commands on tasks: approve, assign, retry, cancel.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::runs::envelope::PayloadArg;
use crate::model::runs::workspace::Timeout;
use crate::model::runs::workspace::budget::{Budget, Percent};
use crate::model::runs::workspace::create::Create;
use crate::model::runs::workspace::group::GroupName;
use crate::surfaces::Surface;
use crate::values::content::Content;
use crate::values::id::{GraphId, TaskId, WorkspaceId};
use crate::values::name::{AgentName, UserId};
use crate::values::text::Text;
use crate::values::token::RoleName;

/// `task.approve`: approves planned tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Approve {
    /// Approve every draft of this graph.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph: Option<GraphId>,
    /// Approve these tasks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<TaskId>,
}

/// `task.assign`: creates a workspace for a task that is ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Assign {
    /// The agent to work on it.
    pub agent: AgentName,
    /// The surfaces it may change; by default those of its parent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authority: Option<Vec<Surface>>,
    /// The budget: limits of tokens, bytes, microseconds, millionths of a currency.
    #[serde(default, skip_serializing_if = "Budget::is_empty")]
    pub budget: Budget,
    /// Context it may read from the start, such as the results of others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Content>,
    /// The directive (default: the description of the task, or its text).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directive: Option<PayloadArg>,
    /// The group of its workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupName>,
    /// Notify the coordinator whenever there was no activity for this many seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub liveness_interval_s: Option<Timeout>,
    /// The owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<UserId>,
    /// The parent workspace; the root by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<WorkspaceId>,
    /// The role (default `worker`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<RoleName>,
    /// The task.
    pub task: TaskId,
    /// The timeout, in seconds (default a day).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<Timeout>,
    /// The workspaces it may read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub visibility: Vec<WorkspaceId>,
    /// Warn at this percentage of a limit (default 80).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warn_at_percent: Option<Percent>,
}

impl Assign {
    /// The `workspace.create` that it is equivalent to.
    pub(crate) fn as_create(&self) -> Create {
        Create {
            agent: self.agent.clone(),
            authority: self.authority.clone(),
            budget: self.budget.clone(),
            caused_by: None,
            context: self.context.clone(),
            delegate: false,
            directive: self.directive.clone(),
            global_trail: false,
            group: self.group.clone(),
            idle_timeout_s: None,
            liveness_interval_s: self.liveness_interval_s,
            mounts: Vec::new(),
            owner: self.owner.clone(),
            parent: self.parent.clone(),
            priority: None,
            role: self.role.clone().unwrap_or_else(RoleName::worker),
            task: Some(self.task.clone()),
            timeout_s: self.timeout_s,
            visibility: self.visibility.clone(),
            warn_at_percent: self.warn_at_percent,
        }
    }
}

/// `task.retry`: makes a failed task available again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Retry {
    /// The task.
    pub task: TaskId,
}

/// `task.cancel`: cancels a task and ends the workspace that works on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cancel {
    /// The reason, shown to others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// The task.
    pub task: TaskId,
}

/// The party that approved a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalSource {
    /// A person.
    Human,
    /// The gate's fallback, because nobody answered in time.
    Timeout,
    /// The coordinator, after nobody had answered in time.
    Coordinator,
    /// The coordinator, where no gate guards task approval.
    GateDisabled,
}

/// `task_approved`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approved {
    /// The party that approved it.
    pub approval_source: ApprovalSource,
    /// The task.
    pub task_id: TaskId,
}
