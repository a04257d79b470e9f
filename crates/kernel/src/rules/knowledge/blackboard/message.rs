//! Verdicts about messages checked on receipt. Only the trail keeps them.

use crate::machine::transaction::{DecisionError, Transaction};
use crate::protocol::event::Event;
use crate::protocol::refusal::Refusal;
use crate::protocol::reply::Reply;
use crate::registry::rule::Rule;
use crate::rules::knowledge::blackboard::record;
use crate::values::principal::Caller;

pub use crate::model::knowledge::blackboard::message::*;

pub(crate) fn decide_note(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    args: &Note,
) -> Result<Reply, DecisionError> {
    if args.errors.len() > ERRORS_MAX {
        let message = format!("{} errors are noted, over {ERRORS_MAX}", args.errors.len());
        return Err(Refusal::denied(Rule::Limits, message).into());
    }
    record(tx, caller, Event::MessageNoted(args.clone()))?;
    Ok(Reply::Done)
}
