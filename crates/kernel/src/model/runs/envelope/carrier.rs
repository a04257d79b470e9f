//! Carriers: what lies between the runtime and an inbox.
//!
//! The kernel decides when an envelope is sent and how often; a carrier says what became of one
//! attempt. In one process the inbox is part of the state, and nothing is ever lost between the
//! two. A carrier over a network can lose an envelope, or the answer to it; the kernel then sends
//! it again, three times at most, waiting one, two and three times the carrier's base timeout.

use serde::Serialize;

use crate::model::runs::envelope::{Envelope, Origin, Payload, Priority};
use crate::model::runs::seal;
use crate::model::runs::workspace::Party;
use crate::registry::apply_error::ApplyError;
use crate::values::id::{EnvelopeId, RightId, TaskId, WorkspaceId};
use crate::values::time::Span;
use crate::values::token::TypeName;

/// How often an envelope is sent again: a constant of the protocol.
pub const REDELIVERIES: u8 = 3;

/// What became of one attempt to put an envelope into an inbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carried {
    /// It is there, and the runtime knows.
    Acknowledged,
    /// It did not arrive.
    Lost,
    /// It arrived, but the answer did not.
    AnswerLost,
}

/// An envelope as it travels, with its proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parcel {
    /// The envelope.
    pub id: EnvelopeId,
    /// What it says, and its proof.
    pub envelope: Envelope,
}

/// What is proved of an envelope: everything its sender said.
#[derive(Serialize)]
struct Said<'a> {
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
    /// What is proved of it.
    pub(crate) fn message(&self) -> Result<Vec<u8>, ApplyError> {
        let sent = &self.envelope;
        let said = Said {
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
        seal::message("envelope", &said)
    }
}

/// Something that puts envelopes into inboxes.
pub trait Carrier {
    /// Tries once. `attempt` counts from zero.
    fn carry(&mut self, envelope: &EnvelopeId, attempt: u8) -> Carried;

    /// What came out at the other end for what was put in. A carrier others can reach may find it
    /// changed; whether it was is not the carrier's to say, but its proof's.
    fn hand_over(&mut self, sent: Parcel) -> Parcel {
        sent
    }

    /// How long to wait for an answer the first time.
    fn base_timeout(&self) -> Span {
        Span::from_secs(1)
    }
}

/// The inbox is here: nothing is lost on the way to it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Local;

impl Carrier for Local {
    fn carry(&mut self, _: &EnvelopeId, _: u8) -> Carried {
        Carried::Acknowledged
    }
}
