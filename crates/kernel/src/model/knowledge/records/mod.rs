//! Records: plans, decisions, assignments, messages and other shared memory.

pub(crate) mod archive;
pub(crate) mod assign;
pub(crate) mod create;
pub(crate) mod effect;
pub mod field;
pub(crate) mod loops;
pub(crate) mod next;
pub(crate) mod offer;
pub(crate) mod record;
pub(crate) mod request;
pub(crate) mod round;
pub(crate) mod step;
pub(crate) mod sweep;
pub mod table;
pub mod task;
pub(crate) mod transition;
pub(crate) mod update;
pub mod view;
pub mod vocabulary;
pub(crate) mod work;

use imbl::OrdMap;
use imbl::OrdSet;
use serde::Deserialize;
use serde::Serialize;
use std::sync::Arc;

use crate::model::knowledge::records::request::Request;
use crate::model::knowledge::records::view::MemoryReply;
use crate::values::content::Blob;
use crate::values::label::Label;
use crate::values::principal::Principal;
use crate::values::time::Timestamp;

pub use crate::model::knowledge::records::effect::Effect;
pub use crate::model::knowledge::records::field::Fields;
pub use crate::model::knowledge::records::record::Body;
pub use crate::model::knowledge::records::record::Record;
pub use crate::model::knowledge::records::vocabulary::Status;
pub use crate::registry::record_id::Kind;
pub use crate::registry::record_id::RecordId;

/// The most records in the state at a time.
pub(crate) const RECORDS_MAX: usize = 250_000;

/// Numbers from here on belong to decisions of earlier builds, whose entries name no record: below
/// it, later entries of the same trails name numbers of their own.
pub(crate) const EARLIER_DECISIONS: u64 = 1_000_000_000;

/// All records, with indexes.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    pub(crate) records: OrdMap<RecordId, Arc<Record>>,
    /// The last number given out, by kind.
    pub(crate) numbers: OrdMap<Kind, u64>,
    pub(crate) requests: OrdMap<(Principal, Label), Arc<Request>>,
    // The fields below are indexes derived from those above.
    /// Records by kind, whether they are live, and the entry that last changed them.
    pub(crate) newest: OrdSet<(Kind, bool, u64, u64)>,
    pub(crate) changed: OrdSet<(u64, RecordId)>,
    pub(crate) counts: OrdMap<(Kind, bool), usize>,
    /// Records that only their authors and people may see.
    pub(crate) private: OrdSet<RecordId>,
    /// Tasks below other tasks, by the one above.
    pub(crate) below: OrdSet<(RecordId, RecordId)>,
    /// Active assignments, by plan.
    pub(crate) at_work: OrdSet<(RecordId, RecordId)>,
    pub(crate) asked: OrdSet<(Timestamp, Principal, Label)>,
    /// Facts, symbols and capsules, by their keys.
    pub(crate) keyed: OrdMap<(Kind, Label), u64>,
    /// Symbols, by the text they stand for.
    pub(crate) symbols: OrdSet<(Body, u64)>,
}

/// The serialized form of the records: plain lists.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryImage {
    pub(crate) records: Vec<Packed<Record>>,
    pub(crate) numbers: Vec<(Kind, u64)>,
    pub(crate) requests: Vec<(Principal, Label, Packed<Request>)>,
}

/// A value with optional fields, serialized as JSON text so that binary formats can hold it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Packed<T>(pub(crate) Arc<T>);

impl<T: Serialize> Serialize for Packed<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = serde_json::to_string(self.0.as_ref()).map_err(serde::ser::Error::custom)?;
        serializer.serialize_str(&text)
    }
}

impl Memory {
    /// The number of records.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The number of records of a kind: all, only live ones, or only ended ones.
    pub fn count(&self, kind: Kind, live: Option<bool>) -> usize {
        let of = |live: bool| self.counts.get(&(kind, live)).copied().unwrap_or_default();
        live.map_or_else(|| of(true) + of(false), of)
    }

    /// The records of a kind, most recently changed first: all, only live ones, or only ended ones.
    pub fn newest(&self, kind: Kind, live: Option<bool>) -> impl Iterator<Item = &Record> {
        self.newest_shared(kind, live).map(AsRef::as_ref)
    }

    /// The records changed after this entry, most recently changed first.
    pub fn changed_since(&self, seq: u64) -> impl Iterator<Item = &Record> {
        self.changed_shared(seq).map(AsRef::as_ref)
    }

    pub(crate) fn changed_shared(&self, seq: u64) -> impl Iterator<Item = &Arc<Record>> {
        let after = (seq.saturating_add(1), RecordId { kind: Kind::ALL[0], number: 0 });
        self.changed.range(after..).rev().filter_map(|(_, id)| self.records.get(id))
    }

    /// The live records of a kind, least recently changed first.
    pub fn oldest(&self, kind: Kind) -> impl Iterator<Item = &Record> {
        let range = (kind, true, 0, 0)..=(kind, true, u64::MAX, u64::MAX);
        let all = self.newest.range(range);
        all.filter_map(move |key| self.records.get(&RecordId { kind, number: key.3 }))
            .map(AsRef::as_ref)
    }

    /// The record of a kind with this key: a fact, a symbol or a capsule.
    pub fn with_key(&self, kind: Kind, key: &str) -> Option<&Arc<Record>> {
        let key = (kind, Label::new(key).ok()?);
        let number = *self.keyed.get(&key)?;
        self.records.get(&RecordId { kind, number })
    }

    /// The records of a kind, in the order of their numbers.
    pub(crate) fn in_order(&self, kind: Kind) -> impl DoubleEndedIterator<Item = &Arc<Record>> {
        let of = |number| RecordId { kind, number };
        self.records.range(of(0)..=of(u64::MAX)).map(|(_, own)| own)
    }

    /// The active assignments for a plan.
    pub fn at_work_on(&self, plan: RecordId) -> impl Iterator<Item = RecordId> {
        let first = (plan, RecordId { kind: Kind::ALL[0], number: 0 });
        self.at_work.range(first..).take_while(move |(of, _)| *of == plan).map(|(_, id)| *id)
    }

    /// The plans below a plan, in the order they were planned.
    pub fn plans_below(&self, plan: RecordId) -> impl Iterator<Item = &Record> {
        let first = (plan, RecordId { kind: Kind::ALL[0], number: 0 });
        let own = self.below.range(first..).take_while(move |(of, _)| *of == plan);
        own.filter_map(|(_, id)| self.records.get(id)).map(AsRef::as_ref)
    }

    /// The answer to a request of the last day, by its idempotency key, with the hash of its
    /// arguments.
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
}
