//! Tiles: leaf hashes of 256 entries at a time, so that a proof does not read the whole trail.
//!
//! A tile is derived from the entries and written in the transaction that completes it. Proofs are
//! checked against the signed head before they are returned, so a damaged tile can make a proof
//! fail but never make a false one.

use rusqlite::{Connection, OptionalExtension as _, params};

use crate::commit::{Claimed, Commit};
use crate::hash::Hash;
use crate::log::{DamagedTile, TILE};
use crate::stub::Stub;
use crate::tree::{Frontier, node};

const HASH_BYTES: usize = 32;

/// Writes tiles as they fill up, and remembers the hashes of the one that is not full yet.
#[derive(Default)]
pub(super) struct TileWriter {
    /// Number of entries before the remembered ones.
    start: u64,
    hashes: Vec<Hash>,
}

impl TileWriter {
    /// Adds a commit that was just inserted, and writes the tiles that it completes.
    pub(super) fn add(&mut self, conn: &Connection, commit: &Commit) -> rusqlite::Result<()> {
        let before = commit.first - 1;
        let known = self.start + self.hashes.len() as u64 == before;
        let fits = commit.hashes.len() as u64 == commit.last - before;
        if !known {
            // Another process wrote meanwhile, or this one has just started. Reading the entries is
            // worth it only once they fill a tile.
            *self = TileWriter::default();
            if before / TILE == commit.last / TILE {
                return Ok(());
            }
            self.start = before - before % TILE;
            self.hashes = hashes_of_entries(conn, self.start, before - self.start)?;
        }
        if fits {
            self.hashes.extend_from_slice(&commit.hashes);
        } else {
            self.hashes.extend(hashes_of_entries(conn, before, commit.last - before)?);
        }
        let full = usize::try_from(TILE).unwrap_or(usize::MAX);
        while self.hashes.len() >= full {
            let rest = self.hashes.split_off(full);
            let tile = std::mem::replace(&mut self.hashes, rest);
            write(conn, self.start / TILE, &tile)?;
            self.start += TILE;
        }
        Ok(())
    }
}

fn write(conn: &Connection, number: u64, hashes: &[Hash]) -> rusqlite::Result<()> {
    let leaves: Vec<u8> = hashes.iter().flat_map(|hash| *hash.as_bytes()).collect();
    let insert = "INSERT OR REPLACE INTO tiles (number, root, leaves) VALUES (?, ?, ?)";
    let root = root_of(hashes);
    conn.prepare_cached(insert)?.execute(params![number, root.as_bytes(), leaves])?;
    Ok(())
}

/// Whether a tile holds these hashes and their root. A tile that is not stored counts as right.
pub(super) fn fits(conn: &Connection, number: u64, hashes: &[Hash]) -> rusqlite::Result<bool> {
    let query = "SELECT root, leaves FROM tiles WHERE number = ?";
    let mut statement = conn.prepare_cached(query)?;
    let stored: Option<(Vec<u8>, Vec<u8>)> =
        statement.query_row([number], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    let Some((root, leaves)) = stored else { return Ok(true) };
    let expected = hashes.iter().flat_map(Hash::as_bytes);
    Ok(root == root_of(hashes).as_bytes() && leaves.iter().eq(expected))
}

/// The root over the entries `[start, start + size)`, from tiles where there are any.
pub(super) fn subtree(conn: &Connection, start: u64, size: u64) -> rusqlite::Result<Hash> {
    if size >= TILE {
        let roots = roots_of_tiles(conn, start / TILE, size / TILE)?;
        if roots.len() as u64 == size / TILE {
            return Ok(fold(roots));
        }
    } else if let Some(leaves) = leaves_of_tile(conn, start / TILE)? {
        let skip = usize::try_from(start % TILE).unwrap_or_default();
        let take = usize::try_from(size).unwrap_or_default();
        let hashes: Vec<Hash> = leaves.into_iter().skip(skip).take(take).collect();
        return Ok(root_of(&hashes));
    }
    Ok(root_of(&hashes_of_entries(conn, start, size)?))
}

fn roots_of_tiles(conn: &Connection, first: u64, count: u64) -> rusqlite::Result<Vec<Hash>> {
    let query = "SELECT root FROM tiles WHERE number >= ? AND number < ? ORDER BY number";
    let mut statement = conn.prepare_cached(query)?;
    let roots = statement.query_map([first, first + count], |row| row.get::<_, [u8; 32]>(0))?;
    roots.map(|root| root.map(Hash::from_bytes)).collect()
}

fn leaves_of_tile(conn: &Connection, number: u64) -> rusqlite::Result<Option<Vec<Hash>>> {
    let query = "SELECT leaves FROM tiles WHERE number = ?";
    let mut statement = conn.prepare_cached(query)?;
    let leaves: Option<Vec<u8>> = statement.query_row([number], |row| row.get(0)).optional()?;
    Ok(leaves.map(|bytes| {
        let (hashes, _) = bytes.as_chunks::<HASH_BYTES>();
        hashes.iter().copied().map(Hash::from_bytes).collect()
    }))
}

fn hashes_of_entries(conn: &Connection, start: u64, size: u64) -> rusqlite::Result<Vec<Hash>> {
    let query = "SELECT entries, first FROM commits WHERE last > ? AND first <= ? ORDER BY last";
    let mut statement = conn.prepare_cached(query)?;
    let mut rows = statement.query([start, start + size])?;
    let mut hashes = Vec::new();
    while let Some(row) = rows.next()? {
        let first: u64 = row.get(1)?;
        for (place, line) in (first..).zip(row.get_ref(0)?.as_str()?.split('\n')) {
            let (seq, hash) = if Stub::is_in(line) {
                (place, Stub::read(line).map_err(|error| unreadable(Box::new(error)))?.hash)
            } else {
                let claimed = Claimed::of(line).map_err(|error| unreadable(Box::new(error)))?;
                (claimed.seq, claimed.hash)
            };
            if seq > start && seq <= start + size {
                hashes.push(hash);
            }
        }
    }
    Ok(hashes)
}

fn unreadable(error: Box<dyn std::error::Error + Send + Sync>) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, error)
}

fn root_of(hashes: &[Hash]) -> Hash {
    let mut frontier = Frontier::default();
    for hash in hashes {
        frontier.push(hash);
    }
    frontier.root()
}

/// The root over full subtrees; their number must be a power of two.
fn fold(mut roots: Vec<Hash>) -> Hash {
    while roots.len() > 1 {
        roots =
            roots.chunks(2).map(|pair| node(&pair[0], pair.last().unwrap_or(&pair[0]))).collect();
    }
    roots.first().copied().unwrap_or_else(crate::tree::empty)
}

/// The tiles over entries after a position that do not match the entries.
pub(super) fn damaged_tiles(conn: &Connection, after: u64) -> rusqlite::Result<Vec<DamagedTile>> {
    let query = "SELECT number, root, leaves FROM tiles WHERE number >= ? ORDER BY number";
    let mut statement = conn.prepare_cached(query)?;
    let mut rows = statement.query([after / TILE])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let number: u64 = row.get(0)?;
        let stored = [bytes_of(row.get_ref(1)?), bytes_of(row.get_ref(2)?)].concat();
        let hashes = hashes_of_entries(conn, number.saturating_mul(TILE), TILE)?;
        let expected = root_of(&hashes);
        let leaves: Vec<u8> = hashes.iter().flat_map(|hash| *hash.as_bytes()).collect();
        if stored != [expected.as_bytes().as_slice(), &leaves].concat() {
            let last = number.saturating_add(1).saturating_mul(TILE);
            found.push(DamagedTile { number, last, expected, stored });
        }
    }
    Ok(found)
}

/// The bytes of a cell, whatever its type.
fn bytes_of(cell: rusqlite::types::ValueRef<'_>) -> Vec<u8> {
    cell.as_bytes().map(<[u8]>::to_vec).unwrap_or_default()
}

/// Rebuilds a tile. A tile over entries that do not exist is deleted.
pub(super) fn rebuild_tile(conn: &Connection, number: u64) -> rusqlite::Result<()> {
    let hashes = hashes_of_entries(conn, number.saturating_mul(TILE), TILE)?;
    if hashes.len() as u64 == TILE {
        return write(conn, number, &hashes);
    }
    conn.prepare_cached("DELETE FROM tiles WHERE number = ?")?.execute([number]).map(|_| ())
}
