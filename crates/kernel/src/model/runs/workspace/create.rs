//! Creation of workspaces.

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
use crate::registry::record_id::RecordId;
use crate::registry::rule::Rule;
use crate::surfaces::Surface;
use crate::values::content::{Blob, Content};
use crate::values::id::{EnvelopeId, TaskId, WorkspaceId};
use crate::values::name::{AgentName, UserId};
use crate::values::text::Text;
use crate::values::token::RoleName;

/// `workspace.create`: creates a workspace for an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Create {
    /// The agent to work in it.
    pub agent: AgentName,
    /// The surfaces it may change (paths, globs); by default those of its parent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authority: Option<Vec<Surface>>,
    /// The budget: limits of tokens, bytes, microseconds, millionths of a currency.
    #[serde(default, skip_serializing_if = "Budget::is_empty")]
    pub budget: Budget,
    /// The person's envelope that caused it; that person is then its originator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caused_by: Option<EnvelopeId>,
    /// Context it may read from the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Content>,
    /// Whether it may create child workspaces.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub delegate: bool,
    /// The directive; not needed with a task, whose description is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directive: Option<PayloadArg>,
    /// Whether an observer may read the whole trail.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub global_trail: bool,
    /// The group it belongs to, named freely by the coordinator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupName>,
    /// How long its agent may take to become ready, in seconds (default a day).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_timeout_s: Option<Timeout>,
    /// Notify the coordinator whenever there was no activity in it for this many seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub liveness_interval_s: Option<Timeout>,
    /// The tools it has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mounts: Vec<Text<200>>,
    /// The owner; by default the owner of its parent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<UserId>,
    /// The parent workspace; by default the root, or a delegate's own workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<WorkspaceId>,
    /// The priority; by default that of its task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// Its role.
    pub role: RoleName,
    /// The task it works on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The timeout for its work, in seconds (default a day).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<Timeout>,
    /// The workspaces it may read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub visibility: Vec<WorkspaceId>,
    /// Warn at this percentage of a limit (default 80).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warn_at_percent: Option<Percent>,
}

/// `workspace_created`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Created {
    /// The agent bound to it.
    pub agent: Option<AgentName>,
    /// The assignment that it is; entries of older versions of the rules name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignment: Option<RecordId>,
    /// The surfaces it may change.
    pub authority_set: Vec<Surface>,
    /// The budget.
    #[serde(default, skip_serializing_if = "Budget::is_empty")]
    pub budget: Budget,
    /// The person's envelope that caused it.
    pub caused_by: Option<EnvelopeId>,
    /// The context it was given to read.
    pub context: Option<Blob>,
    /// The size of the context, in bytes.
    #[serde(default, skip_serializing_if = "Amount::is_zero")]
    pub context_bytes: Amount,
    /// Whether it may create child workspaces.
    pub delegate: bool,
    /// The envelope with its directive.
    pub directive: Option<EnvelopeId>,
    /// Whether it may read the whole trail.
    pub global_trail: bool,
    /// The group it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupName>,
    /// How long its agent may take to become ready, in seconds.
    pub idle_timeout_s: Timeout,
    /// How long there may be no activity before the coordinator is notified, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub liveness_interval_s: Option<Timeout>,
    /// The tools it has.
    pub mounts: Vec<Text<200>>,
    /// The originator: the party that caused it.
    pub originator: Party,
    /// The owner.
    pub owner: Party,
    /// The parent workspace.
    pub parent: Option<WorkspaceId>,
    /// The priority.
    pub priority: Priority,
    /// Its role.
    pub role: RoleName,
    /// The settings of the run; only in its root.
    pub run: Option<Box<RunHead>>,
    /// The task it works on.
    pub task_ref: Option<TaskId>,
    /// The timeout for its work, in seconds.
    pub timeout_s: Option<Timeout>,
    /// The workspaces it may read besides itself and its descendants.
    pub visibility_set: Vec<WorkspaceId>,
    /// The percentage of a limit at which to warn, if not the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warn_at_percent: Option<Percent>,
    /// The workspace.
    pub workspace_id: WorkspaceId,
}

/// The reason why a workspace was not created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RejectReason {
    /// The caller may not create it.
    PermissionDenied,
    /// Its role is not registered, or is the coordinator's.
    InvalidRole,
    /// Its parent does not exist or takes no more children.
    InvalidParent,
    /// It would see or change more than its parent.
    Containment,
    /// Its agent, owner or task does not exist or cannot be bound.
    InvalidBinding,
    /// It has no directive, or a list is too long.
    InvalidStructure,
    /// There is no current run.
    NoRun,
    /// A resource limit is reached.
    CapacityExhausted,
    /// Somebody else holds a part of what it would change.
    AuthorityHeld,
}

/// `workspace_rejected`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rejected {
    /// The reason.
    pub reason: RejectReason,
    /// The rule that was violated.
    pub rule: Rule,
    /// All resources that were short.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub short: Vec<Standing>,
}
