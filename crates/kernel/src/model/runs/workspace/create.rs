//! Types of `create`: state, arguments of commands and bodies of events.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::runs::admission::Standing;
use crate::model::runs::envelope::PayloadArg;
use crate::model::runs::run::RunHead;
use crate::model::runs::workspace::budget::{Budget, Percent};
use crate::model::runs::workspace::group::GroupName;
use crate::model::runs::workspace::meter::Amount;
use crate::model::runs::workspace::{Party, Priority, Timeout};
use crate::registry::rule::Rule;
use crate::surfaces::Surface;
use crate::values::content::{Blob, Content};
use crate::values::id::{EnvelopeId, TaskId, WorkspaceId};
use crate::values::name::{AgentName, UserId};
use crate::values::text::Text;
use crate::values::token::RoleName;

/// `workspace.create`: makes a workspace for an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Create {
    /// The agent that works in it.
    pub agent: AgentName,
    /// What it may change (paths, globs); what its parent may, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authority: Option<Vec<Surface>>,
    /// What it may use: limits of tokens, bytes, microseconds, millionths of a currency.
    #[serde(default, skip_serializing_if = "Budget::is_empty")]
    pub budget: Budget,
    /// The envelope of a person's that it follows from; it is then on that person's account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caused_by: Option<EnvelopeId>,
    /// What else it may read from the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Content>,
    /// Whether it may create workspaces below itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub delegate: bool,
    /// What to do; not needed with a task, which says so itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directive: Option<PayloadArg>,
    /// Whether an observer may read the whole trail.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub global_trail: bool,
    /// The group it belongs to, a name of the coordinator's choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupName>,
    /// How long its agent may take to show up, in seconds (default a day).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_timeout_s: Option<Timeout>,
    /// Tell the coordinator each time nothing happened in it for so many seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub liveness_interval_s: Option<Timeout>,
    /// The tools it has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mounts: Vec<Text<200>>,
    /// Who answers for it; whoever answers for its parent, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<UserId>,
    /// The workspace above it; the root, or a delegate's own, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<WorkspaceId>,
    /// How urgent it is; as urgent as its task, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// Its role.
    pub role: RoleName,
    /// The task it works on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// How long it may work, in seconds (default a day).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<Timeout>,
    /// The workspaces it may read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub visibility: Vec<WorkspaceId>,
    /// Warn at this share of a limit, in hundredths (default 80).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warn_at_percent: Option<Percent>,
}

/// `workspace_created`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Created {
    /// The agent that is bound to it.
    pub agent: Option<AgentName>,
    /// What it may change.
    pub authority_set: Vec<Surface>,
    /// What it may use.
    #[serde(default, skip_serializing_if = "Budget::is_empty")]
    pub budget: Budget,
    /// The envelope of a person's that it follows from.
    pub caused_by: Option<EnvelopeId>,
    /// What it was given to read.
    pub context: Option<Blob>,
    /// How large that is.
    #[serde(default, skip_serializing_if = "Amount::is_zero")]
    pub context_bytes: Amount,
    /// Whether it may create workspaces below itself.
    pub delegate: bool,
    /// The envelope that says what to do.
    pub directive: Option<EnvelopeId>,
    /// Whether it may read the whole trail.
    pub global_trail: bool,
    /// The group it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupName>,
    /// How long its agent may take to show up, in seconds.
    pub idle_timeout_s: Timeout,
    /// How long nothing may happen in it before the coordinator is told, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub liveness_interval_s: Option<Timeout>,
    /// The tools it has.
    pub mounts: Vec<Text<200>>,
    /// Who caused it.
    pub originator: Party,
    /// The owner.
    pub owner: Party,
    /// The workspace above it.
    pub parent: Option<WorkspaceId>,
    /// The priority.
    pub priority: Priority,
    /// Its role.
    pub role: RoleName,
    /// What a run begins with; in its root alone.
    pub run: Option<Box<RunHead>>,
    /// The task it works on.
    pub task_ref: Option<TaskId>,
    /// How long it may work, in seconds.
    pub timeout_s: Option<Timeout>,
    /// The workspaces it may read besides itself and those below it.
    pub visibility_set: Vec<WorkspaceId>,
    /// The share of a limit that is warned of, if it is not the usual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warn_at_percent: Option<Percent>,
    /// The workspace.
    pub workspace_id: WorkspaceId,
}

/// Why a workspace was not created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RejectReason {
    /// Whoever asked may not create it.
    PermissionDenied,
    /// Its role is not registered, or is the coordinator's.
    InvalidRole,
    /// Its parent does not exist or takes no children any more.
    InvalidParent,
    /// It would see or change more than its parent.
    Containment,
    /// Its agent, its owner or its task does not exist or cannot be bound.
    InvalidBinding,
    /// There is nothing to do in it, or too much is listed.
    InvalidStructure,
    /// No run goes on.
    NoRun,
    /// Too many go on already.
    CapacityExhausted,
}

/// `workspace_rejected`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rejected {
    /// The reason.
    pub reason: RejectReason,
    /// The rule it rests on.
    pub rule: Rule,
    /// The capacities that were short, each of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub short: Vec<Standing>,
}
