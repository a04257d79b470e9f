//! Pruning: deleting archives whose retention is over, at a person's request.
//!
//! Deleted entries cannot be replayed any more, so the current state is written first (a replay
//! base), and both are recorded. The stubs stay in the store: chains, tree and heads can still be
//! checked, and deleted entries keep their places.

use althing_kernel::archive::{Number, Prune};
use althing_kernel::{Command, Span};
use althing_trail::archive::{ArchiveRecord, Archives, Stage};
use althing_trail::log::sqlite::Swapper;
use serde::Serialize;

use crate::engine::Engine;
use crate::engine::client::Client;
use crate::error::EngineError;
use crate::snapshot::replay_base;
use crate::store::archive_files::ArchiveLock;

/// Result of a deletion.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// The deleted archives.
    pub archives: Vec<Number>,
    /// Number of entries in them.
    pub entries: u64,
    /// Their size, in bytes.
    pub file_bytes: u64,
    /// Whether nothing was changed.
    pub dry_run: bool,
}

/// Deletes the archives that need not be kept any longer.
pub fn run(
    engine: &Engine,
    client: &Client,
    retention: Span,
    dry_run: bool,
) -> Result<Outcome, EngineError> {
    client.check_key()?;
    let asked_by = client.principal();
    let home = engine.home();
    let _lock = ArchiveLock::take(home, engine.options().patience)?;
    let world = engine.world()?;
    let now = engine.moment(&world.state);
    let archive_records = engine.reader()?.archive_records()?;
    if !dry_run {
        // Finish deletions that were recorded before a process was stopped.
        for (number, archive) in world.state.archives().filter(|(_, known)| known.pruned.is_some())
        {
            delete(
                engine,
                &ArchiveRecord { number, hash: archive.hash.clone(), stage: Stage::Pruned },
            )?;
        }
    }
    let is_here = |number: Number| {
        archive_records.iter().any(|archive_record| {
            archive_record.number == number && archive_record.stage == Stage::Moved
        })
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
    let base = replay_base::save(home, &world)?;
    let recorded = engine.execute_own(Command::TrailPrune(Prune {
        archives: outcome.archives.clone(),
        asked_by: asked_by.clone(),
        floor_hash: base.hash.clone(),
        floor_seq: base.seq,
        retention_s: retention.secs(),
    }));
    if let Err(EngineError::Refused(refusal)) = recorded {
        // Nothing is recorded with this base, so remove it. If the outcome is unknown, it stays.
        let path = archives.replay_base(&base);
        std::fs::remove_file(&path).map_err(EngineError::file("remove", &path))?;
        return Err(EngineError::Refused(refusal));
    }
    recorded?;
    for archive_record in archive_records
        .into_iter()
        .filter(|archive_record| outcome.archives.contains(&archive_record.number))
    {
        delete(engine, &ArchiveRecord { stage: Stage::Pruned, ..archive_record })?;
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

/// Marks an archive as deleted in the store, with the replay base, then deletes it. The manifest
/// stays: it vouches for the stubs.
fn delete(engine: &Engine, archive_record: &ArchiveRecord) -> Result<(), EngineError> {
    let home = engine.home();
    let mut swapper = Swapper::open(home.store())?;
    if swapper.archive_record(archive_record.number)?.as_ref() != Some(archive_record) {
        if let Some(base) = engine.world()?.state.replay_base() {
            swapper.note_replay_base(base)?;
        }
        swapper.note(archive_record)?;
        swapper.make_durable()?;
    }
    let path = home.archives().data(archive_record.number, &archive_record.hash);
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        other => other.map_err(EngineError::file("remove", &path)),
    }
}
