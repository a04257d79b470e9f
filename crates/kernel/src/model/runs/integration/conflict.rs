//! Conflicts found while merging, and their resolution.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::runs::file::{File, FileArg};
use crate::model::runs::integration::Mode;
use crate::model::runs::workspace::branch::Merge;
use crate::values::id::{ConflictId, WorkspaceId};
use crate::values::text::Text;

/// The most conflicts in one merge.
pub const CONFLICTS_MAX: usize = 64;

/// The type of a conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConflictType {
    /// Two workspaces changed the same thing.
    ContentOverlap,
    /// Two workspaces came to opposite conclusions.
    SemanticContradiction,
    /// The work breaks something an earlier merge depends on.
    DependencyViolation,
    /// The result would break a rule of the project.
    ConstraintBreach,
}

/// A conflict reported by the coordinator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConflictArg {
    /// A description of the conflict.
    pub description: Text<1000>,
    /// The resources in conflict.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<Text<1000>>,
    /// The type.
    #[serde(rename = "type")]
    pub kind: ConflictType,
}

/// An unresolved conflict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenConflict {
    /// Its id.
    pub id: ConflictId,
    /// The type.
    pub kind: ConflictType,
    /// A description of the conflict.
    pub description: Text<1000>,
    /// The resources in conflict.
    pub resources: Vec<Text<1000>>,
}

/// A strategy for resolving a conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Resolution {
    /// The coordinator resolves it.
    CoordinatorResolve,
    /// A person resolves it.
    Escalate,
    /// The work is done again.
    AgentRework,
}

/// How a conflict was resolved, if it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Settled {
    /// The coordinator resolved it.
    CoordinatorResolve,
    /// A person resolved it.
    Escalate,
    /// The work is done again.
    AgentRework,
    /// Nobody resolved it in time.
    Timeout,
    /// The workspace ended for another reason.
    Aborted,
}

/// The consequence of a conflict's resolution for its workspace. A workspace whose work is salvaged
/// has already failed: there it says whether the files are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// The workspace can close.
    Closed,
    /// The workspace fails.
    Failed,
}

/// `conflict.resolve`: resolves a conflict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Resolve {
    /// The conflict.
    pub conflict: ConflictId,
    /// The merge that git has prepared, if the files are in git.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge: Option<Merge>,
    /// The merged files; for files left out, the incoming version wins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged: Option<Vec<FileArg>>,
    /// The decision, in words.
    pub resolution: Text<1000>,
    /// The strategy.
    pub strategy: Resolution,
    /// The workspace whose work it is.
    pub workspace: WorkspaceId,
}

/// `conflict_detected`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Detected {
    /// The conflict.
    pub conflict_id: ConflictId,
    /// The type.
    pub conflict_type: ConflictType,
    /// A description of the conflict.
    pub description: Text<1000>,
    /// The kind of merge.
    pub mode: Mode,
    /// The resources in conflict.
    pub resources: Vec<Text<1000>>,
    /// The workspace whose work is merged.
    pub workspace_id: WorkspaceId,
}

/// `conflict_resolved`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resolved {
    /// The conflict.
    pub conflict_id: ConflictId,
    /// The type.
    pub conflict_type: ConflictType,
    /// The merge in git, if the files are in git.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge: Option<Merge>,
    /// The merged files, if given.
    pub merged: Option<Vec<File>>,
    /// The kind of merge.
    pub mode: Mode,
    /// The consequence for the workspace.
    pub outcome: End,
    /// The decision.
    pub resolution: Option<Text<1000>>,
    /// How it was resolved.
    pub resolution_strategy: Settled,
    /// The workspace whose work is merged.
    pub workspace_id: WorkspaceId,
}
