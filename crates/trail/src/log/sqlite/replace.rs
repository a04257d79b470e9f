//! Replacement of the whole log by another, in one transaction.
//!
//! Moving files would leave open handles on the old file, and the journal of one file beside
//! another. A transaction avoids both: a reader sees the old log or the new, a crash leaves one of
//! them, and every writer learns of it from the generation in the queue.

use std::path::Path;
use std::time::Duration;

use super::queue::Queue;
use super::{Doing, SqliteLog, TileWriter, fault};
use crate::log::{Log as _, LogError, LogErrorKind};

/// The turn to write, without a store: for when the store itself cannot be opened.
pub struct Reserved(Queue);

impl Reserved {
    /// Waits for the turn, and makes every other writer check the store again before its own.
    pub fn new(path: &Path, patience: Duration) -> Result<Self, LogError> {
        let mut queue = Queue::open(path)?;
        queue.enter_within(patience)?;
        queue.next_generation()?;
        Ok(Reserved(queue))
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.0.leave();
    }
}

/// A log about to be replaced. Nobody else can append while this exists; dropping it changes
/// nothing.
pub struct Replacing<'a>(&'a mut SqliteLog);

impl SqliteLog {
    /// Keeps other writers from appending, without beginning a transaction.
    pub fn reserve(&mut self, patience: Duration) -> Result<(), LogError> {
        if self.queue.is_held() { Ok(()) } else { self.queue.enter_within(patience) }
    }

    /// Begins to replace the content of this log by that of another file.
    pub fn replacing(
        &mut self,
        other: &Path,
        patience: Duration,
    ) -> Result<Replacing<'_>, LogError> {
        self.reserve(patience)?;
        let replacing = Replacing(self);
        let log = &mut *replacing.0;
        let other_text = other.to_str().ok_or_else(|| {
            let message = format!("{} is not a path SQLite can attach", other.display());
            LogError::new(LogErrorKind::Unreadable, message)
        })?;
        let attached = log.reader.conn.execute("ATTACH DATABASE ? AS incoming", [other_text]);
        attached.map_err(|error| fault(Doing::Read, other, &error))?;
        log.begin()?;
        Ok(replacing)
    }
}

impl Replacing<'_> {
    /// The log with the changes so far.
    pub fn log(&mut self) -> &mut SqliteLog {
        self.0
    }

    /// Commits the replacement durably.
    pub fn finish(self) -> Result<(), LogError> {
        let log = &mut *self.0;
        let copied = super::archived::take_from_incoming(&log.reader.conn).and_then(|()| {
            log.reader.conn.execute_batch(
                "DELETE FROM commits;
             DELETE FROM tiles;
             INSERT INTO commits (last, first, entries, head)
                 SELECT last, first, entries, head FROM incoming.commits ORDER BY last;
             INSERT INTO tiles (number, root, leaves)
                 SELECT number, root, leaves FROM incoming.tiles ORDER BY number;",
            )
        });
        log.writing(copied)?;
        // Before the commit, so that nobody who decided on the old log appends to the new even if
        // this process dies in between; and after it, so that readers of the meantime read again.
        log.queue.next_generation()?;
        log.tiles = TileWriter::default();
        let committed = log.execute("COMMIT");
        log.writing(committed)?;
        log.queue.next_generation()
    }
}

impl Drop for Replacing<'_> {
    fn drop(&mut self) {
        self.0.release();
        // Closing the connection detaches it at the latest.
        if let Err(error) = self.0.reader.conn.execute_batch("DETACH DATABASE incoming") {
            tracing::debug!(%error, "the incoming store stays attached");
        }
    }
}
