//! Agents: names bound to keys, self-descriptions, heartbeats and revocation.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::values::id::WorkspaceId;
use crate::values::key::PublicKey;
use crate::values::label::Label;
use crate::values::name::AgentName;
use crate::values::time::Timestamp;

/// The state's record of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    /// The key the name is bound to.
    pub key: PublicKey,
    /// When it first registered.
    pub registered_at: Timestamp,
    /// Whether it ever held a workspace in a run, even if it lost it to another agent.
    pub had_a_part: bool,
    /// When it was last active, to the second.
    pub heard_at: Timestamp,
    /// The sequence number of the entry up to which it has seen the shared records.
    pub looked: Option<u64>,
    /// When it was revoked, if it is.
    pub revoked_at: Option<Timestamp>,
    /// Its self-description.
    pub about: About,
}

/// An agent's description of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// The person it works for.
    pub human: Option<Label>,
    /// Its role.
    pub role: Option<Label>,
    /// The tool it runs as.
    pub tool: Option<Label>,
    /// The version of that tool.
    pub tool_version: Option<Label>,
}

/// Whether an agent may hold leases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It may hold leases.
    Active,
    /// It may not hold leases.
    Revoked,
}

impl Agent {
    /// Whether the agent is active or revoked.
    pub fn standing(&self) -> Standing {
        if self.revoked_at.is_some() { Standing::Revoked } else { Standing::Active }
    }
}

/// `agent.register`: registers the agent, so that others can give it work, and describes it. Fields
/// left out keep their earlier values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Register {
    /// The person it works for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub human: Option<Label>,
    /// Its role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Label>,
    /// The tool it runs as.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<Label>,
    /// The version of that tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_version: Option<Label>,
}

/// `agent.registered`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Registered {
    /// The agent.
    pub agent: AgentName,
    /// The key its name is bound to from now on.
    pub key: PublicKey,
}

/// `agent.described`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Described {
    /// The agent.
    pub agent: AgentName,
    /// The person it works for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub human: Option<Label>,
    /// Its role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Label>,
    /// The tool it runs as.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<Label>,
    /// The version of that tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_version: Option<Label>,
}

/// `agent.heartbeat`: reports that the caller is alive.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Beat {
    /// Whether the caller has now seen all shared records, so that they no longer count as news.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub looked: bool,
}

/// The recorded `agent.heartbeat`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Beaten {
    /// The agent.
    pub agent: AgentName,
    /// Whether it has seen all shared records up to this entry.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub looked: bool,
}

/// Arguments and event body of `agent.revoke` and `agent.reinstate`: the agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfAgent {
    /// The agent.
    pub agent: AgentName,
}

impl About {
    /// The description with newer fields replacing older ones.
    pub(crate) fn with(&self, given: &Described) -> Self {
        let newer = |given: &Option<Label>, old: &Option<Label>| given.clone().or(old.clone());
        About {
            human: newer(&given.human, &self.human),
            role: newer(&given.role, &self.role),
            tool: newer(&given.tool, &self.tool),
            tool_version: newer(&given.tool_version, &self.tool_version),
        }
    }
}

/// An agent, as shown to callers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AgentView {
    /// The name.
    pub agent: AgentName,
    /// The key the name is bound to.
    pub key: PublicKey,
    /// When it first registered.
    pub registered_at: Timestamp,
    /// The same as `registered_at`, under the name other tools use.
    pub first_seen: Timestamp,
    /// When it was last active, to the second.
    pub last_heartbeat: Timestamp,
    /// Whether it may hold leases.
    pub status: Standing,
    /// The person it works for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub human: Option<Label>,
    /// Its role.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<Label>,
    /// The tool it runs as.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<Label>,
    /// The version of that tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_version: Option<Label>,
    /// Its open sessions.
    pub sessions: Vec<WorkspaceId>,
    /// How many leases it holds.
    pub leases: usize,
}
