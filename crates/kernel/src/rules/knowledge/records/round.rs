//! `memory.turn`: ending a turn in a loop.

use std::sync::Arc;

use crate::machine::coordinator::is_coordinator;
use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::knowledge::records::field::{Few, TURNS_MAX, Taken};
use crate::model::knowledge::records::record::Record;
use crate::model::knowledge::records::view;
use crate::model::knowledge::records::view::MemoryReply;
use crate::model::knowledge::records::vocabulary::Status;
use crate::protocol::event::{Event, Stamped};
use crate::protocol::refusal::Refusal;
use crate::registry::apply_error::ApplyError;
use crate::registry::record_id::Kind;
use crate::registry::rule::Rule;
use crate::rules::knowledge::records::transition::apply_others;
use crate::rules::knowledge::records::{assign, bad_field, change, expect, loops, record};
use crate::values::idempotency::Mark;
use crate::values::principal::{Caller, Principal};
use crate::values::text::Text;

pub use crate::model::knowledge::records::round::*;

pub(crate) fn decide(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    args: &TakeTurn,
    mark: Option<Mark>,
) -> Result<MemoryReply, DecisionError> {
    expect(tx.state().memory.get_for(args.of, &caller.principal)?, args.expected_version)?;
    let body = plan(tx.state(), &caller.principal, args)?;
    record(tx, caller, Event::MemoryTurned(Box::new(Turned { request: mark, ..body })))
}

/// Plans the end of a turn, or refuses it if it is not the caller's to end.
pub(crate) fn plan(state: &State, who: &Principal, asked: &TakeTurn) -> Result<Turned, Refusal> {
    let (id, slot) = (asked.of, &asked.slot);
    if id.kind != Kind::Loop {
        return Err(bad_field(format!("turns are taken in loops, and {id} is not a loop")));
    }
    let own = state.memory.get(id)?;
    if own.status != Status::Open {
        let message = format!("{} is {}; turns are taken while it is open", own.id, own.status);
        return Err(Refusal::denied(Rule::RecordStep, message));
    }
    let place = loops::place(own, slot)?;
    let by_agent = matches!(who, Principal::Agent(name) if place.agent == *name);
    if !by_agent && own.author != *who && !is_coordinator(state, who) {
        let message = format!(
            "the turn of {slot} in {id} is its agent's or the loop's author's, not {who}'s"
        );
        return Err(Refusal::denied(Rule::RecordOwner, message));
    }
    if place.done {
        let message = format!("{slot} has already had its turn in {id}");
        return Err(Refusal::denied(Rule::RecordStep, message));
    }
    let effects = assign::of_turn(state, own, place);
    let (outcome, slot) = (asked.outcome.clone(), slot.clone());
    Ok(Turned { effects, id, outcome, request: None, slot })
}

pub(crate) fn apply(state: &mut State, entry: &Stamped, body: &Turned) -> Result<(), ApplyError> {
    let seq = state.seq;
    change(state, entry, body.id, |own| {
        let mut slots = own.fields.slots.to_vec();
        let mut turns = own.fields.turns.to_vec();
        for slot in slots.iter_mut().filter(|slot| slot.id == body.slot) {
            (slot.done, slot.outcome) = (true, Some(body.outcome.clone()));
            turns.push(Taken {
                agent: slot.agent.clone(),
                at: entry.at,
                iteration: own.fields.iteration,
                outcome: Text::lossy(body.outcome.as_str()),
                phase: own.fields.phase.clone(),
                seq,
                slot: slot.id.clone(),
            });
        }
        let over = turns.len().saturating_sub(TURNS_MAX);
        own.fields.turns = Few::new(turns.split_off(over)).unwrap_or_default();
        own.fields.slots = Few::new(slots).unwrap_or_default();
    })?;
    apply_others(state, entry, &body.effects)
}

pub(crate) fn reply(record: Arc<Record>, body: &Turned) -> MemoryReply {
    MemoryReply::Turned(view::Turned { record, side_effects: body.effects.clone() })
}
