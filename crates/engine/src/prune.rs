//! Pruning: deleting archives whose retention is over, because somebody said so.
//!
//! What is deleted cannot be replayed any more, so the state after everything so far is written
//! down first (a floor), and both are put on record. The stubs stay in the store: chains, tree
//! and heads go on to be checked, and entries that are gone keep their places.

use althing_kernel::archive::{Number, Prune};
use althing_kernel::{Command, Span};
use althing_trail::archive::{Archives, Shelf, Stage};
use althing_trail::log::sqlite::Swapper;
use serde::Serialize;

use crate::archives::Turn;
use crate::client::Client;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::floor;

/// What was deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// The archives.
    pub archives: Vec<Number>,
    /// How many entries were in them.
    pub entries: u64,
    /// How many bytes they took.
    pub file_bytes: u64,
    /// Whether nothing was changed.
    pub dry_run: bool,
}

/// Deletes the archives that had to be kept no longer than this.
pub fn run(
    engine: &Engine,
    client: &Client,
    retention: Span,
    dry_run: bool,
) -> Result<Outcome, EngineError> {
    client.check_key()?;
    let asked_by = client.principal();
    let home = engine.home();
    let _turn = Turn::take(home, engine.options().patience)?;
    let world = engine.world()?;
    let now = engine.moment(&world.state);
    let shelves = engine.reader()?.shelves()?;
    if !dry_run {
        // Whoever was stopped after the record was made comes to an end here.
        for (number, archive) in world.state.archives().filter(|(_, known)| known.pruned.is_some())
        {
            delete(engine, &Shelf { number, hash: archive.hash.clone(), stage: Stage::Pruned })?;
        }
    }
    let is_here = |number: Number| {
        shelves.iter().any(|shelf| shelf.number == number && shelf.stage == Stage::Moved)
    };
    let over = world.state.archives().filter(|(number, known)| {
        known.pruned.is_none() && known.since.after(retention) <= now && is_here(*number)
    });
    let mut outcome = Outcome { dry_run, ..Outcome::default() };
    let archives = home.archives();
    for (number, known) in over {
        outcome.archives.push(number);
        outcome.entries += known.entries;
        outcome.file_bytes += file_bytes(&archives, number, known);
    }
    if outcome.archives.is_empty() || dry_run {
        return Ok(outcome);
    }
    let floor = floor::save(home, &world)?;
    let recorded = engine.execute_own(Command::TrailPrune(Prune {
        archives: outcome.archives.clone(),
        asked_by: asked_by.clone(),
        floor_hash: floor.hash.clone(),
        floor_seq: floor.seq,
        retention_s: retention.secs(),
    }));
    if let Err(EngineError::Refused(refusal)) = recorded {
        // Nothing begins there. Where it is not known what became of it, it stays.
        let path = archives.floor(&floor);
        std::fs::remove_file(&path).map_err(EngineError::file("remove", &path))?;
        return Err(EngineError::Refused(refusal));
    }
    recorded?;
    for shelf in shelves.into_iter().filter(|shelf| outcome.archives.contains(&shelf.number)) {
        delete(engine, &Shelf { stage: Stage::Pruned, ..shelf })?;
    }
    Ok(outcome)
}

fn file_bytes(
    archives: &Archives,
    number: Number,
    known: &althing_kernel::archive::Archive,
) -> u64 {
    std::fs::metadata(archives.data(number, &known.hash)).map_or(0, |data| data.len())
}

/// Has the store know that an archive is gone and where replay begins, then deletes it. The
/// manifest stays: it vouches for the stubs.
fn delete(engine: &Engine, shelf: &Shelf) -> Result<(), EngineError> {
    let home = engine.home();
    let mut swapper = Swapper::open(home.store())?;
    if swapper.shelf(shelf.number)?.as_ref() != Some(shelf) {
        if let Some(floor) = engine.world()?.state.floor() {
            swapper.note_floor(floor)?;
        }
        swapper.note(shelf)?;
        swapper.make_last()?;
    }
    let path = home.archives().data(shelf.number, &shelf.hash);
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        other => other.map_err(EngineError::file("remove", &path)),
    }
}
