//! Mending: putting back what is known to be right where something else is stored.
//!
//! Nothing here decides what is right. Whoever mends has shown it: a tile follows from its
//! entries, and a commit from another copy has the hashes that the commits around it vouch for.

use rusqlite::params;

use super::{SqliteLog, TileWriter, tiles};
use crate::commit::Commit;
use crate::log::{Log as _, LogError, LogErrorKind, Misfit};

impl SqliteLog {
    /// Makes a tile anew from its entries.
    pub(super) fn remake_tile(&mut self, misfit: &Misfit) -> Result<(), LogError> {
        self.alone(|log| {
            let remade = tiles::remake(&log.reader.conn, misfit.number);
            log.writing(remade)?;
            log.writing(log.execute("COMMIT"))
        })
    }

    /// Puts a commit in the place of the one that is stored there. Every writer and reader begins
    /// anew: what they know may come from what was stored before.
    pub fn put_back(&mut self, commit: &Commit) -> Result<(), LogError> {
        self.alone(|log| {
            if !log.writing(log.update(commit))? {
                let message = "there is no commit in that place to put right";
                return Err(LogError::new(LogErrorKind::Corrupt, message));
            }
            // Before the commit and after it, for the same reasons as when all is replaced.
            log.queue.next_generation()?;
            log.writing(log.execute("COMMIT"))?;
            log.queue.next_generation()
        })
    }

    fn update(&self, commit: &Commit) -> rusqlite::Result<bool> {
        let Commit { first, last, lines, head, hashes: _ } = commit;
        let row = "UPDATE commits SET first = ?, entries = ?, head = ? WHERE last = ?";
        let changed =
            self.reader.conn.prepare_cached(row)?.execute(params![first, lines, head, last])?;
        Ok(changed == 1)
    }

    /// Does something while nobody else writes, as a whole or not at all.
    fn alone(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<(), LogError>,
    ) -> Result<(), LogError> {
        self.hold()?;
        let done = work(self);
        self.let_go();
        self.tiles = TileWriter::default();
        done
    }
}
