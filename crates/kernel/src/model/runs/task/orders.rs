//! Types of `orders`: state, arguments of commands and bodies of events.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

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

/// `task.approve`: lets planned tasks be taken up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Approve {
    /// Every draft of this graph.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph: Option<GraphId>,
    /// These tasks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<TaskId>,
}

/// `task.assign`: creates a workspace for a task that is ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Assign {
    /// The agent that works on it.
    pub agent: AgentName,
    /// What it may change; what its parent may, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authority: Option<Vec<Surface>>,
    /// What it may use: limits of tokens, bytes, microseconds, millionths of a currency.
    #[serde(default, skip_serializing_if = "Budget::is_empty")]
    pub budget: Budget,
    /// What else it may read from the start, such as what others made before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Content>,
    /// The group its workspace belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupName>,
    /// Tell the coordinator each time nothing happened there for so many seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub liveness_interval_s: Option<Timeout>,
    /// The owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<UserId>,
    /// The workspace above; the root, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<WorkspaceId>,
    /// The role (default `worker`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<RoleName>,
    /// The task.
    pub task: TaskId,
    /// How long it may take, in seconds (default a day).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<Timeout>,
    /// The workspaces it may read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub visibility: Vec<WorkspaceId>,
    /// Warn at this share of a limit, in hundredths (default 80).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warn_at_percent: Option<Percent>,
}

impl Assign {
    /// The creation it stands for.
    pub(crate) fn as_create(&self) -> Create {
        Create {
            agent: self.agent.clone(),
            authority: self.authority.clone(),
            budget: self.budget.clone(),
            caused_by: None,
            context: self.context.clone(),
            delegate: false,
            directive: None,
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

/// `task.retry`: lets a failed task be taken up again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Retry {
    /// The task.
    pub task: TaskId,
}

/// `task.cancel`: gives a task up, and ends the workspace that works on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cancel {
    /// The reason, shown to others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// The task.
    pub task: TaskId,
}

/// Who let a task be taken up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalSource {
    /// A person.
    Human,
    /// Nobody in time: the gate's fallback.
    Timeout,
    /// The coordinator, once nobody had answered in time.
    Coordinator,
    /// The coordinator, where plans wait for nobody.
    GateDisabled,
}

/// `task_approved`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approved {
    /// Who let it be taken up.
    pub approval_source: ApprovalSource,
    /// The task.
    pub task_id: TaskId,
}
