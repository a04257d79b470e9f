//! Export and import of trails as text, and recorded copies.

use althing_kernel::archive::NoteSnapshot;
use althing_kernel::text::Text;
use althing_kernel::{Blob, Command, State, Timestamp};
use althing_trail::export::{Commits, write};
use althing_trail::log::sqlite::SqliteLog;
use althing_trail::stub::Stub;
use althing_trail::verify::{Checked, Options, Verifier};
use althing_trail::{AppendError, Commit, Entry, Log as _, LogReader};
use serde::Serialize;
use sha2::Digest as _;
use std::fs::File;
use std::io::{BufRead, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::commit::witness;
use crate::engine::Engine;
use crate::error::{EngineError, damaged};
use crate::read::history::Moment;
use crate::snapshot::world::READ_BYTES;
use crate::store::home::{Home, sync_folder_of};
use crate::store::quarantine::WorkFolder;

/// Longest time an import waits for its turn in a store that should have no other writer.
const PATIENCE: Duration = Duration::from_secs(30);

/// Writes the trail as JSON lines. `progress` gets the number of entries done, and the total.
pub fn export(
    log: &mut dyn LogReader,
    out: &mut dyn Write,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<u64, EngineError> {
    let total = log.position()?;
    let mut done = 0;
    while done < total {
        let commits = log.tail(done, READ_BYTES)?;
        let Some(last) = commits.last() else { break };
        for commit in commits.iter().filter(|commit| commit.last <= total) {
            refuse_stubs(commit)?;
            let failed = EngineError::file("write", Path::new("the export"));
            write(out, commit).map_err(failed)?;
        }
        done = last.last;
        progress(done.min(total), total);
    }
    out.flush().map_err(EngineError::file("write", Path::new("the export")))?;
    Ok(total)
}

/// Fails if archives were deleted: what is left of the trail cannot be exported. Asked before the
/// first line is written, because the lines before the gap would pass for a whole trail.
pub fn check_whole(state: &State) -> Result<(), EngineError> {
    let gone = state.archives().filter(|(_, archive)| archive.pruned.is_some());
    let first = gone.map(|(_, archive)| archive.range.from).min();
    first.map_or(Ok(()), |seq| Err(EngineError::Pruned { seq }))
}

/// Imports a trail from JSON lines into a state folder that has none. The trail is verified on the
/// way and put in place only if it is valid.
pub fn import(
    home: &Home,
    input: impl BufRead,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Checked, EngineError> {
    home.create()?;
    if home.store().exists() {
        refuse_if_there(&mut SqliteLog::create(home.store())?, home)?;
    }
    witness::refuse_if_any(home)?;
    let bench = WorkFolder::new(home)?;
    let checked = import_into(bench.store(), input, progress)?;
    let mut log = SqliteLog::create(home.store())?;
    let mut replacing = log.replacing(bench.store(), PATIENCE)?;
    // Another process may have created a project here meanwhile.
    refuse_if_there(replacing.log(), home)?;
    replacing.finish()?;
    Ok(checked)
}

/// Fails if an entry is deleted: it cannot be exported.
fn refuse_stubs(commit: &Commit) -> Result<(), EngineError> {
    let gone = (commit.first..).zip(commit.slots()).find(|(_, line)| Stub::is_in(line));
    gone.map_or(Ok(()), |(seq, _)| Err(EngineError::Pruned { seq }))
}

/// A recorded copy of the trail.
#[derive(Clone, Debug, Serialize)]
pub struct Taken {
    /// Path of the file.
    pub file: PathBuf,
    /// Last entry in it.
    pub up_to_entry: u64,
    /// Time of that entry.
    pub up_to_timestamp: Timestamp,
    /// The SHA-256 of the file.
    pub snapshot_hash: Blob,
}

/// Writes everything up to a moment to a new file, and records it. The copy ends with a whole
/// commit, so that its head can be checked.
pub fn take(
    engine: &Engine,
    path: &Path,
    upto: Moment,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Taken, EngineError> {
    let made = File::options().write(true).create_new(true).open(path);
    let file = made.map_err(EngineError::file("create", path))?;
    let taken = take_into(engine, path, file, upto, progress);
    if taken.is_err() {
        // Nobody must take a partial copy for a complete one. The file was created here.
        crate::store::home::remove_leftover(path);
    }
    taken
}

fn take_into(
    engine: &Engine,
    path: &Path,
    file: File,
    upto: Moment,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Taken, EngineError> {
    let mut log = engine.reader()?;
    let total = log.position()?.min(upto.seq.unwrap_or(u64::MAX));
    let mut out = Hashing { out: BufWriter::new(file), digest: sha2::Sha256::new() };
    let (mut after, mut last) = (0, None);
    'reading: while after < total {
        let commits = log.tail(after, READ_BYTES)?;
        for commit in &commits {
            refuse_stubs(commit)?;
            let entry = newest_in(commit)?;
            if commit.last > total || upto.time.is_some_and(|time| entry.stamped.at > time) {
                break 'reading;
            }
            write(&mut out, commit).map_err(EngineError::file("write", path))?;
            (after, last) = (commit.last, Some(entry));
        }
        if commits.is_empty() {
            break;
        }
        progress(after, total);
    }
    let Some(entry) = last else {
        return Err(EngineError::NotFound("no commit had ended by then".to_owned()));
    };
    let Hashing { out, digest } = out;
    let ended = out.into_inner().map_err(std::io::IntoInnerError::into_error);
    let synced = ended.and_then(|file| {
        let mut permissions = file.metadata()?.permissions();
        permissions.set_readonly(true);
        file.set_permissions(permissions)?;
        file.sync_all()
    });
    synced.map_err(EngineError::file("sync", path))?;
    sync_folder_of(path)?;
    let snapshot_hash = Blob::from_digest(digest.finalize().into());
    let (up_to_entry, up_to_timestamp) = (entry.seq, entry.stamped.at);
    engine.execute_own(Command::TrailSnapshot(NoteSnapshot {
        entry_count: up_to_entry,
        head_hash: Text::lossy(&entry.hash.to_string()),
        snapshot_hash: snapshot_hash.clone(),
        up_to_entry,
        up_to_timestamp,
    }))?;
    Ok(Taken { file: path.to_owned(), up_to_entry, up_to_timestamp, snapshot_hash })
}

fn newest_in(commit: &Commit) -> Result<Entry, EngineError> {
    let line = commit.entries().last().unwrap_or_default();
    let damaged = |error: althing_trail::entry::EntryError| error.to_string();
    Entry::read(line)
        .map_err(|error| EngineError::Damaged { seq: commit.last, what: damaged(error) })
}

/// Writes and hashes.
struct Hashing<W> {
    out: W,
    digest: sha2::Sha256,
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.digest.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}

fn import_into(
    path: &Path,
    input: impl BufRead,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Checked, EngineError> {
    let mut log = SqliteLog::create(path)?;
    let mut verifier = Verifier::new(Options { every_signature: true, ..Options::default() });
    for commit in Commits::new(input) {
        let commit = commit.map_err(|error| EngineError::Invalid(error.to_string()))?;
        verifier.check(&commit).map_err(|finding| damaged(&finding))?;
        log.append(commit.first - 1, &commit).map_err(|error| match error {
            AppendError::Refused(error) | AppendError::Unknown(error) => {
                EngineError::Unavailable(error)
            }
            AppendError::Conflict => EngineError::Defect("a private store moved on".to_owned()),
        })?;
        progress(commit.last, 0);
    }
    if verifier.chain().seq() == 0 {
        return Err(EngineError::Invalid("there is no trail in the input".to_owned()));
    }
    verifier.finish().map_err(|finding| damaged(&finding))
}

fn refuse_if_there(log: &mut SqliteLog, home: &Home) -> Result<(), EngineError> {
    if log.position()? == 0 {
        return Ok(());
    }
    let path = home.store().display();
    let message = format!("{path} already holds a trail; nothing was changed");
    Err(EngineError::Invalid(message))
}
