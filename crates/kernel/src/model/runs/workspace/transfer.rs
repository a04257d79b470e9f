//! Types of `transfer`: state, arguments of commands and bodies of events.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::runs::workspace::Party;
use crate::values::id::WorkspaceId;
use crate::values::name::UserId;
use crate::values::principal::Actor;
use crate::values::text::Text;

/// `workspace.transfer`: gives a workspace to another person to answer for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Transfer {
    /// The reason, shown to others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// Who answers for it from now on.
    pub to: UserId,
    /// The workspace.
    pub workspace: WorkspaceId,
}

/// `workspace_ownership_transferred`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transferred {
    /// Who answered for it; the system, where there were no people.
    pub from_user: Party,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// Who answers for it from now on.
    pub to_user: UserId,
    /// Who said so.
    pub transferred_by: Actor,
    /// The workspace.
    pub workspace_id: WorkspaceId,
}
