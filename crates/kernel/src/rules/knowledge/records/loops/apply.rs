//! Applying acts in a loop to the state.

use std::sync::Arc;

use crate::machine::state::State;
use crate::model::knowledge::records::create::Create;
use crate::model::knowledge::records::effect::Effect;
use crate::model::knowledge::records::field;
use crate::model::knowledge::records::field::Few;
use crate::model::knowledge::records::loops::{Act, Looped};
use crate::model::knowledge::records::record::Record;
use crate::model::knowledge::records::vocabulary::{Action, Status};
use crate::protocol::event::Stamped;
use crate::registry::apply_error::ApplyError;
use crate::registry::record_id::{Kind, RecordId};
use crate::rules::knowledge::records::loops::{more, place, questions, taken_over, work};
use crate::rules::knowledge::records::transition::apply_others;
use crate::rules::knowledge::records::update::again;
use crate::rules::knowledge::records::{change, create, offer, put};
use crate::values::principal::{Actor, Principal};

/// The id of the record of a kind that these effects created.
fn made(effects: &[Effect], kind: Kind) -> Result<RecordId, ApplyError> {
    let is_made = |effect: &&Effect| effect.action == Action::Created && effect.kind == kind;
    effects.iter().find(is_made).map(|effect| effect.id).ok_or(ApplyError::Unknown("the record"))
}

pub(crate) fn apply(state: &mut State, entry: &Stamped, body: &Looped) -> Result<(), ApplyError> {
    let Actor::Principal(who) = &entry.draft.actor else {
        return Err(ApplyError::Mismatch("its author"));
    };
    let own = state.memory.records.get(&body.id).ok_or(ApplyError::Unknown("the record"))?.clone();
    let refused = |_| ApplyError::Mismatch("the loop");
    match &body.act {
        Act::AddArtifact { .. } | Act::Verify { .. } => {
            let artifacts = more(&own, &body.act).map_err(refused)?;
            go_on(state, entry, body, |own| own.fields.artifacts = artifacts)
        }
        Act::Advance { .. } | Act::Continue {} => go_on(state, entry, body, |_| {}),
        Act::Bind { assignment, slot } => {
            let bound = place(&own, slot).map_err(refused)?.clone();
            let bound = field::Slot { assignment: Some(*assignment), ..bound };
            go_on(state, entry, body, |own| put_slot(own, &bound))
        }
        Act::Takeover { agent, slot } => {
            let taken = taken_over(state, place(&own, slot).map_err(refused)?, agent);
            go_on(state, entry, body, |own| put_slot(own, &taken))
        }
        Act::Turn { slot, text } => {
            let place = place(&own, slot).map_err(refused)?;
            let id = made(&body.effects, Kind::Assignment)?;
            give(state, entry, body, who, (id, work(&own, place, text.as_ref())))?;
            let given = field::Slot { assignment: Some(id), done: false, ..place.clone() };
            go_on(state, entry, body, |own| put_slot(own, &given))
        }
        Act::Ask { slot, text } => {
            let to = questions::asked_of(&own, slot.as_ref()).map_err(refused)?;
            notify(state, entry, body, who, questions::message(&own, to, text, true))
        }
        Act::Answer { text, .. } => {
            let mut closed = body.effects.iter().filter(|own| own.action == Action::Moved);
            let question = closed.next().and_then(|own| state.memory.record(own.id));
            let to = question.and_then(|own| create::name_of(&own.author));
            notify(state, entry, body, who, questions::message(&own, to, text, false))?;
            apply_others(state, entry, &body.effects)
        }
    }
}

/// Changes the loop, and moves it to another phase if the entry says so.
fn go_on(
    state: &mut State,
    entry: &Stamped,
    body: &Looped,
    how: impl FnOnce(&mut Record),
) -> Result<(), ApplyError> {
    change(state, entry, body.id, |own| {
        how(own);
        if let Some(phase) = &body.phase {
            own.fields.phase = Some(phase.clone());
            own.fields.iteration = body.iteration.or(own.fields.iteration);
            again(own);
        }
    })
}

fn put_slot(own: &mut Record, changed: &field::Slot) {
    let slots = own.fields.slots.iter().cloned();
    let slots = slots.map(|slot| if slot.id == changed.id { changed.clone() } else { slot });
    own.fields.slots = Few::new(slots.collect()).unwrap_or_default();
}

/// Creates the assignment for a slot's agent, and the message that announces it.
fn give(
    state: &mut State,
    entry: &Stamped,
    body: &Looped,
    who: &Principal,
    (id, asked): (RecordId, Create),
) -> Result<(), ApplyError> {
    let message = made(&body.effects, Kind::Message)?;
    let mut own = fresh(state, entry, body, id, who, asked)?;
    own.fields.message_id = Some(message);
    create::begin(&mut own, who, Status::Offered, entry);
    offer::notify(state, entry, who, &own, message, questions::thread(body.id));
    put(state, Arc::new(own));
    Ok(())
}

/// Creates the message of a question or an answer.
fn notify(
    state: &mut State,
    entry: &Stamped,
    body: &Looped,
    who: &Principal,
    asked: Create,
) -> Result<(), ApplyError> {
    let id = made(&body.effects, Kind::Message)?;
    let mut message = fresh(state, entry, body, id, who, asked)?;
    create::begin(&mut message, who, Status::Open, entry);
    put(state, Arc::new(message));
    Ok(())
}

fn fresh(
    state: &State,
    entry: &Stamped,
    body: &Looped,
    id: RecordId,
    who: &Principal,
    asked: Create,
) -> Result<Record, ApplyError> {
    if state.memory.records.contains_key(&id) {
        return Err(ApplyError::Twice("a record"));
    }
    let mut made = state.new_record(entry, id, who.clone(), asked.text);
    made.fields = asked.fields;
    create::fill_in(id.kind, &mut made.fields);
    made.session.clone_from(&body.session);
    Ok(made)
}
