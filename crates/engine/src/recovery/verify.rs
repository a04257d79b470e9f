//! Verification of a project: its trail, and the files beside it.

use althing_kernel::{ProjectId, State};
use althing_trail::archive::{Checked as Inspected, Stage};
use althing_trail::archive_check::inspect;
use althing_trail::log::{LogErrorKind, TILE};
use althing_trail::verify::{Checked, Fault, Finding, Options, Verifier};
use althing_trail::{Hash, LogError, LogReader};

use crate::commit::witness::{self, Witness};
use crate::error::EngineError;
use crate::identity::keyring::Keyring;
use crate::snapshot;
use crate::snapshot::replay_base;
use crate::snapshot::world::{READ_BYTES, World};
use crate::store::home::Home;

/// Result of a verification.
#[derive(Debug)]
pub enum Verdict {
    /// No fault.
    Sound(Report),
    /// The first fault that was found.
    Bad(Finding),
    /// The trail is sound, but a snapshot does not match it.
    BadSnapshot(std::path::PathBuf),
}

impl Verdict {
    /// The report, or the first fault as an error.
    pub fn sound(self) -> Result<Report, EngineError> {
        match self {
            Verdict::Sound(report) => Ok(report),
            Verdict::Bad(Finding { seq, fault }) => {
                Err(EngineError::Damaged { seq, what: fault.to_string() })
            }
            Verdict::BadSnapshot(path) => Err(EngineError::BadSnapshot(path)),
        }
    }
}

/// Summary of the checks made.
#[derive(Debug, serde::Serialize)]
pub struct Report {
    /// Checks of the trail itself.
    #[serde(flatten)]
    pub trail: Checked,
    /// Number of snapshots compared with the replayed state.
    pub snapshots: u64,
    /// Whether the head this machine remembers was found in the trail.
    pub witness: bool,
    /// Number of archives that were compared with their manifests, stubs and records.
    pub archives: u64,
    /// Number of archives that were deleted, on record.
    pub archives_pruned: u64,
}

/// Verifies the whole trail. `progress` gets the number of entries done, and the total.
pub fn verify(
    home: &Home,
    log: &mut dyn LogReader,
    mut options: Options,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Verdict, EngineError> {
    // Read the witness first: entries appended meanwhile must not look like missing ones.
    let witness = witness::read(home);
    if matches!(witness, Witness::Unreadable) {
        return Err(EngineError::WitnessUnreadable(home.witness()));
    }
    let witness = witness.head();
    let total = log.position()?;
    let witnessed = witness.is_some();
    let own_key = if options.keys.is_empty() { Keyring::of(home).runtime()? } else { None };
    options.kept.extend(witness);
    let archives = home.archives();
    let found = inspect(log, &archives)?;
    let base = replay_base::base(&archives, log)?;
    let mut snapshots = match snapshot::project_of(log)? {
        Some(project) => sound_snapshots(home, &project, log)?,
        None => Vec::new(),
    };
    let mut verifier = Verifier::with_base(options, base);
    let mut compared = 0;
    let mut tiles = Tiles::default();
    loop {
        let commits = log.tail(verifier.chain().seq(), READ_BYTES)?;
        if commits.is_empty() || verifier.chain().seq() >= total {
            break;
        }
        for commit in &commits {
            if let Err(finding) = verifier.check(commit) {
                return Ok(Verdict::Bad(finding));
            }
            tiles.take(log, verifier.hashes())?;
            while snapshots.last().is_some_and(|(_, world)| world.seq() <= commit.last) {
                let Some((path, world)) = snapshots.pop() else { break };
                if !is_same(&world, &verifier) {
                    return Ok(Verdict::BadSnapshot(path));
                }
                compared += 1;
            }
        }
        progress(verifier.chain().seq(), total);
    }
    check_record(verifier.state(), &found)?;
    let trail = match verifier.finish() {
        Ok(trail) => trail,
        Err(finding) => return Ok(Verdict::Bad(finding)),
    };
    // Somebody without the key can take over on the record; where the key is, that shows.
    match (own_key, trail.keys.last()) {
        (Some(own), Some(last)) if own.public() != *last => {
            let fault = Fault::ForeignKey { found: *last };
            Ok(Verdict::Bad(Finding { seq: trail.entries, fault }))
        }
        _ => {
            let gone =
                found.iter().filter(|known| known.archive_record.stage == Stage::Pruned).count();
            Ok(Verdict::Sound(Report {
                trail,
                snapshots: compared,
                witness: witnessed,
                archives: (found.len() - gone) as u64,
                archives_pruned: gone as u64,
            }))
        }
    }
}

/// Checks that the archives are those on record, and that every deletion is on record.
pub(crate) fn check_record(state: &State, found: &[Inspected]) -> Result<(), EngineError> {
    for Inspected { archive_record, .. } in found {
        let number = archive_record.number;
        let record = state.archive(number).filter(|known| known.hash == archive_record.hash);
        let Some(record) = record else {
            return Err(not_on_record(&format!("archive {number} is not the one on record")));
        };
        if archive_record.stage == Stage::Pruned && record.pruned.is_none() {
            let what = format!("archive {number} was deleted, and nothing on record says so");
            return Err(not_on_record(&what));
        }
    }
    Ok(())
}

fn not_on_record(what: &str) -> EngineError {
    LogError::new(LogErrorKind::Corrupt, what).into()
}

/// Compares the stored tiles with the entries during the walk.
#[derive(Default)]
struct Tiles {
    number: u64,
    hashes: Vec<Hash>,
}

impl Tiles {
    fn take(&mut self, log: &mut dyn LogReader, hashes: &[Hash]) -> Result<(), EngineError> {
        for hash in hashes {
            self.hashes.push(*hash);
            if self.hashes.len() as u64 == TILE {
                if !log.is_tile_intact(self.number, &self.hashes)? {
                    let first = self.number * TILE + 1;
                    let what = "the hashes kept for proofs, from this entry on, are not its own";
                    return Err(EngineError::Damaged { seq: first, what: what.to_owned() });
                }
                self.number += 1;
                self.hashes.clear();
            }
        }
        Ok(())
    }
}

/// The snapshots that would be used: those of this very trail, the oldest last.
fn sound_snapshots(
    home: &Home,
    project: &ProjectId,
    log: &mut dyn LogReader,
) -> Result<Vec<(std::path::PathBuf, World)>, EngineError> {
    let mut found = Vec::new();
    for path in snapshot::list(home, project) {
        if let Some(world) = snapshot::read(&path)
            && world.is_of(log)?
        {
            found.push((path, world));
        }
    }
    found.sort_by_key(|(_, world)| std::cmp::Reverse(world.seq()));
    Ok(found)
}

fn is_same(world: &World, verifier: &Verifier) -> bool {
    // Where entries are deleted, only the chain can be compared until the replay base.
    world.chain.image() == verifier.chain().image()
        && (verifier.is_state_unknown() || world.state.image() == verifier.state().image())
}
