//! Facts of the blackboard. The last write wins.

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

pub use crate::model::knowledge::blackboard::fact::*;

pub(crate) fn decide_set(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    args: &Set,
) -> Result<Reply, DecisionError> {
    check(&tx.state().memory, args)?;
    record(tx, caller, Event::FactSet(args.clone()))?;
    let fact = tx.state().blackboard().fact(&args.key).ok_or(ApplyError::Unknown("the fact"))?;
    Ok(BlackboardReply::Fact(fact).into())
}

/// Checks the limit on the number of facts.
fn check(memory: &Memory, args: &Set) -> Result<(), Refusal> {
    if memory.with_key(Kind::Fact, args.key.as_str()).is_some() {
        return Ok(());
    }
    room(memory.count(Kind::Fact, None), FACTS_MAX, "facts", "delete one with `fact.delete`")?;
    memory.room()
}

/// Deletes a fact; deleting one that does not exist writes no entry.
pub(crate) fn decide_delete(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    args: &Delete,
) -> Result<Reply, DecisionError> {
    let deleted = tx.state().blackboard().fact(&args.key).is_some();
    if deleted {
        record(tx, caller, Event::FactDeleted(args.clone()))?;
    }
    Ok(BlackboardReply::Deleted { deleted, key: args.key.clone() }.into())
}

pub(crate) fn apply_set(state: &mut State, entry: &Stamped, set: &Set) -> Result<(), ApplyError> {
    let (key, text) = (set.key.clone(), Text::lossy(set.value.as_str()));
    keyed::write(state, entry, Kind::Fact, key, text, Fields::default())
}

pub(crate) fn apply_deleted(state: &mut State, deleted: &Delete) -> Result<(), ApplyError> {
    keyed::delete(state, Kind::Fact, &deleted.key)
}
