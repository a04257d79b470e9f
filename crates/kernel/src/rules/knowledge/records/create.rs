//! `memory.create`: creation of records.

use std::sync::Arc;

use crate::machine::coordinator::is_coordinator;
use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::knowledge::records::field::{Fields, Held, WRITTEN_BY_KERNEL};
use crate::model::knowledge::records::record::{Provenance, Record};
use crate::model::knowledge::records::view::MemoryReply;
use crate::model::knowledge::records::vocabulary::{
    Origin, Priority, Severity, Status, Visibility,
};
use crate::protocol::event::{Event, Stamped};
use crate::protocol::refusal::Refusal;
use crate::registry::apply_error::ApplyError;
use crate::registry::record_id::Kind;
use crate::registry::rule::Rule;
use crate::rules::knowledge::records::{
    bad_field, change, governed, keyed, link, loops, offer, put, record, step,
};
use crate::rules::leasing::session;
use crate::values::id::WorkspaceId;
use crate::values::idempotency::Mark;
use crate::values::label::Label;
use crate::values::principal::{Actor, Caller, Principal};

pub use crate::model::knowledge::records::create::*;

pub(crate) fn decide(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    args: &Create,
    mark: Option<Mark>,
) -> Result<MemoryReply, DecisionError> {
    let is_coordinators = is_coordinator(tx.state(), &caller.principal);
    let task = governed::task_of(tx.state(), args.fields.plan_id);
    if args.kind == Kind::Assignment && is_coordinators && task.is_some() {
        return offer::bind(tx, caller, &args.fields, None).map(MemoryReply::Record);
    }
    let session = session_of(tx, caller)?;
    let opened = if args.kind == Kind::Loop { Some(loops::opened(args)?) } else { None };
    let mut body = plan(tx.state(), &caller.principal, opened.as_ref().unwrap_or(args))?;
    (body.request, body.session) = (mark, session);
    record(tx, caller, Event::MemoryCreated(Box::new(body)))
}

/// The caller's session, if there is one. None is opened for this.
pub(crate) fn session_of(
    tx: &mut Transaction<'_>,
    caller: &Caller,
) -> Result<Option<WorkspaceId>, DecisionError> {
    match (&caller.principal, &caller.session) {
        (Principal::Agent(name), None) => Ok(tx.state().standing.get(name).cloned()),
        _ => session::ensure(tx, caller),
    }
}

/// Plans the creation of a record, or refuses it.
pub(crate) fn plan(state: &State, who: &Principal, asked: &Create) -> Result<Created, Refusal> {
    let (kind, table) = (asked.kind, asked.kind.table());
    keyed::has_no_command_of_its_own(kind)?;
    if asked.text.is_blank() {
        return Err(Refusal::denied(Rule::SaySomething, "the text is empty"));
    }
    state.memory.room()?;
    let status = first_state(asked)?;
    fits(kind, &asked.fields.given(), table.fields, "has no field")?;
    if let Some(missing) = missing(kind, &asked.fields) {
        return Err(bad_field(format!("{} {kind} needs the field `{missing}`", kind.article())));
    }
    let provenance = asked.provenance.clone().unwrap_or_else(|| Provenance::of(who));
    let own = Provenance::of(who).kind;
    if matches!(provenance.kind, Origin::Agent | Origin::Human) && provenance.kind != own {
        let message = format!("{who} cannot give the origin {}", provenance.kind);
        let allowed = [own, Origin::Auto, Origin::Legacy].map(|kind| kind.to_string());
        return Err(bad_field(message).allowing(allowed));
    }
    if provenance.confidence_percent.is_some_and(|percent| percent > 100) {
        return Err(bad_field("`confidence_percent` is 0 to 100"));
    }
    link::check(state, who, None, kind, &asked.fields)?;
    if kind == Kind::Assignment
        && let Some(task) = governed::task_of(state, asked.fields.plan_id)
    {
        governed::is_free(state, task)?;
    }
    let mut fields = asked.fields.clone();
    fill_in(kind, &mut fields);
    fields.steps = step::numbered(&fields.steps, None)?;
    let id = state.memory.next(kind);
    let (tags, text) = (asked.tags.clone(), asked.text.clone());
    Ok(Created { fields, id, provenance, request: None, session: None, status, tags, text })
}

fn first_state(asked: &Create) -> Result<Status, Refusal> {
    let table = asked.kind.table();
    let Some(word) = &asked.status else { return Ok(table.states[0]) };
    let found = table.state(word.as_str()).filter(|status| table.initial.contains(status));
    found.ok_or_else(|| {
        let kind = asked.kind;
        let message = format!("{} {kind} does not begin as {word}", kind.article());
        let initial = table.initial.iter().map(ToString::to_string);
        Refusal::denied(Rule::RecordStep, message).allowing(initial)
    })
}

/// Refuses fields that the kind does not allow here, naming the first.
pub(crate) fn fits(
    kind: Kind,
    given: &[&'static str],
    taken: &[&'static str],
    why: &str,
) -> Result<(), Refusal> {
    let Some(name) = given.iter().find(|name| !taken.contains(name)) else { return Ok(()) };
    let message = if WRITTEN_BY_KERNEL.contains(name) {
        format!(
            "`{name}` is written by the kernel and cannot be set; it changes with commands such as `memory.move`"
        )
    } else {
        format!("{} {kind} {why} `{name}`", kind.article())
    };
    Err(bad_field(message).allowing(taken.iter().map(|name| (*name).to_owned())))
}

/// The first required field that is missing.
pub(crate) fn missing(kind: Kind, fields: &Fields) -> Option<&'static str> {
    let given = fields.given();
    kind.table().required.iter().find(|name| !given.contains(name)).copied()
}

/// Fills in the default fields of a kind.
pub(crate) fn fill_in(kind: Kind, fields: &mut Fields) {
    match kind {
        Kind::Plan => {
            fields.priority.get_or_insert(Priority::Medium);
        }
        Kind::Trap => {
            fields.severity.get_or_insert(Severity::Medium);
            fields.visibility.get_or_insert(Visibility::Shared);
        }
        Kind::Assignment => {
            fields.acceptance_ttl_secs.get_or_insert(ACCEPTANCE_SECS);
            fields.heartbeat_ttl_secs.get_or_insert(HEARTBEAT_SECS);
            fields.max_retries.get_or_insert(RETRIES);
        }
        Kind::Loop => {
            fields.iteration.get_or_insert(1);
        }
        Kind::Constraint
        | Kind::Decision
        | Kind::Claim
        | Kind::Handoff
        | Kind::Candidate
        | Kind::Message
        | Kind::Sequence
        | Kind::Fact
        | Kind::Symbol
        | Kind::Capsule => {}
    }
}

/// The name of a principal, as written in a field of a record.
pub(crate) fn name_of(who: &Principal) -> Option<Label> {
    match who {
        Principal::Agent(name) => Label::new(name.as_str()).ok(),
        other => Label::new(&other.to_string()).ok(),
    }
}

pub(crate) fn apply(state: &mut State, entry: &Stamped, body: &Created) -> Result<(), ApplyError> {
    let Actor::Principal(author) = &entry.draft.actor else {
        return Err(ApplyError::Mismatch("its author"));
    };
    if state.memory.records.contains_key(&body.id) {
        return Err(ApplyError::Twice("a record"));
    }
    let mut made = state.new_record(entry, body.id, author.clone(), body.text.clone());
    made.fields = body.fields.clone();
    made.tags = body.tags.clone();
    made.provenance = body.provenance.clone();
    made.session.clone_from(&body.session);
    made.fields.covers = offer::cover(state, body.fields.claim);
    begin(&mut made, author, body.status, entry);
    let supersedes = body.fields.supersedes;
    put(state, Arc::new(made));
    match supersedes {
        Some(before) => change(state, entry, before, |before| {
            before.fields.superseded_by = Some(body.id);
        }),
        None => Ok(()),
    }
}

/// Initializes the fields that the kernel writes, and enters the first state.
pub(crate) fn begin(made: &mut Record, by: &Principal, status: Status, entry: &Stamped) {
    let fields = &mut made.fields;
    match made.id.kind {
        Kind::Assignment => {
            fields.dispatcher = Some(by.clone());
            (fields.attempt, fields.retry_count) = (Some(1), Some(0));
        }
        Kind::Handoff | Kind::Message => {
            if fields.from.is_unset() {
                fields.from = name_of(by);
            }
        }
        Kind::Constraint
        | Kind::Decision
        | Kind::Trap
        | Kind::Plan
        | Kind::Claim
        | Kind::Candidate
        | Kind::Sequence
        | Kind::Loop
        | Kind::Fact
        | Kind::Symbol
        | Kind::Capsule => {}
    }
    step::count(fields);
    made.enter(status, entry.at);
}
