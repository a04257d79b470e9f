//! Transfer of ownership of a workspace.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::runs::workspace::Party;
use crate::values::id::WorkspaceId;
use crate::values::name::UserId;
use crate::values::principal::Actor;
use crate::values::text::Text;

/// `workspace.transfer`: transfers a workspace to another owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Transfer {
    /// The reason, shown to others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// The new owner.
    pub to: UserId,
    /// The workspace.
    pub workspace: WorkspaceId,
}

/// `workspace_ownership_transferred`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transferred {
    /// The owner before; the system if there were no users.
    pub from_user: Party,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// The new owner.
    pub to_user: UserId,
    /// The actor who transferred it.
    pub transferred_by: Actor,
    /// The workspace.
    pub workspace_id: WorkspaceId,
}
