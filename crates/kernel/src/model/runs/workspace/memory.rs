//! Types of `memory`: state, arguments of commands and bodies of events.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::runs::file::FilePath;
use crate::model::runs::workspace::meter::Amount;
use crate::values::content::{Blob, Content};
use crate::values::id::WorkspaceId;

/// `workspace.write`: puts a file into the working memory of the caller's workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Write {
    /// What is in it; left out, the file is removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
    /// Which file.
    pub path: FilePath,
    /// The workspace; the caller's own if it has only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceId>,
}

/// `workspace.written`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Written {
    /// How large that is.
    #[serde(default, skip_serializing_if = "Amount::is_zero")]
    pub bytes: Amount,
    /// What is in it now; none if it was removed.
    pub content: Option<Blob>,
    /// Which file.
    pub path: FilePath,
    /// The workspace.
    pub workspace_id: WorkspaceId,
}
