//! Types of `conflict`: state, arguments of commands and bodies of events.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::runs::file::{File, FileArg};
use crate::model::runs::integration::Mode;
use crate::values::id::{ConflictId, WorkspaceId};
use crate::values::text::Text;

/// The most conflicts of one merge.
pub const CONFLICTS_MAX: usize = 64;

/// The four kinds of conflicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConflictType {
    /// Two workspaces changed the same thing.
    ContentOverlap,
    /// Two workspaces came to opposite conclusions.
    SemanticContradiction,
    /// The work breaks what an earlier merge rests on.
    DependencyViolation,
    /// The result would break a rule of the project.
    ConstraintBreach,
}

/// A conflict the coordinator found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConflictArg {
    /// What does not go together, in words.
    pub description: Text<1000>,
    /// What it is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<Text<1000>>,
    /// Which kind it is.
    #[serde(rename = "type")]
    pub kind: ConflictType,
}

/// A conflict that is not resolved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenConflict {
    /// Its id.
    pub id: ConflictId,
    /// Which kind it is.
    pub kind: ConflictType,
    /// What does not go together.
    pub description: Text<1000>,
    /// What it is about.
    pub resources: Vec<Text<1000>>,
}

/// How a conflict is settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Resolution {
    /// The coordinator settles it.
    CoordinatorResolve,
    /// A person settles it.
    Escalate,
    /// The work is done again.
    AgentRework,
}

/// How a conflict was settled, or that it never was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Settled {
    /// The coordinator settled it.
    CoordinatorResolve,
    /// A person settled it.
    Escalate,
    /// The work is done again.
    AgentRework,
    /// Nobody settled it in time.
    Timeout,
    /// The workspace ended for another reason.
    Aborted,
}

/// What a conflict's end means for its workspace. A workspace whose work is salvaged has failed
/// already: there it says whether the files come out of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// It can close.
    Closed,
    /// It fails.
    Failed,
}

/// `conflict.resolve`: settles a conflict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Resolve {
    /// Which conflict.
    pub conflict: ConflictId,
    /// Files as they should be; of what is left out, what came in wins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged: Option<Vec<FileArg>>,
    /// What was decided, in words.
    pub resolution: Text<1000>,
    /// How it is settled.
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
    /// Which kind it is.
    pub conflict_type: ConflictType,
    /// What does not go together.
    pub description: Text<1000>,
    /// What sort of merge it is.
    pub mode: Mode,
    /// What it is about.
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
    /// Which kind it is.
    pub conflict_type: ConflictType,
    /// The files as they should be, if somebody said so.
    pub merged: Option<Vec<File>>,
    /// What sort of merge it is.
    pub mode: Mode,
    /// What it means for the workspace.
    pub outcome: End,
    /// What was decided.
    pub resolution: Option<Text<1000>>,
    /// How it was settled.
    pub resolution_strategy: Settled,
    /// The workspace whose work is merged.
    pub workspace_id: WorkspaceId,
}
