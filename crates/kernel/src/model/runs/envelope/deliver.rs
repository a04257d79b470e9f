//! Types of `deliver`: state, arguments of commands and bodies of events.

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
    /// Who sent it.
    pub from: WorkspaceId,
    /// Whose inbox it is in.
    pub to: WorkspaceId,
}

/// `envelope_redelivered`: it came a second time and was not shown again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Redelivered {
    /// The envelope.
    pub envelope_id: EnvelopeId,
    /// Who sent it.
    pub from: WorkspaceId,
    /// Whose inbox it is in.
    pub to: WorkspaceId,
}

/// `envelope_undeliverable`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Undeliverable {
    /// The envelope.
    pub envelope_id: EnvelopeId,
    /// Who sent it.
    pub from: WorkspaceId,
    /// Why it never arrived.
    pub reason: UndeliverableReason,
    /// Whom it was for.
    pub to: WorkspaceId,
}

/// What went missing in an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Missing {
    /// The envelope.
    Envelope,
    /// The answer to it.
    Answer,
}

/// `envelope.attempted`: an attempt to deliver was not answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attempted {
    /// How many attempts there were so far.
    pub attempt: u8,
    /// The envelope.
    pub envelope_id: EnvelopeId,
    /// What went missing.
    pub missing: Missing,
    /// When it is tried again; not by the clock, if the attempts are used up, the receiver holds
    /// its mail or has ended.
    pub retry_at: Option<Timestamp>,
    /// Whom it is for.
    pub to: WorkspaceId,
}
