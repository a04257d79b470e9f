//! Look-ups of entries in the trail by number, time and kind.

use althing_engine::Engine;
use althing_engine::trail_query::TrailQuery;
use althing_kernel::{Kind, Timestamp};

use crate::error::Error;

/// Number of newest entries that are searched for ended claims.
pub(super) const WINDOW: u64 = 5_000;
/// Most entries searched after a time for the entry that belongs to it.
const NEAR: u64 = 64;

/// A query for the entry with a number.
fn one(seq: u64) -> TrailQuery {
    TrailQuery {
        after: Some(seq.saturating_sub(1)),
        upto: Some(seq),
        limit: Some(1),
        last: true,
        ..TrailQuery::default()
    }
}

/// The time of an entry.
pub(super) fn moment_of(engine: &Engine, seq: u64) -> Result<Option<Timestamp>, Error> {
    let found = one(seq).find(&mut *engine.reader()?)?;
    Ok(found.first().map(|found| found.entry.stamped.at))
}

/// The number of the first entry at or after a time; the last entry if there is none. `None` if the
/// trail cannot be read that far back.
pub(super) fn first_from(engine: &Engine, at: Timestamp) -> Result<Option<u64>, Error> {
    let mut log = engine.reader()?;
    // Times never decrease along the trail.
    let (mut low, mut high) = (1, engine.world()?.seq());
    while low < high {
        let middle = low + (high - low) / 2;
        match one(middle).find(&mut *log)?.first() {
            Some(found) if found.entry.stamped.at < at => low = middle + 1,
            Some(_) => high = middle,
            None => return Ok(None),
        }
    }
    Ok(Some(low))
}

/// The number of the entry of one of these kinds at a time or right after it that contains a text.
pub(super) fn entry_at(
    engine: &Engine,
    at: Timestamp,
    kinds: &[Kind],
    mentions: Option<&str>,
) -> Result<Option<u64>, Error> {
    let Some(first) = first_from(engine, at)? else { return Ok(None) };
    let mut log = engine.reader()?;
    for seq in first..=engine.world()?.seq().min(first + NEAR) {
        let found = one(seq).find(&mut *log)?;
        let Some(found) = found.first() else { return Ok(None) };
        let fits = kinds.contains(&found.entry.stamped.draft.event.kind())
            && mentions.is_none_or(|text| found.line.contains(text));
        if fits {
            return Ok(Some(found.entry.seq));
        }
    }
    Ok(None)
}
