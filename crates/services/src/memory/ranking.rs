//! Ranking: the most relevant records for a path or a task.

use althing_dialects::memory::item::{brief, edited_by};
use althing_dialects::memory::moment::utc;
use althing_dialects::memory::relevance::{Hit, Index, Question};
use althing_engine::screen::repeated;
use althing_kernel::records::{Kind, Record, RecordId, Status};
use althing_kernel::{State, Surface, Timestamp};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

use super::Verbs;
use super::answers::Nearby;
use super::session::Present;
use crate::context::ProjectContext;
use crate::error::Error;
use crate::search_cache::{DAY_SECS, STALE_DAYS, item, seen_at};

/// Most plans considered for the list of open plans, newest first.
const PLANS_MAX: usize = 2_000;
/// Longest text of an item in a list, in characters.
const TEXT_CHARS: usize = 400;
/// Most records searched for similar ones, so that creating stays fast in a large project.
const NEARBY_LOOKED_AT: usize = 200;
/// Most similar records that are named.
const NEARBY_MAX: usize = 3;
/// Longest text of a record that a brief quotes, in characters.
const RELEVANT_CHARS: usize = 200;

/// Most records that are looked at for those a brief quotes.
const RELEVANT_AMONG: usize = 20;
/// A question for ranked records.
pub(super) struct Wanted<'a> {
    pub(super) path: Option<&'a str>,
    pub(super) text: &'a str,
    pub(super) limit: usize,
    pub(super) pending: bool,
    pub(super) fill: bool,
}

fn age_days(record: &Record, now: Timestamp) -> u64 {
    now.since(seen_at(record)).secs() / DAY_SECS
}

/// Parses a path below the project's root.
pub(super) fn path_of(text: &str) -> Result<String, Error> {
    match Surface::new(text) {
        Ok(surface) => Ok(surface.as_str().to_owned()),
        Err(error) => Err(Error::usage(format!(
            "path {:?}: {error}; write a path below the project's root, such as src/a.rs",
            repeated(text)
        ))),
    }
}

/// The section of the answer a kind belongs to.
fn section(kind: Kind) -> &'static str {
    match kind {
        Kind::Constraint => "constraints",
        Kind::Trap => "traps",
        Kind::Decision => "decisions",
        Kind::Plan => "plans",
        Kind::Handoff => "handoffs",
        Kind::Fact => "facts",
        Kind::Symbol => "symbols",
        Kind::Capsule => "capsules",
        // Any other kind is not ranked.
        _ => "candidates",
    }
}

fn why(hit: &Hit) -> &'static str {
    match (hit.by_path, hit.by_words) {
        (true, true) => "path and words",
        (true, false) => "path",
        (false, true) => "words",
        (false, false) => "recent",
    }
}

/// A short description of a record.
pub(super) fn short(record: &Record) -> Value {
    let kind = record.id.kind;
    let mut shown = json!({
        "section": section(kind),
        "id": record.id.to_string(),
        "short_label": record.id.label(),
        "status": record.status,
        "text": brief(record.text.as_str(), TEXT_CHARS),
        "updated_at": utc(record.updated_at),
        "entry": record.updated_seq,
    });
    let fields = &record.fields;
    let mut extra = Map::new();
    if !record.tags.as_slice().is_empty() {
        extra.insert("tags".to_owned(), json!(record.tags));
    }
    if !fields.related_paths.is_empty() {
        extra.insert("related_paths".to_owned(), json!(fields.related_paths));
    }
    for (name, value) in [
        ("key", json!(fields.key)),
        ("where", json!(fields.place)),
        ("gotcha", json!(fields.gotcha)),
        ("severity", json!(fields.severity)),
        ("priority", json!(fields.priority)),
        ("assignee", json!(fields.assignee)),
        ("to", json!(fields.to)),
        ("superseded_by", json!(fields.superseded_by)),
        ("updated_by", json!(edited_by(record))),
    ] {
        if !value.is_null() {
            extra.insert(name.to_owned(), value);
        }
    }
    if let Value::Object(own) = &mut shown {
        own.append(&mut extra);
    }
    shown
}

/// A note if a record is superseded or stale.
fn standing(record: &Record, now: Timestamp) -> Option<String> {
    if let Some(next) = record.fields.superseded_by {
        return Some(format!("superseded by {}", next.label()));
    }
    let ages = matches!(record.id.kind, Kind::Constraint | Kind::Trap);
    let days = age_days(record, now);
    (ages && days >= STALE_DAYS).then(|| format!("stale: last looked at {days} days ago"))
}

/// The number of live records of each kind.
pub(super) fn density(state: &State) -> Value {
    let count = |kind: &Kind| {
        let live = state.memory().count(*kind, Some(true));
        (kind.to_string(), Value::from(live))
    };
    let stored = Kind::ALL.iter().filter(|kind| kind.is_stored());
    Value::Object(stored.map(count).filter(|(_, count)| *count != 0).collect())
}

/// Warnings about stale records, oldest first.
pub(super) fn stale(state: &State, now: Timestamp, limit: usize) -> Vec<String> {
    // Only records that have not changed for long can be stale.
    let is_old = |record: &&Record| now.since(record.updated_at).secs() >= STALE_DAYS * DAY_SECS;
    let kinds = [Kind::Constraint, Kind::Trap];
    let all = kinds.into_iter().flat_map(|kind| state.memory().oldest(kind).take_while(is_old));
    let mut old: Vec<(u64, RecordId)> = all
        .map(|record| (age_days(record, now), record.id))
        .filter(|(days, _)| *days >= STALE_DAYS)
        .collect();
    old.sort_by_key(|(days, id)| (std::cmp::Reverse(*days), *id));
    let say =
        |(days, id): &(u64, RecordId)| format!("{} was last looked at {days} days ago", id.label());
    old.iter().take(limit).map(say).collect()
}

/// Open plans, most urgent first.
pub(super) fn open_plans(state: &State) -> Vec<&Record> {
    let mut plans: Vec<&Record> =
        state.memory().newest(Kind::Plan, Some(true)).take(PLANS_MAX).collect();
    plans.sort_by_key(|plan| {
        (plan.word() != Status::InProgress, std::cmp::Reverse(plan.fields.priority))
    });
    plans
}

/// The records that matter most for a text and a path, each with its id as people write it and a
/// short text.
pub(crate) fn relevant(
    context: &ProjectContext,
    path: Option<&str>,
    text: &str,
    limit: usize,
) -> Result<Vec<(String, String)>, Error> {
    let present = context.present()?;
    let now = present.now.micros();
    let question = Question { text, path, now, limit: RELEVANT_AMONG, ..Question::default() };
    let hits = context.project().search_cache().rank(&present.state, false, &question);
    let show = |hit: &Hit| {
        let record = present.state.memory().record(hit.id.parse().ok()?)?;
        // Other tasks are others' business.
        (record.id.kind != Kind::Plan)
            .then(|| (record.id.label(), brief(record.text.as_str(), RELEVANT_CHARS)))
    };
    Ok(hits.iter().filter_map(show).take(limit).collect())
}

impl Verbs<'_> {
    /// Selects the most relevant records. Also returns whether there are more.
    pub(super) fn select(&self, present: &Present, wanted: &Wanted<'_>) -> (Vec<Value>, bool) {
        let question = Question {
            text: wanted.text,
            path: wanted.path,
            now: present.now.micros(),
            fill: wanted.fill,
            // One more than requested, to see whether there are more.
            limit: wanted.limit + 1,
            ..Question::default()
        };
        let show = |hit: &Hit| {
            let record = present.state.memory().record(hit.id.parse().ok()?)?;
            let (mut shown, mark) =
                (short(&present.state.shown(record)), standing(record, present.now));
            let why = [mark, Some(why(hit).to_owned())].into_iter().flatten().collect::<Vec<_>>();
            shown["why"] = why.join("; ").into();
            Some(shown)
        };
        let hits =
            self.context.project().search_cache().rank(&present.state, wanted.pending, &question);
        let has_more = hits.len() > wanted.limit;
        (hits.iter().take(wanted.limit).filter_map(show).collect(), has_more)
    }

    /// Finds live records of a kind with a text like this one.
    pub(super) fn nearby(&self, kind: Kind, text: &str) -> Result<Vec<Nearby>, Error> {
        let present = self.present()?;
        let mut records: BTreeMap<String, &Record> = BTreeMap::new();
        let mut index = Index::default();
        for record in present.state.memory().newest(kind, Some(true)).take(NEARBY_LOOKED_AT) {
            let item = item(record);
            index.put(&item);
            records.insert(item.id, record);
        }
        let question = Question { text, limit: NEARBY_MAX, ..Question::default() };
        let hits = index.rank(&question);
        let found = hits.iter().filter_map(|hit| records.get(&hit.id));
        let show = |record: &&Record| Nearby {
            id: record.id,
            short_label: record.id.label(),
            text: brief(record.text.as_str(), 120),
        };
        Ok(found.map(show).collect())
    }
}
