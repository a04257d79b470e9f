//! Connections: processes that serve an agent for as long as its host is there.
//!
//! A connection has the name under which its process is registered as a writer, so its end shows like
//! a crash does: by a lock that went. A connected process also keeps the time in its registration, so
//! that whoever notices its end later knows how long ago it was. A program that only calls hooks is
//! connected under the name of its process, which the system is asked about. Reading shows an end that nobody has
//! recorded yet as the next command would record it.

use althing_kernel::session::{ConnectionName, Disconnect, Lost};
use althing_kernel::{Command, Span, State, Timestamp};
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::commit::writer_registry::{self, WriterList};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::snapshot::world::as_of_without;

/// How often a connected process keeps the time in its registration. Its end is at most that much
/// later.
pub const BEAT: Duration = Duration::from_secs(5);

/// How long a look at the registry counts.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The connections that were found to have ended, and when that was looked up.
#[derive(Default)]
pub(crate) struct LastLook(Mutex<Option<(Instant, Vec<Lost>)>>);

/// Whether a connection is named after a process, and not after a writer.
fn is_program(name: &ConnectionName) -> bool {
    name.as_str().contains('-')
}

impl Engine {
    /// The connections in a state whose processes are gone. `writers` must have been listed after the
    /// state was read: a process registers before it connects.
    pub(crate) fn lost_among(
        &self,
        state: &State,
        writers: &WriterList,
        now: Timestamp,
    ) -> Vec<Lost> {
        let is_running = |name: &ConnectionName| match self.options().is_program_running {
            Some(is_running) if is_program(name) => is_running(name.as_str()),
            None if is_program(name) => true,
            _ => writers.is_running(name),
        };
        let named: BTreeSet<&ConnectionName> = state.connections().collect();
        let gone = named.into_iter().filter(|name| !is_running(name));
        gone.map(|name| {
            let heard = writers.last_beat(name).map(|at| at.after(Span::from_secs(BEAT.as_secs())));
            Lost { name: name.clone(), since: heard.unwrap_or(now).min(now) }
        })
        .collect()
    }

    /// The name under which this process is connected. Starts the writer.
    pub fn connection(&self) -> Result<ConnectionName, EngineError> {
        let writer = self.writer()?;
        writer.registration().beat(self.now());
        Ok(writer.registration().name())
    }

    /// Keeps the time in this process's registration, and records connections of other processes that
    /// have ended.
    pub fn beat(&self) -> Result<(), EngineError> {
        if let Some(writer) = self.running_writer() {
            writer.registration().beat(self.now());
        }
        self.record_lost()
    }

    /// Records connections of other processes that have ended.
    pub fn record_lost(&self) -> Result<(), EngineError> {
        let world = self.world()?;
        let lost = self.lost_in(&world.state, self.moment(&world.state));
        self.record_end_of(&world.state, lost)
    }

    /// Records that the connection of this process has ended.
    pub fn disconnect(&self) -> Result<(), EngineError> {
        let Some(writer) = self.running_writer() else { return Ok(()) };
        let own = Lost { name: writer.registration().name(), since: self.now() };
        self.record_end_of(&self.world()?.state, vec![own])
    }

    fn record_end_of(&self, state: &State, mut lost: Vec<Lost>) -> Result<(), EngineError> {
        lost.retain(|lost| state.connections().any(|name| *name == lost.name));
        if lost.is_empty() {
            return Ok(());
        }
        self.execute_own(Command::RuntimeDisconnect(Disconnect { lost })).map(|_| ())
    }

    /// The connections in a state that have ended, looked up now or a moment ago. A registry that
    /// cannot be read shows none; the next command says what is wrong with it.
    fn lost_in(&self, state: &State, now: Timestamp) -> Vec<Lost> {
        let mut last = self.last_look().0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, known)) = &*last
            && at.elapsed() < LOOK_EVERY
        {
            return known.clone();
        }
        let found = if state.connections().next().is_none() {
            Vec::new()
        } else {
            let writers = writer_registry::list(self.home());
            writers.map(|writers| self.lost_among(state, &writers, now)).unwrap_or_default()
        };
        *last = Some((Instant::now(), found.clone()));
        found
    }

    /// The state as of a time: with what has fallen due since the last entry, and without the
    /// connections that have ended.
    pub(crate) fn state_at(&self, state: &State, now: Timestamp) -> Result<State, EngineError> {
        as_of_without(state, now, self.lost_in(state, now))
    }
}
