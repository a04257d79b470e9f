//! Repair: replacing damaged data by data that is known to be right.
//!
//! The caller has proved what is right: a tile follows from its entries, and a commit from another
//! copy has the hashes that the commits around it name.

use rusqlite::params;

use super::{SqliteLog, TileWriter, tiles};
use crate::commit::Commit;
use crate::log::{DamagedTile, Log as _, LogError, LogErrorKind};

impl SqliteLog {
    /// Rebuilds a tile from its entries.
    pub(super) fn rebuild_damaged_tile(
        &mut self,
        damaged_tile: &DamagedTile,
    ) -> Result<(), LogError> {
        self.alone(|log| {
            let remade = tiles::rebuild_tile(&log.reader.conn, damaged_tile.number);
            log.writing(remade)?;
            log.writing(log.execute("COMMIT"))
        })
    }

    /// Replaces the stored commit at this place. Every writer and reader starts over, since its
    /// state may come from the damaged commit.
    pub fn replace_commit(&mut self, commit: &Commit) -> Result<(), LogError> {
        self.alone(|log| {
            if !log.writing(log.update(commit))? {
                let message = "there is no commit in that place to put right";
                return Err(LogError::new(LogErrorKind::Corrupt, message));
            }
            // Before the commit and after it, for the same reasons as in [`super::replace`].
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

    /// Runs a change in one transaction while nobody else writes.
    fn alone(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<(), LogError>,
    ) -> Result<(), LogError> {
        self.hold()?;
        let done = work(self);
        self.release();
        self.tiles = TileWriter::default();
        done
    }
}
