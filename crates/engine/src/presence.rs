//! Presence: who may be writing, so that it shows when one of them ended without saying so.
//!
//! Whoever may write keeps a file of its own in a folder beside the store, and a lock on it. The
//! file goes when its owner ends well. The operating system lets go of the lock however the owner
//! ends, so a file that nobody has locked is that of somebody who was killed. Nothing is synced: a
//! power cut may take the file along, and then nobody learns of that death; what is true does not
//! depend on it.

use althing_kernel::Timestamp;
use althing_kernel::recovery::WriterName;
use data_encoding::HEXLOWER;
use serde::Serialize;
use std::fs::{File, TryLockError};
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use althing_trail::LogError;
use althing_trail::log::LogErrorKind;

use crate::error::EngineError;
use crate::home::{Home, remove_leftover};
use crate::mint::random;
use crate::shared::Outage;

/// What the file of somebody is called who is not there yet.
const ARRIVING: &str = "new";
/// How the file of somebody ends who could not write and has ended meanwhile.
const TURNED_AWAY: &str = "outage";
/// How old such a file must be for its owner to be gone.
const HALF_ARRIVED: Duration = Duration::from_hours(24);
/// More than the digits of any process id.
const PID_BYTES_MAX: u64 = 20;
/// How often somebody looks who waits for another to recover.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// This process as somebody who may write. Dropping it says that it ended well.
pub(crate) struct Presence {
    path: PathBuf,
    /// Held for as long as this is there.
    _locked: File,
}

/// Somebody who ended without saying so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fallen {
    /// The name it had as a writer.
    pub name: WriterName,
    /// Its process id, if it came to write it down.
    pub pid: Option<u32>,
    #[serde(skip)]
    pub(crate) path: PathBuf,
}

/// Everybody who is listed.
#[derive(Debug, Default)]
pub(crate) struct Roll {
    pub(crate) fallen: Vec<Fallen>,
    /// The process ids of those who are there.
    pub(crate) living: Vec<u32>,
    /// Where somebody left word of an outage.
    words: Vec<PathBuf>,
}

impl Presence {
    /// Lists this process as one that may write from now on.
    pub(crate) fn enter(home: &Home) -> Result<Self, EngineError> {
        let folder = home.writers();
        let path = folder.join(HEXLOWER.encode(&random::<8>()?));
        let arriving = path.with_extension(ARRIVING);
        // Locked before it has its name: nobody is to be taken for dead while arriving.
        let enter = || -> std::io::Result<File> {
            let mut file = create(&folder, &arriving)?;
            // On a full disk there is a name and nothing in it; that will do.
            if let Err(error) = file.write_all(std::process::id().to_string().as_bytes()) {
                tracing::debug!(%error, "the process id is not in the writer's file");
            }
            file.lock()?;
            std::fs::rename(&arriving, &path)?;
            Ok(file)
        };
        let entered = enter().inspect_err(|_| drop(std::fs::remove_file(&arriving)));
        let locked = entered.map_err(|error| unavailable(&folder, &error))?;
        Ok(Presence { path, _locked: locked })
    }
}

impl Presence {
    /// Leaves word that the store refused and nobody could record it. It is all in the name: a
    /// full disk still takes another name for a file that is there.
    pub(crate) fn leave_word(&self, outage: &Outage) {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let (since, turned_away) = (outage.since.micros(), outage.turned_away);
        let word = format!("{since:020}-{turned_away}-{name}.{TURNED_AWAY}");
        // Where not even that is possible, nobody learns of this outage.
        if let Err(error) = std::fs::rename(&self.path, self.path.with_file_name(word)) {
            tracing::warn!(%error, turned_away, "an outage of the store goes unrecorded");
        }
    }
}

/// Word that somebody left of an outage. It stays until it is forgotten, which is for whoever has
/// put it on record.
pub(crate) struct Word(PathBuf);

impl Word {
    /// What it says; nothing, if somebody else has put it on record meanwhile.
    pub(crate) fn read(&self) -> Option<Outage> {
        let name = self.0.file_stem().filter(|_| self.0.exists())?.to_str()?;
        let mut numbers = name.split('-').map(|number| number.parse().ok());
        let (since, turned_away) = (numbers.next()??, numbers.next()??);
        let reason = "the store refused a process that has ended meanwhile".to_owned();
        Some(Outage { since: Timestamp::from_micros(since), reason, turned_away })
    }

    /// It is on record.
    pub(crate) fn forget(self) -> Result<(), EngineError> {
        std::fs::remove_file(&self.0).map_err(EngineError::file("remove", &self.0))
    }
}

/// What others left word of, oldest first.
pub(crate) fn words(roll: &Roll) -> Vec<Word> {
    let mut words = roll.words.clone();
    words.sort();
    words.into_iter().map(Word).collect()
}

impl Drop for Presence {
    fn drop(&mut self) {
        // While it is still locked, so that nobody finds it without its owner. If it cannot be
        // removed, the next writer recovers from nothing.
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

/// Looks who is listed, and who of them is not there any more. This changes nothing.
pub(crate) fn roll(home: &Home) -> Result<Roll, EngineError> {
    let folder = home.writers();
    let mut roll = Roll::default();
    let entries = match std::fs::read_dir(&folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(roll),
        other => other.map_err(|error| unavailable(&folder, &error))?,
    };
    for entry in entries {
        let path = entry.map_err(|error| unavailable(&folder, &error))?.path();
        if path.extension().is_some_and(|ending| ending == TURNED_AWAY) {
            roll.words.push(path);
            continue;
        }
        let name = path.file_name().and_then(|name| name.to_str());
        let Some(name) = name.filter(|name| HEXLOWER.decode(name.as_bytes()).is_ok()) else {
            continue;
        };
        match look(&path).map_err(|error| unavailable(&path, &error))? {
            Some((true, pid)) => {
                roll.fallen.push(Fallen { name: WriterName::lossy(name), pid, path });
            }
            Some((false, pid)) => roll.living.extend(pid),
            None => {}
        }
    }
    roll.fallen.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(roll)
}

/// Those who ended without saying so.
pub fn fallen(home: &Home) -> Result<Vec<Fallen>, EngineError> {
    roll(home).map(|roll| roll.fallen)
}

/// Whether a file's owner is gone, and its process id; nothing if it ended well meanwhile.
fn look(path: &Path) -> std::io::Result<Option<(bool, Option<u32>)>> {
    let mut file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    let mut digits = String::new();
    // Where nobody can read what somebody has locked, the id stays unknown.
    let read = (&mut file).take(PID_BYTES_MAX).read_to_string(&mut digits);
    let pid = read.ok().and_then(|_| digits.trim().parse().ok());
    // Shared, so that two who look at once do not take each other for the owner.
    match file.try_lock_shared() {
        // Whoever ends well removes the file before the lock goes.
        Ok(()) => Ok(path.try_exists()?.then_some((true, pid))),
        Err(TryLockError::WouldBlock) => Ok(Some((false, pid))),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Keeps everybody else from recovering at the same time; whoever would waits until it is done.
pub(crate) struct Recovering(File);

impl Recovering {
    pub(crate) fn begin(home: &Home, patience: Duration) -> Result<Self, EngineError> {
        let path = home.recovery_lock();
        let file = File::options().create(true).write(true).truncate(false).open(&path);
        let file = file.map_err(|error| unavailable(&path, &error))?;
        let deadline = Instant::now() + patience;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Recovering(file)),
                Err(TryLockError::Error(error)) => return Err(unavailable(&path, &error)),
                Err(TryLockError::WouldBlock) if Instant::now() >= deadline => {
                    return Err(EngineError::TimedOut(patience.as_secs()));
                }
                Err(TryLockError::WouldBlock) => std::thread::sleep(LOOK_EVERY),
            }
        }
    }
}

/// Strikes those off the list who were recovered from.
pub(crate) fn strike<'f>(
    home: &Home,
    fallen: impl Iterator<Item = &'f Fallen>,
) -> Result<(), EngineError> {
    clear_half_arrived(&home.writers());
    for own in fallen {
        match std::fs::remove_file(&own.path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(EngineError::file("remove", &own.path)(error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Clears away the files of those who were killed before they could write anything.
fn clear_half_arrived(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.filter_map(|entry| entry.ok().map(|entry| entry.path())) {
        let arriving = path.extension().is_some_and(|ending| ending == ARRIVING);
        let age = path.metadata().and_then(|data| data.modified()).map(|at| at.elapsed());
        if arriving && matches!(age, Ok(Ok(age)) if age > HALF_ARRIVED) {
            // What cannot be cleared away now is cleared away next time.
            remove_leftover(&path);
        }
    }
}

impl Drop for Recovering {
    fn drop(&mut self) {
        // Unlocking fails only for a file that is not open.
        let _ = self.0.unlock();
    }
}
