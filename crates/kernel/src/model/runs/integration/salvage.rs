//! Salvaging the work of a failed workspace.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::runs::file::FileArg;
use crate::model::runs::integration::conflict::ConflictArg;
use crate::model::runs::workspace::branch::Merge;
use crate::values::id::{CheckpointId, WorkspaceId};
use crate::values::text::Text;

/// `integration.salvage`: merges usable work of a failed workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Salvage {
    /// The checkpoint; by default the newest final one, or else the newest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<CheckpointId>,
    /// The conflicts found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<ConflictArg>,
    /// The merge that git has prepared, if the files are in git.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge: Option<Merge>,
    /// The files to merge; no others are taken.
    pub merged: Vec<FileArg>,
    /// The reason, shown to others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// The workspace that failed.
    pub workspace: WorkspaceId,
}
