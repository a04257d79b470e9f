//! The registry of writers: processes that may be writing, so that a crash of one is noticed.
//!
//! A process that may write keeps a file of its own in a folder beside the store, and a lock on it.
//! It removes the file when it ends normally. The operating system releases the lock however the
//! process ends, so a file that nobody has locked belongs to a process that crashed. Nothing is
//! synced: a power cut may lose the file, and then nobody learns of that crash; the state does not
//! depend on it.

use althing_kernel::Timestamp;
use althing_kernel::recovery::WriterName;
use data_encoding::HEXLOWER;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fs::{File, TryLockError};
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, UNIX_EPOCH};

use althing_trail::LogError;
use althing_trail::log::LogErrorKind;

use crate::commit::shared::Outage;
use crate::error::EngineError;
use crate::mint::random;
use crate::store::home::{Home, remove_leftover};

/// Extension of the file of a process that is still registering.
const ARRIVING: &str = "new";
/// Extension of the note a process leaves that could not write and has ended.
const TURNED_AWAY: &str = "outage";
/// Age at which the file of a registering process is abandoned.
const HALF_ARRIVED: Duration = Duration::from_hours(24);
/// More than the digits of any process id.
const PID_BYTES_MAX: u64 = 20;
/// Polling interval while another process recovers.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// The registration of this process as a writer. Dropping it means a normal end.
pub(crate) struct Registration {
    path: PathBuf,
    /// Keeps the file locked.
    locked: File,
}

/// A writer that ended without removing its registration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CrashedWriter {
    /// Its name as a writer.
    pub name: WriterName,
    /// Its process id, if it came to write it.
    pub pid: Option<u32>,
    #[serde(skip)]
    pub(crate) path: PathBuf,
    /// When it last kept the time in its file.
    #[serde(skip)]
    last_beat: Option<Timestamp>,
}

/// All registered writers.
#[derive(Debug, Default)]
pub(crate) struct WriterList {
    pub(crate) crashed: Vec<CrashedWriter>,
    /// Process ids of the running writers.
    pub(crate) running: Vec<u32>,
    /// Names of the running writers.
    names: BTreeSet<WriterName>,
    /// Files with notes of outages.
    outage_notes: Vec<PathBuf>,
}

impl WriterList {
    /// Whether a writer of this name is running.
    pub(crate) fn is_running(&self, name: &WriterName) -> bool {
        self.names.contains(name)
    }

    /// When a crashed writer last kept the time in its file.
    pub(crate) fn last_beat(&self, name: &WriterName) -> Option<Timestamp> {
        self.crashed.iter().find(|own| own.name == *name)?.last_beat
    }
}

impl Registration {
    /// Registers this process as a writer.
    pub(crate) fn enter(home: &Home) -> Result<Self, EngineError> {
        let folder = home.writers();
        let path = folder.join(HEXLOWER.encode(&random::<8>()?));
        let arriving = path.with_extension(ARRIVING);
        // Lock the file before it gets its name, so that nobody takes a registering process for a
        // crashed one.
        let enter = || -> std::io::Result<File> {
            let mut file = create(&folder, &arriving)?;
            // On a full disk the file has a name and no content, which is enough.
            if let Err(error) = file.write_all(std::process::id().to_string().as_bytes()) {
                tracing::debug!(%error, "the process id is not in the writer's file");
            }
            file.lock()?;
            std::fs::rename(&arriving, &path)?;
            Ok(file)
        };
        let entered = enter().inspect_err(|_| drop(std::fs::remove_file(&arriving)));
        let locked = entered.map_err(|error| unavailable(&folder, &error))?;
        Ok(Registration { path, locked })
    }
}

impl Registration {
    /// The name of this process as a writer.
    pub(crate) fn name(&self) -> WriterName {
        WriterName::lossy(&self.path.file_name().unwrap_or_default().to_string_lossy())
    }

    /// Keeps the time in the file, as its time of modification.
    pub(crate) fn beat(&self, now: Timestamp) {
        let at = UNIX_EPOCH + Duration::from_micros(now.micros());
        // Without it, whoever finds this process dead counts from then on.
        if let Err(error) = self.locked.set_modified(at) {
            tracing::debug!(%error, "the time is not in the writer's file");
        }
    }
}

impl Registration {
    /// Leaves a note that the store refused and nobody could record it. The note is the file name:
    /// a full disk still allows renaming a file.
    pub(crate) fn leave_outage_note(&self, outage: &Outage) {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let (since, turned_away) = (outage.since.micros(), outage.turned_away);
        let note = format!("{since:020}-{turned_away}-{name}.{TURNED_AWAY}");
        // If even that fails, nobody learns of this outage.
        if let Err(error) = std::fs::rename(&self.path, self.path.with_file_name(note)) {
            tracing::warn!(%error, turned_away, "an outage of the store goes unrecorded");
        }
    }
}

/// A note of an outage. It stays until the outage is on record and the note is removed.
pub(crate) struct OutageNote(PathBuf);

impl OutageNote {
    /// Reads the note; `None` if another process has put it on record meanwhile.
    pub(crate) fn read(&self) -> Option<Outage> {
        let name = self.0.file_stem().filter(|_| self.0.exists())?.to_str()?;
        let mut numbers = name.split('-').map(|number| number.parse().ok());
        let (since, turned_away) = (numbers.next()??, numbers.next()??);
        let reason = "the store refused a process that has ended meanwhile".to_owned();
        Some(Outage { since: Timestamp::from_micros(since), reason, turned_away })
    }

    /// Removes the note once the outage is on record.
    pub(crate) fn remove(self) -> Result<(), EngineError> {
        std::fs::remove_file(&self.0).map_err(EngineError::file("remove", &self.0))
    }
}

/// All notes of outages, oldest first.
pub(crate) fn outage_notes(writers: &WriterList) -> Vec<OutageNote> {
    let mut outage_notes = writers.outage_notes.clone();
    outage_notes.sort();
    outage_notes.into_iter().map(OutageNote).collect()
}

impl Drop for Registration {
    fn drop(&mut self) {
        // Remove it while it is still locked, so that nobody takes it for a crash. If that fails,
        // the next writer recovers needlessly, which does no harm.
        remove_leftover(&self.path);
    }
}

fn create(folder: &Path, path: &Path) -> std::io::Result<File> {
    let create = || File::options().write(true).create_new(true).open(path);
    match create() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            std::fs::create_dir_all(folder)?;
            create()
        }
        other => other,
    }
}

fn unavailable(path: &Path, error: &std::io::Error) -> EngineError {
    let message = format!("cannot say in {} who writes: {error}", path.display());
    EngineError::Unavailable(LogError::new(LogErrorKind::Unwritable, message))
}

/// Lists all registered writers, and which of them crashed. Changes nothing.
pub(crate) fn list(home: &Home) -> Result<WriterList, EngineError> {
    let folder = home.writers();
    let mut writers = WriterList::default();
    let entries = match std::fs::read_dir(&folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(writers),
        other => other.map_err(|error| unavailable(&folder, &error))?,
    };
    for entry in entries {
        let path = entry.map_err(|error| unavailable(&folder, &error))?.path();
        if path.extension().is_some_and(|ending| ending == TURNED_AWAY) {
            writers.outage_notes.push(path);
            continue;
        }
        let name = path.file_name().and_then(|name| name.to_str());
        let Some(name) = name.filter(|name| HEXLOWER.decode(name.as_bytes()).is_ok()) else {
            continue;
        };
        match inspect(&path).map_err(|error| unavailable(&path, &error))? {
            Some((true, pid)) => {
                let (name, last_beat) = (WriterName::lossy(name), modified(&path));
                writers.crashed.push(CrashedWriter { name, pid, path, last_beat });
            }
            Some((false, pid)) => {
                writers.running.extend(pid);
                writers.names.insert(WriterName::lossy(name));
            }
            None => {}
        }
    }
    writers.crashed.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(writers)
}

/// When a file was modified.
fn modified(path: &Path) -> Option<Timestamp> {
    let at = path.metadata().and_then(|data| data.modified()).ok()?;
    let micros = at.duration_since(UNIX_EPOCH).ok()?.as_micros();
    u64::try_from(micros).ok().map(Timestamp::from_micros)
}

/// Lists the writers that crashed.
pub fn crashed_writers(home: &Home) -> Result<Vec<CrashedWriter>, EngineError> {
    list(home).map(|writers| writers.crashed)
}

/// Whether a file's process is gone, and its process id; `None` if it ended normally meanwhile.
fn inspect(path: &Path) -> std::io::Result<Option<(bool, Option<u32>)>> {
    let mut file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    let mut digits = String::new();
    // On some systems a locked file cannot be read; then the process id stays unknown.
    let read = (&mut file).take(PID_BYTES_MAX).read_to_string(&mut digits);
    let pid = read.ok().and_then(|_| digits.trim().parse().ok());
    // A shared lock, so that two processes that check at once do not take each other for the owner.
    match file.try_lock_shared() {
        // A process that ends normally removes the file before it unlocks.
        Ok(()) => Ok(path.try_exists()?.then_some((true, pid))),
        Err(TryLockError::WouldBlock) => Ok(Some((false, pid))),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// The lock for recovery: one process recovers at a time, the others wait.
pub(crate) struct RecoveryLock(File);

impl RecoveryLock {
    pub(crate) fn begin(home: &Home, patience: Duration) -> Result<Self, EngineError> {
        let path = home.recovery_lock();
        let file = File::options().create(true).write(true).truncate(false).open(&path);
        let file = file.map_err(|error| unavailable(&path, &error))?;
        let deadline = Instant::now() + patience;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(RecoveryLock(file)),
                Err(TryLockError::Error(error)) => return Err(unavailable(&path, &error)),
                Err(TryLockError::WouldBlock) if Instant::now() >= deadline => {
                    return Err(EngineError::TimedOut(patience.as_secs()));
                }
                Err(TryLockError::WouldBlock) => std::thread::sleep(LOOK_EVERY),
            }
        }
    }
}

/// Removes the registrations of crashed writers after recovery.
pub(crate) fn remove_registrations<'f>(
    home: &Home,
    crashed: impl Iterator<Item = &'f CrashedWriter>,
) -> Result<(), EngineError> {
    clear_half_arrived(&home.writers());
    for own in crashed {
        match std::fs::remove_file(&own.path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(EngineError::file("remove", &own.path)(error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Removes the files of processes that were killed while registering.
fn clear_half_arrived(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.filter_map(|entry| entry.ok().map(|entry| entry.path())) {
        let arriving = path.extension().is_some_and(|ending| ending == ARRIVING);
        let age = path.metadata().and_then(|data| data.modified()).map(|at| at.elapsed());
        if arriving && matches!(age, Ok(Ok(age)) if age > HALF_ARRIVED) {
            // A file that cannot be removed now is removed next time.
            remove_leftover(&path);
        }
    }
}

impl Drop for RecoveryLock {
    fn drop(&mut self) {
        // Unlocking fails only for a file that is not open.
        let _ = self.0.unlock();
    }
}
