//! Looking back: what was true at a moment of the past, and what changed between two moments.
//!
//! The past is replayed, from the newest snapshot before it. Nothing about it is stored apart
//! from the trail.

use althing_kernel::query::{self, AgentView, LeaseList, LeaseView, SessionView, UserView};
use althing_kernel::{State, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::snapshot;
use crate::world::World;

/// A moment of the past: right after an entry, or at a time. Both left out is now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Moment {
    /// Right after the entry with this sequence number.
    pub seq: Option<u64>,
    /// At this time, in microseconds since 1970.
    #[schemars(with = "Option<u64>")]
    pub time: Option<Timestamp>,
}

/// What was true at a moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Picture {
    /// How many entries there were.
    pub seq: u64,
    /// The moment itself.
    pub time: Timestamp,
    /// The live leases.
    pub leases: Vec<LeaseView>,
    /// The open sessions.
    pub sessions: Vec<SessionView>,
    /// The agents known.
    pub agents: Vec<AgentView>,
    /// The people let in.
    pub users: Vec<UserView>,
}

/// How one sort of thing changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change<T> {
    /// What is there now and was not before.
    pub added: Vec<T>,
    /// What is there in both, but not the same; as it is now.
    pub changed: Vec<T>,
    /// What was there before and is not any more.
    pub gone: Vec<T>,
}

/// What changed between two moments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// How many entries there were at the first moment.
    pub from_seq: u64,
    /// The first moment.
    pub from_time: Timestamp,
    /// How many entries there were at the second moment.
    pub to_seq: u64,
    /// The second moment.
    pub to_time: Timestamp,
    /// Leases taken, renewed and ended.
    pub leases: Change<LeaseView>,
    /// Sessions opened and closed.
    pub sessions: Change<SessionView>,
    /// Agents that came.
    pub agents: Change<AgentView>,
    /// People who came.
    pub users: Change<UserView>,
}

/// What was true at a moment.
pub fn at(engine: &Engine, moment: Moment) -> Result<Picture, EngineError> {
    let world = engine.world()?;
    let now = engine.moment(&world.state);
    if moment.seq.is_some() && moment.time.is_some() {
        let message = "a moment is given by its entry or by its time, not both";
        return Err(EngineError::Invalid(message.to_owned()));
    }
    if let Some(seq) = moment.seq.filter(|seq| *seq == 0 || *seq > world.seq()) {
        let message = format!("the trail has no entry {seq}; it has 1 to {}", world.seq());
        return Err(EngineError::NotFound(message));
    }
    if moment.time.is_some_and(|time| time > now) {
        return Err(EngineError::Invalid("that moment is still to come".to_owned()));
    }
    if moment == Moment::default() {
        return Ok(picture(&world, now));
    }
    let past = replay(engine, moment)?;
    let time = moment.time.unwrap_or_else(|| past.state.clock());
    Ok(picture(&past, time))
}

/// What changed between two moments, whichever comes first.
pub fn diff(engine: &Engine, a: Moment, b: Moment) -> Result<Difference, EngineError> {
    let (mut from, mut to) = (at(engine, a)?, at(engine, b)?);
    if (to.seq, to.time) < (from.seq, from.time) {
        std::mem::swap(&mut from, &mut to);
    }
    Ok(Difference {
        from_seq: from.seq,
        from_time: from.time,
        to_seq: to.seq,
        to_time: to.time,
        leases: compare(from.leases, to.leases, |lease| &lease.lease),
        sessions: compare(from.sessions, to.sessions, |session| &session.workspace),
        agents: compare(from.agents, to.agents, |agent| &agent.agent),
        users: compare(from.users, to.users, |user| &user.user),
    })
}

fn replay(engine: &Engine, moment: Moment) -> Result<World, EngineError> {
    let (seq, time) = (moment.seq.unwrap_or(u64::MAX), moment.time.unwrap_or(Timestamp::MAX));
    let mut log = engine.reader()?;
    let before = |world: &World| world.seq() <= seq && world.state.clock() <= time;
    let mut world = snapshot::load(engine.home(), &mut *log, &before)?;
    world.catch_up_to(&mut *log, seq, time)?;
    Ok(world)
}

fn picture(world: &World, time: Timestamp) -> Picture {
    let state: &State = &world.state;
    Picture {
        seq: world.seq(),
        time,
        leases: query::leases(state, time, &LeaseList::default()),
        sessions: query::sessions(state, time),
        agents: query::agents(state, time),
        users: query::users(state),
    }
}

/// Compares two lists that are both in the order of their keys.
fn compare<T: PartialEq, K: Ord>(old: Vec<T>, new: Vec<T>, key: impl Fn(&T) -> &K) -> Change<T> {
    let mut change = Change { added: Vec::new(), changed: Vec::new(), gone: Vec::new() };
    let mut old = old.into_iter().peekable();
    for item in new {
        while let Some(before) = old.next_if(|before| key(before) < key(&item)) {
            change.gone.push(before);
        }
        match old.next_if(|before| key(before) == key(&item)) {
            Some(before) if before != item => change.changed.push(item),
            Some(_) => {}
            None => change.added.push(item),
        }
    }
    change.gone.extend(old);
    change
}
