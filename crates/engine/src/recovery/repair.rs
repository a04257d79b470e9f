//! Repair of damaged entries from another copy of the trail.
//!
//! The copy is not trusted. Its commit replaces a damaged one only if it has the hashes that the
//! trail itself vouches for: the commit before leads to it, its head covers it, and the commit
//! after it, or the runtime's signature, names that head. So it is the very commit that was stored,
//! and the state does not change. All of this is proved before anything is written, and the damaged
//! commits are quarantined.

use althing_kernel::EntryId;
use althing_kernel::id::AnyId;
use althing_kernel::integrity::{ActionTaken, IntegrityViolation, SubjectType, Violation};
use althing_kernel::text::Text;
use althing_trail::export::Commits;
use althing_trail::log::sqlite::{SqliteLog, SqliteReader};
use althing_trail::verify::{Finding, Options as VerifyOptions, Verifier};
use althing_trail::{Commit, Entry, LogReader as _};
use data_encoding::HEXLOWER;
use serde::Serialize;
use sha2::Digest as _;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{EngineError, damaged};
use crate::snapshot::world::READ_BYTES;
use crate::snapshot::{self, replay_base};
use crate::store::archive_files::ArchiveLock;
use crate::store::home::Home;
use crate::store::quarantine::Quarantine;

/// Name of the store in a backup's folder.
const BACKUP_STORE: &str = "trail.db";

/// A damaged commit that was repaired.
#[derive(Clone, Debug, Serialize)]
pub struct Repaired {
    /// First entry that was damaged.
    pub entry: u64,
    /// Its id.
    pub id: EntryId,
    /// The fault it had.
    pub fault: String,
    /// Quarantined copy of the damaged commit.
    pub aside: PathBuf,
    expected: String,
    actual: String,
}

impl Repaired {
    /// The violation to record in the trail.
    pub(crate) fn violation(&self) -> IntegrityViolation {
        IntegrityViolation {
            action_taken: ActionTaken::Quarantined,
            actual: Text::lossy(&self.actual),
            expected: Text::lossy(&self.expected),
            subject_id: AnyId::from(std::sync::Arc::<str>::from(self.id.as_str())),
            subject_type: SubjectType::TrailEntry,
            violation: Violation::HashMismatch,
        }
    }
}

/// A damaged commit, with the right one.
struct Repair {
    finding: Finding,
    stored: Commit,
    right: Commit,
}

/// Repairs damaged entries from a backup's folder or an exported file. If the copy lacks a damaged
/// commit or has another one, nothing is changed.
pub fn repair(home: &Home, copy: &Path, patience: Duration) -> Result<Vec<Repaired>, EngineError> {
    // Keeps compaction from moving entries meanwhile.
    let _lock = ArchiveLock::take(home, patience)?;
    let mut log = SqliteReader::open(home.store())?;
    let repairs = prove(home, &mut log, copy)?;
    drop(log);
    if repairs.is_empty() {
        return Ok(Vec::new());
    }
    let aside = Quarantine::of(home, "mended")?;
    let mut writer = SqliteLog::open(home.store()).map_err(EngineError::Unavailable)?;
    let mut repaired = Vec::new();
    for repair in repairs {
        let name = format!("commit-{}.jsonl", repair.stored.last);
        let stored = format!("{}\n{}", repair.stored.lines, repair.stored.head);
        let path = aside.put(&name, stored.as_bytes())?;
        writer.replace_commit(&repair.right).map_err(EngineError::Unavailable)?;
        repaired.push(repair.repaired(path)?);
    }
    set_snapshots_aside(home, &repaired, &aside)?;
    Ok(repaired)
}

/// Walks the trail, taking the copy's commit wherever one is damaged.
fn prove(home: &Home, log: &mut SqliteReader, copy: &Path) -> Result<Vec<Repair>, EngineError> {
    let mut repairs = Vec::new();
    let start = replay_base::beginning(home, log)?;
    let mut at = start.seq();
    let mut verifier = Verifier::resume(VerifyOptions::default(), start.chain, start.state);
    loop {
        let commits = log.tail(at, READ_BYTES)?;
        let Some(last) = commits.last() else { break };
        at = last.last;
        for stored in commits {
            // Cheap: both are shared with the verifier's own until one of them changes.
            let (chain, state) = (verifier.chain().clone(), verifier.state().clone());
            let Err(finding) = verifier.check(&stored) else { continue };
            let right = commit_in(copy, chain.seq() + 1)?;
            let Some(right) = right.filter(|right| right.last == stored.last) else {
                return Err(damaged(&finding));
            };
            verifier = Verifier::resume(VerifyOptions::default(), chain, state);
            verifier.check(&right).map_err(|_| damaged(&finding))?;
            repairs.push(Repair { finding, stored, right });
        }
    }
    verifier.finish().map_err(|finding| damaged(&finding))?;
    Ok(repairs)
}

/// The commit of a copy that begins with an entry.
fn commit_in(copy: &Path, first: u64) -> Result<Option<Commit>, EngineError> {
    if copy.is_dir() {
        let mut reader = SqliteReader::open(&copy.join(BACKUP_STORE))?;
        return Ok(reader.commit_of(first)?.filter(|commit| commit.first == first));
    }
    let file = File::open(copy).map_err(EngineError::file("read", copy))?;
    for commit in Commits::new(BufReader::new(file)) {
        let commit = commit.map_err(|error| EngineError::Invalid(error.to_string()))?;
        if commit.first >= first {
            return Ok(Some(commit).filter(|commit| commit.first == first));
        }
    }
    Ok(None)
}

impl Repair {
    fn repaired(self, aside: PathBuf) -> Result<Repaired, EngineError> {
        let seq = self.finding.seq.max(self.right.first);
        let at = usize::try_from(seq - self.right.first).unwrap_or(usize::MAX);
        let entry = self.right.entries().nth(at).and_then(|line| Entry::read(line).ok());
        let entry = entry.ok_or_else(|| damaged(&self.finding))?;
        let stored = self.stored.entries().nth(at).unwrap_or_default();
        Ok(Repaired {
            entry: seq,
            id: entry.stamped.id.clone(),
            fault: self.finding.fault.to_string(),
            aside,
            expected: HEXLOWER.encode(entry.hash.as_bytes()),
            actual: format!("text with sha256 {}", HEXLOWER.encode(&sha2::Sha256::digest(stored))),
        })
    }
}

/// Quarantines snapshots taken after the first damaged entry: they may contain its damage.
fn set_snapshots_aside(
    home: &Home,
    repaired: &[Repaired],
    aside: &Quarantine,
) -> Result<(), EngineError> {
    let mut log = SqliteReader::open(home.store())?;
    let Some(project) = snapshot::project_of(&mut log)? else { return Ok(()) };
    let first = repaired.iter().map(|own| own.entry).min().unwrap_or_default();
    let of_damaged = |path: &PathBuf| snapshot::position(path).is_none_or(|seq| seq >= first);
    snapshot::all(home, &project)
        .iter()
        .filter(|path| of_damaged(path))
        .try_for_each(|path| aside.take(path))
}
