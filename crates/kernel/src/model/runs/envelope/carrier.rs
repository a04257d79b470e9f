//! Carriers: the transport between the runtime and an inbox.
//!
//! The kernel decides when and how often an envelope is sent; a carrier reports the outcome of each
//! attempt. In one process the inbox is part of the state, and nothing is lost. A carrier over a
//! network can lose an envelope or its acknowledgement; the kernel then retries, at most three
//! times, after one, two and three times the carrier's base timeout.

use serde::Serialize;

use crate::model::runs::envelope::{Envelope, Origin, Payload, Priority};
use crate::model::runs::seal;
use crate::model::runs::workspace::Party;
use crate::registry::apply_error::ApplyError;
use crate::values::id::{EnvelopeId, RightId, TaskId, WorkspaceId};
use crate::values::time::Span;
use crate::values::token::TypeName;

/// The number of retries of a delivery: a constant of the protocol.
pub const REDELIVERIES: u8 = 3;

/// The outcome of one attempt to deliver an envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carried {
    /// It was delivered and acknowledged.
    Acknowledged,
    /// It was lost.
    Lost,
    /// It was delivered, but the acknowledgement was lost.
    AnswerLost,
}

/// An envelope in transit, with its integrity proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parcel {
    /// The envelope.
    pub id: EnvelopeId,
    /// The content of the envelope, with its integrity proof.
    pub envelope: Envelope,
}

/// The fields of an envelope that its integrity proof covers: everything its sender set.
#[derive(Serialize)]
struct SealedContent<'a> {
    from: &'a WorkspaceId,
    id: &'a EnvelopeId,
    in_reply_to: Option<&'a EnvelopeId>,
    origin: Origin,
    originator: &'a Party,
    payload: &'a Payload,
    priority: Priority,
    rights: &'a [RightId],
    task: Option<&'a TaskId>,
    to: &'a WorkspaceId,
    #[serde(rename = "type")]
    kind: &'a TypeName,
}

impl Parcel {
    /// The bytes that its integrity proof covers.
    pub(crate) fn message(&self) -> Result<Vec<u8>, ApplyError> {
        let sent = &self.envelope;
        let content = SealedContent {
            from: &sent.from,
            id: &self.id,
            in_reply_to: sent.in_reply_to.as_ref(),
            origin: sent.origin,
            originator: &sent.originator,
            payload: &sent.payload,
            priority: sent.priority,
            rights: &sent.rights,
            task: sent.task.as_ref(),
            to: &sent.to,
            kind: &sent.kind,
        };
        seal::message("envelope", &content)
    }
}

/// A transport that delivers envelopes to inboxes.
pub trait Carrier {
    /// Attempts one delivery. `attempt` counts from zero.
    fn carry(&mut self, envelope: &EnvelopeId, attempt: u8) -> Carried;

    /// Returns the envelope as it arrives at the receiver. A carrier that others can reach may have
    /// it altered; the integrity proof detects that, not the carrier.
    fn hand_over(&mut self, sent: Parcel) -> Parcel {
        sent
    }

    /// How long to wait for the first acknowledgement.
    fn base_timeout(&self) -> Span {
        Span::from_secs(1)
    }
}

/// The carrier within one process, which loses nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Local;

impl Carrier for Local {
    fn carry(&mut self, _: &EnvelopeId, _: u8) -> Carried {
        Carried::Acknowledged
    }
}
