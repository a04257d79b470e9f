//! What is remembered: constraints, decisions, traps, plans, handoffs, candidates, assignments,
//! messages, sequences and loops, all as records of one form.
//!
//! What a kind of record is like stands in the one [`table`]. A command leaves one entry that
//! says all that follows from it for other records, so a record and what it drags along change
//! together; leases that end or begin with it are entries of their own right behind. A claim is
//! a lease and nothing else. Nothing grows without a limit, and whatever is archived is still in
//! the trail.

pub mod archive;
pub mod assign;
mod claims;
pub mod create;
pub mod effect;
pub mod field;
mod handed;
pub mod kind;
mod link;
pub mod loops;
pub mod moving;
pub mod offer;
pub mod record;
pub mod request;
pub mod round;
pub mod step;
pub mod sweep;
pub mod table;
pub mod update;
pub mod view;
pub mod word;
pub mod work;

pub(crate) use claims::{is_owed, is_told_truly};
pub use effect::Effect;
pub use field::Fields;
pub use kind::{Kind, RecordId};
pub use record::Record;
pub use word::Status;

use imbl::{OrdMap, OrdSet};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

use crate::command::{Command, MemoryCommand};
use crate::commons::Label;
use crate::content::Blob;
use crate::event::{Event, EventRoom, MemoryEvent, Stamped};
use crate::lease::using::renew_used;
use crate::principal::{Caller, Principal};
use crate::refusal::Refusal;
use crate::rule::Rule;
use crate::state::{ApplyError, Deadline, State};
use crate::time::Timestamp;
use crate::turn::{Halt, Reply, Turn};
use request::{Asked, Mark, Request};
use view::{Archived, MemoryReply};

/// The most records there are at a time.
pub const RECORDS_MAX: usize = 250_000;

/// Everything that is remembered now.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    pub(crate) records: OrdMap<RecordId, Arc<Record>>,
    /// The last number given out, by kind.
    numbers: OrdMap<Kind, u64>,
    pub(crate) requests: OrdMap<(Principal, Label), Arc<Request>>,
    // What follows is derived from the above.
    /// By kind, whether they are to be reckoned with, and the entry that changed them last.
    newest: OrdSet<(Kind, bool, u64, u64)>,
    changed: OrdSet<(u64, RecordId)>,
    counts: OrdMap<(Kind, bool), usize>,
    /// Those that their authors keep to themselves.
    private: OrdSet<RecordId>,
    /// The assignments that are worked on, by plan.
    at_work: OrdSet<(RecordId, RecordId)>,
    pub(crate) asked: OrdSet<(Timestamp, Principal, Label)>,
    /// The leases that end or begin with the last entry about records, and whether they begin.
    pub(crate) owed: Vec<(u64, bool)>,
}

/// What is remembered, as plain lists.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryImage {
    records: Vec<Packed<Record>>,
    numbers: Vec<(Kind, u64)>,
    requests: Vec<(Principal, Label, Packed<Request>)>,
}

/// Something with fields that may be left out, stored as JSON so that any form can hold it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Packed<T>(Arc<T>);

impl<T: Serialize> Serialize for Packed<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = serde_json::to_string(self.0.as_ref()).map_err(serde::ser::Error::custom)?;
        serializer.serialize_str(&text)
    }
}

impl<'de, T: serde::de::DeserializeOwned> Deserialize<'de> for Packed<T> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::de::from_str(deserializer, "a record", |text| {
            serde_json::from_str(text).map(|own| Packed(Arc::new(own)))
        })
    }
}

impl Memory {
    /// A record by its id.
    pub fn record(&self, id: RecordId) -> Option<&Record> {
        self.records.get(&id).map(AsRef::as_ref)
    }

    /// How many records there are.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// How many there are of a kind: all, or those that are to be reckoned with, or the others.
    pub fn count(&self, kind: Kind, live: Option<bool>) -> usize {
        let of = |live: bool| self.counts.get(&(kind, live)).copied().unwrap_or_default();
        live.map_or_else(|| of(true) + of(false), of)
    }

    /// The records of a kind, newest change first: all, or those that are to be reckoned with,
    /// or the others.
    pub fn newest(&self, kind: Kind, live: Option<bool>) -> impl Iterator<Item = &Record> {
        self.newest_shared(kind, live).map(AsRef::as_ref)
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

    /// The records that an entry after this one changed, newest change first.
    pub fn changed_since(&self, seq: u64) -> impl Iterator<Item = &Record> {
        self.changed_shared(seq).map(AsRef::as_ref)
    }

    pub(crate) fn changed_shared(&self, seq: u64) -> impl Iterator<Item = &Arc<Record>> {
        let after = (seq.saturating_add(1), RecordId { kind: Kind::ALL[0], number: 0 });
        self.changed.range(after..).rev().filter_map(|(_, id)| self.records.get(id))
    }

    /// What is not as it was in another memory: the records that are there now, or the ids of those
    /// that left. What both share is not looked at, so little change is found quickly.
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

    /// The records of a kind that are to be reckoned with, oldest change first.
    pub fn oldest(&self, kind: Kind) -> impl Iterator<Item = &Record> {
        let range = (kind, true, 0, 0)..=(kind, true, u64::MAX, u64::MAX);
        let all = self.newest.range(range);
        all.filter_map(move |key| self.records.get(&RecordId { kind, number: key.3 }))
            .map(AsRef::as_ref)
    }

    /// The assignments for a plan that are worked on, or will be.
    pub(crate) fn at_work_on(&self, plan: RecordId) -> impl Iterator<Item = RecordId> {
        let first = (plan, RecordId { kind: Kind::ALL[0], number: 0 });
        self.at_work.range(first..).take_while(move |(of, _)| *of == plan).map(|(_, id)| *id)
    }

    /// The ids that begin so of requests that somebody made within the last day.
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

    /// What somebody's request was answered with within the last day, and the hash of what was
    /// asked for.
    pub fn answered(
        &self,
        who: &Principal,
        id: &Label,
        now: Timestamp,
    ) -> Option<(&Blob, &MemoryReply)> {
        let known = self.requests.get(&(who.clone(), id.clone()))?;
        (now < known.at.after(request::KEPT)).then_some((&known.digest, &known.reply))
    }

    /// The id of the next record of a kind.
    pub(crate) fn next(&self, kind: Kind) -> RecordId {
        let last = self.numbers.get(&kind).copied().unwrap_or_default();
        RecordId { kind, number: last + 1 }
    }

    /// Refuses one more record where there is no room.
    pub(crate) fn room(&self) -> Result<(), Refusal> {
        self.room_for(1)
    }

    /// The same for some more.
    pub(crate) fn room_for(&self, more: usize) -> Result<(), Refusal> {
        if self.records.len() + more <= RECORDS_MAX {
            return Ok(());
        }
        let message = format!(
            "there are {RECORDS_MAX} records, which is the most; archive some that are over"
        );
        Err(Refusal::denied(Rule::RecordRoom, message))
    }

    /// A record, or the refusal that there is none.
    pub(crate) fn get(&self, id: RecordId) -> Result<&Arc<Record>, Refusal> {
        self.records.get(&id).ok_or_else(|| unknown(id))
    }

    /// The same for somebody: what another one keeps to themselves is not there.
    pub(crate) fn get_for(&self, id: RecordId, who: &Principal) -> Result<&Arc<Record>, Refusal> {
        match self.get(id) {
            Ok(own) if !own.is_seen_by(who) => Err(unknown(id)),
            found => found,
        }
    }

    fn unlist(&mut self, record: &Record) {
        let (id, live) = (record.id, record.is_live());
        self.newest.remove(&(id.kind, live, record.updated_seq, id.number));
        self.changed.remove(&(record.updated_seq, id));
        self.private.remove(&id);
        if let Some(count) = self.counts.get_mut(&(id.kind, live)) {
            *count = count.saturating_sub(1);
        }
        if let Some(plan) = assign::worked_on(record) {
            self.at_work.remove(&(plan, id));
        }
    }

    fn list(&mut self, record: &Record) {
        let (id, live) = (record.id, record.is_live());
        self.newest.insert((id.kind, live, record.updated_seq, id.number));
        self.changed.insert((record.updated_seq, id));
        if record.is_private() {
            self.private.insert(id);
        }
        *self.counts.entry((id.kind, live)).or_insert(0) += 1;
        if let Some(plan) = assign::worked_on(record) {
            self.at_work.insert((plan, id));
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
    /// What is remembered.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// The last entry of the trail that led here.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// The same without the records that others keep to themselves. This is for showing it: what
    /// is private is left out of every list, count and search made from it, and is on the trail.
    #[must_use]
    pub fn as_seen_by(&self, who: &Principal) -> State {
        let mut seen = self.clone();
        // Somebody nobody knows is no person.
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

/// Puts a record in, new or in place of what it was.
fn put(state: &mut State, record: Arc<Record>) {
    let before = state.memory.records.get(&record.id).cloned();
    if let Some(before) = &before {
        state.memory.unlist(before);
    }
    let due = before.as_ref().and_then(|before| before.runs_out());
    state.reschedule(due, record.runs_out(), &Deadline::Memory(record.id));
    state.memory.list(&record);
    let last = state.memory.numbers.get(&record.id.kind).copied().unwrap_or_default();
    state.memory.numbers.insert(record.id.kind, last.max(record.id.number));
    state.memory.records.insert(record.id, record);
}

/// Takes a record out.
fn remove(state: &mut State, id: RecordId) -> Result<Arc<Record>, ApplyError> {
    let record = state.memory.records.remove(&id).ok_or(ApplyError::Unknown("the record"))?;
    state.memory.unlist(&record);
    state.reschedule(record.runs_out(), None, &Deadline::Memory(id));
    Ok(record)
}

/// Changes a record as an entry says.
fn change(
    state: &mut State,
    entry: &Stamped,
    id: RecordId,
    how: impl FnOnce(&mut Record),
) -> Result<(), ApplyError> {
    let known = state.memory.records.get(&id).ok_or(ApplyError::Unknown("the record"))?;
    let mut record = Record::clone(known);
    how(&mut record);
    record.touch(entry, state.seq);
    put(state, Arc::new(record));
    Ok(())
}

/// Carries out a command about what is remembered.
pub(crate) fn carry_out(
    turn: &mut Turn<'_>,
    caller: &Caller,
    command: &Command,
    own: MemoryCommand<'_>,
) -> Result<Reply, Halt> {
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
    answer(turn, caller, command, own, id.as_ref()).map(|reply| Reply::Memory(Box::new(reply)))
}

fn answer(
    turn: &mut Turn<'_>,
    caller: &Caller,
    command: &Command,
    own: MemoryCommand<'_>,
    id: Option<&Label>,
) -> Result<MemoryReply, Halt> {
    turn.project()?;
    let mark = match request::look_up(turn.state(), turn.stamp(), caller, command, id)? {
        Asked::Before(reply) => return Ok(reply),
        Asked::New(mark) => mark,
    };
    match own {
        MemoryCommand::MemoryCreate(args) => create::decide(turn, caller, args, mark),
        MemoryCommand::MemoryUpdate(args) => update::decide(turn, caller, args, mark),
        MemoryCommand::MemoryMove(args) => moving::decide(turn, caller, args, mark),
        MemoryCommand::MemoryStep(args) => step::decide(turn, caller, args, mark),
        MemoryCommand::MemoryProgress(args) => assign::decide_progress(turn, caller, args, mark),
        MemoryCommand::MemorySweep(args) => sweep::decide(turn, caller, args, mark),
        MemoryCommand::MemoryConverge(args) => assign::decide_converge(turn, caller, args, mark),
        MemoryCommand::MemoryArchive(args) => archive::decide(turn, caller, args, mark),
        MemoryCommand::MemoryTurn(args) => round::decide(turn, caller, args, mark),
        MemoryCommand::MemoryOffer(args) => offer::decide(turn, caller, args, mark),
        MemoryCommand::MemoryLoop(args) => loops::decide(turn, caller, args, mark),
    }
}

/// Records a deed of the caller's, with the leases that end or begin with it and those that it
/// renews.
fn record(turn: &mut Turn<'_>, caller: &Caller, event: Event) -> Result<MemoryReply, Halt> {
    let effects = effects_of(own(&event)?).to_vec();
    let session = claims::session(turn, caller, &effects)?;
    turn.begin_story();
    turn.note(None, caller.principal.clone().into(), event)?;
    let last = turn.entries().last().ok_or(ApplyError::Unknown("the record"))?;
    let reply = reply_of(turn.state(), own(&last.draft.event)?);
    let reply = reply.ok_or(ApplyError::Unknown("the record"))?;
    let cause = turn.entries().last().map(|entry| entry.id.clone());
    claims::carry_out(turn, &caller.principal, session.as_ref(), &effects)?;
    renew_used(turn, caller, cause)?;
    Ok(reply)
}

/// An event as one of the memory's.
fn own(event: &Event) -> Result<MemoryEvent<'_>, ApplyError> {
    let EventRoom::Memory(own) = event.room() else {
        return Err(ApplyError::Mismatch("the record"));
    };
    Ok(own)
}

/// What followed from a deed, as its entry says.
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

/// What a deed is answered with, by the state after it.
fn reply_of(state: &State, event: MemoryEvent<'_>) -> Option<MemoryReply> {
    let record = |id: &RecordId| state.memory.records.get(id).cloned();
    match event {
        MemoryEvent::MemoryLooped(body) => record(&body.id).map(|own| loops::reply(own, body)),
        MemoryEvent::MemoryCreated(body) => record(&body.id).map(MemoryReply::Record),
        MemoryEvent::MemoryUpdated(body) => record(&body.id).map(|own| update::reply(own, body)),
        MemoryEvent::MemoryTurned(body) => record(&body.id).map(|own| round::reply(own, body)),
        MemoryEvent::MemoryMoved(body) => record(&body.id).map(|own| moving::reply(own, body)),
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

/// Applies what happened to what is remembered.
pub(crate) fn apply(
    state: &mut State,
    entry: &Stamped,
    event: MemoryEvent<'_>,
) -> Result<(), ApplyError> {
    match event {
        MemoryEvent::MemoryLooped(body) => loops::apply(state, entry, body)?,
        MemoryEvent::MemoryCreated(body) => create::apply(state, entry, body)?,
        MemoryEvent::MemoryUpdated(body) => update::apply(state, entry, body)?,
        MemoryEvent::MemoryMoved(body) => moving::apply(state, entry, body)?,
        MemoryEvent::MemoryStepped(body) => step::apply(state, entry, body)?,
        MemoryEvent::MemoryHeard(body) => assign::apply_heard(state, entry, body)?,
        MemoryEvent::MemorySwept(body) => sweep::apply(state, entry, body)?,
        MemoryEvent::MemoryArchived(body) => archive::apply(state, entry, body)?,
        MemoryEvent::MemoryTurned(body) => round::apply(state, entry, body)?,
        MemoryEvent::MemoryOffered(body) => offer::apply(state, entry, body)?,
        MemoryEvent::MemoryExpired(body) => archive::apply_expired(state, entry, body)?,
    }
    state.memory.owed = effect::leases(effects_of(event)).collect();
    if let Some(mark) = mark_of(event)
        && let Some(reply) = reply_of(state, event)
    {
        request::keep(state, entry, mark, reply);
    }
    Ok(())
}

/// Refuses a change of something that was changed meanwhile.
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

/// Refuses a field, and says why.
fn bad_field(message: impl Into<String>) -> Refusal {
    Refusal::denied(Rule::RecordField, message)
}
