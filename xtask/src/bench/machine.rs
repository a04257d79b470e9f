//! Limits of the machine itself, which everything else is compared with.

use althing_trail::key::is_signed_by;
use althing_trail::{Hash, SecretKey};
use rusqlite::Connection;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use super::stats::{Times, number, repeat};
use super::{Row, Setup, failed};
use crate::Error;

/// About as much as a small entry takes.
const RECORD_BYTES: usize = 600;

pub(super) fn run(setup: &Setup) -> Result<Vec<Row>, Error> {
    let mut sync = syncs(&setup.folder, setup.time)?;
    let mut rows = vec![
        Row::new("append and sync a record, one by one", 1e6 / sync.percentile_us(0.5), "per s")
            .detail(percentiles(&mut sync)),
    ];
    for batch in [1, 64, 512] {
        let per_second =
            sqlite_rows_per_second(&setup.folder, RECORD_BYTES, batch, setup.time / 2)?;
        rows.push(Row::new(format!("SQLite, commits of {batch} rows"), per_second, "rows per s"));
    }
    let record = vec![7; RECORD_BYTES];
    rows.push(Row::new("SHA-256 of a record", hashes_per_second(&record), "per s"));
    let (signs, checks) = signatures_per_second(&record);
    rows.push(Row::new("Ed25519 signatures made", signs, "per s"));
    rows.push(Row::new("Ed25519 signatures checked", checks, "per s"));
    Ok(rows)
}

pub(super) fn percentiles(times: &mut Times) -> String {
    let (half, most) = (times.percentile_us(0.5), times.percentile_us(0.99));
    format!("p50 {:.2} ms, p99 {:.2} ms", half / 1e3, most / 1e3)
}

/// How long appending a record and syncing it takes.
pub(super) fn syncs(folder: &Path, time: Duration) -> Result<Times, Error> {
    let path = folder.join("raw");
    let mut file = std::fs::File::create(&path).map_err(failed)?;
    let record = vec![7; RECORD_BYTES];
    let times = repeat(time, || file.write_all(&record).and_then(|()| file.sync_data()));
    drop(file);
    // It lies in a folder that goes away anyway.
    let _ = std::fs::remove_file(path);
    times.map_err(failed)
}

/// A plain SQLite file with the same durability as the store.
fn plain_sqlite(path: &Path) -> rusqlite::Result<Connection> {
    let conn = Connection::open(path)?;
    conn.pragma_update(None, "journal_mode", "WAL")?;
    conn.pragma_update(None, "synchronous", "FULL")?;
    conn.execute_batch(
        "CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY, body TEXT NOT NULL)",
    )?;
    Ok(conn)
}

/// How many rows a second a plain SQLite file takes, in commits of a given size.
pub(super) fn sqlite_rows_per_second(
    folder: &Path,
    bytes: usize,
    batch: u32,
    time: Duration,
) -> Result<f64, Error> {
    let times = sqlite_commits(folder, bytes, batch, time)?;
    // All of the time, not the median: the checkpoints in between are part of the price.
    Ok(number(times.count()) * f64::from(batch) / times.total_secs())
}

/// How long commits of a given size take in a plain SQLite file.
pub(super) fn sqlite_commits(
    folder: &Path,
    bytes: usize,
    batch: u32,
    time: Duration,
) -> Result<Times, Error> {
    let path = folder.join(format!("plain-{batch}.db"));
    let conn = plain_sqlite(&path).map_err(failed)?;
    let body = "x".repeat(bytes);
    let commit = || -> rusqlite::Result<()> {
        conn.execute_batch("BEGIN IMMEDIATE")?;
        let mut insert = conn.prepare_cached("INSERT INTO t (body) VALUES (?)")?;
        for _ in 0..batch {
            insert.execute([&body])?;
        }
        conn.execute_batch("COMMIT")
    };
    let times = repeat(time, commit).map_err(failed)?;
    drop(conn);
    for ending in ["db", "db-wal", "db-shm"] {
        // They lie in a folder that goes away anyway.
        let _ = std::fs::remove_file(path.with_extension(ending));
    }
    Ok(times)
}

/// How many records a second can be hashed on one core.
pub(super) fn hashes_per_second(record: &[u8]) -> f64 {
    const COUNT: u32 = 200_000;
    let start = Instant::now();
    let mut last = Hash::of(althing_trail::hash::Domain::Global, &[record]);
    for _ in 0..COUNT {
        last = Hash::of(althing_trail::hash::Domain::Global, &[last.as_bytes(), record]);
    }
    std::hint::black_box(last);
    f64::from(COUNT) / start.elapsed().as_secs_f64()
}

fn signatures_per_second(record: &[u8]) -> (f64, f64) {
    const COUNT: u32 = 3_000;
    let key = SecretKey::from_seed(&[1; 32]);
    let start = Instant::now();
    let mut signature = key.sign(record);
    for _ in 0..COUNT {
        signature = key.sign(&signature);
    }
    let signs = f64::from(COUNT) / start.elapsed().as_secs_f64();
    let (public, signature) = (key.public(), key.sign(record));
    let start = Instant::now();
    for _ in 0..COUNT {
        std::hint::black_box(is_signed_by(&public, record, &signature));
    }
    (signs, f64::from(COUNT) / start.elapsed().as_secs_f64())
}
