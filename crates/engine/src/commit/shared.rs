//! What the writer and everybody else in the process share: the published world, and its health.

use althing_kernel::runtime::NoteDegraded;
use althing_kernel::text::Text;
use althing_kernel::{Command, Timestamp};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use crate::world::World;

/// Whether commands can be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// They can, as far as is known.
    Good,
    /// The last attempt failed.
    Degraded(Outage),
}

/// A time without storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outage {
    /// When the first attempt failed.
    pub since: Timestamp,
    /// What the storage said last.
    pub reason: String,
    /// How many commands were turned away.
    pub turned_away: u64,
}

impl Outage {
    /// Both as one: what several processes met is one trouble.
    pub(crate) fn and(self, other: Outage) -> Self {
        let turned_away = self.turned_away.saturating_add(other.turned_away);
        Outage { since: self.since.min(other.since), reason: other.reason, turned_away }
    }

    /// The runtime's own command that puts it on record.
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

/// What everybody sees, and of which generation of the log it is.
struct View {
    world: Arc<World>,
    generation: u64,
}

/// A panicking thread cannot leave any of these half changed: each is replaced as a whole.
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

    /// The generation of the log that the published world is of.
    pub(crate) fn generation(&self) -> u64 {
        self.view.read().unwrap_or_else(PoisonError::into_inner).generation
    }

    /// Lets everybody see a world, unless they see a later one already, or one of a log that
    /// took this one's place.
    pub(crate) fn publish(&self, world: World, generation: u64) {
        let mut view = self.view.write().unwrap_or_else(PoisonError::into_inner);
        if generation == view.generation && world.seq() > view.world.seq() {
            view.world = Arc::new(world);
        }
    }

    /// Lets everybody see a world that does not continue the one before.
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
