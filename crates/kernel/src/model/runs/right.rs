//! Port rights: permissions of one workspace to send to another.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::values::id::{EnvelopeId, RightId, WorkspaceId};
use crate::values::principal::Actor;
use crate::values::text::Text;

/// The type of a right. A permanent right sorts before a single-use one.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum RightType {
    /// Send any number of envelopes.
    Send,
    /// Send one envelope.
    SendOnce,
    /// Receive in one's own inbox.
    Receive,
}

impl RightType {
    /// All types.
    pub const ALL: &'static [RightType] =
        &[RightType::Send, RightType::SendOnce, RightType::Receive];
}

/// A live right.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Right {
    /// The type.
    pub kind: RightType,
    /// The holder.
    pub holder: WorkspaceId,
    /// The target workspace.
    pub target: WorkspaceId,
}

/// `right.grant`: permits one workspace to send to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    /// The sending workspace.
    pub holder: WorkspaceId,
    /// Whether it is consumed by one envelope.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub once: bool,
    /// The receiving workspace.
    pub target: WorkspaceId,
}

/// `right.revoke`: revokes a right.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Revoke {
    /// The reason, shown to others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// The right.
    pub right: RightId,
}

/// `port_right_created`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Created {
    /// The actor who granted it.
    pub created_by: Actor,
    /// The holder.
    pub holder: WorkspaceId,
    /// The right.
    pub right_id: RightId,
    /// The type.
    pub right_type: RightType,
    /// The target workspace.
    pub target: WorkspaceId,
}

/// `port_right_transferred`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transferred {
    /// The former holder.
    pub from_holder: WorkspaceId,
    /// The right.
    pub right_id: RightId,
    /// The type.
    pub right_type: RightType,
    /// The target workspace.
    pub target: WorkspaceId,
    /// The new holder.
    pub to_holder: WorkspaceId,
    /// The envelope that carried it.
    pub via_envelope: EnvelopeId,
}

/// `port_right_revoked`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Revoked {
    /// The former holder.
    pub holder: WorkspaceId,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// The actor who revoked it.
    pub revoked_by: Actor,
    /// The right.
    pub right_id: RightId,
    /// The type.
    pub right_type: RightType,
    /// The target workspace.
    pub target: WorkspaceId,
}

/// `port_right_consumed`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Consumed {
    /// The former holder.
    pub holder: WorkspaceId,
    /// The right.
    pub right_id: RightId,
    /// The target workspace.
    pub target: WorkspaceId,
    /// The envelope it was used for.
    pub via_envelope: EnvelopeId,
}

/// A right, as shown to callers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RightView {
    /// The right.
    pub right: RightId,
    /// The type.
    #[serde(rename = "type")]
    pub kind: RightType,
    /// The holder.
    pub holder: WorkspaceId,
    /// The target workspace.
    pub target: WorkspaceId,
}

impl RightView {
    pub(crate) fn of(id: &RightId, right: &Right) -> Self {
        RightView {
            right: id.clone(),
            kind: right.kind,
            holder: right.holder.clone(),
            target: right.target.clone(),
        }
    }
}
