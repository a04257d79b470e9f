//! Suspending and resuming a workspace.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::runs::workspace::Status;
use crate::values::id::WorkspaceId;
use crate::values::text::Text;
use crate::values::time::Span;

/// `workspace.suspend`: pauses a workspace; its mail waits and its timeout stops.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Suspend {
    /// The reason, shown to others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// The workspace.
    pub workspace: WorkspaceId,
}

/// `workspace.resume`: resumes a suspended workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Resume {
    /// The workspace.
    pub workspace: WorkspaceId,
}

/// `suspension_started`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuspensionStarted {
    /// The state to return to.
    pub pre_suspension_state: Status,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// The workspace.
    pub workspace_id: WorkspaceId,
}

/// `suspension_resumed`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuspensionResumed {
    /// How long it was suspended, in microseconds.
    pub duration: Span,
    /// The state it returned to.
    pub resumed_to_state: Status,
    /// The workspace.
    pub workspace_id: WorkspaceId,
}
