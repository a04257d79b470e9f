//! Examination of a project before recovery: the trail, and the files beside it. Changes nothing.
//!
//! A damaged entry, a broken chain or an impossible entry ends the examination: nothing is
//! recovered on such a trail. Other findings can be quarantined without changing the state:
//! snapshots and tiles can be made again, unfinished files were never used, and content is checked
//! by its name each time it is read.

use althing_kernel::id::AnyId;
use althing_kernel::integrity::{ActionTaken, IntegrityViolation, SubjectType, Violation};
use althing_kernel::recovery::orphans;
use althing_kernel::text::Text;
use althing_kernel::{Blob, EntryId, Event};
use althing_trail::log::DamagedTile;
use althing_trail::verify::{Options, Verifier};
use althing_trail::{Commit, Entry, Hash, LogReader};
use data_encoding::HEXLOWER;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::commit::writer_registry::WriterList;
use crate::error::{EngineError, damaged};
use crate::snapshot;
use crate::snapshot::replay_base;
use crate::snapshot::world::{READ_BYTES, World};
use crate::store::blobs::Blobs;
use crate::store::home::Home;

/// Extent of an examination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Only entries that no recovery has examined before.
    Unexamined,
    /// The whole trail.
    Everything,
}

/// A problem that can be quarantined or reported.
#[derive(Clone, Debug, Serialize)]
pub struct Found {
    /// Description for people.
    pub what: String,
    /// The violation to record; `None` for a file that was merely never finished.
    pub violation: Option<IntegrityViolation>,
    #[serde(skip)]
    pub(crate) remedy: Remedy,
}

/// Action to take about a problem.
#[derive(Clone, Debug)]
pub(crate) enum Remedy {
    /// Only report it; there is nothing to quarantine.
    None,
    /// Quarantine the file.
    Quarantine(PathBuf),
    /// Quarantine a copy, and rebuild it.
    Rebuild(DamagedTile),
}

/// Result of an examination.
pub(crate) struct Examination {
    /// Last entry that was examined before.
    pub(crate) after: u64,
    /// Number of entries examined now.
    pub(crate) entries: u64,
    /// State after them.
    pub(crate) world: World,
    /// Problems found.
    pub(crate) found: Vec<Found>,
}

/// The entry that names some content, for the record.
struct Citation {
    subject_id: AnyId,
    subject_type: SubjectType,
    seq: u64,
}

/// Facts collected while walking the entries.
#[derive(Default)]
struct Gathered {
    cited: BTreeMap<Blob, Citation>,
    /// Violations that are already on record, by subject and expected value.
    recorded: BTreeSet<(String, String)>,
    orphans: Vec<(u64, EntryId, AnyId)>,
}

/// Examines a project. `writers` tells which unfinished files are abandoned.
pub(crate) fn examine(
    home: &Home,
    log: &mut dyn LogReader,
    depth: Depth,
    writers: &WriterList,
) -> Result<Examination, EngineError> {
    let start = match depth {
        Depth::Everything => replay_base::beginning(home, log)?,
        Depth::Unexamined => snapshot::load_examined(home, log)?,
    };
    let after = start.seq();
    let (world, gathered) = walk(log, start)?;
    let mut found = Vec::new();
    content(home, &gathered, &mut found);
    for (seq, entry, missing) in &gathered.orphans {
        let what = format!("entry {seq} refers to {missing}, which is not there");
        found.push(orphan(what, entry_subject(entry), SubjectType::TrailEntry, missing.as_str()));
    }
    tiles(log, after, &mut found)?;
    snapshots(home, log, &world, &mut found)?;
    found.retain(|found| found.violation.as_ref().is_none_or(|own| !gathered.is_recorded(own)));
    found.extend(left_over(home, &world, writers));
    Ok(Examination { after, entries: world.seq() - after, world, found })
}

fn walk(log: &mut dyn LogReader, start: World) -> Result<(World, Gathered), EngineError> {
    let mut gathered = Gathered::default();
    let options = Options { before_recovery: true, ..Options::default() };
    let mut verifier = Verifier::resume(options, start.chain, start.state);
    loop {
        let commits = log.tail(verifier.chain().seq(), READ_BYTES)?;
        if commits.is_empty() {
            break;
        }
        for commit in &commits {
            verifier.check(commit).map_err(|finding| damaged(&finding))?;
            gathered.note(commit, &verifier);
        }
    }
    let world = World { state: verifier.state().clone(), chain: verifier.chain().clone() };
    verifier.finish().map_err(|finding| damaged(&finding))?;
    Ok((world, gathered))
}

impl Gathered {
    fn note(&mut self, commit: &Commit, verifier: &Verifier) {
        let marks = ["\"sha256:", "\"ref\":", "\"task_ref\":", "\"integrity_violation\""];
        for line in commit.entries().filter(|line| marks.iter().any(|mark| line.contains(mark))) {
            // The verifier has just read this entry.
            let Ok(entry) = Entry::read(line) else { continue };
            let event = &entry.stamped.draft.event;
            for blob in event.blobs() {
                self.cited.entry(blob.clone()).or_insert_with(|| citation(&entry));
            }
            for missing in orphans(verifier.state(), event) {
                self.orphans.push((entry.seq, entry.stamped.id.clone(), missing));
            }
            if let Event::IntegrityViolation(body) = event {
                self.recorded.insert(key_of(body));
            }
        }
    }

    fn is_recorded(&self, violation: &IntegrityViolation) -> bool {
        self.recorded.contains(&key_of(violation))
    }
}

fn key_of(body: &IntegrityViolation) -> (String, String) {
    (body.subject_id.to_string(), body.expected.as_str().to_owned())
}

fn citation(entry: &Entry) -> Citation {
    let (subject_id, subject_type) = match &entry.stamped.draft.event {
        Event::EnvelopeCreated(body) => ((&body.envelope_id).into(), SubjectType::Envelope),
        Event::CheckpointCreated(body) => ((&body.checkpoint_id).into(), SubjectType::Checkpoint),
        // Any other entry that cites content is the subject itself.
        _ => (entry_subject(&entry.stamped.id), SubjectType::TrailEntry),
    };
    Citation { subject_id, subject_type, seq: entry.seq }
}

fn entry_subject(id: &EntryId) -> AnyId {
    AnyId::from(std::sync::Arc::<str>::from(id.as_str()))
}

/// A problem: an entry names something that does not exist.
fn orphan(what: String, subject_id: AnyId, subject_type: SubjectType, expected: &str) -> Found {
    let violation = IntegrityViolation {
        action_taken: ActionTaken::Flagged,
        actual: Text::lossy("not there"),
        expected: Text::lossy(expected),
        subject_id,
        subject_type,
        violation: Violation::ProofMissing,
    };
    Found { what, violation: Some(violation), remedy: Remedy::None }
}

/// Checks content that the examined entries name.
fn content(home: &Home, gathered: &Gathered, found: &mut Vec<Found>) {
    let blobs = Blobs::of(home);
    for (blob, citation) in &gathered.cited {
        let Citation { subject_id, subject_type, seq } = citation;
        let expected = blob.to_string();
        match blobs.read(blob, &mut std::io::sink()) {
            Ok(_) => {}
            Err(EngineError::NotFound(_)) => {
                let what = format!("entry {seq} names {blob}, which is not there");
                found.push(orphan(what, subject_id.clone(), *subject_type, &expected));
            }
            Err(error) => {
                let actual =
                    blobs.held_in(blob).map_or_else(|| error.to_string(), |held| held.to_string());
                let what = format!("the content {blob}, which entry {seq} names, is damaged");
                let subject = (subject_id.clone(), *subject_type);
                let remedy = Remedy::Quarantine(blobs.path(blob));
                found.push(mismatch(what, subject, &expected, &actual, remedy));
            }
        }
    }
}

fn mismatch(
    what: String,
    (subject_id, subject_type): (AnyId, SubjectType),
    expected: &str,
    actual: &str,
    remedy: Remedy,
) -> Found {
    let violation = IntegrityViolation {
        action_taken: ActionTaken::Quarantined,
        actual: Text::lossy(actual),
        expected: Text::lossy(expected),
        subject_id,
        subject_type,
        violation: Violation::HashMismatch,
    };
    Found { what, violation: Some(violation), remedy }
}

/// Checks the tiles of leaf hashes that make proofs fast.
fn tiles(log: &mut dyn LogReader, after: u64, found: &mut Vec<Found>) -> Result<(), EngineError> {
    for damaged_tile in log.damaged_tiles(after)? {
        let subject = subject_at(log, damaged_tile.last)?;
        let what = format!("the tree hashes up to entry {} do not fit it", damaged_tile.last);
        let stored = damaged_tile.stored.get(..32).unwrap_or(&damaged_tile.stored);
        let (expected, actual) = (hex(&damaged_tile.expected), HEXLOWER.encode(stored));
        found.push(mismatch(what, subject, &expected, &actual, Remedy::Rebuild(damaged_tile)));
    }
    Ok(())
}

fn hex(hash: &Hash) -> String {
    HEXLOWER.encode(hash.as_bytes())
}

/// Checks the snapshots' checksums.
fn snapshots(
    home: &Home,
    log: &mut dyn LogReader,
    world: &World,
    found: &mut Vec<Found>,
) -> Result<(), EngineError> {
    let Some(project) = world.state.project() else { return Ok(()) };
    for path in snapshot::all(home, &project.id) {
        let Some((expected, actual)) = snapshot::damage(&path) else { continue };
        let subject = subject_at(log, snapshot::position(&path).unwrap_or(world.seq()))?;
        let what = format!("the snapshot {} is damaged", path.display());
        found.push(mismatch(what, subject, &expected, &actual, Remedy::Quarantine(path)));
    }
    Ok(())
}

/// The entry at a position, or the last one if there is none that far.
fn subject_at(log: &mut dyn LogReader, seq: u64) -> Result<(AnyId, SubjectType), EngineError> {
    let seq = seq.min(log.position()?);
    let commit = log.commit_of(seq)?;
    let mut entries = commit.iter().flat_map(Commit::entries).filter_map(|l| Entry::read(l).ok());
    let gone = || {
        let what = "it was there a moment ago and cannot be read now".to_owned();
        EngineError::Damaged { seq, what }
    };
    let entry = entries.find(|entry| entry.seq == seq).ok_or_else(gone)?;
    Ok((entry_subject(&entry.stamped.id), SubjectType::TrailEntry))
}

/// Unfinished files of processes that have ended.
fn left_over(home: &Home, world: &World, writers: &WriterList) -> Vec<Found> {
    let mut folders: Vec<PathBuf> = vec![home.root().to_owned()];
    folders.extend(home.store().parent().map(Path::to_owned));
    folders.extend(world.state.project().map(|own| home.snapshots().join(own.id.as_str())));
    folders.dedup();
    let gone = |pid: u32| {
        let ended = writers.crashed.iter().any(|own| own.pid == Some(pid));
        ended && !writers.running.contains(&pid) && pid != std::process::id()
    };
    let files = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok());
    let files = files.flatten().filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let unfinished = files.filter(|path| writer_of(path).is_some_and(&gone));
    unfinished
        .map(|path| {
            let what = format!("{} was never finished", path.display());
            Found { what, violation: None, remedy: Remedy::Quarantine(path) }
        })
        .collect()
}

/// The process that was writing a temporary file, from its name.
fn writer_of(path: &Path) -> Option<u32> {
    let name = path.file_name()?.to_str()?;
    let (_, numbers) = name.rsplit_once("-new-")?;
    numbers.split_once('-')?.0.parse().ok()
}
