//! `memory.loop`: work in rounds. A loop has a phase, and slots for agents who take turns.
//!
//! Each act is one command and one commit. Only these acts, `memory.turn` and the transitions of
//! `memory.move` change a loop's phase, slots and rounds; `memory.update` does not.

pub(crate) mod apply;
pub mod phases;
pub(crate) mod questions;

use std::sync::Arc;

use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::knowledge::records::create::Create;
use crate::model::knowledge::records::effect::Effect;
use crate::model::knowledge::records::field::{Artifact, Few, Fields, Slot};
use crate::model::knowledge::records::loops::phases::{Next, Stand, VERIFY};
use crate::model::knowledge::records::record::{Body, Record};
use crate::model::knowledge::records::transition::{Move, Moved};
use crate::model::knowledge::records::view;
use crate::model::knowledge::records::view::MemoryReply;
use crate::model::knowledge::records::vocabulary::{Action, Status};
use crate::protocol::event::Event;
use crate::protocol::refusal::Refusal;
use crate::registry::record_id::{Kind, RecordId};
use crate::registry::rule::Rule;
use crate::rules::knowledge::records::{
    assign, bad_field, create, expect, link, offer, record, transition,
};
use crate::values::idempotency::Mark;
use crate::values::label::Label;
use crate::values::name::AgentName;
use crate::values::principal::{Caller, Principal};
use crate::values::text::Text;

pub use crate::model::knowledge::records::loops::*;

pub(crate) use crate::rules::knowledge::records::loops::apply::apply;
pub use crate::rules::knowledge::records::loops::questions::questions;

/// The outcome of an act.
pub(crate) enum Planned {
    /// The loop changes, or a question is asked or answered in it.
    Looped(Box<Looped>),
    /// A record moves to another state: work is rerouted, or the loop continues.
    Moved(Box<Moved>),
    /// Nothing changes; these effects describe the current state.
    Same(Vec<Effect>),
}

pub(crate) fn decide(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    args: &InLoop,
    mark: Option<Mark>,
) -> Result<MemoryReply, DecisionError> {
    let session = create::session_of(tx, caller)?;
    let own = of(tx.state(), &caller.principal, args.id)?.clone();
    expect(&own, args.expected_version)?;
    match plan(tx.state(), &caller.principal, args.id, &args.act)? {
        Planned::Looped(body) => {
            let body = Looped { request: mark, session, ..*body };
            record(tx, caller, Event::MemoryLooped(Box::new(body)))
        }
        Planned::Moved(body) => {
            let body = Event::MemoryMoved(Box::new(Moved { request: mark, ..*body }));
            let side_effects = match record(tx, caller, body)? {
                MemoryReply::Moved(moved) => moved.side_effects,
                _ => Vec::new(),
            };
            let now = tx.state().memory.records.get(&args.id).cloned().unwrap_or(own);
            Ok(MemoryReply::Looped(view::Turned { record: now, side_effects }))
        }
        Planned::Same(side_effects) => {
            Ok(MemoryReply::Looped(view::Turned { record: own, side_effects }))
        }
    }
}

/// The loop with that id, if the caller may see it; a refusal otherwise.
fn of<'s>(state: &'s State, who: &Principal, id: RecordId) -> Result<&'s Arc<Record>, Refusal> {
    if id.kind != Kind::Loop {
        return Err(bad_field(format!("`memory.loop` needs a loop, and {id} is not one")));
    }
    state.memory.get_for(id, who)
}

/// The slot with that id, or a refusal.
pub(crate) fn place<'r>(own: &'r Record, slot: &Label) -> Result<&'r Slot, Refusal> {
    own.fields.slots.iter().find(|known| known.id == *slot).ok_or_else(|| {
        let message = format!("{} has no slot {slot}", own.id);
        let known: Vec<String> = own.fields.slots.iter().map(|slot| slot.id.to_string()).collect();
        Refusal::not_found(Rule::RecordKnown, message).allowing(known)
    })
}

/// Plans an act, or refuses it.
pub(crate) fn plan(
    state: &State,
    who: &Principal,
    id: RecordId,
    act: &Act,
) -> Result<Planned, Refusal> {
    let own = of(state, who, id)?;
    goes_on(own, act)?;
    match act {
        Act::AddArtifact { .. } => assign::may_write(state, who, own)?,
        Act::Answer { .. } | Act::Ask { .. } => {}
        _ => assign::may_lead(state, who, own)?,
    }
    let with = |effects: Vec<Effect>| {
        let (act, phase, iteration) = (act.clone(), None, None);
        let (request, session) = (None, None);
        Looped { act, effects, id, iteration, phase, request, session }
    };
    let in_phase = |next: Next| {
        let round = own.fields.iteration.unwrap_or(1) + 1;
        let iteration = next.again.then_some(round);
        Looped { phase: Some(Label::constant(next.phase)), iteration, ..with(Vec::new()) }
    };
    let stand = Stand::of(own);
    let looped = match act {
        Act::AddArtifact { artifact } if own.fields.artifacts.contains(artifact) => {
            return Ok(Planned::Same(Vec::new()));
        }
        Act::AddArtifact { .. } => {
            more(own, act)?;
            with(Vec::new())
        }
        Act::Advance { phase } => in_phase(stand.next(phase.as_ref().map(Label::as_str))?),
        Act::Continue {} if own.status != Status::Open => {
            let step = Move::plain(id, Status::Open);
            return transition::plan(state, who, &step).map(|own| Planned::Moved(Box::new(own)));
        }
        Act::Continue {} => in_phase(stand.back().ok_or_else(|| no_round(stand))?),
        Act::Verify { verdict, .. } => {
            more(own, act)?;
            checked(own, stand, *verdict)?.map_or_else(|| with(Vec::new()), in_phase)
        }
        Act::Bind { assignment, slot } => {
            let bound = Slot { assignment: Some(*assignment), ..place(own, slot)?.clone() };
            fits(state, who, own, &bound)?;
            with(Vec::new())
        }
        Act::Takeover { agent, slot } => match takeover(state, who, own, agent, slot)? {
            Some(moved) => return Ok(Planned::Moved(Box::new(moved))),
            None => with(Vec::new()),
        },
        Act::Turn { slot, text } => match turn_of(state, who, own, slot, text.as_ref())? {
            Given::Anew(effects) => with(effects),
            Given::Before(effects) => return Ok(Planned::Same(effects)),
        },
        Act::Ask { slot, text } => with(questions::ask(state, who, own, slot.as_ref(), text)?),
        Act::Answer { message, text } => with(questions::answer(state, who, own, *message, text)?),
    };
    Ok(Planned::Looped(Box::new(looped)))
}

/// Refuses an act in a loop that has ended, or is paused while the act needs an open one.
fn goes_on(own: &Record, act: &Act) -> Result<(), Refusal> {
    let fits = match act {
        Act::Turn { .. } => own.status == Status::Open,
        Act::Continue {} | Act::Answer { .. } => true,
        _ => own.is_live(),
    };
    if fits {
        return Ok(());
    }
    let message = format!("{} is {}, not open", own.id, own.status);
    Err(Refusal::denied(Rule::RecordStep, message))
}

fn no_round(stand: Stand<'_>) -> Refusal {
    let message =
        format!("{} has no way back to another round; advance, or close the loop", stand.phase);
    Refusal::denied(Rule::RecordStep, message)
}

/// The artifacts of a loop, with the one an act adds.
fn more(own: &Record, act: &Act) -> Result<Few<Artifact, 64>, Refusal> {
    let all = own.fields.artifacts.iter().cloned().chain(act.artifact()).collect();
    Few::new(all).map_err(|why| bad_field(format!("`artifacts`: {why}")))
}

/// The phase after a verification: forward, or back for another round. A loop in its last phase
/// stays there.
fn checked(own: &Record, stand: Stand<'_>, verdict: Check) -> Result<Option<Next>, Refusal> {
    if stand.phase != VERIFY {
        let message =
            format!("{} is in {}; only a loop in {VERIFY} is verified", own.id, stand.phase);
        return Err(Refusal::denied(Rule::RecordStep, message));
    }
    Ok(match verdict {
        Check::Passed => stand.next(None).ok(),
        Check::Failed => stand.back(),
    })
}

/// Refuses a slot whose assignment belongs to another agent or was not dispatched by the caller.
fn fits(state: &State, who: &Principal, own: &Record, changed: &Slot) -> Result<(), Refusal> {
    let slots = own.fields.slots.iter().cloned();
    let slots = slots.map(|slot| if slot.id == changed.id { changed.clone() } else { slot });
    let slots = Few::new(slots.collect()).map_err(bad_field)?;
    link::check(state, who, Some(own), Kind::Loop, &Fields { slots, ..Fields::default() })
}

/// The unfinished assignment of a slot.
fn at_work<'s>(state: &'s State, place: &Slot) -> Option<&'s Record> {
    place.assignment.and_then(|id| state.memory.record(id)).filter(|work| !work.is_terminal())
}

/// The slot after another agent takes it over. It keeps an assignment that is already this agent's.
fn taken_over(state: &State, place: &Slot, agent: &AgentName) -> Slot {
    let kept = at_work(state, place).filter(|work| work.agent() == Some(agent));
    Slot {
        agent: agent.clone(),
        assignment: kept.map(|work| work.id),
        done: false,
        outcome: None,
        ..place.clone()
    }
}

/// Plans the rerouting of the work in a slot that is taken over, if another agent is working on it.
fn takeover(
    state: &State,
    who: &Principal,
    own: &Record,
    agent: &AgentName,
    slot: &Label,
) -> Result<Option<Moved>, Refusal> {
    let place = place(own, slot)?;
    let Some(work) = at_work(state, place).filter(|work| work.agent() != Some(agent)) else {
        offer::may_get(state, agent, None, None)?;
        fits(state, who, own, &taken_over(state, place, agent))?;
        return Ok(None);
    };
    let step = Move { agent: Some(agent.clone()), ..Move::plain(work.id, Status::Rerouted) };
    transition::plan(state, who, &step).map(Some)
}

/// Whether a turn was started just now, or before and is not over.
enum Given {
    Anew(Vec<Effect>),
    Before(Vec<Effect>),
}

fn turn_of(
    state: &State,
    who: &Principal,
    own: &Record,
    slot: &Label,
    text: Option<&Body>,
) -> Result<Given, Refusal> {
    let place = place(own, slot)?;
    if let Some(open) = at_work(state, place) {
        if text.is_some_and(|text| *text != open.text) {
            let message = format!("{slot} is at {} still: complete its turn first", open.id);
            return Err(Refusal::denied(Rule::RecordStep, message));
        }
        let same = Effect::new(Action::Unchanged, open.id).to(open.status);
        return Ok(Given::Before(vec![same]));
    }
    let agent = &place.agent;
    offer::may_get(state, agent, None, None)?;
    state.memory.room_for(2)?;
    create::plan(state, who, &work(own, place, text))?;
    let made = Effect::new(Action::Created, state.memory.next(Kind::Assignment));
    let message = Effect::new(Action::Created, state.memory.next(Kind::Message));
    Ok(Given::Anew(vec![
        made.to(Status::Offered).saying(&format!("for {agent}")),
        message.to(Status::Open),
    ]))
}

/// The assignment of a turn.
fn work(own: &Record, place: &Slot, text: Option<&Body>) -> Create {
    let fields = Fields {
        agent: Some(place.agent.clone()),
        scope: Some(Text::lossy(&format!("review-loop:{}", own.id))),
        ..Fields::default()
    };
    Create { fields, ..Create::plain(Kind::Assignment, text.unwrap_or(&own.text).clone()) }
}

/// The record that an act moves to another state, if any.
pub(crate) fn moves(state: &State, args: &InLoop) -> Option<RecordId> {
    let own = state.memory.record(args.id)?;
    match &args.act {
        Act::Continue {} if own.status != Status::Open => Some(own.id),
        Act::Takeover { agent, slot } => {
            let work = at_work(state, place(own, slot).ok()?)?;
            (work.agent() != Some(agent)).then_some(work.id)
        }
        _ => None,
    }
}

/// The arguments of `memory.create` for a new loop: in its first phase and round, with all turns
/// open.
pub(crate) fn opened(asked: &Create) -> Result<Create, Refusal> {
    let mut asked = asked.clone();
    let Some(kind) = asked.fields.loop_kind else { return Ok(asked) };
    let first = phases::first(kind);
    if asked.fields.phase.as_ref().is_some_and(|phase| phase.as_str() != first) {
        return Err(bad_field(format!("a {kind} loop begins in the phase `{first}`")));
    }
    if asked.fields.iteration.is_some_and(|round| round != 1) {
        return Err(bad_field("a loop begins with its first round"));
    }
    if asked.fields.slots.iter().any(|slot| slot.done || slot.outcome.is_some()) {
        return Err(bad_field("a new loop cannot have slots whose turn is over"));
    }
    asked.fields.phase = Some(Label::constant(first));
    Ok(asked)
}

/// The fields of a loop that only its own acts change.
pub(crate) const OWN_FIELDS: [&str; 3] = ["iteration", "phase", "slots"];

/// Refuses to change fields that only the acts of a loop change.
pub(crate) fn leaves_alone(given: &[&'static str], cleared: &[Label]) -> Result<(), Refusal> {
    let cleared = cleared.iter().map(Label::as_str);
    let mut all = given.iter().copied().chain(cleared);
    match all.find(|name| OWN_FIELDS.contains(name)) {
        None => Ok(()),
        Some(name) => {
            Err(bad_field(format!("the `{name}` of a loop changes with `memory.loop` alone")))
        }
    }
}

pub(crate) fn reply(record: Arc<Record>, body: &Looped) -> MemoryReply {
    MemoryReply::Looped(view::Turned { record, side_effects: body.effects.clone() })
}
