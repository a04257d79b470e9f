//! `memory.archive`, which removes an ended record, and the expiry of records. The trail keeps
//! their content.

use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::knowledge::blackboard::decision::parts;
use crate::model::knowledge::records::view::MemoryReply;
use crate::model::knowledge::records::vocabulary::Status;
use crate::protocol::event::{Event, Stamped};
use crate::protocol::refusal::Refusal;
use crate::registry::apply_error::ApplyError;
use crate::registry::record_id::{Kind, RecordId};
use crate::registry::rule::Rule;
use crate::rules::knowledge::records::{
    assign, change, effect, expect, governed, keyed, record, transition,
};
use crate::rules::runs::workspace;
use crate::values::idempotency::Mark;
use crate::values::principal::{Actor, Caller, Principal};

pub use crate::model::knowledge::records::archive::*;

pub(crate) fn decide(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    args: &Archive,
    mark: Option<Mark>,
) -> Result<MemoryReply, DecisionError> {
    let body = plan(tx.state(), &caller.principal, args)?;
    let own = tx.state().memory.record(args.id).filter(|own| own.is_live());
    let at = own.and_then(|own| tx.state().workspace_of(own)).map(|(at, _)| at.clone());
    let event = Event::MemoryArchived(Box::new(Archived { request: mark, ..body }));
    let reply = record(tx, caller, event)?;
    // Archiving an assignment that goes on cancels it.
    let live = at.filter(|at| {
        tx.state().workspaces.get(at).is_some_and(|known| !known.status.is_terminal())
    });
    if let Some(at) = live {
        let initiator = workspace::initiator(&caller.principal);
        let aborted = workspace::abort::aborted(initiator, None, Actor::Protocol);
        workspace::change::fail(tx, &at, aborted)?;
    }
    Ok(reply)
}

/// Plans the archiving of a record, or refuses it.
pub(crate) fn plan(state: &State, who: &Principal, asked: &Archive) -> Result<Archived, Refusal> {
    let own = state.memory.get_for(asked.id, who)?;
    expect(own, asked.expected_version)?;
    keyed::has_no_command_of_its_own(own.id.kind)?;
    assign::may_write(state, who, own)?;
    governed::leaves_alone(state, own)?;
    let mut effects = Vec::new();
    let at = state.workspace_of(own).filter(|(_, known)| !known.status.is_terminal());
    if let Some((at, _)) = at.filter(|_| state.is_governed_attempt(own)) {
        let message = format!("{} is workspace {at} of a run, which goes on", own.id);
        return Err(Refusal::denied(Rule::RecordOver, message));
    }
    if own.id.kind == Kind::Assignment && own.is_live() {
        assign::may_move(state, who, own, Status::Cancelled, false)?;
        effects.extend(effect::of_claim(state, own));
        effects.extend(transition::of_no_use(state, own));
    } else if own.is_live() && !own.is_terminal() {
        let message = format!("{} is {}; only ended records are archived", own.id, own.word());
        let allowed = own.table().transitions_from(own.word()).into_iter();
        let refusal = Refusal::denied(Rule::RecordOver, message);
        return Err(refusal.allowing(allowed.map(|to| to.to_string())));
    }
    let stands = own.id.kind == Kind::Decision && own.status == Status::Approved;
    let withdrawn = stands.then(|| parts(own.text.as_str()).0);
    let (id, reason, request) = (own.id, asked.reason.clone(), None);
    Ok(Archived { effects, id, reason, request, withdrawn })
}

pub(crate) fn apply(state: &mut State, entry: &Stamped, body: &Archived) -> Result<(), ApplyError> {
    state.remove_record(body.id)?;
    transition::apply_others(state, entry, &body.effects)
}

/// Expires a record whose deadline has passed.
pub(crate) fn on_deadline(tx: &mut Transaction<'_>, id: RecordId) -> Result<(), ApplyError> {
    tx.note(None, Actor::Protocol, Event::MemoryExpired(Expired { id }))
}

pub(crate) fn apply_expired(
    state: &mut State,
    entry: &Stamped,
    body: &Expired,
) -> Result<(), ApplyError> {
    change(state, entry, body.id, |own| own.enter(Status::Expired, entry.at))
}
