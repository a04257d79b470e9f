//! Snapshots: the replayed state on disk, so that opening a long trail does not replay all of it.
//!
//! A snapshot is a cache. It is used only if its checksum holds and the log has, at its position,
//! the very entry and head it was taken after; otherwise it is ignored and the trail is replayed.
//! It is not synced: a torn one fails its checksum.

pub(crate) mod replay_base;
pub mod world;

use althing_kernel::ProjectId;
use althing_kernel::State;
use althing_kernel::state::Image;
use althing_trail::chain::ChainImage;
use althing_trail::{Chain, LogReader, SignedHead};
use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use sha2::Digest as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::EngineError;
use crate::snapshot::world::World;
use crate::store::home::{Home, remove_leftover, replace};

/// Begins every snapshot; the number changes with the format.
const MAGIC: &[u8; 16] = b"althing snap 15\n";
/// Common prefix of snapshots of every format.
const FAMILY: &[u8] = b"althing snap";
/// Name of the snapshot that recovery continues from: everything up to it was examined.
const EXAMINED: &str = "examined";
const DIGEST_BYTES: usize = 32;
/// Snapshots to keep: the newest, and one in case it is damaged.
const KEPT: usize = 2;
/// Fewest entries worth a new snapshot.
const ENTRIES_MIN: u64 = 64;
/// Time for which other processes rely on a snapshot that one of them just took.
const MOMENT: Duration = Duration::from_secs(10);

#[derive(Serialize)]
struct Content {
    chain: ChainImage,
    state: Image,
}

#[derive(Deserialize)]
struct Stored {
    chain: ChainImage,
    state: Image,
}

/// Whether a new snapshot is worth its cost: enough happened since the last one, measured against
/// the size of the snapshot.
pub(crate) fn is_due(world: &World, last: u64) -> bool {
    let worth = ENTRIES_MIN.max(world.state.size() as u64 / 2);
    world.seq().saturating_sub(last) >= worth
}

/// Whether another process took a snapshot a moment ago that may be of this world. Of many
/// processes on one project one should take it, not all at once. This does not check that it is of
/// this trail, so nobody may rely on it for longer than that moment.
pub(crate) fn was_just_taken(home: &Home, world: &World) -> bool {
    let Some(project) = world.state.project() else { return false };
    let is_before = |path: &PathBuf| position(path).is_some_and(|own| own <= world.seq());
    let newest = list(home, &project.id).into_iter().find(is_before);
    let taken = newest.and_then(|path| path.metadata().ok()?.modified().ok());
    taken.and_then(|taken| taken.elapsed().ok()).is_some_and(|ago| ago < MOMENT)
}

/// Writes a snapshot and removes old ones.
pub fn save(home: &Home, world: &World) -> Result<(), EngineError> {
    let Some(project) = world.state.project() else { return Ok(()) };
    let path = write(home, world, &project.id, &format!("{:020}.snap", world.seq()))?;
    // A snapshot that claims to be further is of a replaced trail, or can be made again.
    let all = list(home, &project.id);
    let further = all.iter().position(|own| *own == path).unwrap_or_default();
    for old in all.iter().take(further).chain(all.iter().skip(further + KEPT)) {
        // A file that cannot be removed now is removed next time.
        remove_leftover(old);
    }
    Ok(())
}

fn write(
    home: &Home,
    world: &World,
    project: &ProjectId,
    name: &str,
) -> Result<PathBuf, EngineError> {
    let content = Content { chain: world.chain.image(), state: world.state.image() };
    let payload = postcard::to_allocvec(&content)
        .map_err(|error| EngineError::Defect(format!("a snapshot cannot be written: {error}")))?;
    let folder = home.snapshots().join(project.as_str());
    std::fs::create_dir_all(&folder).map_err(EngineError::file("create", &folder))?;
    let path = folder.join(name);
    replace(&path, &with_checksum(&payload)).map(|()| path)
}

/// Saves the state up to which the trail was examined.
pub(crate) fn save_examined(home: &Home, world: &World) -> Result<(), EngineError> {
    let Some(project) = world.state.project() else { return Ok(()) };
    write(home, world, &project.id, EXAMINED).map(|_| ())
}

/// Loads the state up to which the trail was examined, or the replay base.
pub(crate) fn load_examined(home: &Home, log: &mut dyn LogReader) -> Result<World, EngineError> {
    let beginning = replay_base::beginning(home, log)?;
    let Some(project) = project_of(log)? else { return Ok(beginning) };
    match read(&home.snapshots().join(project.as_str()).join(EXAMINED)) {
        // An examined state before the replay base is useless: entries after it are deleted.
        Some(world) if world.seq() >= beginning.seq() && world.is_of(log)? => Ok(world),
        _ => Ok(beginning),
    }
}

/// All snapshots of a project, including that of recovery.
pub(crate) fn all(home: &Home, project: &ProjectId) -> Vec<PathBuf> {
    let examined = home.snapshots().join(project.as_str()).join(EXAMINED);
    list(home, project).into_iter().chain(Some(examined).filter(|path| path.exists())).collect()
}

/// The entry a snapshot was taken after, from its name.
pub(crate) fn position(path: &Path) -> Option<u64> {
    path.file_stem()?.to_str()?.parse().ok()
}

/// How a snapshot is damaged, if it is: the expected checksum and the actual one. One of another
/// version is merely unusable.
pub(crate) fn damage(path: &Path) -> Option<(String, String)> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        Err(error) => return Some(("a file that can be read".to_owned(), error.to_string())),
    };
    if !bytes.starts_with(FAMILY) {
        return Some(("a snapshot".to_owned(), "something else".to_owned()));
    }
    let rest = bytes.strip_prefix(MAGIC)?;
    let Some((digest, payload)) = rest.split_at_checked(DIGEST_BYTES) else {
        return Some(("a snapshot".to_owned(), "its beginning".to_owned()));
    };
    let (expected, actual) =
        (HEXLOWER.encode(digest), HEXLOWER.encode(&sha2::Sha256::digest(payload)));
    (expected != actual).then_some((expected, actual))
}

/// The snapshots of a project, newest first.
pub fn list(home: &Home, project: &ProjectId) -> Vec<PathBuf> {
    let folder = home.snapshots().join(project.as_str());
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let mut found: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|ending| ending == "snap")).collect();
    found.sort_by(|a, b| b.cmp(a));
    found
}

/// Prefixes a payload with the format and a checksum.
pub fn with_checksum(payload: &[u8]) -> Vec<u8> {
    let digest = sha2::Sha256::digest(payload);
    [MAGIC.as_slice(), digest.as_slice(), payload].concat()
}

/// Reads a snapshot; `None` if it is invalid.
pub fn read(path: &Path) -> Option<World> {
    decode(&std::fs::read(path).ok()?)
}

/// Decodes the content of a snapshot; `None` if it is invalid.
pub fn decode(bytes: &[u8]) -> Option<World> {
    let rest = bytes.strip_prefix(MAGIC)?;
    let (digest, payload) = rest.split_at_checked(DIGEST_BYTES)?;
    if sha2::Sha256::digest(payload).as_slice() != digest {
        return None;
    }
    let stored: Stored = postcard::from_bytes(payload).ok()?;
    let chain = Chain::from_image(stored.chain)?;
    let state = State::from_image(stored.state).ok()?;
    Some(World { state, chain })
}

/// Loads the newest usable snapshot of this log, or else the replay base.
pub(crate) fn load<L: LogReader + ?Sized>(
    home: &Home,
    log: &mut L,
    will_do: &dyn Fn(&World) -> bool,
) -> Result<World, EngineError> {
    let Some(project) = project_of(log)? else { return Ok(World::default()) };
    for path in list(home, &project) {
        let Some(world) = read(&path) else {
            tracing::warn!(path = %path.display(), "a snapshot is of no use; replaying instead");
            continue;
        };
        if will_do(&world) && world.is_of(log)? {
            return Ok(world);
        }
    }
    match replay_base::load(&home.archives(), log)? {
        Some(world) if will_do(&world) && world.is_of(log)? => Ok(world),
        _ => Ok(World::default()),
    }
}

/// The project whose trail a log holds.
pub(crate) fn project_of<L: LogReader + ?Sized>(
    log: &mut L,
) -> Result<Option<ProjectId>, EngineError> {
    let head = log.head_of(1)?.and_then(|(_, head)| SignedHead::parse(&head).ok());
    Ok(head.map(|head| head.head().project.clone()))
}
