//! The state: what is true after the entries so far, and the one function that changes it.
//!
//! A state is persistent in the sense of data structures: a clone costs a few pointers and
//! shares everything. The writer decides on a clone and drops it if the log refuses the commit;
//! readers keep whichever clone they have.

use imbl::{OrdMap, OrdSet};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

use crate::agent::{self, Agent};
use crate::event::{Event, Stamped};
use crate::id::{LeaseId, WorkspaceId};
use crate::lease::{self, Lease};
use crate::name::{AgentName, UserId};
use crate::principal::Actor;
use crate::project::{self, Project};
use crate::runtime;
use crate::session::{self, Session};
use crate::surface::index::SurfaceIndex;
use crate::time::Timestamp;
use crate::user::{self, User};

/// Something that falls due. Of two things due at the same moment the earlier variant is first:
/// a lease ends before the session that holds it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Deadline {
    Lease(LeaseId),
    Session(WorkspaceId),
}

/// Everything that is true now.
#[derive(Clone, Debug, Default)]
pub struct State {
    pub(crate) project: Option<Project>,
    pub(crate) clock: Timestamp,
    pub(crate) epoch: u64,
    pub(crate) agents: OrdMap<AgentName, Agent>,
    pub(crate) users: OrdMap<UserId, User>,
    pub(crate) sessions: OrdMap<WorkspaceId, Session>,
    pub(crate) leases: OrdMap<LeaseId, Arc<Lease>>,
    // What follows is derived from the above and kept in step by the same functions.
    pub(crate) standing: OrdMap<AgentName, WorkspaceId>,
    pub(crate) held_in: OrdSet<(WorkspaceId, LeaseId)>,
    pub(crate) surfaces: SurfaceIndex,
    pub(crate) deadlines: OrdSet<(Timestamp, Deadline)>,
}

/// An entry that cannot follow from the state before it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// Time went back.
    #[error("its time {at} is not after {last}")]
    ClockRegressed {
        /// The entry's stamp, in microseconds.
        at: u64,
        /// The stamp of the entry before it.
        last: u64,
    },
    /// A fencing epoch was given out again.
    #[error("its epoch {epoch} is not above {last}")]
    EpochRegressed {
        /// The entry's epoch.
        epoch: u64,
        /// The last epoch given out.
        last: u64,
    },
    /// Something happened twice that can happen once.
    #[error("{0} is recorded a second time")]
    Twice(&'static str),
    /// Something happened to a thing that does not exist.
    #[error("{0} it is about is not there")]
    Unknown(&'static str),
    /// Two parts of the record disagree.
    #[error("{0} is not what the record before it says")]
    Mismatch(&'static str),
    /// Something happened before the project was created.
    #[error("it comes before the creation of the project")]
    NoProject,
    /// The trail was begun by a newer version.
    #[error("the trail has format {found}, this version knows up to {known}")]
    NewerFormat {
        /// The format found.
        found: u32,
        /// The newest format known.
        known: u32,
    },
}

impl State {
    /// Changes the state by one entry. This is the only way it changes, live and on replay.
    pub fn apply(&mut self, entry: &Stamped) -> Result<(), ApplyError> {
        if entry.at <= self.clock {
            return Err(ApplyError::ClockRegressed {
                at: entry.at.micros(),
                last: self.clock.micros(),
            });
        }
        if self.project.is_none() && !matches!(entry.draft.event, Event::ProjectCreated(_)) {
            return Err(ApplyError::NoProject);
        }
        match &entry.draft.event {
            Event::ProjectCreated(body) => project::apply_created(self, entry, body)?,
            Event::RuntimeRekeyed(body) => runtime::apply_rekeyed(self, entry, body)?,
            Event::RuntimeRestored(body) => runtime::apply_restored(self, body),
            Event::AgentRegistered(body) => agent::apply_registered(self, entry, body)?,
            Event::UserCreated(body) => user::apply_created(self, entry, body)?,
            Event::SessionOpened(body) => session::apply_opened(self, entry, body)?,
            Event::SessionClosed(body) => session::apply_closed(self, entry, body)?,
            Event::LeaseOpened(body) => lease::apply_opened(self, entry, body)?,
            Event::LeaseRenewed(body) => lease::apply_renewed(self, entry, body)?,
            Event::LeaseReleased(body) => lease::apply_ended(self, &body.lease, body.epoch)?,
            Event::LeaseExpired(body) => lease::apply_ended(self, &body.lease, body.epoch)?,
            Event::LeaseForced(body) => lease::apply_ended(self, &body.lease, body.epoch)?,
            // These are remembered by the trail alone.
            Event::SystemDegraded(_)
            | Event::AuthenticationFailed(_)
            | Event::CommandRefused(_) => {}
        }
        self.clock = entry.at;
        // What the runtime does by itself is no sign of life.
        if let (Some(workspace), Actor::Principal(_)) = (&entry.draft.workspace, &entry.draft.actor)
        {
            session::touch(self, workspace, entry.at);
        }
        Ok(())
    }

    /// The project, once it is created.
    pub fn project(&self) -> Option<&Project> {
        self.project.as_ref()
    }

    /// The stamp of the last entry.
    pub fn clock(&self) -> Timestamp {
        self.clock
    }

    /// The last fencing epoch given out.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The agents that ever registered.
    pub fn agents(&self) -> impl Iterator<Item = (&AgentName, &Agent)> {
        self.agents.iter()
    }

    /// An agent by its name.
    pub fn agent(&self, name: &AgentName) -> Option<&Agent> {
        self.agents.get(name)
    }

    /// A user by their id.
    pub fn user(&self, id: &UserId) -> Option<&User> {
        self.users.get(id)
    }

    /// How many users were let in.
    pub fn user_count(&self) -> usize {
        self.users.len()
    }

    /// The recorded leases; one may have lapsed since the last entry.
    pub fn leases(&self) -> impl Iterator<Item = (&LeaseId, &Lease)> {
        self.leases.iter().map(|(id, lease)| (id, lease.as_ref()))
    }

    /// How many things the state remembers, as a measure of its size.
    pub fn size(&self) -> usize {
        self.agents.len() + self.users.len() + self.sessions.len() + self.leases.len()
    }

    /// Whether a recorded lease is still good at this moment.
    pub(crate) fn is_live(&self, id: &LeaseId, now: Timestamp) -> bool {
        self.leases.get(id).is_some_and(|lease| lease.is_live(now))
    }

    /// The leases opened in a session.
    pub(crate) fn leases_in(&self, workspace: &WorkspaceId) -> Vec<LeaseId> {
        let first = (workspace.clone(), LeaseId::first());
        let own = self.held_in.range(first..).take_while(|(of, _)| of == workspace);
        own.map(|(_, lease)| lease.clone()).collect()
    }

    pub(crate) fn insert_lease(&mut self, id: LeaseId, lease: Lease) -> Result<(), ApplyError> {
        if let Some(workspace) = &lease.workspace {
            let session = self.sessions.get_mut(workspace);
            session.ok_or(ApplyError::Unknown("the session"))?.leases += 1;
            self.held_in.insert((workspace.clone(), id.clone()));
        }
        self.surfaces.insert(&id, &lease.holder, lease.surfaces.as_slice());
        self.deadlines.insert((lease.expires_at, Deadline::Lease(id.clone())));
        self.leases.insert(id, Arc::new(lease));
        Ok(())
    }

    pub(crate) fn remove_lease(&mut self, id: &LeaseId) -> Result<(), ApplyError> {
        let lease = self.leases.remove(id).ok_or(ApplyError::Unknown("the lease"))?;
        if let Some(workspace) = &lease.workspace {
            self.held_in.remove(&(workspace.clone(), id.clone()));
            if let Some(session) = self.sessions.get_mut(workspace) {
                session.leases -= 1;
            }
        }
        self.surfaces.remove(id, lease.surfaces.as_slice());
        self.deadlines.remove(&(lease.expires_at, Deadline::Lease(id.clone())));
        Ok(())
    }
}

/// A state as plain lists: what a snapshot stores, and what tests compare.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    project: Option<Project>,
    clock: Timestamp,
    epoch: u64,
    agents: Vec<(AgentName, Agent)>,
    users: Vec<(UserId, User)>,
    sessions: Vec<(WorkspaceId, Session)>,
    leases: Vec<(LeaseId, Lease)>,
}

impl State {
    /// The state as plain lists.
    pub fn image(&self) -> Image {
        fn list<K: Clone + Ord, V: Clone>(map: &OrdMap<K, V>) -> Vec<(K, V)> {
            map.iter().map(|(key, value)| (key.clone(), value.clone())).collect()
        }
        let lease = |(id, lease): (&LeaseId, &Arc<Lease>)| (id.clone(), lease.as_ref().clone());
        Image {
            project: self.project.clone(),
            clock: self.clock,
            epoch: self.epoch,
            agents: list(&self.agents),
            users: list(&self.users),
            sessions: list(&self.sessions),
            leases: self.leases.iter().map(lease).collect(),
        }
    }

    /// The state an image was made of.
    pub fn from_image(image: Image) -> Result<Self, ApplyError> {
        let mut state = State {
            project: image.project,
            clock: image.clock,
            epoch: image.epoch,
            agents: image.agents.into_iter().collect(),
            users: image.users.into_iter().collect(),
            ..State::default()
        };
        for (id, session) in image.sessions {
            if session.standing {
                state.standing.insert(session.agent.clone(), id.clone());
            }
            state.deadlines.insert((session.lapses_at(), Deadline::Session(id.clone())));
            state.sessions.insert(id, Session { leases: 0, ..session });
        }
        for (id, lease) in image.leases {
            state.insert_lease(id, lease)?;
        }
        Ok(state)
    }
}
