//! The kinds of the closed registry that no command of this version leads to yet.
//!
//! The registry is the protocol's and is closed: 72 kinds, known here by name and body so that
//! nothing else can ever be written under these names. The kinds in this file belong to budgets,
//! people, gates and the trail's own lifecycle. An entry of such a kind cannot have
//! been decided by this version, so `apply` and the audit refuse it.

use serde::{Deserialize, Serialize};

use crate::id::{AnyId, CheckpointId, EnvelopeId, GraphId, SignalId, TaskId, WorkspaceId};
use crate::name::UserId;
use crate::principal::Actor;
use crate::text::Text;
use crate::time::{Span, Timestamp, exact_integer};
use crate::token::TypeName;
use crate::workspace::Priority;

/// A count that every JSON implementation reads the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Count(#[serde(deserialize_with = "exact_integer")] u64);

macro_rules! sets {
    ($( $(#[$doc:meta])* $name:ident { $($value:ident)* } )*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
            #[serde(rename_all = "snake_case")]
            pub enum $name {
                $( #[doc = concat!("`", stringify!($value), "`")] $value, )*
            }
        )*
    };
}

sets! {
    /// What a budget limits.
    Dimension {
        TokenLimit ComputeTimeout ContextLimit CheckpointLimit TrailLimit BandwidthLimit CostLimit
    }
    /// What a person may be allowed to do.
    Capability {
        CreateWorkspace CreateWorkspaceAny SuspendOwn SuspendAny AbortOwn AbortAny
        TransferOwnership InjectDirective InjectDirectiveAny ApproveIntegration
        ApproveIntegrationAny ModifyBudget ModifyBudgetAny ViewTrailOwn ViewTrailAny
        GrantDelegation DeactivateUser
    }
    /// Why a person was not allowed something.
    DenialReason { MissingCapability WrongScope UserNotActive }
    /// The states of a user.
    UserStatus { Active Suspended Blocked Deactivated }
    /// What a gate stands before.
    GateType {
        TaskApproval WorkspaceCreate EnvelopeDelivery Integration ConflictResolution
        WorkspaceAbort
    }
    /// What happens to a gate nobody answers.
    GateFallback { Approve Reject EscalateToCoordinator }
    /// What was answered at a gate.
    GateAction { Approve Reject Modify }
    /// What became of an injected envelope.
    InjectionStatus { Delivered Rejected }
    /// How an escalation was answered.
    ResponseType { Envelope Abort Delegation }
    /// What happens to an escalation nobody answers.
    EscalationFallback { Approve Reject DelegateToCoordinator }
    /// What an agent's figures are about.
    UsageField { TokensConsumed WallTime Cost }
}

macro_rules! bodies {
    ($( $kind:literal $name:ident { $($field:ident: $type:ty),* $(,)? } )*) => {
        $(
            #[doc = concat!("`", $kind, "`")]
            #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
            #[serde(deny_unknown_fields)]
            pub struct $name {
                $( #[doc = concat!("`", stringify!($field), "`")] pub $field: $type, )*
            }
        )*
    };
}

type Reason = Option<Text<1000>>;

bodies! {
    "budget_warning" BudgetWarning {
        budget_dimension: Dimension, consumed: Count, limit: Count, threshold_percent: Count,
        workspace_id: WorkspaceId,
    }
    "budget_exceeded" BudgetExceeded {
        budget_dimension: Dimension, consumed: Count, limit: Count, workspace_id: WorkspaceId,
    }
    "budget_modified" BudgetModified {
        budget_dimension: Dimension, new_limit: Count, old_limit: Option<Count>,
        workspace_id: WorkspaceId,
    }
    "liveness_warning" LivenessWarning {
        interval: Span, last_activity_timestamp: Timestamp, workspace_id: WorkspaceId,
    }
    "priority_changed" PriorityChanged {
        new_priority: Priority, old_priority: Priority, workspace_id: WorkspaceId,
    }
    "visibility_granted" VisibilityGranted {
        reason: Reason, target: WorkspaceId, workspace_id: WorkspaceId,
    }
    "batch_abort" BatchAbort {
        affected_workspaces: Vec<WorkspaceId>, group_id: Text<64>,
        skipped_workspaces: Vec<WorkspaceId>,
    }
    "batch_priority_changed" BatchPriorityChanged {
        affected_workspaces: Vec<WorkspaceId>, group_id: Text<64>, new_priority: Priority,
        old_priority: Option<Priority>, skipped_workspaces: Vec<WorkspaceId>,
    }
    "graceful_termination_initiated" GracefulTerminationInitiated {
        grace_period: Span, reason: Reason, workspace_id: WorkspaceId,
    }
    "graceful_termination_expired" GracefulTerminationExpired {
        grace_period: Span, partial_checkpoint: Option<CheckpointId>, workspace_id: WorkspaceId,
    }
    "workspace_ownership_transferred" OwnershipTransferred {
        from_user: UserId, reason: Reason, to_user: UserId, transferred_by: Actor,
        workspace_id: WorkspaceId,
    }
    "authentication_succeeded" AuthenticationSucceeded { method: Text<64>, user_id: UserId }
    "user_suspended" UserSuspended { reason: Reason, suspended_by: Actor, user_id: UserId }
    "user_resumed" UserResumed { reason: Reason, resumed_by: Actor, user_id: UserId }
    "user_blocked" UserBlocked {
        blocked_by: Actor, blocking_condition: Text<1000>, user_id: UserId,
    }
    "user_unblocked" UserUnblocked { resolved_condition: Text<1000>, user_id: UserId }
    "user_deactivated" UserDeactivated {
        deactivated_by: Actor, prior_state: UserStatus, reason: Reason, user_id: UserId,
    }
    "user_reactivated" UserReactivated { reactivated_by: Actor, reason: Reason, user_id: UserId }
    "capability_granted" CapabilityGranted {
        capability: Capability, granted_by: Actor, user_id: UserId,
    }
    "capability_revoked" CapabilityRevoked {
        capability: Capability, reason: Reason, revoked_by: Actor, user_id: UserId,
    }
    "capability_denied" CapabilityDenied {
        action: Text<64>, capability: Capability, reason: DenialReason, target: Option<AnyId>,
        user_id: Option<UserId>,
    }
    "resource_discrepancy" ResourceDiscrepancy {
        agent_value: Count, checkpoint_id: CheckpointId, field: UsageField, runtime_value: Count,
        workspace: WorkspaceId,
    }
    "gate_triggered" GateTriggered {
        fallback: GateFallback, gate_id: AnyId, gate_type: GateType, graph_ref: Option<GraphId>,
        queue_position: Count, subject: AnyId, task_ref: Option<TaskId>, timeout: Option<Span>,
        workspace: Option<WorkspaceId>,
    }
    "gate_resolved" GateResolved {
        action: GateAction, actor: Text<64>, gate_id: AnyId, gate_type: GateType,
        modifications: Option<Text<4000>>, reason: Reason,
    }
    "gate_timeout" GateTimeout {
        elapsed: Span, fallback_action: GateFallback, gate_id: AnyId, gate_type: GateType,
    }
    "gate_reentry_blocked" GateReentryBlocked {
        converted_to: GateAction, gate_id: AnyId, gate_type: GateType, subject_id: AnyId,
    }
    "human_injection" HumanInjection {
        actor: UserId, envelope_id: EnvelopeId, reason: Reason, status: InjectionStatus,
        to: WorkspaceId, r#type: TypeName,
    }
    "escalation_received" EscalationReceived {
        reason: Text<1000>, signal_id: SignalId, workspace: WorkspaceId,
    }
    "escalation_resolved" EscalationResolved {
        actor: Text<64>, response_ref: Option<AnyId>, response_type: ResponseType,
        signal_id: SignalId, workspace: WorkspaceId,
    }
    "escalation_timeout" EscalationTimeout {
        elapsed: Span, fallback_action: EscalationFallback, signal_id: SignalId,
        workspace: WorkspaceId,
    }
    "trail_compacted" TrailCompacted {
        archive_from: Count, archive_hash: Text<80>, archive_to: Count, entries_archived: Count,
        entries_preserved: Count, workspace: Option<WorkspaceId>,
    }
    "trail_snapshot_created" TrailSnapshotCreated {
        entry_count: Count, head_hash: Text<80>, snapshot_hash: Text<80>, up_to_entry: Count,
        up_to_timestamp: Timestamp,
    }
}
