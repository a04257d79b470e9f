//! The writer: what makes changes durable, many at a time.
//!
//! Callers put jobs into a queue. Whoever writes queues for the log, takes everything that waits
//! by then, and runs it as one commit: many callers share one sync of the disk. If nobody is
//! writing, a caller that waits for its answer does it right there; otherwise the writer's own
//! thread does, so there is exactly one writer at any time and nobody is woken needlessly.
//!
//! A caller who gives up before its job is taken has withdrawn it for certain; after that it
//! gets the answer, whatever it is.
//!
//! When the log refuses to be written, the callers concerned are told so and nothing has
//! happened. The next job is the next attempt, so the writer recovers by itself, and the first
//! commit that goes through begins with a record of the outage.

use althing_kernel::runtime::NoteDegraded;
use althing_kernel::text::Text;
use althing_kernel::{Caller, Command, Principal, Reply, Timestamp};
use althing_trail::LogError;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::clock::Clock;
use crate::core::{Core, JOBS_MAX, Job, Settled, Verdict};
use crate::error::EngineError;
use crate::home::Home;
use crate::world::World;
use crate::{snapshot, witness};

/// How long the writer must have been idle before it does what can wait.
const IDLE: Duration = Duration::from_millis(50);
/// What can wait does not wait for ever, however busy the writer is.
const TIDY_EVERY: Duration = Duration::from_secs(2);

/// What a caller gets back.
pub type Answer = Result<Reply, EngineError>;

/// What to do with an answer.
pub type Done = Box<dyn FnOnce(Answer) + Send>;

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

    fn is_waiting(&self) -> bool {
        self.0.load(Ordering::Acquire) == WAITING
    }

    fn change(&self, to: u8) -> bool {
        self.0.compare_exchange(WAITING, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

struct Pending {
    job: Job,
    ticket: Ticket,
    done: Done,
}

/// Jobs that are being written, and whom to answer.
#[derive(Default)]
struct Batch {
    jobs: Vec<Job>,
    done: VecDeque<Done>,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Pending>,
    /// Whether the writer's thread sleeps and has to be woken.
    asleep: bool,
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
    /// Whether the writer's thread waits for other processes.
    waits_for_log: AtomicBool,
    ended: Mutex<bool>,
    ending: Condvar,
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
            waits_for_log: AtomicBool::new(false),
            ended: Mutex::new(false),
            ending: Condvar::new(),
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

    fn enqueue(&self, job: Job, done: Done) -> Ticket {
        let ticket = Ticket::new();
        let pending = Pending { job, ticket: ticket.clone(), done };
        lock(&self.queue).jobs.push_back(pending);
        ticket
    }

    /// Wakes the writer's thread if it sleeps and there is work.
    fn wake(&self) {
        let queue = lock(&self.queue);
        if queue.asleep && !queue.jobs.is_empty() {
            self.filled.notify_one();
        }
    }

    fn close(&self) {
        lock(&self.queue).closed = true;
        self.filled.notify_all();
    }

    fn say_ended(&self) {
        *lock(&self.ended) = true;
        self.ending.notify_all();
    }

    /// Waits for the writer's thread to end, unless all it does is wait for other processes on
    /// behalf of nobody.
    fn await_end(&self) {
        let mut ended = lock(&self.ended);
        while !*ended {
            let idle = !lock(&self.queue).jobs.iter().any(|pending| pending.ticket.is_waiting());
            if idle && self.waits_for_log.load(Ordering::Acquire) {
                return;
            }
            let waited = self.ending.wait_timeout(ended, IDLE);
            ended = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn is_idle(&self) -> bool {
        lock(&self.queue).jobs.is_empty()
    }

    /// Sleeps until there is work, the queue is closed, or the time is over.
    fn sleep(&self, timeout: Option<Duration>) -> Woken {
        let mut queue = lock(&self.queue);
        let idle = |queue: &mut Queue| queue.jobs.is_empty() && !queue.closed;
        queue.asleep = true;
        queue = match timeout {
            Some(time) => {
                let woken = self.filled.wait_timeout_while(queue, time, idle);
                woken.unwrap_or_else(PoisonError::into_inner).0
            }
            None => self.filled.wait_while(queue, idle).unwrap_or_else(PoisonError::into_inner),
        };
        queue.asleep = false;
        if !queue.jobs.is_empty() {
            Woken::ForWork
        } else if queue.closed {
            Woken::ToEnd
        } else {
            Woken::ByTime
        }
    }

    /// Takes what waits, leaving out what was withdrawn.
    fn take_batch(&self) -> Batch {
        let mut queue = lock(&self.queue);
        let count = queue.jobs.len().min(JOBS_MAX);
        let mut batch = Batch::default();
        for pending in queue.jobs.drain(..count).filter(|pending| pending.ticket.take()) {
            batch.jobs.push(pending.job);
            batch.done.push_back(pending.done);
        }
        batch
    }
}

enum Woken {
    ForWork,
    ByTime,
    ToEnd,
}

/// Whoever holds this writes.
pub(crate) struct Writer {
    shared: Arc<Shared>,
    core: Core,
    home: Home,
    clock: Arc<dyn Clock>,
    last_snapshot: u64,
    snapshots: Vec<JoinHandle<()>>,
    /// The newest head that the witness does not know yet.
    unwitnessed: Option<String>,
    tidied: Instant,
}

/// The writer with its thread.
pub(crate) struct WriterHandle {
    shared: Arc<Shared>,
    writer: Arc<Mutex<Writer>>,
    thread: JoinHandle<()>,
}

impl WriterHandle {
    /// Starts the thread.
    pub(crate) fn start(
        shared: Arc<Shared>,
        core: Core,
        home: Home,
        clock: Arc<dyn Clock>,
        last_snapshot: u64,
    ) -> std::io::Result<Self> {
        let writer = Arc::new(Mutex::new(Writer {
            shared: shared.clone(),
            core,
            home,
            clock,
            last_snapshot,
            snapshots: Vec::new(),
            unwitnessed: None,
            tidied: Instant::now(),
        }));
        let builder = std::thread::Builder::new().name("althing-writer".to_owned());
        let (own, queue) = (writer.clone(), shared.clone());
        let thread = builder.spawn(move || {
            run(&own, &queue);
            queue.say_ended();
        })?;
        Ok(WriterHandle { shared, writer, thread })
    }

    /// Puts a job into the queue and leaves it to the writer's thread.
    pub(crate) fn submit(&self, job: Job, done: Done) -> Ticket {
        let ticket = self.shared.enqueue(job, done);
        self.shared.wake();
        ticket
    }

    /// Puts a job into the queue and, if nobody is writing, writes at once.
    pub(crate) fn submit_and_help(&self, job: Job, done: Done) -> Ticket {
        let ticket = self.shared.enqueue(job, done);
        if let Ok(mut writer) = self.writer.try_lock() {
            writer.write_if_free();
        }
        // Whatever came meanwhile is for the thread.
        self.shared.wake();
        ticket
    }
}

impl Drop for WriterHandle {
    fn drop(&mut self) {
        self.shared.close();
        // If the last handle goes in an answer, this is the writer's thread: it ends by itself.
        if self.thread.thread().id() != std::thread::current().id() {
            self.shared.await_end();
        }
    }
}

/// The writer's thread.
fn run(writer: &Mutex<Writer>, shared: &Shared) {
    let mut tidy = true;
    loop {
        match shared.sleep((!tidy).then_some(IDLE)) {
            Woken::ForWork => {
                let mut writer = lock(writer);
                while !shared.is_idle() {
                    writer.write_once();
                }
                tidy = false;
            }
            Woken::ByTime => {
                lock(writer).tidy();
                tidy = true;
            }
            Woken::ToEnd => return lock(writer).end(),
        }
        // A caller may have written in between.
        tidy = tidy && lock(writer).unwitnessed.is_none();
    }
}

impl Writer {
    /// Queues for the log and writes everything that waits by then.
    fn write_once(&mut self) {
        // Queue for the log before taking jobs: who gives up meanwhile can withdraw.
        self.shared.waits_for_log.store(true, Ordering::Release);
        let held = self.core.hold();
        self.shared.waits_for_log.store(false, Ordering::Release);
        self.write_held(held);
    }

    /// Writes what waits, unless another process is writing: waiting for it is the thread's
    /// business, or a caller could not give up.
    fn write_if_free(&mut self) {
        match self.core.try_hold() {
            Ok(false) => {}
            Ok(true) => self.write_held(Ok(())),
            Err(error) => self.write_held(Err(error)),
        }
    }

    fn write_held(&mut self, held: Result<(), LogError>) {
        let batch = self.shared.take_batch();
        match held {
            Ok(()) => self.write(batch),
            Err(error) => self.turn_away(batch, &EngineError::Unavailable(error)),
        }
        if self.tidied.elapsed() > TIDY_EVERY {
            self.tidy();
        }
    }

    fn write(&mut self, mut batch: Batch) {
        while !batch.jobs.is_empty() {
            let note = self.outage_note();
            let own = usize::from(note.is_some());
            batch.jobs.splice(0..0, note);
            match self.core.run(&*self.clock, &batch.jobs) {
                Ok(settled) => {
                    *lock(&self.shared.health) = Health::Good;
                    self.shared.publish(self.core.world().clone());
                    batch.jobs.drain(..settled.verdicts.len());
                    self.answer(&mut batch.done, settled, own);
                }
                Err(error) => {
                    self.turn_away(batch, &error);
                    return;
                }
            }
        }
        self.core.let_go();
    }

    /// Answers the jobs that were decided.
    fn answer(&mut self, done: &mut VecDeque<Done>, settled: Settled, own: usize) {
        if let Some(commit) = settled.commit {
            self.unwitnessed = Some(commit.head);
        }
        for verdict in settled.verdicts.into_iter().skip(own) {
            let Some(done) = done.pop_front() else { break };
            done(match verdict {
                Verdict::Done(reply) => Ok(reply),
                Verdict::Refused(refusal) => Err(refusal.into()),
                Verdict::Defect(what) => Err(EngineError::Defect(what)),
            });
        }
    }

    fn turn_away(&mut self, batch: Batch, error: &EngineError) {
        self.core.let_go();
        let turned_away = batch.done.len() as u64;
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
        for done in batch.done {
            done(Err(same(error)));
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
        self.tidied = Instant::now();
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

    fn end(&mut self) {
        self.tidy();
        for snapshot in self.snapshots.drain(..) {
            // A snapshot that failed is only a slower start next time.
            let _ = snapshot.join();
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
