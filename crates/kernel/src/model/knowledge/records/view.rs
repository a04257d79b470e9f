//! Records, as shown to callers: replies, queries and their answers.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use serde::Serializer;
use std::sync::Arc;

use crate::model::knowledge::records::effect::Effect;
use crate::model::knowledge::records::record::Record;
use crate::model::knowledge::records::sweep::Swept;
use crate::model::knowledge::records::vocabulary::Status;
use crate::model::leasing::view::LeaseView;
use crate::registry::record_id::{Kind, RecordId};
use crate::values::label::Label;
use crate::values::name::AgentName;
use crate::values::principal::Principal;

/// The reply to a command about records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MemoryReply {
    /// The record.
    Record(Arc<Record>),
    /// A plan that the change completed.
    Completed(Completed),
    /// A state transition.
    Moved(Moved),
    /// A change to a plan's steps.
    Stepped(Stepped),
    /// The outcome of a sweep.
    Swept(SweptReply),
    /// A record that was archived.
    Archived(Archived),
    /// Work that was offered.
    Offered(OfferedReply),
    /// A turn that ended.
    Turned(Turned),
    /// A loop in which an act was done.
    Looped(Turned),
    /// The lease that was opened.
    Lease(Box<LeaseView>),
}

/// A plan that the change completed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completed {
    /// The plan.
    pub record: Arc<Record>,
    /// The side effects.
    pub side_effects: Vec<Effect>,
}

/// A loop that changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turned {
    /// The loop.
    pub record: Arc<Record>,
    /// The side effects.
    pub side_effects: Vec<Effect>,
}

/// A state transition of a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    /// The record as it is now; `None` if it does not exist.
    pub record: Option<Arc<Record>>,
    /// The state before.
    pub from: Option<Status>,
    /// The state now.
    pub to: Option<Status>,
    /// Whether anything changed.
    pub changed: bool,
    /// The side effects.
    pub side_effects: Vec<Effect>,
}

/// The progress of a plan's steps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stepped {
    /// The plan.
    pub record: Arc<Record>,
    /// The number of steps.
    pub total: usize,
    /// The number of steps that are done.
    pub done: usize,
    /// Whether this completed the plan.
    pub auto_completed: bool,
    /// The side effects.
    pub side_effects: Vec<Effect>,
}

/// The outcome of a sweep.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SweptReply {
    /// The assignments that changed state or were refreshed by evidence.
    pub moved: Vec<Swept>,
    /// The side effects.
    pub side_effects: Vec<Effect>,
    /// Whether more assignments remain to be swept.
    pub more: bool,
}

/// A record that was archived.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Archived {
    /// The record.
    pub archived: RecordId,
    /// The side effects.
    pub side_effects: Vec<Effect>,
}

/// The work that was offered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferedReply {
    /// One per lane, in the order of the request.
    pub offers: Vec<LaneReply>,
}

/// Work that was offered to an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaneReply {
    /// The agent it was offered to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// The assignment.
    pub assignment: RecordId,
    /// The claim, unless the agent already held it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<RecordId>,
    /// The message; a task of a run is announced by the directive of its workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<RecordId>,
}

/// A record, as shown to callers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RecordView {
    /// Its kind.
    pub kind: Kind,
    /// The short label, such as `pln#42`.
    pub short_label: String,
    /// The record.
    #[serde(flatten)]
    pub record: Arc<Record>,
}

impl RecordView {
    pub(crate) fn of(record: &Arc<Record>) -> Self {
        let record = record.clone();
        RecordView { kind: record.id.kind, short_label: record.id.label(), record }
    }
}

/// Serializes the reply to a command about records.
pub(crate) fn reply<S: Serializer>(reply: &MemoryReply, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Shown<'a, T: Serialize> {
        #[serde(skip_serializing_if = "Option::is_none")]
        record: Option<RecordView>,
        #[serde(flatten)]
        rest: &'a T,
    }
    #[derive(Serialize)]
    struct Step<'a> {
        #[serde(skip_serializing_if = "Option::is_none")]
        from: Option<Status>,
        #[serde(skip_serializing_if = "Option::is_none")]
        to: Option<Status>,
        changed: bool,
        side_effects: &'a [Effect],
    }
    #[derive(Serialize)]
    struct Steps<'a> {
        total: usize,
        done: usize,
        auto_completed: bool,
        side_effects: &'a [Effect],
    }
    #[derive(Serialize)]
    struct Ended<'a> {
        #[serde(flatten)]
        record: RecordView,
        side_effects: &'a [Effect],
    }
    #[derive(Serialize)]
    struct Done<'a> {
        #[serde(flatten)]
        record: RecordView,
        auto_completed: bool,
        side_effects: &'a [Effect],
    }
    match reply {
        MemoryReply::Lease(lease) => lease.serialize(serializer),
        MemoryReply::Turned(Turned { record, side_effects })
        | MemoryReply::Looped(Turned { record, side_effects }) => {
            Ended { record: RecordView::of(record), side_effects }.serialize(serializer)
        }
        MemoryReply::Record(record) => RecordView::of(record).serialize(serializer),
        MemoryReply::Completed(Completed { record, side_effects }) => {
            let record = RecordView::of(record);
            Done { record, auto_completed: true, side_effects }.serialize(serializer)
        }
        MemoryReply::Moved(moved) => {
            let Moved { record, from, to, changed, side_effects } = moved;
            let (from, to, changed) = (*from, *to, *changed);
            let rest = &Step { from, to, changed, side_effects };
            Shown { record: record.as_ref().map(RecordView::of), rest }.serialize(serializer)
        }
        MemoryReply::Stepped(own) => {
            let (total, done, auto_completed) = (own.total, own.done, own.auto_completed);
            let rest = &Steps { total, done, auto_completed, side_effects: &own.side_effects };
            Shown { record: Some(RecordView::of(&own.record)), rest }.serialize(serializer)
        }
        MemoryReply::Swept(own) => own.serialize(serializer),
        MemoryReply::Archived(own) => own.serialize(serializer),
        MemoryReply::Offered(own) => own.serialize(serializer),
    }
}

/// `memory.get`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfRecord {
    /// The record.
    pub id: RecordId,
}

/// The default number of records in an answer.
pub(crate) const FOUND_DEFAULT: u32 = 50;

/// The most records in an answer.
pub(crate) const FOUND_MAX: u32 = 1_000;

/// `memory.find`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Find {
    /// Only records of this author (`agent:NAME`, `user:ID`).
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub author: Option<Principal>,
    /// The kind.
    pub kind: Kind,
    /// The most records to return (default 50, at most 1,000).
    #[serde(default)]
    pub limit: Option<u32>,
    /// The number of records to skip.
    #[serde(default)]
    pub offset: Option<u32>,
    /// Only records that belong to this plan.
    #[serde(default)]
    pub plan_id: Option<RecordId>,
    /// Only records in this state.
    #[serde(default)]
    pub status: Option<Label>,
    /// Only records with this tag.
    #[serde(default)]
    pub tag: Option<Label>,
    /// Only records with one of these tags.
    #[serde(default)]
    pub tags: Vec<Label>,
}

/// `memory.changes`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Changes {
    /// The most records to return (default 50, at most 1,000).
    #[serde(default)]
    pub limit: Option<u32>,
    /// Only records changed after the entry with this sequence number.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub since: u64,
}

/// The records found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Found {
    /// The total number of matches.
    pub total: usize,
    /// The sequence number of the newest entry.
    pub seq: u64,
    /// The records of this page, most recently changed first.
    pub items: Vec<RecordView>,
    /// The offset of the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<usize>,
}

/// The answer to a query about records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum MemoryAnswer {
    /// The answer to `memory.get`.
    Record(RecordView),
    /// The answer to `memory.find` and `memory.changes`.
    Found(Found),
}
