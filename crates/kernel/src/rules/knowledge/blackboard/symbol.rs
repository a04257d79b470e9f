//! Symbols: short names for long text.

use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::knowledge::blackboard::view::BlackboardReply;
use crate::model::knowledge::records::{Fields, Kind, Memory};
use crate::protocol::event::{Event, Stamped};
use crate::protocol::refusal::Refusal;
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::rules::knowledge::blackboard::{record, room};
use crate::rules::knowledge::records::keyed;
use crate::values::principal::Caller;
use crate::values::text::Text;

pub use crate::model::knowledge::blackboard::symbol::*;

pub(crate) fn decide_set(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    args: &Set,
) -> Result<Reply, DecisionError> {
    check(&tx.state().memory, args)?;
    record(tx, caller, Event::SymbolSet(args.clone()))?;
    let symbol =
        tx.state().blackboard().symbol(&args.id).ok_or(ApplyError::Unknown("the symbol"))?;
    Ok(BlackboardReply::Symbol(symbol).into())
}

/// Checks the limit on the number of symbols.
fn check(memory: &Memory, args: &Set) -> Result<(), Refusal> {
    if memory.with_key(Kind::Symbol, args.id.as_str()).is_some() {
        return Ok(());
    }
    let way_out = "give one that is no longer needed a new value";
    room(memory.count(Kind::Symbol, None), SYMBOLS_MAX, "symbols", way_out)?;
    memory.room()
}

pub(crate) fn apply_set(state: &mut State, entry: &Stamped, set: &Set) -> Result<(), ApplyError> {
    let (key, text) = (set.id.clone(), Text::lossy(set.value.as_str()));
    keyed::write(state, entry, Kind::Symbol, key, text, Fields::default())
}
