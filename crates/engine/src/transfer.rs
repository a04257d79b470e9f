//! Moving trails: export, import, backup and restore. Nothing that exists is overwritten.

use althing_trail::export::{Commits, write};
use althing_trail::log::sqlite::{SqliteLog, SqliteReader};
use althing_trail::verify::{Checked, Options, Verifier};
use althing_trail::{AppendError, Log as _, LogReader};
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};

use crate::error::EngineError;
use crate::home::Home;
use crate::world::READ_BYTES;

/// Writes the trail as JSON lines. `progress` hears how many entries are done, out of how many.
pub fn export(
    log: &mut dyn LogReader,
    out: &mut dyn Write,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<u64, EngineError> {
    let total = log.position()?;
    let mut done = 0;
    while done < total {
        for commit in log.tail(done, READ_BYTES)?.iter().filter(|commit| commit.last <= total) {
            let failed = EngineError::file("write", Path::new("the export"));
            write(out, commit).map_err(failed)?;
            done = commit.last;
        }
        progress(done, total);
    }
    out.flush().map_err(EngineError::file("write", Path::new("the export")))?;
    Ok(total)
}

/// Reads a trail from JSON lines into a state folder that has none. The whole trail is verified
/// on the way and appears in its place only if it holds.
pub fn import(
    home: &Home,
    input: impl BufRead,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Checked, EngineError> {
    home.create()?;
    refuse_if_there(home)?;
    let beside = home.root().join(format!("import-{}.db", std::process::id()));
    let result = import_into(&beside, input, progress)
        .and_then(|checked| move_store(&beside, home.store()).map(|()| checked));
    // Whether it was moved or is of no use: nothing stays behind.
    remove_store(&beside);
    result
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
        verifier.check(&commit).map_err(|finding| EngineError::Damaged {
            seq: finding.seq,
            what: finding.fault.to_string(),
        })?;
        log.append(commit.first - 1, &commit).map_err(|error| match error {
            AppendError::Refused(error) | AppendError::Unknown(error) => {
                EngineError::Unavailable(error)
            }
            AppendError::Conflict => EngineError::Defect("a private store moved on".to_owned()),
        })?;
        progress(commit.last, 0);
    }
    let checked = verifier.finish().map_err(|finding| EngineError::Damaged {
        seq: finding.seq,
        what: finding.fault.to_string(),
    })?;
    if checked.entries == 0 {
        return Err(EngineError::Invalid("there is no trail in the input".to_owned()));
    }
    Ok(checked)
}

fn refuse_if_there(home: &Home) -> Result<(), EngineError> {
    let path = home.store();
    let is_there = path.exists()
        && SqliteReader::open(path).and_then(|mut log| log.position()).map_or(true, |end| end > 0);
    if is_there {
        let message = format!("{} already holds a trail; nothing was changed", path.display());
        return Err(EngineError::Invalid(message));
    }
    Ok(())
}

/// Moves a closed store to its place, as one file.
fn move_store(from: &Path, to: &Path) -> Result<(), EngineError> {
    // Fold the journal into the file, so that the file alone is the store.
    let folded = from.with_extension("folded");
    SqliteReader::open(from)?.copy_to(&folded, &mut |_, _| {})?;
    sync_file(&folded)?;
    std::fs::rename(&folded, to).map_err(EngineError::file("create", to))
}

fn sync_file(path: &Path) -> Result<(), EngineError> {
    let file = std::fs::OpenOptions::new().write(true).open(path);
    file.and_then(|file| file.sync_all()).map_err(EngineError::file("sync", path))
}

fn remove_store(path: &Path) {
    for ending in ["db", "db-wal", "db-shm", "lock", "turn", "folded"] {
        // Most of these were never there.
        let _ = std::fs::remove_file(path.with_extension(ending));
    }
}

/// What a backup holds.
#[derive(Debug, serde::Serialize)]
pub struct Backup {
    /// The folder it was written to.
    pub folder: PathBuf,
    /// How many entries it holds.
    pub entries: u64,
    /// Whether the keys are part of it.
    pub keys: bool,
}

const BACKUP_STORE: &str = "trail.db";
const BACKUP_HEAD: &str = "head";
const BACKUP_KEYS: &str = "keys";

/// Copies the trail to a new folder while writing goes on, and verifies the copy.
pub fn backup(
    home: &Home,
    folder: &Path,
    with_keys: bool,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Backup, EngineError> {
    std::fs::create_dir(folder).map_err(EngineError::file("create", folder))?;
    let store = folder.join(BACKUP_STORE);
    SqliteReader::open(home.store())?.copy_to(&store, progress)?;
    sync_file(&store)?;
    let mut copy = SqliteReader::open(&store)?;
    let checked = check_copy(&mut copy)?;
    let head = copy.commit_of(checked.entries)?.map(|commit| commit.head).unwrap_or_default();
    let head_path = folder.join(BACKUP_HEAD);
    std::fs::write(&head_path, head).map_err(EngineError::file("write", &head_path))?;
    if with_keys {
        copy_keys(&home.keys(), &folder.join(BACKUP_KEYS))?;
    }
    Ok(Backup { folder: folder.to_owned(), entries: checked.entries, keys: with_keys })
}

fn check_copy(copy: &mut SqliteReader) -> Result<Checked, EngineError> {
    let mut verifier = Verifier::new(Options::default());
    let damaged = |finding: althing_trail::verify::Finding| EngineError::Damaged {
        seq: finding.seq,
        what: finding.fault.to_string(),
    };
    loop {
        let commits = copy.tail(verifier.chain().seq(), READ_BYTES)?;
        if commits.is_empty() {
            return verifier.finish().map_err(damaged);
        }
        for commit in &commits {
            verifier.check(commit).map_err(damaged)?;
        }
    }
}

fn copy_keys(from: &Path, to: &Path) -> Result<(), EngineError> {
    std::fs::create_dir_all(to).map_err(EngineError::file("create", to))?;
    crate::home::owner_only(to, 0o700)?;
    let entries = std::fs::read_dir(from).map_err(EngineError::file("list", from))?;
    for entry in entries {
        let entry = entry.map_err(EngineError::file("list", from))?;
        let target = to.join(entry.file_name());
        if target.exists() {
            continue;
        }
        std::fs::copy(entry.path(), &target).map_err(EngineError::file("copy", &target))?;
        crate::home::owner_only(&target, 0o600)?;
    }
    Ok(())
}

/// Puts a backup in place. What was there before is moved to the quarantine folder, not deleted.
pub fn restore(home: &Home, folder: &Path) -> Result<(Checked, Option<PathBuf>), EngineError> {
    let store = folder.join(BACKUP_STORE);
    let checked = check_copy(&mut SqliteReader::open(&store)?)?;
    home.create()?;
    let aside = set_aside(home)?;
    let beside = home.root().join(format!("restore-{}.db", std::process::id()));
    std::fs::copy(&store, &beside).map_err(EngineError::file("copy", &beside))?;
    sync_file(&beside)?;
    std::fs::rename(&beside, home.store()).map_err(EngineError::file("create", home.store()))?;
    let keys = folder.join(BACKUP_KEYS);
    if keys.exists() {
        copy_keys(&keys, &home.keys())?;
    }
    Ok((checked, aside))
}

/// Moves a trail that is there out of the way, with everything that belongs to it alone.
fn set_aside(home: &Home) -> Result<Option<PathBuf>, EngineError> {
    if !home.store().exists() {
        return Ok(None);
    }
    let stamp = crate::Clock::now(&crate::SystemClock).micros();
    let aside = home.quarantine().join(format!("replaced-{stamp}"));
    std::fs::create_dir_all(&aside).map_err(EngineError::file("create", &aside))?;
    let store = home.store();
    let with = |ending: &str| store.with_extension(ending);
    let own = [with("db"), with("db-wal"), with("db-shm"), home.witness(), home.snapshots()];
    for path in own.iter().filter(|path| path.exists()) {
        let name = path.file_name().unwrap_or_default();
        std::fs::rename(path, aside.join(name)).map_err(EngineError::file("set aside", path))?;
    }
    home.create()?;
    Ok(Some(aside))
}
