//! `memory.turn`: somebody's turn in a loop is over.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

use super::effect::Effect;
use super::field::{Few, TURNS_MAX, Taken};
use super::kind::{Kind, RecordId};
use super::moving::apply_others;
use super::record::Record;
use super::request::Mark;
use super::view::{self, MemoryReply};
use super::word::Status;
use super::{assign, bad_field, change, expect, loops, record};
use crate::commons::Label;
use crate::event::{Event, Stamped};
use crate::principal::{Caller, Principal};
use crate::refusal::Refusal;
use crate::rule::Rule;
use crate::state::{ApplyError, State};
use crate::text::Text;
use crate::turn::{Halt, Turn};
use crate::workspace::is_coordinator;

/// `memory.turn`: says what came of a turn in a loop (the slot's agent, or the loop's author).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TakeTurn {
    /// The version the loop is expected to be at; refused if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<u32>,
    /// Which loop.
    #[serde(rename = "loop")]
    pub of: RecordId,
    /// What came of it.
    pub outcome: Text<4000>,
    /// What the caller calls this request; asked again within a day, it is done once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Label>,
    /// Which place.
    pub slot: Label,
}

/// `memory.turned`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turned {
    /// What followed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<Effect>,
    /// Which loop.
    pub id: RecordId,
    /// What came of it.
    pub outcome: Text<4000>,
    /// The request that led to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Mark>,
    /// Which place.
    pub slot: Label,
}

pub(super) fn decide(
    turn: &mut Turn<'_>,
    caller: &Caller,
    args: &TakeTurn,
    mark: Option<Mark>,
) -> Result<MemoryReply, Halt> {
    expect(turn.state().memory.get_for(args.of, &caller.principal)?, args.expected_version)?;
    let body = plan(turn.state(), &caller.principal, args)?;
    record(turn, caller, Event::MemoryTurned(Box::new(Turned { request: mark, ..body })))
}

/// What the end of a turn comes to, if it is this one's.
pub(crate) fn plan(state: &State, who: &Principal, asked: &TakeTurn) -> Result<Turned, Refusal> {
    let (id, slot) = (asked.of, &asked.slot);
    if id.kind != Kind::Loop {
        return Err(bad_field(format!("turns are taken in loops, and {id} is none")));
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
        let message = format!("{slot} had its turn in {id}");
        return Err(Refusal::denied(Rule::RecordStep, message));
    }
    let effects = assign::of_turn(state, own, place);
    let (outcome, slot) = (asked.outcome.clone(), slot.clone());
    Ok(Turned { effects, id, outcome, request: None, slot })
}

pub(super) fn apply(state: &mut State, entry: &Stamped, body: &Turned) -> Result<(), ApplyError> {
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

pub(super) fn reply(record: Arc<Record>, body: &Turned) -> MemoryReply {
    MemoryReply::Turned(view::Turned { record, side_effects: body.effects.clone() })
}
