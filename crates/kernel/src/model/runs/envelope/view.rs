//! Envelopes, as shown to callers.

use serde::Serialize;

use crate::model::runs::envelope::{Envelope, Origin, Payload, Priority, Status};
use crate::model::runs::seal::Integrity;
use crate::model::runs::workspace::Party;
use crate::values::id::{EnvelopeId, RightId, TaskId, WorkspaceId};
use crate::values::time::Timestamp;
use crate::values::token::TypeName;

/// An envelope, as shown to callers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EnvelopeView {
    /// The envelope.
    pub envelope: EnvelopeId,
    /// The sending workspace.
    pub from: WorkspaceId,
    /// The receiving workspace.
    pub to: WorkspaceId,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: TypeName,
    /// The payload, by hash.
    pub payload: Payload,
    /// The envelope it replies to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_reply_to: Option<EnvelopeId>,
    /// The integrity proof by its sender.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub integrity: Option<Integrity>,
    /// The rights it carries.
    pub rights: Vec<RightId>,
    /// The priority.
    pub priority: Priority,
    /// The origin.
    pub origin: Origin,
    /// The party that caused the work it belongs to.
    pub originator: Party,
    /// The task it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The delivery state.
    pub status: Status,
    /// When it was accepted.
    pub created_at: Timestamp,
    /// When it was delivered to the inbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivered_at: Option<Timestamp>,
    /// Whether its receiver has taken it.
    pub taken: bool,
}

impl EnvelopeView {
    pub(crate) fn of(id: &EnvelopeId, envelope: &Envelope) -> Self {
        EnvelopeView {
            envelope: id.clone(),
            from: envelope.from.clone(),
            to: envelope.to.clone(),
            kind: envelope.kind.clone(),
            payload: envelope.payload.clone(),
            in_reply_to: envelope.in_reply_to.clone(),
            integrity: envelope.integrity,
            rights: envelope.rights.clone(),
            priority: envelope.priority,
            origin: envelope.origin,
            originator: envelope.originator.clone(),
            task: envelope.task.clone(),
            status: envelope.status,
            created_at: envelope.created_at,
            delivered_at: envelope.delivered_at,
            taken: envelope.taken,
        }
    }
}
