//! Queries about records.

use std::sync::Arc;

use crate::machine::state::State;
use crate::model::knowledge::records::record::Record;
use crate::model::knowledge::records::view::{
    Changes, FOUND_DEFAULT, FOUND_MAX, Find, Found, MemoryAnswer, OfRecord, RecordView,
};
use crate::model::knowledge::records::vocabulary::Status;
use crate::model::query::{Answer, MemoryQuery};

/// Answers a query about records.
pub(crate) fn answer(state: &State, query: MemoryQuery<'_>) -> Answer {
    match query {
        MemoryQuery::MemoryGet(of) => get(state, of),
        MemoryQuery::MemoryFind(of) => find(state, of),
        MemoryQuery::MemoryChanges(of) => changes(state, of),
    }
}

fn get(state: &State, of: &OfRecord) -> Answer {
    match state.memory.records.get(&of.id) {
        Some(record) => {
            let shown = state.shown_shared(record);
            Answer::Memory(MemoryAnswer::Record(RecordView::of(&shown)))
        }
        None => Answer::Missing(format!("there is no record {}", of.id)),
    }
}

fn find(state: &State, find: &Find) -> Answer {
    let table = find.kind.table();
    let word = find.status.as_ref();
    let status = match word.map(|word| table.state(word.as_str())) {
        Some(None) => {
            let states: Vec<&str> = table.states.iter().map(|own| own.as_str()).collect();
            let kind = find.kind;
            return Answer::Missing(format!("a {kind} is in one of: {}", states.join(", ")));
        }
        Some(status) => status,
        None => None,
    };
    let live = status.map(|status| table.is_live(status));
    let fits = |record: &&Arc<Record>| is_wanted(state, record, find, status);
    let all = state.memory.newest_shared(find.kind, live).filter(fits);
    let offset = find.offset.unwrap_or_default() as usize;
    let limit = find.limit.unwrap_or(FOUND_DEFAULT).min(FOUND_MAX) as usize;
    found(state, all, offset, limit)
}

fn is_wanted(state: &State, record: &Record, find: &Find, status: Option<Status>) -> bool {
    let tags = record.tags.as_slice();
    status.is_none_or(|status| state.status_of(record) == status)
        && find.tag.as_ref().is_none_or(|tag| tags.contains(tag))
        && (find.tags.is_empty() || find.tags.iter().any(|tag| tags.contains(tag)))
        && find.author.as_ref().is_none_or(|author| record.author == *author)
        && find.plan_id.is_none_or(|plan| record.fields.plan_id == Some(plan))
}

fn changes(state: &State, of: &Changes) -> Answer {
    let limit = of.limit.unwrap_or(FOUND_DEFAULT).min(FOUND_MAX) as usize;
    found(state, state.memory.changed_shared(of.since), 0, limit)
}

fn found<'s>(
    state: &State,
    all: impl Iterator<Item = &'s Arc<Record>>,
    offset: usize,
    limit: usize,
) -> Answer {
    let (mut total, mut items) = (0, Vec::new());
    for record in all {
        if total >= offset && items.len() < limit {
            items.push(RecordView::of(&state.shown_shared(record)));
        }
        total += 1;
    }
    let next = offset.saturating_add(items.len());
    let next_offset = (next < total && !items.is_empty()).then_some(next);
    Answer::Memory(MemoryAnswer::Found(Found { total, seq: state.seq, items, next_offset }))
}
