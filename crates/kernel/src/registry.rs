//! The kinds of the closed registry that no command of this version leads to yet.
//!
//! The registry is the protocol's and is closed: 72 kinds, known here by name and body so that
//! nothing else can ever be written under these names. The kinds in this file belong to budgets,
//! recovery. An entry of such a kind cannot have
//! been decided by this version, so `apply` and the audit refuse it.

use serde::{Deserialize, Serialize};

use crate::id::{AnyId, CheckpointId, WorkspaceId};
use crate::name::UserId;
use crate::text::Text;
use crate::time::{Span, Timestamp, exact_integer};
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
    /// What was tampered with.
    SubjectType { Envelope Signal Checkpoint TrailEntry }
    /// How that shows.
    Violation { HashMismatch SignatureInvalid ProofMissing ChainBroken }
    /// What was done about it.
    ActionTaken { Rejected Flagged Quarantined }
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
    "batch_abort" BatchAbort {
        affected_workspaces: Vec<WorkspaceId>, group_id: Text<64>,
        skipped_workspaces: Vec<WorkspaceId>,
    }
    "batch_priority_changed" BatchPriorityChanged {
        affected_workspaces: Vec<WorkspaceId>, group_id: Text<64>, new_priority: Priority,
        old_priority: Option<Priority>, skipped_workspaces: Vec<WorkspaceId>,
    }
    }
    "authentication_succeeded" AuthenticationSucceeded { method: Text<64>, user_id: UserId }
    "resource_discrepancy" ResourceDiscrepancy {
        agent_value: Count, checkpoint_id: CheckpointId, field: UsageField, runtime_value: Count,
        workspace: WorkspaceId,
    }
    "recovery_completed" RecoveryCompleted {
        downtime: Span, envelopes_redelivered: Count, quarantined_entries: Count,
        signals_requeued: Count, timers_reconstructed: Count, trail_entries_examined: Count,
        workspaces_failed: Count, workspaces_recovered: Count,
    }
    "integrity_violation" IntegrityViolation {
        action_taken: ActionTaken, actual: Text<200>, expected: Text<200>, subject_id: AnyId,
        subject_type: SubjectType, violation: Violation,
    }
}
