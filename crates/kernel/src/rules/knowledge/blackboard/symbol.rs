//! Symbols: short names for long text.

use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::knowledge::blackboard::view::{CommonsReply, SymbolView};
use crate::model::knowledge::blackboard::{Commons, Mark};
use crate::protocol::event::{Event, Stamped};
use crate::protocol::refusal::Refusal;
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::rules::knowledge::blackboard::{record, room};
use crate::values::principal::Caller;

pub use crate::model::knowledge::blackboard::symbol::*;

pub(crate) fn decide_set(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    args: &Set,
) -> Result<Reply, DecisionError> {
    check(&tx.state().commons, args)?;
    record(tx, caller, Event::SymbolSet(args.clone()))?;
    let symbol = tx.state().commons.symbols.shelf().get(&args.id);
    let symbol = symbol.ok_or(ApplyError::Unknown("the symbol"))?;
    Ok(CommonsReply::Symbol(SymbolView::of(&args.id, symbol)).into())
}

/// Checks the limit on the number of symbols.
pub(crate) fn check(commons: &Commons, args: &Set) -> Result<(), Refusal> {
    let symbols = commons.symbols.shelf();
    if symbols.get(&args.id).is_some() {
        return Ok(());
    }
    room(symbols.len(), SYMBOLS_MAX, "symbols", "give one that is no longer needed a new value")
}

pub(crate) fn apply_set(state: &mut State, entry: &Stamped, set: &Set) -> Result<(), ApplyError> {
    let symbol = Symbol { value: set.value.clone(), set: Mark::of(entry)? };
    state.commons.symbols.put(set.id.clone(), symbol);
    Ok(())
}
