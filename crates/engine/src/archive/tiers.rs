//! Storage tiers of a trail: number, size and age of the entries in each.

use althing_kernel::archive::{Number, Tier};
use althing_kernel::{Timestamp, WorkspaceId};
use althing_trail::archive::Stage;
use althing_trail::stub::Stub;
use serde::Serialize;

use crate::archive::compact::{time_of, workspace_of};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::snapshot::world::READ_BYTES;

/// The content of a tier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TierView {
    /// The tier.
    pub tier: Tier,
    /// Number of entries.
    pub entries: u64,
    /// Size of their lines as stored, in bytes; compressed in archives.
    pub bytes: u64,
    /// Time of the oldest entry.
    pub oldest: Option<Timestamp>,
    /// Time of the newest entry.
    pub newest: Option<Timestamp>,
}

/// An archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ArchiveView {
    /// Its number.
    pub archive: Number,
    /// Number of entries.
    pub entries: u64,
    /// Number of workspaces.
    pub workspaces: u64,
    /// First entry.
    pub from: u64,
    /// Last entry.
    pub to: u64,
    /// Progress in this store; `None` if this store still has the entries itself.
    pub stage: Option<Stage>,
    /// Size of its file in bytes, if it exists.
    pub file_bytes: Option<u64>,
    /// Path of its file.
    pub file: String,
    /// Time when it was recorded.
    pub since: Timestamp,
}

/// All tiers and archives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tiers {
    /// The three tiers, the nearest first.
    pub tiers: Vec<TierView>,
    /// The archives.
    pub archives: Vec<ArchiveView>,
    /// Number of entries deleted with archives.
    pub pruned: u64,
}

impl TierView {
    fn new(tier: Tier) -> Self {
        TierView { tier, entries: 0, bytes: 0, oldest: None, newest: None }
    }

    fn add(&mut self, bytes: usize, at: Option<Timestamp>) {
        self.entries += 1;
        self.bytes += bytes as u64;
        self.oldest = self.oldest.or(at);
        self.newest = at.or(self.newest);
    }
}

/// Examines the whole store.
pub fn tiers(engine: &Engine, progress: &mut dyn FnMut(u64, u64)) -> Result<Tiers, EngineError> {
    let world = engine.world()?;
    let mut log = engine.reader()?;
    let mut views = [Tier::Hot, Tier::Warm, Tier::Cold].map(TierView::new);
    let (end, mut after) = (world.seq(), 0);
    // The last line of a tier holds the time of its newest entry; only that one has to be read.
    let mut newest: [Option<String>; 3] = Default::default();
    while after < end {
        let commits = log.raw_tail(after, READ_BYTES)?;
        let Some(last) = commits.last() else { break };
        after = last.last;
        for line in commits.iter().flat_map(althing_trail::Commit::slots) {
            let tier = tier_of(&world.state, line);
            let view = &mut views[tier as usize];
            let at = if view.entries == 0 { time_of(line) } else { None };
            view.add(if tier == Tier::Cold { 0 } else { line.len() + 1 }, at);
            let kept = newest[tier as usize].get_or_insert_default();
            kept.clear();
            kept.push_str(line);
        }
        progress(after.min(end), end);
    }
    for (view, line) in views.iter_mut().zip(&newest) {
        view.newest = line.as_deref().and_then(time_of);
    }
    let archives = archives(engine, &mut *log)?;
    let gone = archives.iter().filter(|archive| archive.stage == Some(Stage::Pruned));
    let pruned: u64 = gone.map(|archive| archive.entries).sum();
    views[Tier::Cold as usize].bytes = archives.iter().filter_map(|known| known.file_bytes).sum();
    Ok(Tiers { tiers: views.to_vec(), archives, pruned })
}

fn tier_of(state: &althing_kernel::State, line: &str) -> Tier {
    if Stub::is_in(line) {
        return Tier::Cold;
    }
    let workspace = workspace_of(line).and_then(|id| WorkspaceId::new(id).ok());
    state.tier_of(workspace.as_ref())
}

fn archives(
    engine: &Engine,
    log: &mut dyn althing_trail::LogReader,
) -> Result<Vec<ArchiveView>, EngineError> {
    let world = engine.world()?;
    let (archive_records, folder) = (log.archive_records()?, engine.home().archives());
    let view = |(number, archive): (Number, &althing_kernel::archive::Archive)| {
        let file = folder.data(number, &archive.hash);
        let known = archive_records.iter().find(|archive_record| archive_record.number == number);
        ArchiveView {
            archive: number,
            entries: archive.entries,
            workspaces: archive.workspaces,
            from: archive.range.from,
            to: archive.range.to,
            stage: known.map(|archive_record| archive_record.stage),
            file_bytes: std::fs::metadata(&file).map(|data| data.len()).ok(),
            file: file.display().to_string(),
            since: archive.since,
        }
    };
    Ok(world.state.archives().map(view).collect())
}
