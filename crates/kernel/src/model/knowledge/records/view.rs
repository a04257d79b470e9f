//! What doors show of what is remembered.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use serde::Serializer;
use std::sync::Arc;

use crate::model::knowledge::records::effect::Effect;
use crate::model::knowledge::records::kind::{Kind, RecordId};
use crate::model::knowledge::records::record::Record;
use crate::model::knowledge::records::sweep::Swept;
use crate::model::knowledge::records::vocabulary::Status;
use crate::model::leasing::view::LeaseView;
use crate::values::label::Label;
use crate::values::name::AgentName;
use crate::values::principal::Principal;

/// What became of a command about records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MemoryReply {
    /// The record it was about.
    Record(Arc<Record>),
    /// A plan that is done with what was changed of it.
    Completed(Completed),
    /// The step a record took.
    Moved(Moved),
    /// How the steps of a plan stand.
    Stepped(Stepped),
    /// What was found to be silent.
    Swept(SweptReply),
    /// What is gone from here.
    Archived(Archived),
    /// The work that was offered.
    Offered(OfferedReply),
    /// The turn that is over.
    Turned(Turned),
    /// The loop that something was done in.
    Looped(Turned),
    /// The lease that was opened.
    Lease(Box<LeaseView>),
}

/// A plan that is done with what was changed of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completed {
    /// The plan.
    pub record: Arc<Record>,
    /// What followed.
    pub side_effects: Vec<Effect>,
}

/// What was done in a loop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turned {
    /// The loop.
    pub record: Arc<Record>,
    /// What followed.
    pub side_effects: Vec<Effect>,
}

/// The step a record took.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    /// The record, as it is now; none if there is none.
    pub record: Option<Arc<Record>>,
    /// The state before.
    pub from: Option<Status>,
    /// The state it is in.
    pub to: Option<Status>,
    /// Whether anything changed.
    pub changed: bool,
    /// What followed.
    pub side_effects: Vec<Effect>,
}

/// How the steps of a plan stand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stepped {
    /// The plan.
    pub record: Arc<Record>,
    /// How many steps it has.
    pub total: usize,
    /// How many of them are done.
    pub done: usize,
    /// Whether the plan is done with that.
    pub auto_completed: bool,
    /// What followed.
    pub side_effects: Vec<Effect>,
}

/// What a sweep did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SweptReply {
    /// What moved, or was heard of.
    pub moved: Vec<Swept>,
    /// What followed.
    pub side_effects: Vec<Effect>,
    /// Whether there is more to sweep.
    pub more: bool,
}

/// What is gone from here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Archived {
    /// Which record.
    pub archived: RecordId,
    /// What followed.
    pub side_effects: Vec<Effect>,
}

/// The work that was offered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferedReply {
    /// One for each lane, in their order.
    pub offers: Vec<LaneReply>,
}

/// Work that was offered to an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaneReply {
    /// Who it was offered to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// The assignment.
    pub assignment: RecordId,
    /// The claim, unless the agent held it already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<RecordId>,
    /// The message.
    pub message: RecordId,
}

/// A record, as doors show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RecordView {
    /// Its kind.
    pub kind: Kind,
    /// What people call it.
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

/// Shows what became of a command.
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
    /// Which record.
    pub id: RecordId,
}

/// How many records an answer has if nothing else is said.
pub const FOUND_DEFAULT: u32 = 50;

/// The most an answer has.
pub const FOUND_MAX: u32 = 1_000;

/// `memory.find`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Find {
    /// Only those of this author (`agent:NAME`, `user:ID`).
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub author: Option<Principal>,
    /// Of which kind.
    pub kind: Kind,
    /// How many (default 50, at most 1,000).
    #[serde(default)]
    pub limit: Option<u32>,
    /// How many to leave out first.
    #[serde(default)]
    pub offset: Option<u32>,
    /// Only those that belong to this plan.
    #[serde(default)]
    pub plan_id: Option<RecordId>,
    /// Only those in this state.
    #[serde(default)]
    pub status: Option<Label>,
    /// Only those with this tag.
    #[serde(default)]
    pub tag: Option<Label>,
    /// Only those with one of these tags.
    #[serde(default)]
    pub tags: Vec<Label>,
}

/// `memory.changes`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Changes {
    /// How many (default 50, at most 1,000).
    #[serde(default)]
    pub limit: Option<u32>,
    /// Only what an entry after this one changed.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub since: u64,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Found {
    /// How many there are in all.
    pub total: usize,
    /// The newest entry of the trail.
    pub seq: u64,
    /// These of them, newest change first.
    pub items: Vec<RecordView>,
    /// Where to go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<usize>,
}

/// What a question about records is answered with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum MemoryAnswer {
    /// To `memory.get`.
    Record(RecordView),
    /// To `memory.find` and `memory.changes`.
    Found(Found),
}
