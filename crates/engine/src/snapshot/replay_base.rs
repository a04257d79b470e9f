//! Replay bases: the state that replay begins with once earlier archives were deleted.
//!
//! Unlike a snapshot a replay base is no cache: its content cannot be computed again. It is
//! therefore stored as self-describing JSON, so that a later version can read it; and its hash is
//! on record, so that nobody can put another in its place.

use althing_kernel::State;
use althing_kernel::archive::ReplayBase;
use althing_kernel::state::Image;
use althing_trail::archive::Archives;
use althing_trail::chain::ChainImage;
use althing_trail::log::LogErrorKind;
use althing_trail::verify::Base;
use althing_trail::{Chain, LogError, LogReader};
use serde::{Deserialize, Serialize};

use crate::error::EngineError;
use crate::snapshot::world::World;
use crate::store::home::Home;

#[derive(Serialize, Deserialize)]
struct Content {
    chain: ChainImage,
    state: Image,
}

/// Writes a state to begin replay with.
pub(crate) fn save(home: &Home, world: &World) -> Result<ReplayBase, EngineError> {
    let content = Content { chain: world.chain.image(), state: world.state.image() };
    let text = serde_json::to_vec(&content).map_err(|error| {
        EngineError::Defect(format!("the replay base cannot be written: {error}"))
    })?;
    let base = home.archives().put_replay_base(world.seq(), &text)?;
    // Read it back before relying on it.
    let read = world_of(read(&home.archives(), &base)?, &base)?;
    let same = read.chain.image() == content.chain && read.state.image() == content.state;
    if same {
        Ok(base)
    } else {
        Err(EngineError::Defect("the replay base reads back differently".to_owned()))
    }
}

/// Loads the state to begin replay with, if a log needs one.
pub(crate) fn load<L: LogReader + ?Sized>(
    archives: &Archives,
    log: &mut L,
) -> Result<Option<World>, EngineError> {
    let Some(base) = log.replay_base()? else { return Ok(None) };
    world_of(read(archives, &base)?, &base).map(Some)
}

/// Loads the state to begin replay with: the replay base, or the empty state.
pub(crate) fn beginning<L: LogReader + ?Sized>(
    home: &Home,
    log: &mut L,
) -> Result<World, EngineError> {
    load(&home.archives(), log).map(Option::unwrap_or_default)
}

/// Loads the replay base for verification.
pub(crate) fn base(
    archives: &Archives,
    log: &mut dyn LogReader,
) -> Result<Option<Base>, EngineError> {
    let Some(base) = log.replay_base()? else { return Ok(None) };
    let content = read(archives, &base)?;
    let chain = content.chain.clone();
    let state = world_of(content, &base)?.state;
    Ok(Some(Base { replay_base: base, chain, state }))
}

fn read(archives: &Archives, base: &ReplayBase) -> Result<Content, EngineError> {
    let text = archives.read_replay_base(base)?;
    serde_json::from_slice(&text).map_err(|error| unusable(base, &error))
}

fn world_of(content: Content, base: &ReplayBase) -> Result<World, EngineError> {
    let chain = Chain::from_image(content.chain);
    let chain = chain.ok_or_else(|| unusable(base, &"its chain is not sound"))?;
    let state = State::from_image(content.state).map_err(|error| unusable(base, &error))?;
    Ok(World { state, chain })
}

fn unusable(base: &ReplayBase, what: &dyn std::fmt::Display) -> EngineError {
    let message = format!("what replay begins with at entry {} cannot be read: {what}", base.seq);
    LogError::new(LogErrorKind::Corrupt, message).into()
}
