//! Snapshots: a world on disk, so that opening a long trail does not replay all of it.
//!
//! A snapshot is a cache and never the truth. It is used only if its checksum holds and the log
//! has, at its position, the very entry and head it was taken after; anything else is ignored
//! and the trail is replayed instead. It is not synced: a torn one fails its checksum.

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
use crate::floor;
use crate::home::{Home, replace};
use crate::world::World;

/// Begins every snapshot; the number changes when the form of what it holds does.
const MAGIC: &[u8; 16] = b"althing snap 11\n";
/// What snapshots of every form begin with.
const FAMILY: &[u8] = b"althing snap";
/// The snapshot that recovery goes on from: everything up to it was examined.
const EXAMINED: &str = "examined";
const DIGEST_BYTES: usize = 32;
/// How many are kept: the newest, and one in case it is damaged.
const KEPT: usize = 2;
/// The fewest entries worth a new snapshot.
const ENTRIES_MIN: u64 = 64;
/// How long processes that go on leave it at one that another took.
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

/// Whether a new snapshot is worth its cost: enough happened since the last one, measured
/// against the size of what would be written.
pub(crate) fn is_due(world: &World, last: u64) -> bool {
    let worth = ENTRIES_MIN.max(world.state.size() as u64 / 2);
    world.seq().saturating_sub(last) >= worth
}

/// Whether somebody took one a moment ago that may be of this world. Many processes on one project
/// need one of them to take it, not all at once. Whether it really is of this trail is not looked
/// into, so nobody may rely on it for longer than that moment.
pub(crate) fn was_just_taken(home: &Home, world: &World) -> bool {
    let Some(project) = world.state.project() else { return false };
    let is_before = |path: &PathBuf| position(path).is_some_and(|own| own <= world.seq());
    let newest = list(home, &project.id).into_iter().find(is_before);
    let taken = newest.and_then(|path| path.metadata().ok()?.modified().ok());
    taken.and_then(|taken| taken.elapsed().ok()).is_some_and(|ago| ago < MOMENT)
}

/// Writes a snapshot and clears away old ones.
pub fn save(home: &Home, world: &World) -> Result<(), EngineError> {
    let Some(project) = world.state.project() else { return Ok(()) };
    let path = write(home, world, &project.id, &format!("{:020}.snap", world.seq()))?;
    // Whatever claims to be further is of a trail that was replaced, or can be made again.
    let all = list(home, &project.id);
    let further = all.iter().position(|own| *own == path).unwrap_or_default();
    for old in all.iter().take(further).chain(all.iter().skip(further + KEPT)) {
        // What cannot be cleared away now is cleared away next time.
        let _ = std::fs::remove_file(old);
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

/// Remembers how far the trail was examined, with what it leads to.
pub(crate) fn save_examined(home: &Home, world: &World) -> Result<(), EngineError> {
    let Some(project) = world.state.project() else { return Ok(()) };
    write(home, world, &project.id, EXAMINED).map(|_| ())
}

/// The world up to which the trail was examined, or the one that replay begins with.
pub(crate) fn load_examined(home: &Home, log: &mut dyn LogReader) -> Result<World, EngineError> {
    let beginning = floor::beginning(home, log)?;
    let Some(project) = project_of(log)? else { return Ok(beginning) };
    match read(&home.snapshots().join(project.as_str()).join(EXAMINED)) {
        // What was examined before the floor cannot be gone on from: entries after it are gone.
        Some(world) if world.seq() >= beginning.seq() && world.is_of(log)? => Ok(world),
        _ => Ok(beginning),
    }
}

/// All snapshots of a project, that of recovery among them.
pub(crate) fn all(home: &Home, project: &ProjectId) -> Vec<PathBuf> {
    let examined = home.snapshots().join(project.as_str()).join(EXAMINED);
    list(home, project).into_iter().chain(Some(examined).filter(|path| path.exists())).collect()
}

/// The entry a snapshot was taken after, as its name says.
pub(crate) fn position(path: &Path) -> Option<u64> {
    path.file_stem()?.to_str()?.parse().ok()
}

/// How a snapshot is damaged, if it is: what its checksum says, and what its content has. One that
/// another version wrote is merely of no use.
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

/// The snapshots there are of a project, newest first.
pub fn list(home: &Home, project: &ProjectId) -> Vec<PathBuf> {
    let folder = home.snapshots().join(project.as_str());
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let mut found: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|ending| ending == "snap")).collect();
    found.sort_by(|a, b| b.cmp(a));
    found
}

/// What a file holds: which form it is in, a checksum, and the payload.
pub fn with_checksum(payload: &[u8]) -> Vec<u8> {
    let digest = sha2::Sha256::digest(payload);
    [MAGIC.as_slice(), digest.as_slice(), payload].concat()
}

/// Reads a snapshot; `None` if it is not a sound one.
pub fn read(path: &Path) -> Option<World> {
    decode(&std::fs::read(path).ok()?)
}

/// Reads what a file holds; `None` if it is not a sound snapshot.
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

/// The newest snapshot that will do and belongs to this log, or what replay begins with.
pub(crate) fn load<L: LogReader + ?Sized>(
    home: &Home,
    log: &mut L,
    will_do: &dyn Fn(&World) -> bool,
) -> Result<World, EngineError> {
    let Some(project) = project_of(log)? else { return Ok(World::default()) };
    for path in list(home, &project) {
        let Some(world) = read(&path) else { continue };
        if will_do(&world) && world.is_of(log)? {
            return Ok(world);
        }
    }
    match floor::load(&home.archives(), log)? {
        Some(world) if will_do(&world) && world.is_of(log)? => Ok(world),
        _ => Ok(World::default()),
    }
}

/// Whose trail a log holds.
pub(crate) fn project_of<L: LogReader + ?Sized>(
    log: &mut L,
) -> Result<Option<ProjectId>, EngineError> {
    let head = log.head_of(1)?.and_then(|(_, head)| SignedHead::parse(&head).ok());
    Ok(head.map(|head| head.head().project.clone()))
}
