//! History: the state at a moment of the past, and the changes between two moments.
//!
//! The past is replayed from the newest snapshot before it. Nothing about it is stored apart from
//! the trail.

use althing_kernel::envelope::view::EnvelopeView;
use althing_kernel::query::{self, AgentView, LeaseList, LeaseView, SessionView, UserView};
use althing_kernel::task;
use althing_kernel::token::RoleName;
use althing_kernel::workspace::{Party, Status};
use althing_kernel::{AgentName, CheckpointId, State, TaskId, Timestamp, WorkspaceId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::snapshot;
use crate::snapshot::world::{World, as_of};

/// A moment of the past: right after an entry, or at a time. Both left out means now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Moment {
    /// Right after the entry with this sequence number.
    pub seq: Option<u64>,
    /// At this time, in microseconds since 1970.
    #[schemars(with = "Option<u64>")]
    pub time: Option<Timestamp>,
}

/// A workspace at a moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WorkspaceThen {
    /// The workspace.
    pub workspace: WorkspaceId,
    /// Its parent.
    pub parent: Option<WorkspaceId>,
    /// Its role.
    pub role: RoleName,
    /// The agent bound to it.
    pub agent: Option<AgentName>,
    /// Its state.
    pub status: Status,
    /// Its newest checkpoint.
    pub head: Option<CheckpointId>,
    /// Its owner.
    pub owner: Party,
    /// Its task.
    pub task: Option<TaskId>,
    #[serde(skip)]
    created_at: Timestamp,
}

/// A task at a moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TaskThen {
    /// The task.
    pub task: TaskId,
    /// Its name.
    pub name: String,
    /// Its state.
    pub status: task::Status,
    /// The workspace it was bound to.
    pub workspace: Option<WorkspaceId>,
    #[serde(skip)]
    created_at: Timestamp,
}

/// The state at a moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Picture {
    /// Number of entries.
    pub seq: u64,
    /// The moment itself.
    pub time: Timestamp,
    /// The live leases.
    pub leases: Vec<LeaseView>,
    /// The open sessions.
    pub sessions: Vec<SessionView>,
    /// The registered agents.
    pub agents: Vec<AgentView>,
    /// The admitted users.
    pub users: Vec<UserView>,
    /// All workspaces so far, oldest first.
    pub workspaces: Vec<WorkspaceThen>,
    /// The planned tasks, in that order.
    pub tasks: Vec<TaskThen>,
    /// The messages in transit or in an inbox, in the order they were sent.
    pub mail: Vec<EnvelopeView>,
}

/// Changes of one kind of thing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change<T> {
    /// New at the second moment.
    pub added: Vec<T>,
    /// Present at both, but different; as of the second moment.
    pub changed: Vec<T>,
    /// Gone at the second moment.
    pub gone: Vec<T>,
}

/// Changes between two moments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Number of entries at the first moment.
    pub from_seq: u64,
    /// The first moment.
    pub from_time: Timestamp,
    /// Number of entries at the second moment.
    pub to_seq: u64,
    /// The second moment.
    pub to_time: Timestamp,
    /// Leases taken, renewed and ended.
    pub leases: Change<LeaseView>,
    /// Sessions opened and closed.
    pub sessions: Change<SessionView>,
    /// Agents that registered.
    pub agents: Change<AgentView>,
    /// Users that were admitted.
    pub users: Change<UserView>,
    /// Workspaces that were created or changed their state.
    pub workspaces: Change<WorkspaceThen>,
    /// Tasks that were planned or changed their state.
    pub tasks: Change<TaskThen>,
    /// Messages that were sent, delivered, taken or given up.
    pub mail: Change<EnvelopeView>,
}

/// Replays the state at a moment.
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
        return picture(&world, now);
    }
    let past = replay(engine, moment)?;
    let time = moment.time.unwrap_or_else(|| past.state.clock());
    picture(&past, time)
}

/// Compares two moments, whichever comes first.
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
        workspaces: compare(from.workspaces, to.workspaces, |known| &known.created_at),
        tasks: compare(from.tasks, to.tasks, |task| &task.created_at),
        mail: compare(from.mail, to.mail, |envelope| &envelope.created_at),
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

fn picture(world: &World, time: Timestamp) -> Result<Picture, EngineError> {
    let state = &as_of(&world.state, time)?;
    Ok(Picture {
        seq: world.seq(),
        time,
        leases: query::leases(state, time, &LeaseList::default()),
        sessions: query::sessions(state, time),
        agents: query::agents(state, time),
        users: query::users(state),
        workspaces: workspaces(state),
        tasks: tasks(state),
        mail: query::mail(state),
    })
}

fn workspaces(state: &State) -> Vec<WorkspaceThen> {
    let all = state.workspaces().map(|(id, known)| WorkspaceThen {
        workspace: id.clone(),
        parent: known.parent.clone(),
        role: known.charter.role.clone(),
        agent: known.agent.clone(),
        status: known.status,
        head: known.head.clone(),
        owner: known.owner.clone(),
        task: known.charter.task.clone(),
        created_at: known.charter.created_at,
    });
    let mut all: Vec<WorkspaceThen> = all.collect();
    all.sort_by_key(|known| known.created_at);
    all
}

fn tasks(state: &State) -> Vec<TaskThen> {
    let all = state.tasks().map(|task| TaskThen {
        task: task.id,
        name: task.name.to_string(),
        status: task.status,
        workspace: task.workspace,
        created_at: task.at,
    });
    let mut all: Vec<TaskThen> = all.collect();
    all.sort_by_key(|task| task.created_at);
    all
}

/// Compares two lists that are both sorted by key.
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
