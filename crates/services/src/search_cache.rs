//! The search cache: an index of records by words and by addressee, kept between requests.
//!
//! Indexing all records for each request would be too slow. The cache is brought up to date with
//! the records that changed since the last request, so its answers equal those of a new index.

use althing_dialects::memory::filter::CONFIDENCE_DEFAULT;
use althing_dialects::memory::item::{confidence, is_auto, is_called, is_legacy};
use althing_dialects::memory::relevance::{Hit, Index, Item, Question};
use althing_kernel::blackboard::Label;
use althing_kernel::records::{Kind, Memory, Record, RecordId};
use althing_kernel::text::Text;
use althing_kernel::time::Span;
use althing_kernel::{Principal, State, Timestamp};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

/// Kinds of records that are ranked by default.
const WORTH_KNOWING: [Kind; 5] =
    [Kind::Constraint, Kind::Trap, Kind::Decision, Kind::Plan, Kind::Handoff];
/// Kinds of records that are ranked only if they have to do with the question.
const RELATED: [Kind; 3] = [Kind::Fact, Kind::Symbol, Kind::Capsule];

/// Age at which constraints and traps are stale, in days.
pub(crate) const STALE_DAYS: u64 = 90;
/// Seconds of a day.
pub(crate) const DAY_SECS: u64 = 24 * 60 * 60;

/// The cache of a project. It starts empty.
#[derive(Default)]
pub(crate) struct SearchCache(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    /// The records that the index reflects.
    memory: Memory,
    index: Index,
    /// Open records by the name of their addressee.
    waiting: BTreeMap<String, BTreeSet<(u64, RecordId)>>,
}

impl SearchCache {
    /// Ranks records for a question, most relevant first.
    pub(crate) fn rank(&self, state: &State, pending: bool, question: &Question<'_>) -> Vec<Hit> {
        let kinds = WORTH_KNOWING.into_iter().chain(RELATED);
        let kinds = kinds.chain(pending.then_some(Kind::Candidate));
        let kinds: Vec<&str> = kinds.map(Kind::as_str).collect();
        let only_related = &RELATED.map(Kind::as_str);
        let question = Question { kinds: &kinds, only_related, ..*question };
        self.following(state, |kept| kept.index.rank(&question))
    }

    /// Open records of a kind addressed to somebody, newest first.
    pub(crate) fn waiting(&self, state: &State, who: &Principal, kind: Kind) -> Vec<RecordId> {
        self.following(state, |kept| {
            let own = kept.waiting.iter().filter(|(name, _)| is_called(who, name));
            let own: BTreeSet<_> = own.flat_map(|(_, waiting)| waiting).collect();
            own.into_iter().rev().map(|(_, id)| *id).filter(|id| id.kind == kind).collect()
        })
    }

    fn following<T>(&self, state: &State, answer: impl FnOnce(&Kept) -> T) -> T {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.follow(state);
        answer(&kept)
    }
}

impl Kept {
    fn follow(&mut self, state: &State) {
        let Kept { memory, index, waiting } = self;
        for (id, record) in state.memory().changed_from(memory) {
            if let Some(was) = memory.record(id) {
                leave(waiting, was);
            }
            match record {
                Some(record) if is_ranked(record) => index.put(&item(record)),
                _ => {
                    index.remove(&id.to_string());
                }
            }
            if let Some(record) = record.filter(|record| record.is_live()) {
                for name in addressees(record) {
                    waiting.entry(name).or_default().insert((record.updated_seq, id));
                }
            }
        }
        *memory = state.memory().clone();
    }
}

fn leave(waiting: &mut BTreeMap<String, BTreeSet<(u64, RecordId)>>, was: &Record) {
    for name in addressees(was) {
        if let Some(own) = waiting.get_mut(&name) {
            own.remove(&(was.updated_seq, was.id));
            if own.is_empty() {
                waiting.remove(&name);
            }
        }
    }
}

/// The names a record is addressed to.
fn addressees(record: &Record) -> impl Iterator<Item = String> {
    let agent = record.agent().map(|name| Principal::Agent(name.clone()).to_string());
    let to = record.fields.to.as_ref().map(|to| to.as_str().to_owned());
    agent.into_iter().chain(to)
}

/// Whether a record is indexed: live, of a ranked kind, and not legacy or low-confidence.
fn is_ranked(record: &Record) -> bool {
    let kind = record.id.kind;
    (WORTH_KNOWING.contains(&kind) || RELATED.contains(&kind) || kind == Kind::Candidate)
        && record.is_live()
        && !is_legacy(record)
        && !(is_auto(record) && confidence(record) < CONFIDENCE_DEFAULT)
}

/// The text of a record that is searched: all it says, and the key of those that have one.
fn searched(record: &Record) -> String {
    let fields = &record.fields;
    let more = [&fields.place, &fields.decision, &fields.gotcha];
    let key = fields.key.as_ref().map(Label::as_str);
    let more = more.into_iter().flatten().map(Text::as_str);
    let all: Vec<&str> = key.into_iter().chain([record.text.as_str()]).chain(more).collect();
    all.join("\n")
}

/// The time from which a record is stale.
pub(crate) fn stale_from(record: &Record) -> Timestamp {
    seen_at(record).after(Span::from_secs(STALE_DAYS * DAY_SECS))
}

/// The time it was last verified or changed.
pub(crate) fn seen_at(record: &Record) -> Timestamp {
    record.fields.verified_at.unwrap_or_default().max(record.updated_at)
}

/// Converts a record to an item of the index.
pub(crate) fn item(record: &Record) -> Item {
    let text = |text: &str| text.to_owned();
    Item {
        id: record.id.to_string(),
        kind: record.id.kind.to_string(),
        text: searched(record),
        tags: record.tags.as_slice().iter().map(|tag| text(tag.as_str())).collect(),
        paths: record.fields.related_paths.iter().map(|path| text(path.as_str())).collect(),
        updated_seq: record.updated_seq,
        live: record.is_live(),
        stale_from: Some(stale_from(record).micros()),
        superseded: record.fields.superseded_by.is_some(),
    }
}
