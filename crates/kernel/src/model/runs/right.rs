//! Types of `right`: state, arguments of commands and bodies of events.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::values::id::{EnvelopeId, RightId, WorkspaceId};
use crate::values::principal::Actor;
use crate::values::text::Text;

/// The kinds of rights. A lasting right sorts before one that is used up.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum RightType {
    /// Send as often as one likes.
    Send,
    /// Send one envelope.
    SendOnce,
    /// Receive in one's own inbox.
    Receive,
}

impl RightType {
    /// All kinds.
    pub const ALL: &'static [RightType] =
        &[RightType::Send, RightType::SendOnce, RightType::Receive];
}

/// A live right.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Right {
    /// What it allows.
    pub kind: RightType,
    /// Who holds it.
    pub holder: WorkspaceId,
    /// The workspace it is about.
    pub target: WorkspaceId,
}

/// `right.grant`: lets one workspace send to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    /// Who may send.
    pub holder: WorkspaceId,
    /// Whether it is used up by one envelope.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub once: bool,
    /// To whom.
    pub target: WorkspaceId,
}

/// `right.revoke`: takes a right away.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Revoke {
    /// The reason, shown to others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// Which right.
    pub right: RightId,
}

/// `port_right_created`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Created {
    /// Who gave it.
    pub created_by: Actor,
    /// Who holds it.
    pub holder: WorkspaceId,
    /// The right.
    pub right_id: RightId,
    /// What it allows.
    pub right_type: RightType,
    /// The workspace it is about.
    pub target: WorkspaceId,
}

/// `port_right_transferred`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transferred {
    /// Who held it.
    pub from_holder: WorkspaceId,
    /// The right.
    pub right_id: RightId,
    /// What it allows.
    pub right_type: RightType,
    /// The workspace it is about.
    pub target: WorkspaceId,
    /// Who holds it now.
    pub to_holder: WorkspaceId,
    /// The envelope it came in.
    pub via_envelope: EnvelopeId,
}

/// `port_right_revoked`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Revoked {
    /// Who held it.
    pub holder: WorkspaceId,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// Who took it away.
    pub revoked_by: Actor,
    /// The right.
    pub right_id: RightId,
    /// What it allowed.
    pub right_type: RightType,
    /// The workspace it was about.
    pub target: WorkspaceId,
}

/// `port_right_consumed`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Consumed {
    /// Who held it.
    pub holder: WorkspaceId,
    /// The right.
    pub right_id: RightId,
    /// The workspace it was about.
    pub target: WorkspaceId,
    /// The envelope it was used for.
    pub via_envelope: EnvelopeId,
}

/// A right, as doors show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RightView {
    /// The right.
    pub right: RightId,
    /// What it allows.
    #[serde(rename = "type")]
    pub kind: RightType,
    /// Who holds it.
    pub holder: WorkspaceId,
    /// The workspace it is about.
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
