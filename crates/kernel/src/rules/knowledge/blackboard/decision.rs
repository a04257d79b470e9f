//! The decision log: decisions that were made before they are written down. Each is a record, in
//! the state that a decision made through the memory reaches when it is approved.

use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::knowledge::blackboard::view::{BlackboardReply, DecisionView};
use crate::model::knowledge::records::{EARLIER_DECISIONS, Kind, RecordId};
use crate::protocol::event::{Event, Stamped};
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::rules::knowledge::blackboard::{not_blank, record};
use crate::rules::knowledge::records::keyed;
use crate::values::principal::Caller;

pub use crate::model::knowledge::blackboard::decision::*;

pub(crate) fn decide_append(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    args: &Append,
) -> Result<Reply, DecisionError> {
    not_blank(args.title.is_blank(), "the title")?;
    not_blank(args.body.is_blank(), "the decision")?;
    tx.state().memory.room()?;
    let id = tx.state().memory.next(Kind::Decision);
    let event = Event::DecisionAppended(Appended {
        body: args.body.clone(),
        by: caller.principal.clone(),
        dispute: None,
        id: Some(id),
        title: args.title.clone(),
        via: args.via.clone(),
    });
    record(tx, caller, event)?;
    let made = tx.state().memory.record(id).ok_or(ApplyError::Unknown("the decision"))?;
    Ok(BlackboardReply::Decision(Box::new(DecisionView::of(made))).into())
}

pub(crate) fn apply_appended(
    state: &mut State,
    entry: &Stamped,
    body: &Appended,
) -> Result<(), ApplyError> {
    let id = match body.id {
        Some(id) if id.kind == Kind::Decision => id,
        Some(_) => return Err(ApplyError::Mismatch("the decision")),
        None => {
            state.blackboard.decided += 1;
            earlier(state.blackboard.decided)
        }
    };
    keyed::decided(state, entry, id, body)
}

/// The record of a decision that an earlier build counted, by its number.
pub(crate) fn earlier(number: u64) -> RecordId {
    RecordId { kind: Kind::Decision, number: EARLIER_DECISIONS + number }
}
