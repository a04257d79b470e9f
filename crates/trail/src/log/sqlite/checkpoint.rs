//! Checkpoints: copying the write-ahead journal back into the file without making callers wait.
//!
//! SQLite does this on its own inside a commit, once the journal has some number of pages. For a
//! process that writes now and then that number is small: every process that opens the store reads
//! the journal first, and short commands should not pay for a long one. A busy writer uses a thread
//! instead, which works beside the commits. If that thread does not keep up, SQLite's own mechanism
//! still bounds the journal, only later.

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use super::open_files::OpenFiles;

/// Number of commits after which a writer counts as busy.
const BUSY_COMMITS: u32 = 100;
/// Bytes written between two checkpoints.
const ROUND_BYTES: usize = 1 << 20;
/// Journal size at which a busy writer's commits do a checkpoint themselves, in pages of 4 KiB: 16
/// MiB.
const LAST_RESORT_PAGES: u32 = 4 << 10;

/// Journal size at which other writers' commits do a checkpoint, in pages: 512 KiB.
pub(super) const CALM_PAGES: u32 = 128;

/// Decides when a checkpoint is due, and who does it.
#[derive(Default)]
pub(super) struct Checkpoints {
    commits: u32,
    bytes: usize,
    thread: Option<SyncSender<()>>,
}

impl Checkpoints {
    /// Counts a commit, and starts a checkpoint if one is due.
    pub(super) fn note(&mut self, conn: &Connection, open_files: &Arc<OpenFiles>, bytes: usize) {
        self.commits = self.commits.saturating_add(1);
        self.bytes += bytes;
        if self.commits < BUSY_COMMITS || self.bytes < ROUND_BYTES {
            return;
        }
        self.bytes = 0;
        if self.thread.is_none() {
            self.thread = start(conn, open_files);
        }
        if let Some(thread) = &self.thread {
            // If the last checkpoint is still running, the next one covers these pages too.
            let _ = thread.try_send(());
        }
    }
}

/// Starts the thread. Without one, commits go on doing checkpoints themselves.
fn start(conn: &Connection, open_files: &Arc<OpenFiles>) -> Option<SyncSender<()>> {
    let (send, receive) = sync_channel(1);
    let open_files = open_files.clone();
    let thread = std::thread::Builder::new().name("althing-fold".to_owned());
    let spawned = thread.spawn(move || fold(&open_files, &receive));
    spawned.inspect_err(|error| tracing::warn!(%error, "no thread to fold the journal")).ok()?;
    let set = conn.pragma_update(None, "wal_autocheckpoint", LAST_RESORT_PAGES);
    set.inspect_err(|error| tracing::warn!(%error, "the journal is folded by commits")).ok()?;
    Some(send)
}

fn fold(open_files: &OpenFiles, rounds: &Receiver<()>) {
    let conn = match Connection::open(open_files.path()) {
        Ok(conn) => conn,
        Err(error) => return tracing::warn!(%error, "the journal is not folded aside"),
    };
    // Durability settings equal to the writer's; if they cannot be set, this thread leaves the
    // work to the writer.
    let set = conn
        .pragma_update(None, "checkpoint_fullfsync", "ON")
        .and_then(|()| conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true));
    if let Err(error) = set {
        return tracing::warn!(%error, "the journal is not folded aside");
    }
    while rounds.recv().is_ok() && open_files.check().is_ok() {
        // Passive: it copies what it can without making anybody wait, and the rest next time.
        if let Err(error) = conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())) {
            tracing::warn!(%error, "the journal was not folded this time");
        }
    }
}
