//! Putting damaged entries back from another copy of the trail.
//!
//! A copy is not believed. What it holds takes the place of a damaged commit only if it has the
//! hashes that the trail itself vouches for: the commit before it leads to it, its head covers it,
//! and the commit after it, or the runtime's signature, names that head. So it is the very commit
//! that was stored, whatever its entries say, and nothing that is true changes. All of it is shown
//! before anything is written, and what was stored is set aside.

use althing_kernel::EntryId;
use althing_kernel::id::AnyId;
use althing_kernel::text::Text;
use althing_kernel::violation::{ActionTaken, IntegrityViolation, SubjectType, Violation};
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

use crate::archives::Turn;
use crate::aside::Aside;
use crate::error::EngineError;
use crate::home::Home;
use crate::transfer::damaged;
use crate::world::READ_BYTES;
use crate::{floor, snapshot};

/// The store in a backup's folder.
const BACKUP_STORE: &str = "trail.db";

/// A damaged commit that was put back.
#[derive(Clone, Debug, Serialize)]
pub struct Mended {
    /// The first entry that was damaged.
    pub entry: u64,
    /// Its id.
    pub id: EntryId,
    /// What was wrong with it.
    pub fault: String,
    /// Where what was stored is now.
    pub aside: PathBuf,
    expected: String,
    actual: String,
}

impl Mended {
    /// What the trail says of it.
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

/// A commit that is damaged, with the right one.
struct Repair {
    finding: Finding,
    stored: Commit,
    right: Commit,
}

/// Puts damaged entries back from a backup's folder or an exported file. Where a damaged commit is
/// not in the copy, or is another one there, nothing is changed.
pub fn mend(home: &Home, copy: &Path, patience: Duration) -> Result<Vec<Mended>, EngineError> {
    // Nobody moves entries to archives meanwhile.
    let _turn = Turn::take(home, patience)?;
    let mut log = SqliteReader::open(home.store())?;
    let repairs = prove(home, &mut log, copy)?;
    drop(log);
    if repairs.is_empty() {
        return Ok(Vec::new());
    }
    let aside = Aside::of(home, "mended")?;
    let mut writer = SqliteLog::open(home.store()).map_err(EngineError::Unavailable)?;
    let mut mended = Vec::new();
    for repair in repairs {
        let name = format!("commit-{}.jsonl", repair.stored.last);
        let stored = format!("{}\n{}", repair.stored.lines, repair.stored.head);
        let path = aside.put(&name, stored.as_bytes())?;
        writer.put_back(&repair.right).map_err(EngineError::Unavailable)?;
        mended.push(repair.told(path)?);
    }
    set_snapshots_aside(home, &mended, &aside)?;
    Ok(mended)
}

/// Walks the trail, with the copy's commit wherever one does not hold.
fn prove(home: &Home, log: &mut SqliteReader, copy: &Path) -> Result<Vec<Repair>, EngineError> {
    let mut repairs = Vec::new();
    let start = floor::beginning(home, log)?;
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
    fn told(self, aside: PathBuf) -> Result<Mended, EngineError> {
        let seq = self.finding.seq.max(self.right.first);
        let at = usize::try_from(seq - self.right.first).unwrap_or(usize::MAX);
        let entry = self.right.entries().nth(at).and_then(|line| Entry::read(line).ok());
        let entry = entry.ok_or_else(|| damaged(&self.finding))?;
        let stored = self.stored.entries().nth(at).unwrap_or_default();
        Ok(Mended {
            entry: seq,
            id: entry.stamped.id.clone(),
            fault: self.finding.fault.to_string(),
            aside,
            expected: HEXLOWER.encode(entry.hash.as_bytes()),
            actual: format!("text with sha256 {}", HEXLOWER.encode(&sha2::Sha256::digest(stored))),
        })
    }
}

/// Whatever was made of the damaged entries tells another story.
fn set_snapshots_aside(home: &Home, mended: &[Mended], aside: &Aside) -> Result<(), EngineError> {
    let mut log = SqliteReader::open(home.store())?;
    let Some(project) = snapshot::project_of(&mut log)? else { return Ok(()) };
    let first = mended.iter().map(|own| own.entry).min().unwrap_or_default();
    let of_damaged = |path: &PathBuf| snapshot::position(path).is_none_or(|seq| seq >= first);
    snapshot::all(home, &project)
        .iter()
        .filter(|path| of_damaged(path))
        .try_for_each(|path| aside.take(path))
}
