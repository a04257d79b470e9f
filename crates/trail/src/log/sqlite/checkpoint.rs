//! Folding the write-ahead journal back into the file without making callers wait.
//!
//! SQLite does this on its own inside a commit, once the journal has some number of pages. For a
//! process that writes now and then that number is small: every process that opens the store
//! reads the journal first, and short commands should not pay for a long one. A busy writer has
//! a thread for it instead, which works beside the commits. Should that thread not keep up,
//! SQLite's own mechanism still bounds the journal, only later.

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use super::spot::Spot;

/// How many commits make a writer a busy one.
const BUSY_COMMITS: u32 = 100;
/// How many bytes are written between two rounds.
const ROUND_BYTES: usize = 1 << 20;
/// Where a busy writer's commits fold the journal themselves, in pages of 4 KiB: 16 MiB.
const LAST_RESORT_PAGES: u32 = 4 << 10;

/// Where other writers' commits fold it, in pages: 512 KiB.
pub(super) const CALM_PAGES: u32 = 128;

/// Decides when the journal is folded back, and by whom.
#[derive(Default)]
pub(super) struct Checkpoints {
    commits: u32,
    bytes: usize,
    thread: Option<SyncSender<()>>,
}

impl Checkpoints {
    /// Notes a commit, and has the journal folded back if it is time.
    pub(super) fn note(&mut self, conn: &Connection, spot: &Arc<Spot>, bytes: usize) {
        self.commits = self.commits.saturating_add(1);
        self.bytes += bytes;
        if self.commits < BUSY_COMMITS || self.bytes < ROUND_BYTES {
            return;
        }
        self.bytes = 0;
        if self.thread.is_none() {
            self.thread = start(conn, spot);
        }
        if let Some(thread) = &self.thread {
            // If the last round is not over yet, this one is part of the next.
            let _ = thread.try_send(());
        }
    }
}

/// Starts the thread. Without one, commits go on folding the journal as before.
fn start(conn: &Connection, spot: &Arc<Spot>) -> Option<SyncSender<()>> {
    let (send, receive) = sync_channel(1);
    let spot = spot.clone();
    let thread = std::thread::Builder::new().name("althing-fold".to_owned());
    let spawned = thread.spawn(move || fold(&spot, &receive));
    spawned.inspect_err(|error| tracing::warn!(%error, "no thread to fold the journal")).ok()?;
    let set = conn.pragma_update(None, "wal_autocheckpoint", LAST_RESORT_PAGES);
    set.inspect_err(|error| tracing::warn!(%error, "the journal is folded by commits")).ok()?;
    Some(send)
}

fn fold(spot: &Spot, rounds: &Receiver<()>) {
    let conn = match Connection::open(spot.path()) {
        Ok(conn) => conn,
        Err(error) => return tracing::warn!(%error, "the journal is not folded aside"),
    };
    // As durable as the writer's own, and as careful at the end; without that this thread leaves
    // the work to the writer.
    let set = conn
        .pragma_update(None, "checkpoint_fullfsync", "ON")
        .and_then(|()| conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true));
    if let Err(error) = set {
        return tracing::warn!(%error, "the journal is not folded aside");
    }
    while rounds.recv().is_ok() && spot.check().is_ok() {
        // Passive: it takes what it can without making anybody wait. What it cannot take now it
        // takes next time.
        if let Err(error) = conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())) {
            tracing::warn!(%error, "the journal was not folded this time");
        }
    }
}
