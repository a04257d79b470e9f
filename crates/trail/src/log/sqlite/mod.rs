//! The default log: one SQLite file, many processes, no daemon.
//!
//! Each commit is one row, so a commit is stored as a whole or not at all, and the primary key is
//! the compare-and-set. The file is in write-ahead mode with full syncing: a commit that returned
//! has reached the disk, and readers neither block the writer nor wait for it.
//!
//! Writers take turns in a queue of file locks ([`queue`]).

mod archived;
mod checkpoint;
mod fault;
mod open_files;
mod queue;
mod repair;
mod replace;
mod tiles;

use althing_kernel::archive::ReplayBase;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, params};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{
    AppendError, COMMIT_BYTES_LIMIT, DamagedTile, Log, LogError, LogErrorKind, LogReader, Store,
};
use crate::archive::{ArchiveFetcher, ArchiveRecord, Archives};
use crate::commit::Commit;
use crate::hash::Hash;
use crate::stub::Wanted;
pub use archived::{Swap, Swapper};
use checkpoint::Checkpoints;
use fault::{Doing, fault};
use open_files::OpenFiles;
use queue::Queue;
pub use queue::beside;
pub use replace::{Replacing, Reserved};
use tiles::TileWriter;

/// Application id of a store of Althing ("Alth").
const APPLICATION_ID: i32 = 0x416c_7468;
/// Version of the file format that this program writes.
pub const STORE_FORMAT: i32 = 2;
/// Time to wait for a lock of somebody outside the queue, such as a person with `sqlite3`.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Interval at which a watcher in another process polls.
const WATCH_INTERVAL: Duration = Duration::from_millis(10);
/// Largest size of a commit of many commands, in bytes.
const COMMIT_BYTES_MAX: usize = 16 << 20;

/// Page size of the file, in bytes: SQLite's default for a new file.
const PAGE_BYTES: u64 = 4096;

const SCHEMA: &str = "
    CREATE TABLE commits (
        last    INTEGER PRIMARY KEY,
        first   INTEGER NOT NULL,
        entries TEXT NOT NULL,
        head    TEXT NOT NULL
    );
    CREATE TABLE tiles (
        number  INTEGER PRIMARY KEY,
        root    BLOB NOT NULL,
        leaves  BLOB NOT NULL
    );
";

/// The complete schema of the database; anything else, such as a trigger, could change stored data.
const PARTS: &[&str] = &["table archives", "table commits", "table floors", "table tiles"];
/// The complete schema of format 1, before there were archives.
const PARTS_1: &[&str] = &["table commits", "table tiles"];

/// Application id, format version and schema of a file.
struct Identity {
    application: i32,
    format: i32,
    parts: Vec<String>,
}

/// A SQLite log that can be read.
pub struct SqliteReader {
    // Declared before the open files, so that the connection closes first.
    conn: Connection,
    path: PathBuf,
    open_files: Arc<OpenFiles>,
    archived: ArchiveFetcher,
}

/// A SQLite log that can be written.
pub struct SqliteLog {
    reader: SqliteReader,
    queue: Queue,
    tiles: TileWriter,
    checkpoints: Checkpoints,
}

impl SqliteReader {
    /// Opens an existing log for reading. The folder may be read-only.
    pub fn open(path: &Path) -> Result<Self, LogError> {
        let opened = SqliteReader::open_with(path, false);
        match opened {
            // In a read-only folder SQLite cannot set up the memory that readers and writers share.
            // Without a journal the file alone is complete.
            Err(error) if error.kind == LogErrorKind::Unreadable && !has_journal(path) => {
                SqliteReader::open_with(path, true).map_err(|_| error)
            }
            // A store has this journal only while it is created: afterwards it has another kind. Whoever
            // creates it again takes back what was begun.
            Err(error) if error.kind != LogErrorKind::Corrupt && has_first_journal(path) => {
                let message = format!("{} was not created to its end", path.display());
                Err(LogError::new(LogErrorKind::Missing, message))
            }
            other => other,
        }
    }

    fn open_with(path: &Path, immutable: bool) -> Result<Self, LogError> {
        let open = || {
            let conn = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY, immutable)?;
            let reader = SqliteReader::over(conn, path)?;
            reader.check_identity()?;
            Ok(reader)
        };
        if immutable {
            // Only the database file is open, so there are no journal files to compare.
            return open();
        }
        let (mut reader, open_files) = OpenFiles::opened(path, false, open)?;
        reader.open_files = open_files;
        Ok(reader)
    }

    /// Wraps an open connection. The caller notes which files it has open.
    fn over(conn: Connection, path: &Path) -> Result<Self, LogError> {
        let (open_files, archived) =
            (Arc::new(OpenFiles::of(path)?), ArchiveFetcher::new(Archives::beside(path)));
        Ok(SqliteReader { conn, path: path.to_owned(), open_files, archived })
    }

    /// Checks that the file is a store and returns its format version.
    fn check_identity(&self) -> Result<i32, LogError> {
        let identity = self.identity().map_err(|error| fault(Doing::Open, &self.path, &error))?;
        let path = self.path.display();
        let parts: Vec<&str> = identity.parts.iter().map(String::as_str).collect();
        match (identity.application, identity.format, parts.as_slice()) {
            (APPLICATION_ID, STORE_FORMAT, parts) if parts == PARTS => Ok(STORE_FORMAT),
            (APPLICATION_ID, 1, parts) if parts == PARTS_1 => Ok(1),
            (APPLICATION_ID, 1..=STORE_FORMAT, parts) => Err(LogError::new(
                LogErrorKind::Corrupt,
                format!("{path} was changed: it has {parts:?} where it should have {PARTS:?}"),
            )),
            (APPLICATION_ID, newer, _) => Err(LogError::new(
                LogErrorKind::Newer,
                format!("{path} has store format {newer}, this version knows up to {STORE_FORMAT}"),
            )),
            (0, 0, []) => {
                Err(LogError::new(LogErrorKind::Missing, format!("{path} is an empty store")))
            }
            _ => Err(LogError::new(
                LogErrorKind::Foreign,
                format!("{path} is a database, but not a store of Althing's"),
            )),
        }
    }

    /// Reads the identity of the file at one moment: another process may be setting it up right
    /// now.
    fn identity(&self) -> rusqlite::Result<Identity> {
        let moment = self.conn.unchecked_transaction()?;
        let number = |pragma| moment.pragma_query_value(None, pragma, |row| row.get(0));
        // Tables that SQLite keeps for itself, such as statistics, do not matter.
        let list = "SELECT type || ' ' || name FROM sqlite_schema \
                    WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name LIMIT 10";
        let parts: rusqlite::Result<Vec<String>> =
            moment.prepare(list)?.query_map([], |row| row.get(0))?.collect();
        Ok(Identity {
            application: number("application_id")?,
            format: number("user_version")?,
            parts: parts?,
        })
    }

    /// Number of rows at positions where no commit can be.
    pub fn stray_rows(&self) -> Result<u64, LogError> {
        let count = "SELECT count(*) FROM commits WHERE last <= 0 OR first <= 0 OR first > last";
        self.reading(self.conn.query_row(count, [], |row| row.get(0)))
    }

    fn reading<T>(&self, result: rusqlite::Result<T>) -> Result<T, LogError> {
        result.map_err(|error| fault(Doing::Read, &self.path, &error))
    }

    fn end(&self) -> rusqlite::Result<u64> {
        let mut statement = self.conn.prepare_cached("SELECT max(last) FROM commits")?;
        statement.query_row([], |row| row.get::<_, Option<u64>>(0)).map(Option::unwrap_or_default)
    }

    /// Copies the log to a new file while others go on writing.
    pub fn copy_to(
        &self,
        target: &Path,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<(), LogError> {
        let copying = |error| fault(Doing::Copy, target, &error);
        // One read transaction for the whole copy: without it SQLite starts over after every
        // commit.
        let moment = self.reading(self.conn.unchecked_transaction())?;
        self.reading(self.end())?;
        let mut copy = Connection::open(target).map_err(copying)?;
        {
            let backup = rusqlite::backup::Backup::new(&self.conn, &mut copy).map_err(copying)?;
            loop {
                let step = backup.step(256).map_err(copying)?;
                let now = backup.progress();
                let total = u64::try_from(now.pagecount).unwrap_or_default();
                let left = u64::try_from(now.remaining).unwrap_or_default();
                progress(total.saturating_sub(left), total);
                match step {
                    rusqlite::backup::StepResult::Done => break,
                    rusqlite::backup::StepResult::More => {}
                    _ => std::thread::sleep(Duration::from_millis(20)),
                }
            }
        }
        drop(moment);
        copy.pragma_update(None, "journal_mode", "DELETE").map_err(copying)?;
        copy.close().map_err(|(_, error)| copying(error))
    }

    /// SQLite's own integrity check: the first problem, if any.
    pub fn integrity(&self) -> Result<Option<String>, LogError> {
        let check = self.conn.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0));
        let complaint: String = self.reading(check)?;
        Ok((complaint != "ok").then_some(complaint))
    }
}

/// Whether there is the journal that SQLite uses before the store has a log of its own.
fn has_first_journal(path: &Path) -> bool {
    std::fs::metadata(beside(path, "-journal")).is_ok_and(|data| data.len() > 0)
}

/// Whether there is a journal beside the file.
fn has_journal(path: &Path) -> bool {
    std::fs::metadata(beside(path, "-wal")).is_ok_and(|data| data.len() > 0)
}

fn connect(path: &Path, mode: OpenFlags, immutable: bool) -> Result<Connection, LogError> {
    let opening = |error: &rusqlite::Error| fault(Doing::Open, path, error);
    if !mode.contains(OpenFlags::SQLITE_OPEN_CREATE) {
        match path.try_exists() {
            Ok(true) => {}
            Ok(false) => {
                let message = format!("there is no store at {}", path.display());
                return Err(LogError::new(LogErrorKind::Missing, message));
            }
            Err(error) => {
                let message = format!("cannot look for the store at {}: {error}", path.display());
                return Err(LogError::new(LogErrorKind::Unreadable, message));
            }
        }
    }
    let mode = mode | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = if immutable {
        let path = path.to_string_lossy();
        let escaped = path.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
        let address = format!("file:{escaped}?immutable=1");
        Connection::open_with_flags(address, mode | OpenFlags::SQLITE_OPEN_URI)
    } else {
        Connection::open_with_flags(path, mode)
    };
    let conn = opened.map_err(|error| opening(&error))?;
    conn.busy_timeout(BUSY_TIMEOUT).map_err(|error| opening(&error))?;
    // Otherwise the last of many short processes would do a checkpoint on every exit.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
        .map_err(|error| opening(&error))?;
    Ok(conn)
}

impl LogReader for SqliteReader {
    fn position(&mut self) -> Result<u64, LogError> {
        self.reading(self.end())
    }

    fn tail(&mut self, after: u64, bytes: usize) -> Result<Vec<Commit>, LogError> {
        let raw = self.raw_tail(after, bytes)?;
        raw.into_iter().map(|commit| self.resolve(commit)).collect()
    }

    fn raw_tail(&mut self, after: u64, bytes: usize) -> Result<Vec<Commit>, LogError> {
        let read = || {
            let query =
                "SELECT last, first, entries, head FROM commits WHERE last > ? ORDER BY last";
            let mut statement = self.conn.prepare_cached(query)?;
            let mut rows = statement.query([after])?;
            let (mut commits, mut taken) = (Vec::new(), 0);
            while let Some(row) = rows.next()? {
                let commit = commit_from(row)?;
                taken += commit.bytes();
                commits.push(commit);
                if taken >= bytes {
                    break;
                }
            }
            Ok(commits)
        };
        self.reading(read())
    }

    fn narrow(&mut self, wanted: Wanted) {
        self.archived.narrow(wanted);
    }

    fn archive_records(&mut self) -> Result<Vec<ArchiveRecord>, LogError> {
        self.reading(archived::archive_records(&self.conn))
    }

    fn replay_base(&mut self) -> Result<Option<ReplayBase>, LogError> {
        self.reading(archived::replay_base(&self.conn))
    }

    fn head_of(&mut self, seq: u64) -> Result<Option<(u64, String)>, LogError> {
        let query = "SELECT last, first, head FROM commits WHERE last >= ? ORDER BY last LIMIT 1";
        let read = || {
            let mut statement = self.conn.prepare_cached(query)?;
            let found = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
            statement.query_row([seq], found).optional()
        };
        let found: Option<(u64, u64, String)> = self.reading(read())?;
        Ok(found.filter(|(_, first, _)| *first <= seq).map(|(last, _, head)| (last, head)))
    }

    fn commit_of(&mut self, seq: u64) -> Result<Option<Commit>, LogError> {
        let query = "SELECT last, first, entries, head FROM commits WHERE last >= ? \
                     ORDER BY last LIMIT 1";
        let read = || {
            let mut statement = self.conn.prepare_cached(query)?;
            statement.query_row([seq], commit_from).optional()
        };
        let commit = self.reading(read())?;
        let commit = commit.filter(|commit| commit.first <= seq);
        commit.map(|commit| self.resolve(commit)).transpose()
    }

    fn subtree(&mut self, start: u64, size: u64) -> Result<Hash, LogError> {
        tiles::subtree(&self.conn, start, size)
            .map_err(|error| fault(Doing::Read, &self.path, &error))
    }

    fn is_tile_intact(&mut self, number: u64, hashes: &[Hash]) -> Result<bool, LogError> {
        self.reading(tiles::fits(&self.conn, number, hashes))
    }

    fn damaged_tiles(&mut self, after: u64) -> Result<Vec<DamagedTile>, LogError> {
        self.reading(tiles::damaged_tiles(&self.conn, after))
    }

    fn generation(&mut self) -> Result<u64, LogError> {
        queue::generation_of(&self.path)
    }

    fn in_place(&mut self) -> Result<(), LogError> {
        self.open_files.check()
    }

    fn watch(&mut self, after: u64, timeout: Duration) -> Result<bool, LogError> {
        let deadline = Instant::now() + timeout;
        loop {
            if self.position()? > after {
                return Ok(true);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(false);
            }
            std::thread::sleep(left.min(WATCH_INTERVAL));
        }
    }
}

impl SqliteReader {
    /// Replaces the stubs of a commit by their archived lines.
    fn resolve(&mut self, commit: Commit) -> Result<Commit, LogError> {
        let SqliteReader { conn, path, archived, open_files: _ } = self;
        archived.resolve(commit, &|number| {
            archived::archive_record(conn, number).map_err(|error| fault(Doing::Read, path, &error))
        })
    }
}

fn commit_from(row: &rusqlite::Row<'_>) -> rusqlite::Result<Commit> {
    let (last, first) = (row.get(0)?, row.get(1)?);
    Ok(Commit { last, first, lines: row.get(2)?, head: row.get(3)?, hashes: Vec::new() })
}

impl SqliteLog {
    /// Opens an existing log for writing.
    pub fn open(path: &Path) -> Result<Self, LogError> {
        let (mut log, open_files) = OpenFiles::opened(path, true, || SqliteLog::open_once(path))?;
        log.reader.open_files = open_files;
        Ok(log)
    }

    fn open_once(path: &Path) -> Result<Self, LogError> {
        let queue = Queue::open(path)?;
        let mut log = SqliteLog::connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE, queue)?;
        let format = log.reader.check_identity()?;
        log.set_durable()?;
        if format < STORE_FORMAT {
            log.queue.enter_within(BUSY_TIMEOUT)?;
            let renewed = log.renew();
            log.release();
            renewed?;
        }
        Ok(log)
    }

    /// Opens the log for writing, creating it if necessary.
    pub fn create(path: &Path) -> Result<Self, LogError> {
        let mode = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        // Queue before the file is made: another process may be creating or restoring it.
        let mut queue = Queue::open(path)?;
        queue.enter_within(BUSY_TIMEOUT)?;
        let mut log = SqliteLog::connect(path, mode, queue)?;
        let checked = match log.reader.check_identity() {
            Err(error) if error.kind == LogErrorKind::Missing => log.set_up(),
            Ok(STORE_FORMAT) => Ok(()),
            Ok(_) => log.renew(),
            Err(error) => Err(error),
        };
        log.release();
        checked?;
        log.set_durable()?;
        drop(log);
        SqliteLog::open(path)
    }

    fn begin(&mut self) -> Result<(), LogError> {
        let there = self.reader.open_files.check();
        let begun = there.and_then(|()| self.writing(self.execute("BEGIN IMMEDIATE")));
        begun.inspect_err(|_| self.release())
    }

    fn connect(path: &Path, mode: OpenFlags, queue: Queue) -> Result<Self, LogError> {
        let conn = connect(path, mode, false)?;
        let reader = SqliteReader::over(conn, path)?;
        let (tiles, checkpoints) = (TileWriter::default(), Checkpoints::default());
        Ok(SqliteLog { reader, queue, tiles, checkpoints })
    }

    fn set_up(&mut self) -> Result<(), LogError> {
        let done = set_up(&mut self.reader.conn);
        done.map_err(|error| fault(Doing::Write, &self.reader.path, &error))
    }

    /// Upgrades a file of an older format. Another process may have done so meanwhile.
    fn renew(&mut self) -> Result<(), LogError> {
        if self.reader.check_identity()? == STORE_FORMAT {
            return Ok(());
        }
        let done = renew(&mut self.reader.conn);
        done.map_err(|error| fault(Doing::Write, &self.reader.path, &error))
    }

    fn set_durable(&self) -> Result<(), LogError> {
        let set = || -> rusqlite::Result<()> {
            let conn = &self.reader.conn;
            conn.pragma_update(None, "journal_mode", "WAL")?;
            conn.pragma_update(None, "wal_autocheckpoint", checkpoint::CALM_PAGES)?;
            // On some systems a plain sync does not reach the disk.
            conn.pragma_update(None, "fullfsync", "ON")?;
            conn.pragma_update(None, "checkpoint_fullfsync", "ON")?;
            conn.pragma_update(None, "synchronous", "FULL")
        };
        set().map_err(|error| fault(Doing::Write, &self.reader.path, &error))
    }

    /// Limits the size of the file: the store refuses commits that would not fit.
    pub fn set_bytes_max(&self, bytes: u64) -> Result<(), LogError> {
        let pages = u32::try_from(bytes / PAGE_BYTES).unwrap_or(u32::MAX).max(1);
        self.writing(self.reader.conn.pragma_update(None, "max_page_count", pages))
    }

    /// Runs a statement without parameters and results; it is parsed once.
    fn execute(&self, statement: &str) -> rusqlite::Result<()> {
        self.reader.conn.prepare_cached(statement)?.execute([]).map(|_| ())
    }

    fn writing<T>(&self, result: rusqlite::Result<T>) -> Result<T, LogError> {
        result.map_err(|error| fault(Doing::Write, &self.reader.path, &error))
    }

    /// Inserts the commit in the open transaction, if the log is at the expected position.
    fn insert(&mut self, expected: u64, commit: &Commit) -> Result<(), AppendError> {
        let mut insert = || -> rusqlite::Result<bool> {
            if self.reader.end()? != expected {
                return Ok(false);
            }
            let row = "INSERT INTO commits (last, first, entries, head) VALUES (?, ?, ?, ?)";
            let mut statement = self.reader.conn.prepare_cached(row)?;
            let Commit { first, last, lines, head, hashes: _ } = commit;
            statement.execute(params![last, first, lines, head])?;
            self.tiles.add(&self.reader.conn, commit)?;
            Ok(true)
        };
        let inserted = insert();
        match self.writing(inserted) {
            Ok(true) => Ok(()),
            Ok(false) => Err(AppendError::Conflict),
            Err(error) => Err(AppendError::Refused(error)),
        }
    }

    fn commit_transaction(&self) -> Result<(), AppendError> {
        self.execute("COMMIT").map_err(|error| {
            let complaint = fault(Doing::Write, &self.reader.path, &error);
            if fault::is_before_sync(&error) {
                AppendError::Refused(complaint)
            } else {
                AppendError::Unknown(complaint)
            }
        })
    }
}

fn set_up(conn: &mut Connection) -> rusqlite::Result<()> {
    conn.pragma_update(None, "journal_mode", "WAL")?;
    let transaction = conn.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    transaction.execute_batch(SCHEMA)?;
    transaction.execute_batch(archived::SCHEMA)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", STORE_FORMAT)?;
    transaction.commit()
}

fn renew(conn: &mut Connection) -> rusqlite::Result<()> {
    let transaction = conn.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    transaction.execute_batch(archived::SCHEMA)?;
    transaction.pragma_update(None, "user_version", STORE_FORMAT)?;
    transaction.commit()
}

impl LogReader for SqliteLog {
    fn position(&mut self) -> Result<u64, LogError> {
        self.reader.position()
    }

    fn tail(&mut self, after: u64, bytes: usize) -> Result<Vec<Commit>, LogError> {
        self.reader.tail(after, bytes)
    }

    fn raw_tail(&mut self, after: u64, bytes: usize) -> Result<Vec<Commit>, LogError> {
        self.reader.raw_tail(after, bytes)
    }

    fn narrow(&mut self, wanted: Wanted) {
        self.reader.narrow(wanted);
    }

    fn archive_records(&mut self) -> Result<Vec<ArchiveRecord>, LogError> {
        self.reader.archive_records()
    }

    fn replay_base(&mut self) -> Result<Option<ReplayBase>, LogError> {
        self.reader.replay_base()
    }

    fn head_of(&mut self, seq: u64) -> Result<Option<(u64, String)>, LogError> {
        self.reader.head_of(seq)
    }

    fn commit_of(&mut self, seq: u64) -> Result<Option<Commit>, LogError> {
        self.reader.commit_of(seq)
    }

    fn subtree(&mut self, start: u64, size: u64) -> Result<Hash, LogError> {
        self.reader.subtree(start, size)
    }

    fn is_tile_intact(&mut self, number: u64, hashes: &[Hash]) -> Result<bool, LogError> {
        self.reader.is_tile_intact(number, hashes)
    }

    fn damaged_tiles(&mut self, after: u64) -> Result<Vec<DamagedTile>, LogError> {
        self.reader.damaged_tiles(after)
    }

    fn generation(&mut self) -> Result<u64, LogError> {
        self.reader.generation()
    }

    fn in_place(&mut self) -> Result<(), LogError> {
        self.reader.in_place()
    }

    fn watch(&mut self, after: u64, timeout: Duration) -> Result<bool, LogError> {
        self.reader.watch(after, timeout)
    }
}

impl Log for SqliteLog {
    fn queue(&mut self) -> Result<(), LogError> {
        self.queue.line_up()
    }

    fn hold(&mut self) -> Result<(), LogError> {
        if self.queue.is_held() {
            return Ok(());
        }
        self.queue.enter()?;
        self.begin()
    }

    fn try_hold(&mut self) -> Result<bool, LogError> {
        if self.queue.is_held() {
            return Ok(true);
        }
        if self.queue.try_enter()? { self.begin().map(|()| true) } else { Ok(false) }
    }

    fn release(&mut self) {
        if self.queue.is_held() && !self.reader.conn.is_autocommit() {
            // A rollback that fails leaves the transaction to be rolled back with the connection;
            // nothing of it was acknowledged.
            if let Err(error) = self.reader.conn.execute_batch("ROLLBACK") {
                tracing::warn!(%error, "a transaction was not rolled back");
            }
        }
        self.queue.leave();
    }

    fn append(&mut self, expected: u64, commit: &Commit) -> Result<(), AppendError> {
        if commit.bytes() > COMMIT_BYTES_LIMIT {
            let message = format!("a commit of {} bytes is too large", commit.bytes());
            return Err(AppendError::Refused(LogError::new(LogErrorKind::Unwritable, message)));
        }
        self.hold().map_err(AppendError::Refused)?;
        let appended = self.insert(expected, commit).and_then(|()| self.commit_transaction());
        // A commit written to a deleted or replaced file was not stored.
        let appended =
            appended.and_then(|()| self.reader.open_files.check().map_err(AppendError::Unknown));
        self.release();
        if appended.is_ok() {
            self.checkpoints.note(&self.reader.conn, &self.reader.open_files, commit.bytes());
        } else {
            // The tile writer must forget entries that were not stored.
            self.tiles = TileWriter::default();
        }
        appended
    }

    fn rebuild_tile(&mut self, damaged_tile: &DamagedTile) -> Result<(), LogError> {
        self.rebuild_damaged_tile(damaged_tile)
    }

    fn commit_bytes_max(&self) -> usize {
        COMMIT_BYTES_MAX
    }
}

/// A SQLite file that opens handles to its log.
#[derive(Clone, Debug)]
pub struct SqliteStore {
    /// Path of the file.
    pub path: PathBuf,
    /// Largest size of the file, in bytes, if limited.
    pub bytes_max: Option<u64>,
}

impl Store for SqliteStore {
    fn reader(&self) -> Result<Box<dyn LogReader>, LogError> {
        Ok(Box::new(SqliteReader::open(&self.path)?))
    }

    fn writer(&self) -> Result<Box<dyn Log>, LogError> {
        let log = SqliteLog::open(&self.path)?;
        if let Some(bytes) = self.bytes_max {
            log.set_bytes_max(bytes)?;
        }
        Ok(Box::new(log))
    }
}
