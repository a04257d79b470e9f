//! Assignments: who may change them, heartbeats, and ending stuck ones.

use std::sync::Arc;

use crate::machine::coordinator::is_coordinator;
use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::knowledge::records::effect::Effect;
use crate::model::knowledge::records::field::{Artifact, Few, Slot};
use crate::model::knowledge::records::record::Record;
use crate::model::knowledge::records::transition::{Force, Moved};
use crate::model::knowledge::records::view;
use crate::model::knowledge::records::view::MemoryReply;
use crate::model::knowledge::records::vocabulary::{Action, Status};
use crate::protocol::event::{Event, Stamped};
use crate::protocol::refusal::Refusal;
use crate::registry::apply_error::ApplyError;
use crate::registry::record_id::{Kind, RecordId};
use crate::registry::rule::Rule;
use crate::rules::identity::capability;
use crate::rules::knowledge::attempt::orders;
use crate::rules::knowledge::records::create::name_of;
use crate::rules::knowledge::records::{bad_field, effect, expect, put, record, transition};
use crate::values::idempotency::Mark;
use crate::values::principal::{Caller, Principal};

pub use crate::model::knowledge::records::assign::*;

fn not_yours(own: &Record, who: &Principal, whose: &str) -> Refusal {
    let message = format!("{} is {whose} to change, not {who}'s", own.id);
    Refusal::denied(Rule::RecordOwner, message)
}

fn has_slot(own: &Record, who: &Principal) -> bool {
    let Principal::Agent(name) = who else { return false };
    own.fields.slots.iter().any(|slot| slot.agent == *name)
}

/// Checks whether somebody may change a record.
pub(crate) fn may_write(state: &State, who: &Principal, own: &Record) -> Result<(), Refusal> {
    let free = is_coordinator(state, who) || own.author == *who;
    let (may, whose) = match own.id.kind {
        Kind::Assignment => {
            let may = free || own.is_for(who) || own.is_dispatched_by(who);
            (may, "its agent's and its dispatcher's")
        }
        Kind::Loop => (free || has_slot(own, who), "its author's and its slots' agents'"),
        Kind::Message => (free, "its author's"),
        Kind::Constraint
        | Kind::Decision
        | Kind::Trap
        | Kind::Plan
        | Kind::Claim
        | Kind::Handoff
        | Kind::Candidate
        | Kind::Sequence
        | Kind::Fact
        | Kind::Symbol
        | Kind::Capsule => (true, "everybody's"),
    };
    if may { Ok(()) } else { Err(not_yours(own, who, whose)) }
}

/// Checks whether somebody may lead a loop: assign its slots.
pub(crate) fn may_lead(state: &State, who: &Principal, own: &Record) -> Result<(), Refusal> {
    may_change(state, who, own, &["slots"], false)
}

/// Checks whether somebody may change these fields of a record. An agent with a slot in a loop may
/// add artifacts; slots, phases and rounds are changed by its author.
pub(crate) fn may_change(
    state: &State,
    who: &Principal,
    own: &Record,
    given: &[&'static str],
    otherwise: bool,
) -> Result<(), Refusal> {
    may_write(state, who, own)?;
    let free = is_coordinator(state, who) || own.author == *who;
    let more = otherwise || given.iter().any(|field| *field != "artifacts");
    if own.id.kind == Kind::Loop && !free && more {
        return Err(not_yours(own, who, "its author's"));
    }
    Ok(())
}

/// Checks whether somebody may move a record to a state.
pub(crate) fn may_move(
    state: &State,
    who: &Principal,
    own: &Record,
    to: Status,
    forced: bool,
) -> Result<(), Refusal> {
    let commands = is_coordinator(state, who) || own.author == *who;
    let addressed = own.fields.to.is_some() && own.fields.to == name_of(who);
    let is_agents_step = matches!(
        to,
        Status::Accepted | Status::Started | Status::Completed | Status::Failed | Status::Blocked
    );
    let (may, whose) = match own.id.kind {
        Kind::Assignment if is_agents_step && !forced => (own.is_for(who), "its agent's"),
        Kind::Assignment => (commands || own.is_dispatched_by(who), "its dispatcher's"),
        Kind::Loop => (commands, "its author's"),
        Kind::Message if to == Status::Acknowledged => (addressed, "its recipient's"),
        Kind::Message => (commands || addressed, "its author's and its recipient's"),
        Kind::Constraint
        | Kind::Decision
        | Kind::Trap
        | Kind::Plan
        | Kind::Claim
        | Kind::Handoff
        | Kind::Candidate
        | Kind::Sequence
        | Kind::Fact
        | Kind::Symbol
        | Kind::Capsule => (true, "everybody's"),
    };
    if may { Ok(()) } else { Err(not_yours(own, who, whose)) }
}

/// Checks whether somebody may move an assignment in place of its agent: its dispatcher, the
/// coordinator, and people who may end others' leases. Its agent always may.
pub fn may_stand_in(state: &State, who: &Principal, own: &Record) -> Result<(), Refusal> {
    may_write(state, who, own)?;
    match who {
        Principal::User(user) => capability::may_end(state, user, own.id),
        Principal::Agent(_) | Principal::System => Ok(()),
    }
}

/// Whether a stuck assignment may be ended with the state `to`.
fn converges(own: &Record, to: Status) -> bool {
    match own.status {
        Status::Created
        | Status::Offered
        | Status::Accepted
        | Status::Started
        | Status::TimedOut
        | Status::Retrying => matches!(to, Status::Completed | Status::Cancelled),
        Status::Expired => to == Status::Completed,
        _ => false,
    }
}

/// The effects on the assignments of a loop that ended: they end with the same state.
pub(crate) fn of_slots(state: &State, own: &Record, to: Status) -> Vec<Effect> {
    ends_with(state, own, to, own.fields.slots.iter().filter_map(|slot| slot.assignment))
}

/// The effects on the assignment of a turn that ended: it is completed, unless another slot shares
/// it.
pub(crate) fn of_turn(state: &State, own: &Record, slot: &Slot) -> Vec<Effect> {
    let has_it = |other: &&Slot| other.assignment == slot.assignment;
    let alone = own.fields.slots.iter().filter(has_it).count() == 1;
    ends_with(state, own, Status::Completed, slot.assignment.filter(|_| alone).into_iter())
}

fn ends_with(
    state: &State,
    own: &Record,
    to: Status,
    ids: impl Iterator<Item = RecordId>,
) -> Vec<Effect> {
    let mut effects = Vec::new();
    for id in ids {
        let known = state.memory.record(id).filter(|known| converges(known, to));
        let known = known.filter(|known| !state.is_governed_attempt(known));
        // Assignments dispatched by others are not ended by the loop.
        let known =
            known.filter(|known| known.author == own.author || known.is_dispatched_by(&own.author));
        let twice = effects.iter().any(|effect: &Effect| effect.id == id);
        if let Some(known) = known.filter(|_| !twice) {
            effects.push(Effect::new(Action::Moved, id).to(to));
            effects.extend(effect::of_claim(state, known));
            effects.extend(transition::of_no_use(state, known));
        }
    }
    effect::once(effects)
}

pub(crate) fn decide_progress(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    args: &Progress,
    mark: Option<Mark>,
) -> Result<MemoryReply, DecisionError> {
    let own = tx.state().memory.get_for(args.id, &caller.principal)?;
    expect(own, args.expected_version)?;
    if own.id.kind == Kind::Assignment && own.status != Status::Started {
        let message =
            format!("{} is {}; only a started assignment makes progress", own.id, own.status);
        return Err(Refusal::denied(Rule::RecordStep, message).into());
    }
    let (artifacts, text) = (args.artifacts.clone(), args.text.clone());
    let body = Heard { artifacts, id: args.id, request: mark, text };
    may_be_heard(tx.state(), &caller.principal, &body)?;
    record(tx, caller, Event::MemoryHeard(Box::new(body)))
}

/// Handles a move to the current state: a heartbeat, if the assignment is active.
pub(crate) fn beat(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    own: &Arc<Record>,
    mark: Option<Mark>,
) -> Result<MemoryReply, DecisionError> {
    may_write(tx.state(), &caller.principal, own)?;
    if !is_audible(own) || !own.is_for(&caller.principal) {
        return Ok(unchanged(Some(own.clone())));
    }
    let body = Heard { artifacts: Few::default(), id: own.id, request: mark, text: None };
    record(tx, caller, Event::MemoryHeard(Box::new(body)))
}

fn is_audible(own: &Record) -> bool {
    matches!(own.status, Status::Accepted | Status::Started | Status::Blocked)
}

/// Whether a sign of life is its agent's, of something that is worked on.
pub(crate) fn may_be_heard(state: &State, who: &Principal, body: &Heard) -> Result<(), Refusal> {
    let own = state.memory.get(body.id)?;
    if own.id.kind != Kind::Assignment {
        return Err(bad_field(format!("assignments make progress, and {} is none", own.id)));
    }
    if !own.is_for(who) {
        return Err(not_yours(own, who, "its agent's"));
    }
    let says = body.text.is_some() || !body.artifacts.is_empty();
    if !is_audible(own) || (says && own.status != Status::Started) {
        let message = format!("{} is {} and not worked on", own.id, own.status);
        return Err(Refusal::denied(Rule::RecordStep, message));
    }
    more(own, body).map(|_| ())
}

fn more(own: &Record, body: &Heard) -> Result<Few<Artifact, 64>, Refusal> {
    let all = own.fields.artifacts.iter().chain(body.artifacts.iter()).cloned().collect();
    Few::new(all).map_err(|why| bad_field(format!("`artifacts`: {why}")))
}

pub(crate) fn apply_heard(
    state: &mut State,
    entry: &Stamped,
    body: &Heard,
) -> Result<(), ApplyError> {
    let known = state.memory.records.get(&body.id).ok_or(ApplyError::Unknown("the record"))?;
    let artifacts = more(known, body).map_err(|_| ApplyError::Mismatch("the artifacts"))?;
    let mut own = Record::clone(known);
    own.fields.last_heartbeat_at = Some(entry.at);
    if body.text.is_none() && body.artifacts.is_empty() {
        // Nothing else changed, so it does not count as a change of the record.
        put(state, Arc::new(own));
        return Ok(());
    }
    own.fields.artifacts = artifacts;
    if body.text.is_some() {
        own.fields.status_reason.clone_from(&body.text);
    }
    own.touch(entry, state.seq);
    put(state, Arc::new(own));
    Ok(())
}

pub(crate) fn heard_reply(record: Arc<Record>) -> MemoryReply {
    unchanged(Some(record))
}

fn unchanged(record: Option<Arc<Record>>) -> MemoryReply {
    let status = record.as_ref().map(|record| record.status);
    let side_effects = Vec::new();
    let (from, to, changed) = (status, status, false);
    MemoryReply::Moved(view::Moved { record, from, to, changed, side_effects })
}

pub(crate) fn decide_converge(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    args: &Converge,
    mark: Option<Mark>,
) -> Result<MemoryReply, DecisionError> {
    let to = Kind::Assignment.table().state(args.to.as_str());
    let to = to.filter(|to| matches!(to, Status::Completed | Status::Cancelled));
    let Some(to) = to else {
        let ends = ["completed", "cancelled"].map(str::to_owned);
        let message = format!("an assignment does not converge to {}", args.to);
        return Err(Refusal::denied(Rule::RecordStep, message).allowing(ends).into());
    };
    let known = tx.state().memory.get_for(args.id, &caller.principal).ok().cloned();
    if let Some(own) = known.as_ref().filter(|own| tx.state().is_governed_attempt(own)) {
        return Err(orders::unmoved(own, to).into());
    }
    let is_stuck = known.as_ref().is_some_and(|own| converges(own, to));
    let Some(own) = known.clone().filter(|own| is_stuck && own.id.kind == Kind::Assignment) else {
        return Ok(unchanged(known));
    };
    let body = plan_converge(tx.state(), &caller.principal, &own, to)?;
    record(tx, caller, Event::MemoryMoved(Box::new(Moved { request: mark, ..body })))
}

/// Plans the end of a stuck assignment, or refuses it.
pub(crate) fn plan_converge(
    state: &State,
    who: &Principal,
    own: &Record,
    to: Status,
) -> Result<Moved, Refusal> {
    may_write(state, who, own)?;
    if own.id.kind != Kind::Assignment || !converges(own, to) {
        return Err(Refusal::denied(Rule::RecordStep, format!("{} is not stuck", own.id)));
    }
    Ok(Moved {
        agent: None,
        claim: None,
        decided: None,
        effects: effect::of_claim(state, own)
            .into_iter()
            .chain(transition::of_no_use(state, own))
            .collect(),
        forced: Force::Converged,
        from: own.status,
        id: own.id,
        let_go: false,
        merged_into: None,
        plan_status: None,
        reason: None,
        request: None,
        to,
    })
}
