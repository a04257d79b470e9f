//! Records: constraints, decisions, traps, plans, handoffs, candidates, assignments, messages,
//! sequences and loops, all in one form.
//!
//! The [`table`] describes each kind. A command writes one entry that lists all its effects on
//! other records, so a record and those it affects change together; leases that end or begin with
//! it are separate entries right behind. A claim is a lease and nothing else. Nothing grows without
//! a limit, and archived records are still in the trail.

pub mod archive;
pub mod assign;
pub(crate) mod claims;
pub mod create;
pub mod effect;
pub(crate) mod governed;
pub(crate) mod keyed;
pub(crate) mod lease_transfer;
pub(crate) mod link;
pub mod loops;
pub mod next;
pub mod offer;
pub mod pool;
pub mod record;
pub mod round;
pub mod step;
pub mod sweep;
pub mod transition;
pub mod update;
pub mod work;

use serde::Deserialize;
use std::sync::Arc;

use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::knowledge::records::request;
use crate::model::knowledge::records::request::Request;
use crate::model::knowledge::records::view::{Archived, MemoryReply};
use crate::protocol::command::{Command, MemoryCommand};
use crate::protocol::event::{Event, EventRoom, MemoryEvent, Stamped};
use crate::protocol::refusal::Refusal;
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::registry::rule::Rule;
use crate::rules::idempotency;
use crate::rules::idempotency::Asked;
use crate::rules::knowledge::attempt;
use crate::rules::leasing::lease::using::renew_used;
use crate::values::idempotency::Mark;
use crate::values::label::Label;
use crate::values::principal::{Caller, Principal};
use crate::values::time::Timestamp;

pub use crate::model::knowledge::records::*;

impl<'de, T: serde::de::DeserializeOwned> Deserialize<'de> for Packed<T> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::values::de::from_str(deserializer, "a record", |text| {
            serde_json::from_str(text).map(|own| Packed(Arc::new(own)))
        })
    }
}

impl Memory {
    /// A record by its id.
    pub fn record(&self, id: RecordId) -> Option<&Record> {
        self.records.get(&id).map(AsRef::as_ref)
    }

    pub(crate) fn newest_shared(
        &self,
        kind: Kind,
        live: Option<bool>,
    ) -> impl Iterator<Item = &Arc<Record>> {
        let of = |own: bool| {
            let range = (kind, own, 0, 0)..=(kind, own, u64::MAX, u64::MAX);
            let wanted = live.is_none_or(|live| live == own);
            self.newest.range(range).rev().filter(move |_| wanted).map(|key| (key.2, key.3))
        };
        let (mut some, mut others) = (of(true).peekable(), of(false).peekable());
        let merged = std::iter::from_fn(move || match (some.peek(), others.peek()) {
            (Some(one), Some(other)) if one < other => others.next(),
            (Some(_), _) => some.next(),
            (None, _) => others.next(),
        });
        merged.filter_map(move |(_, number)| self.records.get(&RecordId { kind, number }))
    }

    /// The differences from another memory: records that are new or changed, and the ids of those
    /// removed. Shared parts are skipped, so small differences are found quickly.
    pub fn changed_from<'m>(
        &'m self,
        other: &'m Memory,
    ) -> impl Iterator<Item = (RecordId, Option<&'m Record>)> {
        use imbl::ordmap::DiffItem::{Add, Remove, Update};
        other.records.diff(&self.records).map(|item| match item {
            Add(id, record) | Update { new: (id, record), .. } => (*id, Some(record.as_ref())),
            Remove(id, _) => (*id, None),
        })
    }

    /// The idempotency keys with this prefix of requests a principal made within the last day.
    pub fn requests_by<'m>(
        &'m self,
        who: &'m Principal,
        begins: &'m str,
        now: Timestamp,
    ) -> impl Iterator<Item = &'m Label> {
        let from = Label::new(begins).ok().map(|label| (who.clone(), label));
        let range = from.map(|from| self.requests.range(from..));
        let own = range.into_iter().flatten();
        own.take_while(move |((by, id), _)| by == who && id.as_str().starts_with(begins))
            .filter(move |(_, request)| now < request.at.after(request::KEPT))
            .map(|((_, id), _)| id)
    }

    /// Refuses one more record if the limit is reached.
    pub(crate) fn room(&self) -> Result<(), Refusal> {
        self.room_for(1)
    }

    /// Refuses more records if the limit would be exceeded.
    pub(crate) fn room_for(&self, more: usize) -> Result<(), Refusal> {
        if self.records.len() + more <= RECORDS_MAX {
            return Ok(());
        }
        let message = format!(
            "there are {RECORDS_MAX} records, which is the most; archive some that are over"
        );
        Err(Refusal::denied(Rule::RecordRoom, message))
    }

    /// A record by id, or a refusal if there is none.
    pub(crate) fn get(&self, id: RecordId) -> Result<&Arc<Record>, Refusal> {
        self.records.get(&id).ok_or_else(|| unknown(id))
    }

    /// A record by id, or a refusal if there is none that this principal may see.
    pub(crate) fn get_for(&self, id: RecordId, who: &Principal) -> Result<&Arc<Record>, Refusal> {
        match self.get(id) {
            Ok(own) if !own.is_seen_by(who) => Err(unknown(id)),
            found => found,
        }
    }

    pub(crate) fn image(&self) -> MemoryImage {
        let request = |((by, id), own): (&(Principal, Label), &Arc<Request>)| {
            (by.clone(), id.clone(), Packed(own.clone()))
        };
        MemoryImage {
            records: self.records.values().map(|own| Packed(own.clone())).collect(),
            numbers: self.numbers.iter().map(|(kind, last)| (*kind, *last)).collect(),
            requests: self.requests.iter().map(request).collect(),
        }
    }
}

fn unknown(id: RecordId) -> Refusal {
    let message = format!("there is no record {id} ({})", id.label());
    Refusal::not_found(Rule::RecordKnown, message)
}

impl State {
    /// The records.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// The sequence number of the last entry applied.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// A copy without the records that a principal may not see, for display: private records are
    /// left out of every list, count and search made from it. They are still in the trail.
    #[must_use]
    pub fn as_seen_by(&self, who: &Principal) -> State {
        let mut seen = self.clone();
        // An unknown user does not count as a person.
        let is_known = match who {
            Principal::User(id) => self.users.contains_key(id),
            Principal::Agent(_) | Principal::System => true,
        };
        for id in &self.memory.private {
            let is_seen = |own: &Arc<Record>| is_known && own.is_seen_by(who);
            if let Some(record) = self.memory.records.get(id).filter(|own| !is_seen(own)) {
                seen.memory.unlist(record);
                seen.memory.records.remove(id);
            }
        }
        seen
    }

    pub(crate) fn remember_all(&mut self, image: MemoryImage) {
        for Packed(record) in image.records {
            put(self, record);
        }
        self.memory.numbers = image.numbers.into_iter().collect();
        for (by, id, Packed(own)) in image.requests {
            self.memory.asked.insert((own.at, by.clone(), id.clone()));
            self.memory.requests.insert((by, id), own);
        }
    }
}

/// Inserts or replaces a record and updates the indexes.
pub(crate) fn put(state: &mut State, record: Arc<Record>) {
    state.put_record(record);
}

/// Changes a record as an entry says.
fn change(
    state: &mut State,
    entry: &Stamped,
    id: RecordId,
    how: impl FnOnce(&mut Record),
) -> Result<(), ApplyError> {
    state.change_record(entry, id, how)
}

/// Carries out a command about records.
pub(crate) fn carry_out(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    command: &Command,
    own: MemoryCommand<'_>,
) -> Result<Reply, DecisionError> {
    let id = match own {
        MemoryCommand::MemoryCreate(args) => &args.request_id,
        MemoryCommand::MemoryUpdate(args) => &args.request_id,
        MemoryCommand::MemoryMove(args) => &args.request_id,
        MemoryCommand::MemoryStep(args) => &args.request_id,
        MemoryCommand::MemoryProgress(args) => &args.request_id,
        MemoryCommand::MemorySweep(args) => &args.request_id,
        MemoryCommand::MemoryConverge(args) => &args.request_id,
        MemoryCommand::MemoryArchive(args) => &args.request_id,
        MemoryCommand::MemoryTurn(args) => &args.request_id,
        MemoryCommand::MemoryOffer(args) => &args.request_id,
        MemoryCommand::MemoryLoop(args) => &args.request_id,
    };
    answer(tx, caller, command, own, id.as_ref()).map(|reply| Reply::Memory(Box::new(reply)))
}

fn answer(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    command: &Command,
    own: MemoryCommand<'_>,
    id: Option<&Label>,
) -> Result<MemoryReply, DecisionError> {
    tx.project()?;
    let mark = match idempotency::look_up(tx.state(), tx.stamp(), caller, command, id)? {
        Asked::Before(reply) => return Ok(reply),
        Asked::New(mark) => mark,
    };
    match own {
        MemoryCommand::MemoryCreate(args) => create::decide(tx, caller, args, mark),
        MemoryCommand::MemoryUpdate(args) => update::decide(tx, caller, args, mark),
        MemoryCommand::MemoryMove(args) => transition::decide(tx, caller, args, mark),
        MemoryCommand::MemoryStep(args) => step::decide(tx, caller, args, mark),
        MemoryCommand::MemoryProgress(args) => assign::decide_progress(tx, caller, args, mark),
        MemoryCommand::MemorySweep(args) => sweep::decide(tx, caller, args, mark),
        MemoryCommand::MemoryConverge(args) => assign::decide_converge(tx, caller, args, mark),
        MemoryCommand::MemoryArchive(args) => archive::decide(tx, caller, args, mark),
        MemoryCommand::MemoryTurn(args) => round::decide(tx, caller, args, mark),
        MemoryCommand::MemoryOffer(args) => offer::decide(tx, caller, args, mark),
        MemoryCommand::MemoryLoop(args) => loops::decide(tx, caller, args, mark),
    }
}

/// Records an event caused by the caller, with the leases that end or begin with it and those that
/// it renews.
pub(crate) fn record(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    event: Event,
) -> Result<MemoryReply, DecisionError> {
    let effects = effects_of(own(&event)?).to_vec();
    let session = claims::session(tx, caller, &effects)?;
    let before = tx.state().seq();
    tx.clear_cause();
    tx.note(None, caller.principal.clone().into(), event)?;
    let last = tx.entries().last().ok_or(ApplyError::Unknown("the record"))?;
    let reply = reply_of(tx.state(), own(&last.draft.event)?);
    let reply = reply.ok_or(ApplyError::Unknown("the record"))?;
    let cause = tx.entries().last().map(|entry| entry.id.clone());
    claims::carry_out(tx, &caller.principal, session.as_ref(), &effects)?;
    attempt::open::bring_all(tx, caller, before)?;
    renew_used(tx, caller, cause)?;
    Ok(reply)
}

/// The event as one about records, or an error.
fn own(event: &Event) -> Result<MemoryEvent<'_>, ApplyError> {
    let EventRoom::Memory(own) = event.room() else {
        return Err(ApplyError::Mismatch("the record"));
    };
    Ok(own)
}

/// The side effects listed in an entry.
fn effects_of(event: MemoryEvent<'_>) -> &[Effect] {
    match event {
        MemoryEvent::MemoryLooped(body) => &body.effects,
        MemoryEvent::MemoryUpdated(body) => &body.effects,
        MemoryEvent::MemoryMoved(body) => &body.effects,
        MemoryEvent::MemoryStepped(body) => &body.effects,
        MemoryEvent::MemoryTurned(body) => &body.effects,
        MemoryEvent::MemorySwept(body) => &body.effects,
        MemoryEvent::MemoryArchived(body) => &body.effects,
        MemoryEvent::MemoryOffered(body) => &body.effects,
        MemoryEvent::MemoryCreated(_)
        | MemoryEvent::MemoryHeard(_)
        | MemoryEvent::MemoryExpired(_) => &[],
    }
}

fn mark_of(event: MemoryEvent<'_>) -> Option<&Mark> {
    match event {
        MemoryEvent::MemoryLooped(body) => body.request.as_ref(),
        MemoryEvent::MemoryCreated(body) => body.request.as_ref(),
        MemoryEvent::MemoryUpdated(body) => body.request.as_ref(),
        MemoryEvent::MemoryMoved(body) => body.request.as_ref(),
        MemoryEvent::MemoryStepped(body) => body.request.as_ref(),
        MemoryEvent::MemoryHeard(body) => body.request.as_ref(),
        MemoryEvent::MemorySwept(body) => body.request.as_ref(),
        MemoryEvent::MemoryArchived(body) => body.request.as_ref(),
        MemoryEvent::MemoryTurned(body) => body.request.as_ref(),
        MemoryEvent::MemoryOffered(body) => body.request.as_ref(),
        MemoryEvent::MemoryExpired(_) => None,
    }
}

/// The reply to a command, from the state after its event.
fn reply_of(state: &State, event: MemoryEvent<'_>) -> Option<MemoryReply> {
    let record = |id: &RecordId| state.memory.records.get(id).map(|own| state.shown_shared(own));
    match event {
        MemoryEvent::MemoryLooped(body) => record(&body.id).map(|own| loops::reply(own, body)),
        MemoryEvent::MemoryCreated(body) => record(&body.id).map(MemoryReply::Record),
        MemoryEvent::MemoryUpdated(body) => record(&body.id).map(|own| update::reply(own, body)),
        MemoryEvent::MemoryTurned(body) => record(&body.id).map(|own| round::reply(own, body)),
        MemoryEvent::MemoryMoved(body) => record(&body.id).map(|own| transition::reply(own, body)),
        MemoryEvent::MemoryHeard(body) => record(&body.id).map(assign::heard_reply),
        MemoryEvent::MemoryStepped(body) => record(&body.plan).map(|own| step::reply(own, body)),
        MemoryEvent::MemorySwept(body) => Some(sweep::reply(body)),
        MemoryEvent::MemoryOffered(body) => Some(offer::reply(body)),
        MemoryEvent::MemoryArchived(body) => {
            let side_effects = body.effects.clone();
            Some(MemoryReply::Archived(Archived { archived: body.id, side_effects }))
        }
        MemoryEvent::MemoryExpired(_) => None,
    }
}

/// Applies an event about records.
pub(crate) fn apply(
    state: &mut State,
    entry: &Stamped,
    event: MemoryEvent<'_>,
) -> Result<(), ApplyError> {
    match event {
        MemoryEvent::MemoryLooped(body) => loops::apply(state, entry, body)?,
        MemoryEvent::MemoryCreated(body) => create::apply(state, entry, body)?,
        MemoryEvent::MemoryUpdated(body) => update::apply(state, entry, body)?,
        MemoryEvent::MemoryMoved(body) => transition::apply(state, entry, body)?,
        MemoryEvent::MemoryStepped(body) => step::apply(state, entry, body)?,
        MemoryEvent::MemoryHeard(body) => assign::apply_heard(state, entry, body)?,
        MemoryEvent::MemorySwept(body) => sweep::apply(state, entry, body)?,
        MemoryEvent::MemoryArchived(body) => archive::apply(state, entry, body)?,
        MemoryEvent::MemoryTurned(body) => round::apply(state, entry, body)?,
        MemoryEvent::MemoryOffered(body) => offer::apply(state, entry, body)?,
        MemoryEvent::MemoryExpired(body) => archive::apply_expired(state, entry, body)?,
    }
    if let Some(mark) = mark_of(event)
        && let Some(reply) = reply_of(state, event)
    {
        idempotency::keep(state, entry, mark, reply);
    }
    Ok(())
}

/// Refuses if the record is not at the expected version.
fn expect(record: &Record, expected: Option<u32>) -> Result<(), Refusal> {
    match expected {
        Some(expected) if expected != record.version => {
            let (id, version) = (record.id, record.version);
            let message = format!("{id} is at version {version}, not {expected}");
            Err(Refusal::denied(Rule::RecordVersion, message))
        }
        _ => Ok(()),
    }
}

/// A refusal because of a field.
fn bad_field(message: impl Into<String>) -> Refusal {
    Refusal::denied(Rule::RecordField, message)
}
