//! Facts of the blackboard. The last write wins.

use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::knowledge::blackboard::view::{CommonsReply, FactView};
use crate::model::knowledge::blackboard::{Commons, Mark};
use crate::protocol::event::{Event, Stamped};
use crate::protocol::refusal::Refusal;
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::rules::knowledge::blackboard::{record, room};
use crate::values::principal::Caller;

pub use crate::model::knowledge::blackboard::fact::*;

pub(crate) fn decide_set(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    args: &Set,
) -> Result<Reply, DecisionError> {
    check(&tx.state().commons, args)?;
    record(tx, caller, Event::FactSet(args.clone()))?;
    let fact = tx.state().commons.facts.get(&args.key);
    let fact = fact.ok_or(ApplyError::Unknown("the fact"))?;
    Ok(CommonsReply::Fact(FactView::of(&args.key, fact)).into())
}

/// Checks the limit on the number of facts.
pub(crate) fn check(commons: &Commons, args: &Set) -> Result<(), Refusal> {
    let facts = &commons.facts;
    if facts.get(&args.key).is_some() {
        return Ok(());
    }
    room(facts.len(), FACTS_MAX, "facts", "delete one with `fact.delete`")
}

/// Deletes a fact; deleting one that does not exist writes no entry.
pub(crate) fn decide_delete(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    args: &Delete,
) -> Result<Reply, DecisionError> {
    let deleted = tx.state().commons.facts.get(&args.key).is_some();
    if deleted {
        record(tx, caller, Event::FactDeleted(args.clone()))?;
    }
    Ok(CommonsReply::Deleted { deleted, key: args.key.clone() }.into())
}

pub(crate) fn apply_set(state: &mut State, entry: &Stamped, set: &Set) -> Result<(), ApplyError> {
    let fact = Fact { value: set.value.clone(), set: Mark::of(entry)? };
    state.commons.facts.put(set.key.clone(), fact);
    Ok(())
}

pub(crate) fn apply_deleted(state: &mut State, deleted: &Delete) -> Result<(), ApplyError> {
    let before = state.commons.facts.remove(&deleted.key);
    before.map(|_| ()).ok_or(ApplyError::Unknown("the fact"))
}
