//! State transitions of workspaces.

use serde::Deserialize;
use serde::Serialize;

use crate::model::runs::workspace::{Initiator, Status, Trigger};
use crate::values::id::WorkspaceId;
use crate::values::text::Text;

/// `workspace_state_changed`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateChanged {
    /// The state before.
    pub from_state: Status,
    /// The party that initiated the transition.
    pub initiator: Initiator,
    /// The reason, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// The state after.
    pub to_state: Status,
    /// The trigger.
    pub trigger: Trigger,
    /// The workspace.
    pub workspace_id: WorkspaceId,
}

impl Trigger {
    /// The name.
    pub fn as_str(self) -> &'static str {
        match self {
            Trigger::FirstEnvelope => "first_envelope",
            Trigger::WorkflowLoaded => "workflow_loaded",
            Trigger::Blocked => "blocked",
            Trigger::Started => "started",
            Trigger::Complete => "complete",
            Trigger::Failed => "failed",
            Trigger::AbortedByCoordinator => "aborted_by_coordinator",
            Trigger::AbortedByHuman => "aborted_by_human",
            Trigger::BatchAbort => "batch_abort",
            Trigger::Timeout => "timeout",
            Trigger::ConflictTimeout => "conflict_timeout",
            Trigger::GracefulTerminationExpired => "graceful_termination_expired",
            Trigger::BudgetExceeded => "budget_exceeded",
            Trigger::ParentFailed => "parent_failed",
            Trigger::SystemShutdown => "system_shutdown",
            Trigger::RunComplete => "run_complete",
            Trigger::Migrate => "migrate",
            Trigger::Migrated => "migrated",
            Trigger::MigrationError => "migration_error",
            Trigger::Suspend => "suspend",
            Trigger::Resume => "resume",
            Trigger::Merged => "merged",
            Trigger::ConflictFound => "conflict_found",
            Trigger::RevisionRequired => "revision_required",
            Trigger::Rejected => "rejected",
            Trigger::ConflictsResolved => "conflicts_resolved",
            Trigger::AgentRework => "agent_rework",
            Trigger::GateRejectedByHuman => "gate_rejected_by_human",
            Trigger::EscalationTimeout => "escalation_timeout",
        }
    }
}
