//! Migration of a workspace to another agent.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::runs::workspace::Trigger;
use crate::values::id::WorkspaceId;
use crate::values::name::AgentName;
use crate::values::text::Text;
use crate::values::time::Span;

/// `workspace.migrate`: moves a workspace to another agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Migrate {
    /// The new agent.
    pub agent: AgentName,
    /// The reason, shown to others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// The workspace.
    pub workspace: WorkspaceId,
}

/// `migration_started`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MigrationStarted {
    /// The new agent.
    pub new_agent: AgentName,
    /// The agent before.
    pub old_agent: AgentName,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// The workspace.
    pub workspace_id: WorkspaceId,
}

/// `migration_completed`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MigrationCompleted {
    /// How long it took, in microseconds.
    pub duration: Span,
    /// The new agent.
    pub new_agent: AgentName,
    /// The agent before.
    pub old_agent: AgentName,
    /// The workspace.
    pub workspace_id: WorkspaceId,
}

/// `migration_failed`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MigrationFailed {
    /// The cause of the failure.
    pub error: Trigger,
    /// The agent that should have taken over.
    pub new_agent: AgentName,
    /// The agent before.
    pub old_agent: AgentName,
    /// The workspace.
    pub workspace_id: WorkspaceId,
}
