//! Giving a workspace that lost its parent another one.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::values::closed_set::closed_set;
use crate::values::id::WorkspaceId;

/// `workspace.reparent`: gives a workspace that lost its parent another one, once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reparent {
    /// The new parent.
    pub parent: WorkspaceId,
    /// The workspace.
    pub workspace: WorkspaceId,
}

/// `workspace_reparented`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reparented {
    /// The new parent.
    pub new_parent: WorkspaceId,
    /// The old parent.
    pub old_parent: WorkspaceId,
    /// The reason.
    pub reason: ReparentReason,
    /// The workspace.
    pub workspace_id: WorkspaceId,
}

closed_set! {
    /// The reason why a workspace got another parent.
    ReparentReason {
        /// Its parent failed, and a different person owns the workspace.
        ParentAbortedCrossOwnership "parent_aborted_cross_ownership",
        /// Its parent closed, and a different person owns the workspace.
        ParentClosedCrossOwnership "parent_closed_cross_ownership",
        /// The coordinator assigned another parent.
        ReassignedByCoordinator "reassigned_by_coordinator",
    }
}
