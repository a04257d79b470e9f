//! Granting visibility of one workspace to another.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::values::id::WorkspaceId;
use crate::values::text::Text;

/// `workspace.grant_visibility`: permits a workspace to read another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GrantVisibility {
    /// The reason, shown to others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// The workspace that may be read.
    pub target: WorkspaceId,
    /// The workspace that may read it.
    pub workspace: WorkspaceId,
}

/// `visibility_granted`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VisibilityGranted {
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// The workspace that may be read.
    pub target: WorkspaceId,
    /// The workspace that may read it.
    pub workspace_id: WorkspaceId,
}
