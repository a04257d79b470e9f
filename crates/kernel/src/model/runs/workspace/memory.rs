//! Working memory: files of a workspace.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::runs::file::FilePath;
use crate::model::runs::workspace::meter::Amount;
use crate::values::content::{Blob, Content};
use crate::values::id::WorkspaceId;

/// `workspace.write`: writes a file in the working memory of the caller's workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Write {
    /// The content; without it the file is removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
    /// The path.
    pub path: FilePath,
    /// The workspace; the caller's own if it has only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceId>,
}

/// `workspace.written`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Written {
    /// The size of the content, in bytes.
    #[serde(default, skip_serializing_if = "Amount::is_zero")]
    pub bytes: Amount,
    /// The new content; none if the file was removed.
    pub content: Option<Blob>,
    /// The path.
    pub path: FilePath,
    /// The workspace.
    pub workspace_id: WorkspaceId,
}
