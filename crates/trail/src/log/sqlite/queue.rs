//! The writers' queue: operating-system locks on files beside the database.
//!
//! The files are never unlinked, and the system releases the locks when their holder dies. SQLite's
//! own lock would be enough for safety. These locks wake the next writer at once, and a busy writer
//! cannot keep the others out: a writer takes the turnstile first and keeps it until the writer
//! before is done, so that one has to queue behind it. The holder of the turnstile reads new
//! commits before it waits for the last writer, so with many processes the reading of one overlaps
//! with the sync of another.
//!
//! Another file holds the generation of the log, a number that grows when the whole log is replaced
//! by another, so that a writer who decided on the old log does not append to the new. That file is
//! never locked: on some systems nobody can read a file that another process has locked.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use crate::log::{LogError, LogErrorKind};

const LOCK: &str = "-lock";
const TURN: &str = "-turn";
const GENERATION: &str = "-generation";

/// Path of a file beside the database.
pub fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

pub(super) struct Queue {
    file: File,
    turnstile: File,
    numbered: File,
    /// The generation this writer knows, read before it opened the database.
    generation: u64,
    /// Whether this writer holds the turnstile.
    next: bool,
    held: bool,
}

impl Queue {
    pub(super) fn open(path: &Path) -> Result<Self, LogError> {
        let (file, turnstile) = (open(&beside(path, LOCK))?, open(&beside(path, TURN))?);
        let mut numbered = open(&beside(path, GENERATION))?;
        let generation = number_in(&mut numbered).map_err(|error| unusable(&error))?;
        Ok(Queue { file, turnstile, numbered, generation, next: false, held: false })
    }

    pub(super) fn is_held(&self) -> bool {
        self.held
    }

    /// Queues until this writer holds the turnstile.
    pub(super) fn line_up(&mut self) -> Result<(), LogError> {
        if !self.next && !self.held {
            self.turnstile.lock().map_err(|error| unusable(&error))?;
            self.next = true;
        }
        Ok(())
    }

    /// Queues and waits for the turn.
    pub(super) fn enter(&mut self) -> Result<(), LogError> {
        let entered = self.line_up().and_then(|()| self.file.lock().map_err(|e| unusable(&e)));
        self.step_aside();
        entered?;
        self.held = true;
        self.check_generation()
    }

    /// Queues and waits for the turn, but not for longer than `time`. A separate thread waits,
    /// because polling for the lock would lose the place in the queue each time.
    pub(super) fn enter_within(&mut self, time: Duration) -> Result<(), LogError> {
        let clones = (self.file.try_clone(), self.turnstile.try_clone());
        let (Ok(file), Ok(turnstile)) = clones else { return self.enter() };
        let (send, receive) = sync_channel::<std::io::Result<()>>(0);
        std::thread::spawn(move || {
            let entered = turnstile.lock().and_then(|()| file.lock());
            let _ = turnstile.unlock();
            if send.send(entered).is_err() {
                // The caller has given up waiting.
                let _ = file.unlock();
            }
        });
        let Ok(entered) = receive.recv_timeout(time) else {
            let message = "another process keeps the store to itself";
            return Err(LogError::new(LogErrorKind::Locked, message));
        };
        entered.map_err(|error| unusable(&error))?;
        self.held = true;
        self.check_generation()
    }

    /// Takes the turn if the queue is empty.
    pub(super) fn try_enter(&mut self) -> Result<bool, LogError> {
        let entered = match self.turnstile.try_lock() {
            Ok(()) => self.file.try_lock(),
            Err(busy) => return is_free(Err(busy)),
        };
        self.step_aside();
        self.held = is_free(entered)?;
        if self.held {
            self.check_generation()?;
        }
        Ok(self.held)
    }

    /// Releases the turnstile.
    fn step_aside(&mut self) {
        // Unlocking fails only for a file that is not open.
        let _ = self.turnstile.unlock();
        self.next = false;
    }

    /// Ends the turn and releases the turnstile.
    pub(super) fn leave(&mut self) {
        if self.next {
            self.step_aside();
        }
        if !self.held {
            return;
        }
        // Unlocking fails only for a file that is not open.
        let _ = self.file.unlock();
        self.held = false;
    }

    fn check_generation(&mut self) -> Result<(), LogError> {
        let found = self.read_generation();
        if matches!(found, Ok(found) if found == self.generation) {
            return Ok(());
        }
        self.leave();
        found.map_err(|error| unusable(&error))?;
        let message = "the trail was replaced by another meanwhile; repeat the command";
        Err(LogError::new(LogErrorKind::Replaced, message))
    }

    fn read_generation(&mut self) -> std::io::Result<u64> {
        self.numbered.seek(SeekFrom::Start(0))?;
        number_in(&mut self.numbered)
    }

    /// Starts another generation, so that every other writer learns that the log was replaced.
    pub(super) fn next_generation(&mut self) -> Result<(), LogError> {
        let next = self.generation + 1;
        let mut write = || {
            self.numbered.seek(SeekFrom::Start(0))?;
            // Twenty digits, so that a torn write cannot leave a tail of the old number.
            self.numbered.write_all(format!("{next:020}").as_bytes())?;
            self.numbered.sync_data()
        };
        write().map_err(|error| unusable(&error))?;
        self.generation = next;
        Ok(())
    }
}

/// The generation of a log, for readers. A log that was never written has none.
pub(super) fn generation_of(path: &Path) -> Result<u64, LogError> {
    match File::open(beside(path, GENERATION)).and_then(|mut file| number_in(&mut file)) {
        Ok(generation) => Ok(generation),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(LogError::new(LogErrorKind::Unreadable, error.to_string())),
    }
}

fn number_in(file: &mut File) -> std::io::Result<u64> {
    let mut digits = Vec::new();
    std::io::Read::take(file, 20).read_to_end(&mut digits)?;
    // Text that is not a number counts as 0: only a change of the value matters.
    Ok(String::from_utf8_lossy(&digits).trim().parse().unwrap_or_default())
}

fn open(path: &Path) -> Result<File, LogError> {
    // Not in append mode: some systems do not lock files that are open for appending only.
    let opened = OpenOptions::new().create(true).read(true).write(true).truncate(false).open(path);
    opened.map_err(|error| {
        let message = format!("cannot open the writers' queue {}: {error}", path.display());
        LogError::new(LogErrorKind::Unwritable, message)
    })
}

fn unusable(error: &std::io::Error) -> LogError {
    LogError::new(LogErrorKind::Unwritable, format!("cannot queue for the store: {error}"))
}

fn is_free(locked: Result<(), TryLockError>) -> Result<bool, LogError> {
    match locked {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(unusable(&error)),
    }
}
