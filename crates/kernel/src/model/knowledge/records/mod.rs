//! Types of `records`: state, arguments of commands and bodies of events.

pub(crate) mod archive;
pub(crate) mod assign;
pub(crate) mod create;
pub(crate) mod effect;
pub mod field;
pub mod kind;
pub(crate) mod loops;
pub(crate) mod offer;
pub(crate) mod record;
pub(crate) mod request;
pub(crate) mod round;
pub(crate) mod step;
pub(crate) mod sweep;
pub mod table;
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
pub use crate::model::knowledge::records::kind::Kind;
pub use crate::model::knowledge::records::kind::RecordId;
pub use crate::model::knowledge::records::record::Record;
pub use crate::model::knowledge::records::vocabulary::Status;

/// The most records there are at a time.
pub const RECORDS_MAX: usize = 250_000;

/// Everything that is remembered now.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    pub(crate) records: OrdMap<RecordId, Arc<Record>>,
    /// The last number given out, by kind.
    pub(crate) numbers: OrdMap<Kind, u64>,
    pub(crate) requests: OrdMap<(Principal, Label), Arc<Request>>,
    // What follows is derived from the above.
    /// By kind, whether they are to be reckoned with, and the entry that changed them last.
    pub(crate) newest: OrdSet<(Kind, bool, u64, u64)>,
    pub(crate) changed: OrdSet<(u64, RecordId)>,
    pub(crate) counts: OrdMap<(Kind, bool), usize>,
    /// Those that their authors keep to themselves.
    pub(crate) private: OrdSet<RecordId>,
    /// The assignments that are worked on, by plan.
    pub(crate) at_work: OrdSet<(RecordId, RecordId)>,
    pub(crate) asked: OrdSet<(Timestamp, Principal, Label)>,
}

/// What is remembered, as plain lists.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryImage {
    pub(crate) records: Vec<Packed<Record>>,
    pub(crate) numbers: Vec<(Kind, u64)>,
    pub(crate) requests: Vec<(Principal, Label, Packed<Request>)>,
}

/// Something with fields that may be left out, stored as JSON so that any form can hold it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Packed<T>(pub(crate) Arc<T>);

impl<T: Serialize> Serialize for Packed<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = serde_json::to_string(self.0.as_ref()).map_err(serde::ser::Error::custom)?;
        serializer.serialize_str(&text)
    }
}

impl Memory {
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

    /// The records that an entry after this one changed, newest change first.
    pub fn changed_since(&self, seq: u64) -> impl Iterator<Item = &Record> {
        self.changed_shared(seq).map(AsRef::as_ref)
    }

    pub(crate) fn changed_shared(&self, seq: u64) -> impl Iterator<Item = &Arc<Record>> {
        let after = (seq.saturating_add(1), RecordId { kind: Kind::ALL[0], number: 0 });
        self.changed.range(after..).rev().filter_map(|(_, id)| self.records.get(id))
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
}
