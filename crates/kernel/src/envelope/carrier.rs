//! Carriers: what lies between the runtime and an inbox.
//!
//! The kernel decides when an envelope is sent and how often; a carrier says what became of one
//! attempt. In one process the inbox is part of the state, and nothing is ever lost between the
//! two. A carrier over a network can lose an envelope, or the answer to it; the kernel then sends
//! it again, three times at most, waiting one, two and three times the carrier's base timeout.

use crate::id::EnvelopeId;
use crate::time::Span;

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

/// Something that puts envelopes into inboxes.
pub trait Carrier {
    /// Tries once. `attempt` counts from zero.
    fn carry(&mut self, envelope: &EnvelopeId, attempt: u8) -> Carried;

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
