//! Recording of integrity violations.

use crate::machine::transaction::{DecisionError, Transaction};
use crate::protocol::event::Event;
use crate::protocol::reply::Reply;
use crate::values::principal::Actor;

pub use crate::model::runs::integrity::*;

pub(crate) fn decide_violated(
    tx: &mut Transaction<'_>,
    note: &NoteViolation,
) -> Result<Reply, DecisionError> {
    tx.note(None, Actor::Protocol, Event::IntegrityViolation(note.0.clone()))?;
    Ok(Reply::Done)
}
