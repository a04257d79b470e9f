//! Types of `salvage`: state, arguments of commands and bodies of events.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::runs::file::FileArg;
use crate::model::runs::integration::conflict::ConflictArg;
use crate::values::id::{CheckpointId, WorkspaceId};
use crate::values::text::Text;

/// `integration.salvage`: merges what can be saved of a workspace that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Salvage {
    /// Which of its checkpoints; the newest final one, else the newest, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<CheckpointId>,
    /// What does not go together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<ConflictArg>,
    /// The files that come out of it, as they should be; no others do.
    pub merged: Vec<FileArg>,
    /// The reason, shown to others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// The workspace that failed.
    pub workspace: WorkspaceId,
}
