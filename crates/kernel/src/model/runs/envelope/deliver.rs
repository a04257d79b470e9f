//! Delivery of envelopes, retries and undeliverable mail.

use serde::Deserialize;
use serde::Serialize;

use crate::model::runs::envelope::UndeliverableReason;
use crate::values::id::{EnvelopeId, WorkspaceId};
use crate::values::time::Timestamp;

/// `envelope_delivered`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delivered {
    /// The envelope.
    pub envelope_id: EnvelopeId,
    /// The sending workspace.
    pub from: WorkspaceId,
    /// The receiving workspace.
    pub to: WorkspaceId,
}

/// `envelope_redelivered`: a duplicate arrived and was dropped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Redelivered {
    /// The envelope.
    pub envelope_id: EnvelopeId,
    /// The sending workspace.
    pub from: WorkspaceId,
    /// The receiving workspace.
    pub to: WorkspaceId,
}

/// `envelope_undeliverable`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Undeliverable {
    /// The envelope.
    pub envelope_id: EnvelopeId,
    /// The sending workspace.
    pub from: WorkspaceId,
    /// The reason why it was not delivered.
    pub reason: UndeliverableReason,
    /// The receiving workspace.
    pub to: WorkspaceId,
}

/// The message that was lost in an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Missing {
    /// The envelope.
    Envelope,
    /// Its acknowledgement.
    Answer,
}

/// `envelope.attempted`: a delivery attempt was not acknowledged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attempted {
    /// The number of attempts so far.
    pub attempt: u8,
    /// The envelope.
    pub envelope_id: EnvelopeId,
    /// The message that was lost.
    pub missing: Missing,
    /// The time of the next retry; none if retries are exhausted, or the receiver holds its mail or
    /// has ended.
    pub retry_at: Option<Timestamp>,
    /// The receiving workspace.
    pub to: WorkspaceId,
}
