//! `memory.update`: changes of a record's text, tags and fields.

use std::sync::Arc;

use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::knowledge::records::field::{Few, Fields};
use crate::model::knowledge::records::record::{Body, Record};
use crate::model::knowledge::records::view::MemoryReply;
use crate::model::knowledge::records::vocabulary::{Status, Visibility};
use crate::model::knowledge::records::{view, vocabulary};
use crate::protocol::event::{Event, Stamped};
use crate::protocol::refusal::Refusal;
use crate::registry::apply_error::ApplyError;
use crate::registry::record_id::Kind;
use crate::registry::rule::Rule;
use crate::rules::knowledge::records::create::{fits, missing};
use crate::rules::knowledge::records::{
    assign, bad_field, change, effect, expect, governed, keyed, link, loops, offer, record, step,
    transition,
};
use crate::values::idempotency::Mark;
use crate::values::label::Label;
use crate::values::principal::{Actor, Caller, Principal};

pub use crate::model::knowledge::records::update::*;

pub(crate) fn decide(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    args: &Update,
    mark: Option<Mark>,
) -> Result<MemoryReply, DecisionError> {
    let (state, who) = (tx.state(), &caller.principal);
    if args.id.kind == Kind::Loop {
        let (own, given) = (state.memory.get_for(args.id, who)?, args.fields.given());
        assign::may_change(state, who, own, &given, !args.clear.is_empty())?;
        loops::leaves_alone(&given, &args.clear)?;
    }
    let body = plan(state, who, args)?;
    record(tx, caller, Event::MemoryUpdated(Box::new(Updated { request: mark, ..body })))
}

/// Plans an update, or refuses it.
pub(crate) fn plan(state: &State, who: &Principal, asked: &Update) -> Result<Updated, Refusal> {
    let own = state.memory.get_for(asked.id, who)?;
    expect(own, asked.expected_version)?;
    keyed::has_no_command_of_its_own(own.id.kind)?;
    let otherwise = asked.text.is_some() || asked.tags.is_some() || !asked.clear.is_empty();
    assign::may_change(state, who, own, &asked.fields.given(), otherwise)?;
    let cleared = asked.clear.iter().map(Label::as_str);
    let changed: Vec<&str> = asked.fields.given().into_iter().chain(cleared).collect();
    governed::may_plan(state, who, own, &changed)?;
    may_show(who, own, asked)?;
    if own.id.kind == Kind::Handoff {
        is_open(own)?;
    }
    let unclaimed = asked.clear.iter().any(|name| name.as_str() == "claim");
    if unclaimed && own.fields.covers.is_some() && !own.is_dispatched_by(who) {
        let message = format!("the claim of {} can be cleared only by its dispatcher", own.id);
        return Err(Refusal::denied(Rule::RecordOwner, message));
    }
    if own.id.kind == Kind::Loop {
        goes_on(state, who, own, &asked.fields)?;
    }
    let (kind, table) = (own.id.kind, own.table());
    let updatable = updatable(kind);
    let why = "cannot change its field";
    fits(kind, &asked.fields.given(), &updatable, why)?;
    for name in asked.clear.iter() {
        let known = updatable.iter().find(|own| **own == name.as_str());
        let Some(known) = known.filter(|own| !table.required.contains(own)) else {
            return Err(bad_field(format!("{} {kind} cannot clear `{name}`", kind.article())));
        };
        if asked.fields.given().contains(known) {
            return Err(bad_field(format!("`{name}` is both set and cleared")));
        }
    }
    let nothing = asked.text.is_none() && asked.tags.is_none() && asked.clear.is_empty();
    if nothing && asked.fields.given().is_empty() {
        return Err(Refusal::denied(Rule::SaySomething, "nothing is to be changed"));
    }
    if asked.text.as_ref().is_some_and(Body::is_blank) {
        return Err(Refusal::denied(Rule::SaySomething, "the text is empty"));
    }
    link::check(state, who, Some(own), kind, &asked.fields)?;
    let mut fields = asked.fields.clone();
    let unfinished = fields.steps.iter().any(|step| step.status != vocabulary::StepStatus::Done);
    if unfinished && own.is_terminal() {
        let message = format!("{} is {}, so its steps cannot change", own.id, own.word());
        return Err(Refusal::denied(Rule::RecordStep, message));
    }
    if !fields.steps.is_empty() {
        fields.steps = step::numbered(&fields.steps, Some(&own.fields))?;
    }
    let (clear, tags, text) = (asked.clear.clone(), asked.tags.clone(), asked.text.clone());
    let completed = step::completes(state, own, &fields.steps);
    let effects = if completed {
        effect::of_ended_plan(state, who, own.id, Status::Done)
    } else {
        Vec::new()
    };
    let stands = own.id.kind == Kind::Decision && own.status == Status::Approved;
    let decided = stands.then(|| asked.text.as_ref().unwrap_or(&own.text).clone());
    let (id, request) = (own.id, None);
    Ok(Updated { clear, completed, decided, effects, fields, id, request, tags, text })
}

/// The fields of a kind that an entry may change: those of the table, and for loops those that
/// entries before `memory.loop` existed changed.
fn updatable(kind: Kind) -> Vec<&'static str> {
    let before: &[&str] = if kind == Kind::Loop { &loops::OWN_FIELDS } else { &[] };
    kind.table().updatable.iter().chain(before).copied().collect()
}

/// Refuses a change of visibility by anybody but the author or a person: others could hide a record
/// from those it was written for.
fn may_show(who: &Principal, own: &Record, asked: &Update) -> Result<(), Refusal> {
    let cleared = asked.clear.iter().any(|name| name.as_str() == "visibility");
    let wanted = asked.fields.visibility.or(cleared.then_some(Visibility::Shared));
    let is_new =
        wanted.is_some_and(|wanted| wanted != own.fields.visibility.unwrap_or(Visibility::Shared));
    let may = own.author == *who || !matches!(who, Principal::Agent(_));
    if may || !is_new {
        return Ok(());
    }
    let message =
        format!("the visibility of {} is its author's or a person's to set, not {who}'s", own.id);
    Err(Refusal::denied(Rule::RecordOwner, message))
}

/// Refuses to change a handoff that is closed or superseded.
fn is_open(own: &Record) -> Result<(), Refusal> {
    let superseded = own.fields.superseded_by.map(|by| format!("corrected by {by}"));
    let closed = (own.status == Status::Closed).then(|| "closed".to_owned());
    match superseded.or(closed) {
        Some(how) => {
            let message = format!("{} is {how} and cannot change", own.id);
            Err(Refusal::denied(Rule::RecordStep, message))
        }
        None => Ok(()),
    }
}

/// Refuses to change a loop that has ended. An agent with a slot may add artifacts but not remove
/// any.
fn goes_on(state: &State, who: &Principal, own: &Record, fields: &Fields) -> Result<(), Refusal> {
    if own.is_terminal() {
        let message = format!("{} is {} and cannot change", own.id, own.status);
        return Err(Refusal::denied(Rule::RecordStep, message));
    }
    if !loops::is_step(own, fields) {
        let message = format!("{} has no such transition from its phase", own.id);
        return Err(Refusal::denied(Rule::RecordStep, message));
    }
    let (before, after) = (own.fields.artifacts.as_slice(), fields.artifacts.as_slice());
    let adds = after.is_empty() || after.starts_with(before);
    if adds || assign::may_lead(state, who, own).is_ok() {
        return Ok(());
    }
    let message = format!("artifacts of {} can be added but not removed", own.id);
    Err(Refusal::denied(Rule::RecordOwner, message))
}

/// Resets the turns of all slots for a new phase or round of a loop.
pub(crate) fn again(own: &mut Record) {
    let mut slots = own.fields.slots.to_vec();
    for slot in &mut slots {
        (slot.done, slot.outcome) = (false, None);
    }
    own.fields.slots = Few::new(slots).unwrap_or_default();
}

pub(crate) fn reply(record: Arc<Record>, body: &Updated) -> MemoryReply {
    if body.completed {
        let side_effects = body.effects.clone();
        return MemoryReply::Completed(view::Completed { record, side_effects });
    }
    MemoryReply::Record(record)
}

pub(crate) fn apply(state: &mut State, entry: &Stamped, body: &Updated) -> Result<(), ApplyError> {
    let known = state.memory.record(body.id).ok_or(ApplyError::Unknown("the record"))?;
    debug_assert_eq!(missing(body.id.kind, &known.fields), None);
    let cover = offer::cover(state, body.fields.claim);
    let unclaimed = body.clear.iter().any(|name| name.as_str() == "claim");
    // The surfaces that work was offered with stay, whatever its agent claims for it later.
    let is_dispatcher = matches!(&entry.draft.actor,
        Actor::Principal(by) if known.is_dispatched_by(by));
    let settled = known.fields.covers.is_some() && !is_dispatcher;
    change(state, entry, body.id, |own| {
        if let Some(text) = &body.text {
            own.text = text.clone();
        }
        if let Some(tags) = &body.tags {
            own.tags = tags.clone();
        }
        for name in body.clear.iter() {
            own.fields.clear(name.as_str());
        }
        own.fields.take_over(&body.fields);
        let anew = body.fields.phase.is_some() || body.fields.iteration.is_some();
        if own.id.kind == Kind::Loop && anew && body.fields.slots.is_empty() {
            again(own);
        }
        if !settled && (cover.is_some() || unclaimed) {
            own.fields.covers = cover;
        }
        step::count(&mut own.fields);
        if body.completed {
            own.enter(Status::Done, entry.at);
        }
    })?;
    transition::apply_others(state, entry, &body.effects)
}
