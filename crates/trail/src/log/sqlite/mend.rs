//! Mending: putting back what is known to be right where something else is stored.
//!
//! Nothing here decides what is right. Whoever mends has shown it: a tile follows from its
//! entries, and a commit from another copy has the hashes that the commits around it vouch for.

use rusqlite::params;

use super::{Doing, SqliteLog, TileWriter, fault, tiles};
use crate::commit::Commit;
use crate::log::{Log as _, LogError, LogErrorKind, Misfit};

impl SqliteLog {
    /// Makes a tile anew from its entries.
    pub(super) fn remake_tile(&mut self, misfit: &Misfit) -> Result<(), LogError> {
        self.in_transaction(|log| tiles::remake(&log.reader.conn, misfit.number).map(|()| true))
    }

    /// Puts a commit in the place of the one that is stored there. Every writer and reader begins
    /// anew: what they know may come from what was stored before.
    pub fn put_back(&mut self, commit: &Commit) -> Result<(), LogError> {
        let Commit { first, last, lines, head, hashes: _ } = commit;
        let row = "UPDATE commits SET first = ?, entries = ?, head = ? WHERE last = ?";
        self.in_transaction(|log| {
            let mut statement = log.reader.conn.prepare_cached(row)?;
            Ok(statement.execute(params![first, lines, head, last])? == 1)
        })?;
        self.queue.next_generation()
    }

    /// Does something alone, as a whole or not at all.
    fn in_transaction(
        &mut self,
        work: impl FnOnce(&mut Self) -> rusqlite::Result<bool>,
    ) -> Result<(), LogError> {
        self.hold()?;
        let done = work(self).and_then(|found| self.execute("COMMIT").map(|()| found));
        let done = done.map_err(|error| fault(Doing::Write, &self.reader.path, &error));
        self.let_go();
        self.tiles = TileWriter::default();
        if done? {
            return Ok(());
        }
        Err(LogError::new(LogErrorKind::Corrupt, "there is no commit in that place to put right"))
    }
}
