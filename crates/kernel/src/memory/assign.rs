//! Assignments: who may say what about them, signs of life, and how a stuck one comes to an end.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

use super::create::{is_default, name_of};
use super::effect::{self, Effect};
use super::field::{Artifact, Few, Slot};
use super::kind::{Kind, RecordId};
use super::moving::{self, Force, Moved};
use super::record::Record;
use super::request::Mark;
use super::view::{self, MemoryReply};
use super::word::{Action, Status};
use super::{bad_field, expect, put, record};
use crate::capability;
use crate::commons::Label;
use crate::event::{Event, Stamped};
use crate::principal::{Caller, Principal};
use crate::refusal::Refusal;
use crate::rule::Rule;
use crate::state::{ApplyError, State};
use crate::text::Text;
use crate::turn::{Halt, Turn};
use crate::workspace::is_coordinator;

/// `memory.progress`: tells how the work on an assignment goes, which is a sign of life too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Progress {
    /// What came of it so far; added to what there is.
    #[serde(default, skip_serializing_if = "is_default")]
    pub artifacts: Few<Artifact, 64>,
    /// The version it is expected to be at; refused if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<u32>,
    /// Which assignment.
    pub id: RecordId,
    /// What the caller calls this request; asked again within a day, it is done once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Label>,
    /// How it goes, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Text<1000>>,
}

/// `memory.converge`: brings a stuck assignment to an end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Converge {
    /// Which assignment.
    pub id: RecordId,
    /// What the caller calls this request; asked again within a day, it is done once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Label>,
    /// How it ends: completed or cancelled.
    pub to: Label,
}

/// `memory.heard`: the agent of an assignment gave a sign of life.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Heard {
    /// What came of it so far.
    #[serde(default, skip_serializing_if = "is_default")]
    pub artifacts: Few<Artifact, 64>,
    /// Which assignment.
    pub id: RecordId,
    /// The request that led to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Mark>,
    /// How it goes, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Text<1000>>,
}

/// The plan that an assignment is worked on for, or will be.
pub(super) fn worked_on(record: &Record) -> Option<RecordId> {
    let at_work = matches!(
        record.status,
        Status::Created
            | Status::Offered
            | Status::Accepted
            | Status::Started
            | Status::Blocked
            | Status::Retrying
    );
    record.fields.plan_id.filter(|_| record.id.kind == Kind::Assignment && at_work)
}

fn not_yours(own: &Record, who: &Principal, whose: &str) -> Refusal {
    let message = format!("{} is {whose} to say, not {who}'s", own.id);
    Refusal::denied(Rule::RecordOwner, message)
}

fn has_slot(own: &Record, who: &Principal) -> bool {
    let Principal::Agent(name) = who else { return false };
    own.fields.slots.iter().any(|slot| slot.agent == *name)
}

/// Whether somebody may change what a record says.
pub(super) fn may_write(state: &State, who: &Principal, own: &Record) -> Result<(), Refusal> {
    let free = is_coordinator(state, who) || own.author == *who;
    let may = match own.id.kind {
        Kind::Assignment => free || own.is_for(who) || own.is_dispatched_by(who),
        Kind::Loop => free || has_slot(own, who),
        Kind::Message => free,
        _ => true,
    };
    let whose = match own.id.kind {
        Kind::Assignment => "its agent's and its dispatcher's",
        Kind::Loop => "its author's and its slots' agents'",
        _ => "its author's",
    };
    if may { Ok(()) } else { Err(not_yours(own, who, whose)) }
}

/// Whether somebody may say who does what in a loop.
pub fn may_lead(state: &State, who: &Principal, own: &Record) -> Result<(), Refusal> {
    may_change(state, who, own, &["slots"], false)
}

/// Whether somebody may change this of a record. Whoever has a place in a loop adds to what came of
/// it; places, phases and rounds are its author's.
pub(super) fn may_change(
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

/// Whether somebody may have a record take a step.
pub(super) fn may_move(
    state: &State,
    who: &Principal,
    own: &Record,
    to: Status,
    forced: bool,
) -> Result<(), Refusal> {
    let commands = is_coordinator(state, who) || own.author == *who;
    let addressed = own.fields.to.is_some() && own.fields.to == name_of(who);
    let (may, whose) = match (own.id.kind, to) {
        (Kind::Assignment, _) if forced => {
            (commands || own.is_dispatched_by(who), "its dispatcher's")
        }
        (
            Kind::Assignment,
            Status::Accepted
            | Status::Started
            | Status::Completed
            | Status::Failed
            | Status::Blocked,
        ) => (own.is_for(who), "its agent's"),
        (Kind::Assignment, _) => (commands || own.is_dispatched_by(who), "its dispatcher's"),
        (Kind::Loop, _) => (commands, "its author's"),
        (Kind::Message, Status::Acknowledged) => (addressed, "whoever it is for's"),
        (Kind::Message, _) => (commands || addressed, "its author's and whoever it is for's"),
        _ => (true, "everybody's"),
    };
    if may { Ok(()) } else { Err(not_yours(own, who, whose)) }
}

/// Whether somebody may have an assignment take steps in place of its agent: whoever gave it out,
/// the coordinator, and people who may end what others hold. Its agent may anyway.
pub fn may_stand_in(state: &State, who: &Principal, own: &Record) -> Result<(), Refusal> {
    may_write(state, who, own)?;
    match who {
        Principal::User(user) => capability::may_end(state, user, own.id),
        Principal::Agent(_) | Principal::System => Ok(()),
    }
}

/// Whether a step that the table does not have may be forced.
pub(super) fn is_forcible(own: &Record, to: Status) -> bool {
    let ends = matches!(
        to,
        Status::Accepted
            | Status::Started
            | Status::Completed
            | Status::Failed
            | Status::Blocked
            | Status::Cancelled
    );
    own.id.kind == Kind::Assignment && !own.is_terminal() && own.status != to && ends
}

/// Whether a stuck assignment comes to this end. One that failed or is blocked is not stuck: it
/// says what is the matter.
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

/// What becomes of the assignments of a loop that is over: they end as it does.
pub(super) fn of_slots(state: &State, own: &Record, to: Status) -> Vec<Effect> {
    ends_with(state, own, to, own.fields.slots.iter().filter_map(|slot| slot.assignment))
}

/// What becomes of the assignment of a turn that is over: it is completed, unless another place has it
/// too.
pub(super) fn of_turn(state: &State, own: &Record, slot: &Slot) -> Vec<Effect> {
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
        // What somebody else gave out is not the loop's to end.
        let known =
            known.filter(|known| known.author == own.author || known.is_dispatched_by(&own.author));
        let twice = effects.iter().any(|effect: &Effect| effect.id == id);
        if let Some(known) = known.filter(|_| !twice) {
            effects.push(Effect::new(Action::Moved, id).to(to));
            effects.extend(effect::of_claim(state, known));
            effects.extend(moving::of_no_use(state, known));
        }
    }
    effect::once(effects)
}

pub(super) fn decide_progress(
    turn: &mut Turn<'_>,
    caller: &Caller,
    args: &Progress,
    mark: Option<Mark>,
) -> Result<MemoryReply, Halt> {
    let own = turn.state().memory.get_for(args.id, &caller.principal)?;
    expect(own, args.expected_version)?;
    if own.id.kind == Kind::Assignment && own.status != Status::Started {
        let message = format!("{} is {}; only what is started makes progress", own.id, own.status);
        return Err(Refusal::denied(Rule::RecordStep, message).into());
    }
    let (artifacts, text) = (args.artifacts.clone(), args.text.clone());
    let body = Heard { artifacts, id: args.id, request: mark, text };
    may_be_heard(turn.state(), &caller.principal, &body)?;
    record(turn, caller, Event::MemoryHeard(Box::new(body)))
}

/// The state that an assignment is in is said again: a sign of life, if it is worked on.
pub(super) fn beat(
    turn: &mut Turn<'_>,
    caller: &Caller,
    own: &Arc<Record>,
    mark: Option<Mark>,
) -> Result<MemoryReply, Halt> {
    may_write(turn.state(), &caller.principal, own)?;
    if !is_audible(own) || !own.is_for(&caller.principal) {
        return Ok(unchanged(Some(own.clone())));
    }
    let body = Heard { artifacts: Few::default(), id: own.id, request: mark, text: None };
    record(turn, caller, Event::MemoryHeard(Box::new(body)))
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

pub(super) fn apply_heard(
    state: &mut State,
    entry: &Stamped,
    body: &Heard,
) -> Result<(), ApplyError> {
    let known = state.memory.records.get(&body.id).ok_or(ApplyError::Unknown("the record"))?;
    let artifacts = more(known, body).map_err(|_| ApplyError::Mismatch("the artifacts"))?;
    let mut own = Record::clone(known);
    own.fields.last_heartbeat_at = Some(entry.at);
    if body.text.is_none() && body.artifacts.is_empty() {
        // Nothing else changed, so it is no news to anybody.
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

pub(super) fn heard_reply(record: Arc<Record>) -> MemoryReply {
    unchanged(Some(record))
}

fn unchanged(record: Option<Arc<Record>>) -> MemoryReply {
    let status = record.as_ref().map(|record| record.status);
    let side_effects = Vec::new();
    let (from, to, changed) = (status, status, false);
    MemoryReply::Moved(view::Moved { record, from, to, changed, side_effects })
}

pub(super) fn decide_converge(
    turn: &mut Turn<'_>,
    caller: &Caller,
    args: &Converge,
    mark: Option<Mark>,
) -> Result<MemoryReply, Halt> {
    let to = Kind::Assignment.table().state(args.to.as_str());
    let to = to.filter(|to| matches!(to, Status::Completed | Status::Cancelled));
    let Some(to) = to else {
        let ends = ["completed", "cancelled"].map(str::to_owned);
        let message = format!("an assignment does not converge to {}", args.to);
        return Err(Refusal::denied(Rule::RecordStep, message).allowing(ends).into());
    };
    let known = turn.state().memory.get_for(args.id, &caller.principal).ok().cloned();
    let is_stuck = known.as_ref().is_some_and(|own| converges(own, to));
    let Some(own) = known.clone().filter(|own| is_stuck && own.id.kind == Kind::Assignment) else {
        return Ok(unchanged(known));
    };
    let body = plan_converge(turn.state(), &caller.principal, &own, to)?;
    record(turn, caller, Event::MemoryMoved(Box::new(Moved { request: mark, ..body })))
}

/// What bringing it to an end comes to, if the rules allow it.
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
        effects: effect::of_claim(state, own)
            .into_iter()
            .chain(moving::of_no_use(state, own))
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
