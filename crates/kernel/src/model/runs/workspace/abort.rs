//! Aborting a workspace.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::values::id::WorkspaceId;
use crate::values::text::Text;

/// `workspace.abort`: ends a workspace and its descendants at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Abort {
    /// The reason, shown to others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// The workspace.
    pub workspace: WorkspaceId,
}
