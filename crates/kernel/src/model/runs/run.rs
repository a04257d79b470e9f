//! Runs: starting, ending, and handing over the role of coordinator.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::runs::admission::Limits;
use crate::model::runs::approvals::{ApprovalSettings, Wish};
use crate::model::runs::deployment::Deployment;
use crate::model::runs::taxonomy::document::Document;
use crate::model::runs::workspace::branch::Merge;
use crate::values::id::WorkspaceId;
use crate::values::name::{AgentName, UserId};
use crate::values::principal::Principal;
use crate::values::text::Text;

/// The settings a run starts with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunHead {
    /// The hash algorithm that chains its trail.
    pub algorithm: Text<16>,
    /// The deployment model.
    pub deployment_model: Deployment,
    /// The approval settings.
    pub highway: ApprovalSettings,
    /// The party that chose the approval settings; none if they are the default ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub highway_by: Option<Principal>,
    /// The resource limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    /// Whether agents take its tasks by themselves.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pool: bool,
    /// The taxonomy; without one only the base roles and types exist.
    pub taxonomy: Option<Document>,
}

/// `run.start`: starts a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Start {
    /// The coordinating agent: by default the caller, if it is an agent; otherwise the system and
    /// people coordinate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// The deployment model (default `single-runtime`). The mechanisms it requires must be in
    /// place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deployment: Option<Deployment>,
    /// The approval settings; by default plans wait a quarter of an hour for approval, and are
    /// rejected if nobody answers. If there are users, only they choose settings that ask less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub highway: Option<Wish>,
    /// The resource limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    /// The owner: by default the person who starts it, or else the first active user, or the system
    /// if there are no users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<UserId>,
    /// Let agents take the tasks of the run by themselves, with `work.next`. Otherwise only the
    /// coordinator assigns them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pool: bool,
    /// Roles and types besides the base ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taxonomy: Option<Document>,
}

/// Whether a run gives out work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Hold {
    /// It does.
    #[default]
    None,
    /// It gives out no more; what was begun goes on.
    Drain,
    /// It gives out no more, and the processes of agents end; their work is kept.
    Now,
}

/// `run.hold`: stops giving out work, or goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetHold {
    /// Whether the run gives out work.
    pub hold: Hold,
    /// The reason, shown to others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
}

/// `run.held`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Held {
    /// Whether the run gives out work.
    pub hold: Hold,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// The root of the run.
    pub workspace_id: WorkspaceId,
}

/// `run.land`: records that the result of a run was put onto a branch of the project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Land {
    /// The branch, the commit it was at and the one it is at now.
    pub merge: Merge,
    /// The root of the run.
    pub workspace: WorkspaceId,
}

/// `run.landed`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Landed {
    /// The branch, the commit it was at and the one it is at now.
    pub merge: Merge,
    /// The root of the run.
    pub workspace_id: WorkspaceId,
}

/// `run.hand_over`: makes another agent, or the system, the coordinator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HandOver {
    /// The new coordinator; none for the system alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
}

/// `run.end`: ends the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct End {
    /// Fail live workspaces instead of refusing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
    /// The reason, shown to others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
}

/// `run.handed_over`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HandedOver {
    /// The new coordinator.
    pub agent: Option<AgentName>,
    /// The coordinator before.
    pub before: Option<AgentName>,
    /// The root of the run.
    pub workspace_id: WorkspaceId,
}

/// `run.stopped`: the end of the run was ordered; its consequences follow as further entries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stopped {
    /// Whether live workspaces were failed.
    pub forced: bool,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// The root of the run.
    pub workspace_id: WorkspaceId,
}
