//! Facts: the blackboard. Whoever writes last has said it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::view::{CommonsReply, FactView};
use super::{Commons, Label, Mark, record, room};
use crate::event::{Event, Stamped};
use crate::principal::Caller;
use crate::refusal::Refusal;
use crate::state::{ApplyError, State};
use crate::text::Text;
use crate::turn::{Halt, Reply, Turn};

/// The most facts of a project.
pub const FACTS_MAX: usize = 10_000;

/// What a fact says.
pub type Value = Text<4000>;

/// A fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// What it says.
    pub value: Value,
    /// Who set it last, and when.
    pub set: Mark,
}

/// `fact.set`, and what it leaves: writes a fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Set {
    /// What it is about.
    pub key: Label,
    /// What it says.
    pub value: Value,
}

/// `fact.delete`, and `fact.deleted`: wipes a fact off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Delete {
    /// Which one.
    pub key: Label,
}

pub(super) fn decide_set(turn: &mut Turn<'_>, caller: &Caller, args: &Set) -> Result<Reply, Halt> {
    check(&turn.state().commons, args)?;
    record(turn, caller, Event::FactSet(args.clone()))?;
    let fact = turn.state().commons.facts.get(&args.key);
    let fact = fact.ok_or(ApplyError::Unknown("the fact"))?;
    Ok(CommonsReply::Fact(FactView::of(&args.key, fact)).into())
}

/// Whether there is room for it.
pub(crate) fn check(commons: &Commons, args: &Set) -> Result<(), Refusal> {
    let facts = &commons.facts;
    if facts.get(&args.key).is_some() {
        return Ok(());
    }
    room(facts.len(), FACTS_MAX, "facts", "delete one with `fact.delete`")
}

/// What is not there is gone already; that is no entry.
pub(super) fn decide_delete(
    turn: &mut Turn<'_>,
    caller: &Caller,
    args: &Delete,
) -> Result<Reply, Halt> {
    let deleted = turn.state().commons.facts.get(&args.key).is_some();
    if deleted {
        record(turn, caller, Event::FactDeleted(args.clone()))?;
    }
    Ok(CommonsReply::Deleted { deleted, key: args.key.clone() }.into())
}

pub(super) fn apply_set(state: &mut State, entry: &Stamped, set: &Set) -> Result<(), ApplyError> {
    let fact = Fact { value: set.value.clone(), set: Mark::of(entry)? };
    state.commons.facts.put(set.key.clone(), fact);
    Ok(())
}

pub(super) fn apply_deleted(state: &mut State, deleted: &Delete) -> Result<(), ApplyError> {
    let before = state.commons.facts.remove(&deleted.key);
    before.map(|_| ()).ok_or(ApplyError::Unknown("the fact"))
}
