//! State shared between the writer and the rest of the process: the published world, and the health
//! of the store.

use althing_kernel::runtime::NoteDegraded;
use althing_kernel::text::Text;
use althing_kernel::{Command, Timestamp};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use crate::snapshot::world::World;

/// Whether commands can be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// They can, as far as known.
    Good,
    /// The last attempt failed.
    Degraded(Outage),
}

/// A period without working storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outage {
    /// Time of the first failed attempt.
    pub since: Timestamp,
    /// Latest error message of the storage.
    pub reason: String,
    /// Number of commands turned away.
    pub turned_away: u64,
}

impl Outage {
    /// Merges two outages: several processes report the same one.
    pub(crate) fn and(self, other: Outage) -> Self {
        let turned_away = self.turned_away.saturating_add(other.turned_away);
        Outage { since: self.since.min(other.since), reason: other.reason, turned_away }
    }

    /// The runtime's own command that records the outage.
    pub(crate) fn note(&self) -> Command {
        Command::RuntimeDegraded(NoteDegraded {
            turned_away: self.turned_away,
            reason: Text::lossy(&self.reason),
            since: self.since,
        })
    }
}

/// The world as the process sees it.
pub(crate) struct Shared {
    view: RwLock<View>,
    health: Mutex<Health>,
}

/// The published world and the generation of its log.
struct View {
    world: Arc<World>,
    generation: u64,
}

/// Locks a mutex, ignoring poison: each value is replaced as a whole, so a panic cannot leave one
/// half changed.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub(crate) fn new(world: World, generation: u64) -> Self {
        let view = View { world: Arc::new(world), generation };
        Shared { view: RwLock::new(view), health: Mutex::new(Health::Good) }
    }

    /// The last published world.
    pub(crate) fn view(&self) -> Arc<World> {
        self.view.read().unwrap_or_else(PoisonError::into_inner).world.clone()
    }

    /// The generation of the log that the published world comes from.
    pub(crate) fn generation(&self) -> u64 {
        self.view.read().unwrap_or_else(PoisonError::into_inner).generation
    }

    /// Publishes a world, unless a later one is published already, or one of a log that replaced
    /// this one's.
    pub(crate) fn publish(&self, world: World, generation: u64) {
        let mut view = self.view.write().unwrap_or_else(PoisonError::into_inner);
        if generation == view.generation && world.seq() > view.world.seq() {
            view.world = Arc::new(world);
        }
    }

    /// Publishes a world that does not continue the one before.
    pub(crate) fn replace(&self, world: World, generation: u64) {
        let mut view = self.view.write().unwrap_or_else(PoisonError::into_inner);
        *view = View { world: Arc::new(world), generation };
    }

    pub(crate) fn health(&self) -> Health {
        lock(&self.health).clone()
    }

    pub(crate) fn note_good(&self) {
        *lock(&self.health) = Health::Good;
    }

    pub(crate) fn note_bad(&self, now: Timestamp, reason: String, turned_away: u64) {
        let mut health = lock(&self.health);
        let before = match &*health {
            Health::Good => Outage { since: now, reason: String::new(), turned_away: 0 },
            Health::Degraded(outage) => outage.clone(),
        };
        let turned_away = before.turned_away + turned_away;
        *health = Health::Degraded(Outage { since: before.since, reason, turned_away });
    }
}
