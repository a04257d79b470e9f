//! Types of `run`: state, arguments of commands and bodies of events.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::runs::admission::Limits;
use crate::model::runs::approvals::{Highway, Wish};
use crate::model::runs::deployment::Deployment;
use crate::model::runs::taxonomy::document::Document;
use crate::values::id::WorkspaceId;
use crate::values::name::{AgentName, UserId};
use crate::values::text::Text;

/// What a run begins with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunHead {
    /// The hash that chains its trail.
    pub algorithm: Text<16>,
    /// How it is deployed.
    pub deployment_model: Deployment,
    /// What people want to be asked about.
    pub highway: Highway,
    /// What it has room for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    /// Its roles and types; the base ones alone, if there is none.
    pub taxonomy: Option<Document>,
}

/// `run.start`: begins a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Start {
    /// The agent that coordinates: the caller itself, if it is an agent; otherwise the system
    /// and people do, unless one is named here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// What stands between those who take part (default `single-runtime`). What it needs has to
    /// be in place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deployment: Option<Deployment>,
    /// What people want to be asked about; that plans wait a quarter of an hour for approval, if
    /// left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub highway: Option<Wish>,
    /// What the run has room for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    /// Who answers for it: the person who begins it, if left out, or else the first user who is
    /// active, or the system where there are no people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<UserId>,
    /// Roles and types beyond the base ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taxonomy: Option<Document>,
}

/// `run.hand_over`: gives the post of coordinator to another agent, or back to the system.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HandOver {
    /// The agent that coordinates from now on; none for the system alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
}

/// `run.end`: ends the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct End {
    /// Fail whatever still goes on, instead of refusing.
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
    /// Who coordinates from now on.
    pub agent: Option<AgentName>,
    /// Who did.
    pub before: Option<AgentName>,
    /// The root of the run.
    pub workspace_id: WorkspaceId,
}

/// `run.stopped`: somebody ordered the end of the run; what ends because of it follows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stopped {
    /// Whether what still went on was failed.
    pub forced: bool,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// The root of the run.
    pub workspace_id: WorkspaceId,
}
