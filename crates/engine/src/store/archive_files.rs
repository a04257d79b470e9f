//! The archive files of a project: the lock for changing them, leftovers, and copies.

use althing_kernel::State;
use althing_kernel::archive::ReplayBase;
use althing_trail::archive::{ArchiveRecord, Archives, DATA, MANIFEST, UNFINISHED};
use althing_trail::log::LogErrorKind;
use althing_trail::log::sqlite::beside;
use althing_trail::{LogError, LogReader};
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::error::EngineError;
use crate::store::home::{Home, replace_synced, sync_folder_of};
use crate::store::quarantine::Quarantine;

/// Polling interval while waiting for the lock.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The lock for changing archives. One process has it at a time; the system releases it if that
/// process dies.
pub(crate) struct ArchiveLock(File);

impl ArchiveLock {
    /// Waits for the lock, but not for longer than `patience`.
    pub(crate) fn take(home: &Home, patience: Duration) -> Result<Self, EngineError> {
        let path = beside(home.store(), "-archiving");
        let file =
            OpenOptions::new().create(true).read(true).write(true).truncate(false).open(&path);
        let file = file.map_err(EngineError::file("open", &path))?;
        let deadline = Instant::now() + patience;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(ArchiveLock(file)),
                Err(TryLockError::Error(error)) => {
                    return Err(EngineError::file("lock", &path)(error));
                }
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                    std::thread::sleep(LOOK_EVERY);
                }
                Err(TryLockError::WouldBlock) => {
                    let message = "another process is at work on the archives";
                    let error = LogError::new(LogErrorKind::Locked, message);
                    return Err(EngineError::Unavailable(error));
                }
            }
        }
    }
}

impl Drop for ArchiveLock {
    fn drop(&mut self) {
        // Unlocking fails only for a file that is not open.
        let _ = self.0.unlock();
    }
}

/// Names of the files of recorded archives and of the replay base.
fn expected(home: &Home, state: &State, archive_records: &[ArchiveRecord]) -> BTreeSet<String> {
    let on_record = state.archives().map(|(number, archive)| Archives::name(number, &archive.hash));
    let known = archive_records
        .iter()
        .map(|archive_record| Archives::name(archive_record.number, &archive_record.hash));
    let names: BTreeSet<String> = on_record.chain(known).collect();
    let files =
        names.into_iter().flat_map(|name| [DATA, MANIFEST].map(|end| format!("{name}.{end}")));
    let base = state.replay_base().map(|base| name_of(&home.archives().replay_base(base)));
    files.chain(base).collect()
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Files beside the archives that nothing on record refers to: left by a killed process, of a
/// replaced trail, or an older replay base.
pub fn leftovers(home: &Home, state: &State, archive_records: &[ArchiveRecord]) -> Vec<PathBuf> {
    let expected = expected(home, state, archive_records);
    let Ok(files) = std::fs::read_dir(home.archives().folder()) else { return Vec::new() };
    let unexpected = |path: &PathBuf| path.is_file() && !expected.contains(&name_of(path));
    let mut found: Vec<PathBuf> =
        files.filter_map(|file| file.ok().map(|file| file.path())).filter(unexpected).collect();
    found.sort();
    found
}

/// Removes leftovers before something new is written. Unfinished files are deleted; complete ones
/// are quarantined.
pub(crate) fn remove_leftovers(
    home: &Home,
    state: &State,
    archive_records: &[ArchiveRecord],
) -> Result<(), EngineError> {
    let left = leftovers(home, state, archive_records);
    if left.is_empty() {
        return Ok(());
    }
    let aside = Quarantine::new(home)?;
    for path in left {
        if name_of(&path).starts_with(UNFINISHED) {
            std::fs::remove_file(&path).map_err(EngineError::file("remove", &path))?;
        } else {
            aside.take(&path)?;
        }
    }
    Ok(())
}

/// Copies the archives that one store refers to beside another, and its replay base. Deleted
/// archives have a manifest only.
pub(crate) fn copy_archives(
    from: &Archives,
    to: &Archives,
    log: &mut dyn LogReader,
) -> Result<(), EngineError> {
    let (archive_records, base) = (log.archive_records()?, log.replay_base()?);
    if archive_records.is_empty() && base.is_none() {
        return Ok(());
    }
    let folder = to.folder();
    std::fs::create_dir_all(folder).map_err(EngineError::file("create", folder))?;
    for archive_record in &archive_records {
        for file in [Archives::data, Archives::manifest] {
            let path =
                |archives: &Archives| file(archives, archive_record.number, &archive_record.hash);
            copy_once(&path(from), &path(to))?;
        }
    }
    if let Some(base) = base {
        let path = |archives: &Archives, base: &ReplayBase| archives.replay_base(base);
        copy_once(&path(from, &base), &path(to, &base))?;
    }
    sync_folder_of(&folder.join("any"))
}

/// Copies a file unless the target is already equal. A missing file is skipped: the verification of
/// the copy reports it.
fn copy_once(from: &Path, to: &Path) -> Result<(), EngineError> {
    let content = match std::fs::read(from) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        other => other.map_err(EngineError::file("read", from))?,
    };
    if std::fs::read(to).is_ok_and(|there| there == content) {
        return Ok(());
    }
    replace_synced(to, &content)
}
