//! Types of `agent`: state, arguments of commands and bodies of events.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::values::id::WorkspaceId;
use crate::values::key::PublicKey;
use crate::values::label::Label;
use crate::values::name::AgentName;
use crate::values::time::Timestamp;

/// What the state remembers of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    /// The key its name is bound to.
    pub key: PublicKey,
    /// When it was first seen.
    pub registered_at: Timestamp,
    /// Whether it ever had a part in a run, even one that it lost to another agent.
    pub had_a_part: bool,
    /// When it last did anything, to the second.
    pub heard_at: Timestamp,
    /// The number of the entry up to which it has seen what is remembered.
    pub looked: Option<u64>,
    /// Since when it may hold nothing, if it may not.
    pub revoked_at: Option<Timestamp>,
    /// What it says of itself.
    pub about: About,
}

/// What an agent says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// For whom it works.
    pub human: Option<Label>,
    /// What it does.
    pub role: Option<Label>,
    /// What it is.
    pub tool: Option<Label>,
    /// Which version of that.
    pub tool_version: Option<Label>,
}

/// How an agent stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It may hold leases.
    Active,
    /// It may not.
    Revoked,
}

impl Agent {
    /// How it stands.
    pub fn standing(&self) -> Standing {
        if self.revoked_at.is_some() { Standing::Revoked } else { Standing::Active }
    }
}

/// `agent.register`: shows up once, so that others can give this agent work; and says what the
/// agent is. What is left out stays as it was said before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Register {
    /// For whom it works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub human: Option<Label>,
    /// What it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Label>,
    /// What it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<Label>,
    /// Which version of that.
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
    /// For whom it works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub human: Option<Label>,
    /// What it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Label>,
    /// What it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<Label>,
    /// Which version of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_version: Option<Label>,
}

/// `agent.heartbeat`: says that the caller is there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Beat {
    /// Whether it has seen what is remembered up to now, so that it is no news any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub looked: bool,
}

/// `agent.heartbeat`, as it is recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Beaten {
    /// Which agent.
    pub agent: AgentName,
    /// Whether it has seen what is remembered up to here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub looked: bool,
}

/// `agent.revoke`, `agent.reinstate` and what they leave: about one agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfAgent {
    /// Which agent.
    pub agent: AgentName,
}

impl About {
    /// The same with what was said since.
    pub(crate) fn with(&self, said: &Described) -> Self {
        let newer = |said: &Option<Label>, old: &Option<Label>| said.clone().or(old.clone());
        About {
            human: newer(&said.human, &self.human),
            role: newer(&said.role, &self.role),
            tool: newer(&said.tool, &self.tool),
            tool_version: newer(&said.tool_version, &self.tool_version),
        }
    }
}

/// An agent, as doors show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AgentView {
    /// Its name.
    pub agent: AgentName,
    /// The key its name is bound to.
    pub key: PublicKey,
    /// When it was first seen.
    pub registered_at: Timestamp,
    /// The same, under the name others know it by.
    pub first_seen: Timestamp,
    /// When it last did anything, to the second.
    pub last_heartbeat: Timestamp,
    /// Whether it may hold leases.
    pub status: Standing,
    /// For whom it works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub human: Option<Label>,
    /// What it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<Label>,
    /// What it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<Label>,
    /// Which version of that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_version: Option<Label>,
    /// Its open sessions.
    pub sessions: Vec<WorkspaceId>,
    /// How many leases it holds.
    pub leases: usize,
}
