//! The store's records of archives, and the replacement of archived lines by stubs.
//!
//! A line is replaced by its stub in a small transaction, so that writers get their turn in
//! between. The transaction is not synced, because losing one loses nothing: the archive and the
//! record of it are on the disk by then, and the next attempt finds the line where it was.

use althing_kernel::Blob;
use althing_kernel::archive::{Number, ReplayBase};
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use std::path::Path;

use super::{Doing, SqliteLog, fault};
use crate::archive::{ArchiveRecord, Stage};
use crate::commit::Commit;
use crate::log::{Log as _, LogError, LogErrorKind, LogReader as _};

pub(super) const SCHEMA: &str = "
    CREATE TABLE archives (
        number  INTEGER PRIMARY KEY,
        hash    TEXT NOT NULL,
        stage   INTEGER NOT NULL
    );
    CREATE TABLE floors (
        seq     INTEGER PRIMARY KEY,
        hash    TEXT NOT NULL
    );
";

/// Changed pages after which a checkpoint is done while others write: before they would have to do
/// it.
const FOLD_PAGES_SHARED: u64 = 64;
/// Changed pages after which a checkpoint is done while nobody else writes.
const FOLD_PAGES: u64 = 2_048;
/// Cache size in KiB: pages that were read are about to be written.
const CACHE_KIB: i64 = 32 << 10;
/// Size of a journal page, in bytes.
const PAGE_BYTES: u64 = super::PAGE_BYTES;

const ALL: &str = "SELECT number, hash, stage FROM archives";

fn stage_of(code: i64) -> Option<Stage> {
    match code {
        0 => Some(Stage::Moving),
        1 => Some(Stage::Moved),
        2 => Some(Stage::Pruned),
        _ => None,
    }
}

fn code_of(stage: Stage) -> i64 {
    match stage {
        Stage::Moving => 0,
        Stage::Moved => 1,
        Stage::Pruned => 2,
    }
}

fn not_ours(column: usize) -> rusqlite::Error {
    rusqlite::Error::InvalidColumnType(column, "archives".to_owned(), rusqlite::types::Type::Text)
}

fn hash_in(row: &Row<'_>, column: usize) -> rusqlite::Result<Blob> {
    row.get_ref(column)?.as_str()?.parse().map_err(|_| not_ours(column))
}

fn shelf_in(row: &Row<'_>) -> rusqlite::Result<ArchiveRecord> {
    let stage = stage_of(row.get(2)?).ok_or_else(|| not_ours(2))?;
    Ok(ArchiveRecord { number: Number(row.get(0)?), hash: hash_in(row, 1)?, stage })
}

/// Whether the file's format has tables for archives.
fn has_archives(conn: &Connection, schema: &str) -> rusqlite::Result<bool> {
    let count = format!("SELECT count(*) FROM {schema}.sqlite_schema WHERE name = 'archives'");
    conn.query_row(&count, [], |row| row.get::<_, i64>(0)).map(|found| found > 0)
}

pub(super) fn archive_records(conn: &Connection) -> rusqlite::Result<Vec<ArchiveRecord>> {
    if !has_archives(conn, "main")? {
        return Ok(Vec::new());
    }
    let mut statement = conn.prepare_cached(&format!("{ALL} ORDER BY number"))?;
    statement.query_map([], shelf_in)?.collect()
}

pub(super) fn archive_record(
    conn: &Connection,
    number: Number,
) -> rusqlite::Result<Option<ArchiveRecord>> {
    if !has_archives(conn, "main")? {
        return Ok(None);
    }
    let mut statement = conn.prepare_cached(&format!("{ALL} WHERE number = ?"))?;
    statement.query_row([number.0], shelf_in).optional()
}

/// The replay base; the newest one counts.
pub(super) fn replay_base(conn: &Connection) -> rusqlite::Result<Option<ReplayBase>> {
    if !has_archives(conn, "main")? {
        return Ok(None);
    }
    let newest = "SELECT seq, hash FROM floors ORDER BY seq DESC LIMIT 1";
    let found = |row: &Row<'_>| Ok(ReplayBase { seq: row.get(0)?, hash: hash_in(row, 1)? });
    conn.prepare_cached(newest)?.query_row([], found).optional()
}

/// Copies the records of archives from an attached store.
pub(super) fn take_from_incoming(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch("DELETE FROM archives; DELETE FROM floors;")?;
    if !has_archives(conn, "incoming")? {
        return Ok(());
    }
    conn.execute_batch(
        "INSERT INTO archives (number, hash, stage)
             SELECT number, hash, stage FROM incoming.archives ORDER BY number;
         INSERT INTO floors (seq, hash) SELECT seq, hash FROM incoming.floors ORDER BY seq;",
    )
}

/// The lines of a commit before and after replacement.
pub struct Swap {
    /// Position where the commit ends.
    pub last: u64,
    /// Lines before.
    pub before: String,
    /// Lines after.
    pub after: String,
}

/// Replaces lines by stubs while others write.
pub struct Swapper {
    log: SqliteLog,
    unfolded: u64,
}

impl Swapper {
    /// Opens a store to change its records of archives.
    pub fn open(path: &Path) -> Result<Self, LogError> {
        let log = SqliteLog::open(path)?;
        let calm = || -> rusqlite::Result<()> {
            // Nothing written here has to be durable by itself, and the next writer syncs it along
            // with its own commit.
            log.reader.conn.pragma_update(None, "synchronous", "NORMAL")?;
            log.reader.conn.pragma_update(None, "wal_autocheckpoint", 0)?;
            log.reader.conn.pragma_update(None, "cache_size", -CACHE_KIB)
        };
        calm().map_err(|error| fault(Doing::Write, path, &error))?;
        Ok(Swapper { log, unfolded: 0 })
    }

    /// Reads commits as they are stored.
    pub fn raw_tail(&mut self, after: u64, bytes: usize) -> Result<Vec<Commit>, LogError> {
        self.log.raw_tail(after, bytes)
    }

    /// The position of the end.
    pub fn position(&mut self) -> Result<u64, LogError> {
        self.log.position()
    }

    /// The record of an archive.
    pub fn archive_record(&self, number: Number) -> Result<Option<ArchiveRecord>, LogError> {
        self.log.reader.reading(archive_record(&self.log.reader.conn, number))
    }

    /// Records an archive, or its progress.
    pub fn note(&mut self, known: &ArchiveRecord) -> Result<(), LogError> {
        let ArchiveRecord { number, hash, stage } = known;
        let row = "INSERT OR REPLACE INTO archives (number, hash, stage) VALUES (?, ?, ?)";
        self.change(|conn| {
            let mut statement = conn.prepare_cached(row)?;
            statement.execute(params![number.0, hash.to_string(), code_of(*stage)])
        })?;
        Ok(())
    }

    /// Records the replay base.
    pub fn note_replay_base(&mut self, base: &ReplayBase) -> Result<(), LogError> {
        let row = "INSERT OR REPLACE INTO floors (seq, hash) VALUES (?, ?)";
        self.change(|conn| {
            conn.prepare_cached(row)?.execute(params![base.seq, base.hash.to_string()])
        })?;
        Ok(())
    }

    /// Makes all changes so far durable.
    pub fn make_durable(&mut self) -> Result<(), LogError> {
        let sync = |how: &str| self.log.reader.conn.pragma_update(None, "synchronous", how);
        let path = self.log.reader.path.clone();
        let failed = |error: rusqlite::Error| fault(Doing::Write, &path, &error);
        sync("FULL").map_err(failed)?;
        // Any transaction will do: everything before it in the journal is synced with it.
        let done = self.change(|conn| conn.execute("UPDATE archives SET stage = stage", []));
        let sync = |how: &str| self.log.reader.conn.pragma_update(None, "synchronous", how);
        sync("NORMAL").map_err(failed)?;
        done.map(|_| ())
    }

    /// Replaces lines by stubs in one transaction. `alone` says that no other writer seems active.
    ///
    /// Only compaction changes stored commits, and one runs at a time. If a commit has another
    /// length than expected all the same, nothing is changed.
    pub fn swap(&mut self, swaps: &[Swap], alone: bool) -> Result<(), LogError> {
        let bytes: usize = swaps.iter().map(|swap| swap.after.len()).sum();
        self.log.hold()?;
        let changed = self.in_transaction(|conn| {
            let row = "UPDATE commits SET entries = ? WHERE last = ? AND octet_length(entries) = ?";
            let mut statement = conn.prepare_cached(row)?;
            for Swap { last, before, after } in swaps {
                if statement.execute(params![after, last, before.len()])? != 1 {
                    return Err(rusqlite::Error::StatementChangedRows(0));
                }
            }
            Ok(())
        });
        if matches!(changed, Err(rusqlite::Error::StatementChangedRows(_))) {
            let message = "commits changed while their entries were archived";
            return Err(LogError::new(LogErrorKind::Corrupt, message));
        }
        self.log.writing(changed)?;
        // After the turn, so that nobody waits for this.
        self.unfolded += bytes as u64 / PAGE_BYTES + swaps.len() as u64;
        if self.unfolded >= if alone { FOLD_PAGES } else { FOLD_PAGES_SHARED } {
            self.unfolded = 0;
            let folded = "PRAGMA wal_checkpoint(PASSIVE)";
            self.log.writing(self.log.reader.conn.query_row(folded, [], |_| Ok(())))?;
        }
        Ok(())
    }

    /// Makes a change in a turn of its own.
    fn change<T>(
        &mut self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, LogError> {
        self.log.hold()?;
        let worked = self.in_transaction(work);
        self.log.writing(worked)
    }

    /// Runs the change in one transaction, inside a turn that has begun.
    fn in_transaction<T>(
        &mut self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        let conn = &self.log.reader.conn;
        let worked = work(conn).and_then(|done| self.log.execute("COMMIT").map(|()| done));
        self.log.release();
        worked
    }
}
