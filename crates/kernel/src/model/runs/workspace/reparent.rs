//! Types of `reparent`: state, arguments of commands and bodies of events.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::values::id::WorkspaceId;

/// `workspace.reparent`: puts a workspace that lost its parent below another one, once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reparent {
    /// The workspace above it from now on.
    pub parent: WorkspaceId,
    /// The workspace.
    pub workspace: WorkspaceId,
}

/// `workspace_reparented`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reparented {
    /// The workspace above it now.
    pub new_parent: WorkspaceId,
    /// The workspace above it before.
    pub old_parent: WorkspaceId,
    /// The reason.
    pub reason: ReparentReason,
    /// The workspace.
    pub workspace_id: WorkspaceId,
}

/// Why a workspace got another parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReparentReason {
    /// Its parent failed, and somebody else answers for it.
    ParentAbortedCrossOwnership,
    /// Its parent closed, and somebody else answers for it.
    ParentClosedCrossOwnership,
    /// The coordinator found another parent for it.
    ReassignedByCoordinator,
}

impl ReparentReason {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            ReparentReason::ParentAbortedCrossOwnership => "parent_aborted_cross_ownership",
            ReparentReason::ParentClosedCrossOwnership => "parent_closed_cross_ownership",
            ReparentReason::ReassignedByCoordinator => "reassigned_by_coordinator",
        }
    }
}
