//! State transitions of workspaces.

use serde::Deserialize;
use serde::Serialize;

use crate::model::runs::workspace::{Initiator, Status, Trigger};
use crate::values::id::WorkspaceId;
use crate::values::text::Text;

/// `workspace_state_changed`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateChanged {
    /// The state before.
    pub from_state: Status,
    /// The party that initiated the transition.
    pub initiator: Initiator,
    /// The reason, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// The state after.
    pub to_state: Status,
    /// The trigger.
    pub trigger: Trigger,
    /// The workspace.
    pub workspace_id: WorkspaceId,
}
