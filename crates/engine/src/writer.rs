//! The writer: one thread per project and process that makes changes durable, many at a time.
//!
//! Callers put jobs into a queue and wait. The writer queues for the log, takes everything that
//! waits by then, and runs it as one commit: many callers share one sync of the disk. A caller
//! who gives up before its job is taken has withdrawn it for certain; after that it gets the
//! answer, whatever it is.
//!
//! When the log refuses to be written, the callers concerned are told so and nothing has
//! happened. The next job is the next attempt, so the writer recovers by itself, and the first
//! commit that goes through begins with a record of the outage.

use althing_kernel::runtime::NoteDegraded;
use althing_kernel::text::Text;
use althing_kernel::{Caller, Command, Principal, Reply, Timestamp};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::clock::Clock;
use crate::core::{Core, JOBS_MAX, Job, Settled, Verdict};
use crate::error::EngineError;
use crate::home::Home;
use crate::world::World;
use crate::{snapshot, witness};

/// What a caller gets back.
pub type Answer = Result<Reply, EngineError>;

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

const WAITING: u8 = 0;
const TAKEN: u8 = 1;
const WITHDRAWN: u8 = 2;

/// A job's place in the queue.
#[derive(Clone, Debug)]
pub struct Ticket(Arc<AtomicU8>);

impl Ticket {
    fn new() -> Self {
        Ticket(Arc::new(AtomicU8::new(WAITING)))
    }

    /// Takes the job back, if it was not taken yet. Returns whether it is certain that the job
    /// will not be carried out.
    pub fn withdraw(&self) -> bool {
        self.change(WITHDRAWN)
    }

    fn take(&self) -> bool {
        self.change(TAKEN)
    }

    fn change(&self, to: u8) -> bool {
        self.0.compare_exchange(WAITING, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

struct Pending {
    job: Job,
    ticket: Ticket,
    done: Box<dyn FnOnce(Answer) + Send>,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Pending>,
    closed: bool,
}

/// What the writer and everybody else share.
pub(crate) struct Shared {
    queue: Mutex<Queue>,
    filled: Condvar,
    view: RwLock<Arc<World>>,
    health: Mutex<Health>,
    /// The position of the last publication, for those who wait for more.
    grown_to: Mutex<u64>,
    grown: Condvar,
    snapshot_running: AtomicBool,
}

/// A panicking thread cannot leave any of these half changed: each is replaced as a whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub(crate) fn new(world: World) -> Self {
        Shared {
            queue: Mutex::default(),
            filled: Condvar::new(),
            grown_to: Mutex::new(world.seq()),
            view: RwLock::new(Arc::new(world)),
            health: Mutex::new(Health::Good),
            grown: Condvar::new(),
            snapshot_running: AtomicBool::new(false),
        }
    }

    /// The last published world.
    pub(crate) fn view(&self) -> Arc<World> {
        self.view.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Lets everybody see a world, unless they see a later one already.
    pub(crate) fn publish(&self, world: World) {
        let seq = world.seq();
        {
            let mut view = self.view.write().unwrap_or_else(PoisonError::into_inner);
            if seq <= view.seq() {
                return;
            }
            *view = Arc::new(world);
        }
        *lock(&self.grown_to) = seq;
        self.grown.notify_all();
    }

    /// Waits until something after a position was published here, or the time is over.
    pub(crate) fn wait_beyond(&self, after: u64, timeout: Duration) {
        let grown_to = lock(&self.grown_to);
        let stop = self.grown.wait_timeout_while(grown_to, timeout, |to| *to <= after);
        drop(stop.unwrap_or_else(PoisonError::into_inner));
    }

    pub(crate) fn health(&self) -> Health {
        lock(&self.health).clone()
    }

    pub(crate) fn submit(&self, job: Job, done: Box<dyn FnOnce(Answer) + Send>) -> Ticket {
        let ticket = Ticket::new();
        let pending = Pending { job, ticket: ticket.clone(), done };
        lock(&self.queue).jobs.push_back(pending);
        self.filled.notify_one();
        ticket
    }

    pub(crate) fn close(&self) {
        lock(&self.queue).closed = true;
        self.filled.notify_all();
    }

    /// Waits for work. Returns whether there is any; if not, the queue is closed.
    fn wait_for_work(&self) -> bool {
        let queue = lock(&self.queue);
        let idle = |queue: &mut Queue| queue.jobs.is_empty() && !queue.closed;
        let queue = self.filled.wait_while(queue, idle).unwrap_or_else(PoisonError::into_inner);
        !queue.jobs.is_empty()
    }

    fn is_idle(&self) -> bool {
        lock(&self.queue).jobs.is_empty()
    }

    /// Takes what waits, leaving out what was withdrawn.
    fn take_batch(&self) -> Vec<Pending> {
        let mut queue = lock(&self.queue);
        let count = queue.jobs.len().min(JOBS_MAX);
        queue.jobs.drain(..count).filter(|pending| pending.ticket.take()).collect()
    }
}

/// The writer's thread.
pub(crate) struct Writer {
    shared: Arc<Shared>,
    core: Core,
    home: Home,
    clock: Arc<dyn Clock>,
    last_snapshot: u64,
    snapshots: Vec<JoinHandle<()>>,
    unwitnessed: Option<String>,
}

impl Writer {
    /// Starts the thread.
    pub(crate) fn start(
        shared: Arc<Shared>,
        core: Core,
        home: Home,
        clock: Arc<dyn Clock>,
        last_snapshot: u64,
    ) -> std::io::Result<JoinHandle<()>> {
        let mut writer = Writer {
            shared,
            core,
            home,
            clock,
            last_snapshot,
            snapshots: Vec::new(),
            unwitnessed: None,
        };
        std::thread::Builder::new().name("althing-writer".to_owned()).spawn(move || writer.run())
    }

    fn run(&mut self) {
        while self.shared.wait_for_work() {
            // Queue for the log before taking jobs: who gives up meanwhile can withdraw.
            if let Err(error) = self.core.hold() {
                let batch = self.shared.take_batch();
                self.turn_away(batch, &EngineError::Unavailable(error));
                continue;
            }
            let batch = self.shared.take_batch();
            self.write(batch);
            if self.shared.is_idle() {
                self.tidy();
            }
        }
        self.tidy();
        for snapshot in self.snapshots.drain(..) {
            // A snapshot that failed is only a slower start next time.
            let _ = snapshot.join();
        }
    }

    fn write(&mut self, mut batch: Vec<Pending>) {
        while !batch.is_empty() {
            let note = self.outage_note();
            let jobs: Vec<Job> =
                note.iter().cloned().chain(batch.iter().map(|p| p.job.clone())).collect();
            match self.core.run(&*self.clock, &jobs) {
                Ok(settled) => {
                    *lock(&self.shared.health) = Health::Good;
                    self.shared.publish(self.core.world().clone());
                    batch = self.answer(batch, settled, usize::from(note.is_some()));
                }
                Err(error) => {
                    self.turn_away(batch, &error);
                    return;
                }
            }
        }
        self.core.let_go();
    }

    /// Answers the jobs that were decided and returns the rest.
    fn answer(&mut self, batch: Vec<Pending>, settled: Settled, own: usize) -> Vec<Pending> {
        if let Some(commit) = settled.commit {
            self.unwitnessed = Some(commit.head);
        }
        let mut batch = batch.into_iter();
        for verdict in settled.verdicts.into_iter().skip(own) {
            let Some(pending) = batch.next() else { break };
            (pending.done)(match verdict {
                Verdict::Done(reply) => Ok(reply),
                Verdict::Refused(refusal) => Err(refusal.into()),
                Verdict::Defect(what) => Err(EngineError::Defect(what)),
            });
        }
        batch.collect()
    }

    fn turn_away(&mut self, batch: Vec<Pending>, error: &EngineError) {
        self.core.let_go();
        let turned_away = batch.len() as u64;
        {
            let mut health = lock(&self.shared.health);
            let mut outage = match &*health {
                Health::Good => {
                    Outage { since: self.clock.now(), reason: String::new(), turned_away: 0 }
                }
                Health::Degraded(outage) => outage.clone(),
            };
            outage.reason = error.to_string();
            outage.turned_away += turned_away;
            *health = Health::Degraded(outage);
        }
        for pending in batch {
            (pending.done)(Err(same(error)));
        }
    }

    /// The runtime's own job that records an outage which is over if this commit goes through.
    fn outage_note(&self) -> Option<Job> {
        let Health::Degraded(outage) = self.shared.health() else { return None };
        let caller =
            Caller { principal: Principal::System, key: self.core.key().public(), session: None };
        let command = Command::RuntimeDegraded(NoteDegraded {
            turned_away: outage.turned_away,
            reason: Text::lossy(&outage.reason),
            since: outage.since,
        });
        Some(Job { caller, command, proof: None })
    }

    /// What can wait until nobody does: remember the head, and take a snapshot if one is due.
    fn tidy(&mut self) {
        if let Some(head) = self.unwitnessed.take() {
            // The witness is a help, not a promise; `althing doctor` tells when it is stale.
            let _ = witness::remember(&self.home, &head);
        }
        let world = self.core.world();
        if !snapshot::is_due(world, self.last_snapshot) {
            return;
        }
        if self.shared.snapshot_running.swap(true, Ordering::AcqRel) {
            return;
        }
        self.last_snapshot = world.seq();
        let (world, home, shared) = (world.clone(), self.home.clone(), self.shared.clone());
        self.snapshots.retain(|snapshot| !snapshot.is_finished());
        let thread = std::thread::Builder::new().name("althing-snapshot".to_owned());
        let spawned = thread.spawn(move || {
            // Without a new snapshot the next start replays more; nothing else depends on it.
            let _ = snapshot::save(&home, &world);
            shared.snapshot_running.store(false, Ordering::Release);
        });
        match spawned {
            Ok(handle) => self.snapshots.push(handle),
            Err(_) => self.shared.snapshot_running.store(false, Ordering::Release),
        }
    }
}

/// The same error once more, for the next caller it concerns.
fn same(error: &EngineError) -> EngineError {
    match error {
        EngineError::Unavailable(error) | EngineError::Store(error) => {
            EngineError::Unavailable(error.clone())
        }
        EngineError::Unconfirmed(error) => EngineError::Unconfirmed(error.clone()),
        EngineError::RuntimeKey(message) => EngineError::RuntimeKey(message.clone()),
        EngineError::Damaged { seq, what } => {
            EngineError::Damaged { seq: *seq, what: what.clone() }
        }
        other => EngineError::Defect(other.to_string()),
    }
}
