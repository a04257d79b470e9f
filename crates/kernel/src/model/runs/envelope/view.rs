//! Envelopes, as doors show them.

use serde::Serialize;

use crate::model::runs::envelope::{Envelope, Origin, Payload, Priority, Status};
use crate::model::runs::seal::Integrity;
use crate::model::runs::workspace::Party;
use crate::values::id::{EnvelopeId, RightId, TaskId, WorkspaceId};
use crate::values::time::Timestamp;
use crate::values::token::TypeName;

/// An envelope, as doors show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EnvelopeView {
    /// The envelope.
    pub envelope: EnvelopeId,
    /// Who sent it.
    pub from: WorkspaceId,
    /// Whom it is for.
    pub to: WorkspaceId,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: TypeName,
    /// What is in it, by hash.
    pub payload: Payload,
    /// What it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_reply_to: Option<EnvelopeId>,
    /// The proof that its sender made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub integrity: Option<Integrity>,
    /// The rights it carries.
    pub rights: Vec<RightId>,
    /// How soon it wants to be read.
    pub priority: Priority,
    /// Where it comes from.
    pub origin: Origin,
    /// Who caused the work it belongs to.
    pub originator: Party,
    /// The task it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// How far it has come.
    pub status: Status,
    /// When it was accepted.
    pub created_at: Timestamp,
    /// When it was put into the inbox.
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
