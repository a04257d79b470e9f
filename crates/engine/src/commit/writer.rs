//! The writer: makes changes durable, many at a time.
//!
//! Callers put jobs into a queue. The writer waits for the log, takes everything that is in the
//! queue by then, and runs it as one commit: many callers share one sync of the disk. If nobody is
//! writing, a caller that waits for its answer writes on its own thread; otherwise the writer's
//! thread does, so there is exactly one writer at any time and nobody is woken needlessly.
//!
//! A caller who gives up before its job is taken has withdrawn it for certain; after that it gets
//! the answer, whatever it is.
//!
//! When the log refuses a write, the callers concerned get an error and nothing has happened. The
//! next job is the next attempt, so the writer recovers by itself, and the first commit that goes
//! through begins with a record of the outage.

use althing_kernel::{Caller, Principal};
use althing_trail::LogError;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::clock::Clock;
use crate::commit::core::{Core, Job, Settled};
use crate::commit::queue::{Batch, Done, Queue, Ticket, Woken};
use crate::commit::shared::{Health, Shared, lock};
use crate::commit::witness;
use crate::commit::writer_registry::Registration;
use crate::error::EngineError;
use crate::snapshot;
use crate::store::home::Home;

/// Idle time after which the writer does deferred work.
const IDLE: Duration = Duration::from_millis(50);
/// Longest time deferred work is put off, however busy the writer is.
const TIDY_EVERY: Duration = Duration::from_secs(2);
/// Least and most time to wait for callers that were just answered, so that they share the next
/// commit. If they do not come back in time, the next wait is shorter, so that slow callers cost
/// the others nothing.
const GATHER: std::ops::RangeInclusive<Duration> =
    Duration::from_micros(2)..=Duration::from_micros(300);

/// Time for deciding before the decisions are written and other processes get their turn.
const TURN: Duration = Duration::from_millis(100);

/// State shared between the writer's thread and the callers.
struct WriterLink {
    queue: Queue,
    writer: Mutex<Writer>,
    /// Whether the thread waits for other processes.
    waits_for_log: AtomicBool,
    ended: Mutex<bool>,
    ending: Condvar,
}

/// The holder of this lock writes.
struct Writer {
    core: Core,
    shared: Arc<Shared>,
    home: Home,
    clock: Arc<dyn Clock>,
    /// The generation of the log when this writer began.
    generation: u64,
    last_snapshot: u64,
    snapshot: Option<JoinHandle<()>>,
    /// The newest head that the witness does not have yet.
    unwitnessed: Option<String>,
    tidied: Instant,
}

/// The writer with its thread.
pub(crate) struct WriterHandle {
    link: Arc<WriterLink>,
    thread: JoinHandle<()>,
    /// Dropped with this handle, not with the thread: that may still be waiting for the log, with
    /// no job left.
    registration: Registration,
    shared: Arc<Shared>,
}

impl WriterHandle {
    /// Starts the thread.
    pub(crate) fn start(
        shared: Arc<Shared>,
        core: Core,
        home: Home,
        clock: Arc<dyn Clock>,
        last_snapshot: u64,
        registration: Registration,
    ) -> std::io::Result<Self> {
        let known = shared.clone();
        let writer = Writer {
            core: core.with_budget(TURN),
            generation: shared.generation(),
            shared,
            home,
            clock,
            last_snapshot,
            snapshot: None,
            unwitnessed: None,
            tidied: Instant::now(),
        };
        let link = Arc::new(WriterLink {
            queue: Queue::default(),
            writer: Mutex::new(writer),
            waits_for_log: AtomicBool::new(false),
            ended: Mutex::new(false),
            ending: Condvar::new(),
        });
        let own = link.clone();
        let thread =
            std::thread::Builder::new().name("althing-writer".to_owned()).spawn(move || {
                // Also if it panics: nobody may wait for it forever.
                let _ended = Ended(own.clone());
                own.run();
            })?;
        Ok(WriterHandle { link, thread, registration, shared: known })
    }

    /// Queues a job for the writer's thread.
    pub(crate) fn submit(&self, job: Job, done: Done) -> Ticket {
        let ticket = self.link.queue.put(job, done);
        self.link.queue.wake();
        ticket
    }

    /// Queues a job and, if nobody is writing, writes at once.
    pub(crate) fn submit_and_help(&self, job: Job, done: Done) -> Ticket {
        let ticket = self.link.queue.put(job, done);
        if let Ok(mut writer) = self.link.writer.try_lock() {
            writer.write_if_free(&self.link.queue);
        }
        // The thread takes the jobs that are left.
        self.link.queue.wake();
        ticket
    }
}

/// Marks the thread as ended when dropped.
struct Ended(Arc<WriterLink>);

impl Drop for Ended {
    fn drop(&mut self) {
        *lock(&self.0.ended) = true;
        self.0.ending.notify_all();
    }
}

impl WriterHandle {
    /// The registration of this process as a writer.
    pub(crate) fn registration(&self) -> &Registration {
        &self.registration
    }

    /// Whether the thread has ended, which only a defect causes.
    pub(crate) fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }
}

impl Drop for WriterHandle {
    fn drop(&mut self) {
        self.link.queue.close();
        // If an answer drops the last handle, this is the writer's thread: it ends by itself.
        if self.thread.thread().id() != std::thread::current().id() {
            self.link.await_end();
        }
        if let Health::Degraded(outage) = self.shared.health() {
            self.registration.leave_outage_note(&outage);
        }
    }
}

impl WriterLink {
    /// The writer's thread.
    fn run(&self) {
        let mut tidy = true;
        loop {
            match self.queue.sleep((!tidy).then_some(IDLE)) {
                Woken::ForWork => {
                    self.write_all();
                    tidy = false;
                }
                Woken::ByTime => {
                    lock(&self.writer).tidy(false);
                    tidy = true;
                }
                Woken::ToEnd => return lock(&self.writer).end(),
            }
            // A caller may have written in between.
            tidy = tidy && lock(&self.writer).unwitnessed.is_none();
        }
    }

    /// Writes until no job is left.
    fn write_all(&self) {
        let mut writer = lock(&self.writer);
        let mut moment = *GATHER.end();
        while !self.queue.is_empty() {
            // Wait for the log before taking jobs: callers that give up meanwhile can withdraw.
            self.waits_for_log.store(true, Ordering::Release);
            let held = writer.core.await_turn();
            self.waits_for_log.store(false, Ordering::Release);
            let batch = self.queue.take();
            let answered = writer.write(held, batch);
            if answered > 1 {
                let all_came = self.queue.gather(answered, moment);
                moment = if all_came { moment * 2 } else { moment / 2 };
                moment = moment.clamp(*GATHER.start(), *GATHER.end());
            }
        }
    }

    /// Waits for the thread to end, unless it only waits for other processes with no job left.
    fn await_end(&self) {
        let mut ended = lock(&self.ended);
        while !*ended {
            if self.waits_for_log.load(Ordering::Acquire) && !self.queue.has_live_jobs() {
                return;
            }
            let waited = self.ending.wait_timeout(ended, IDLE);
            ended = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Writer {
    /// Writes the waiting jobs, unless another process is writing: only the thread waits for that,
    /// or a caller could not give up.
    fn write_if_free(&mut self, queue: &Queue) {
        let held = match self.core.try_hold() {
            Ok(false) => return,
            Ok(true) => Ok(()),
            Err(error) => Err(error),
        };
        let batch = queue.take();
        self.write(held, batch);
    }

    /// Writes a batch, if the log could be held. Returns the number of answered callers.
    fn write(&mut self, held: Result<(), LogError>, batch: Batch) -> usize {
        let answered = batch.done.len();
        match held {
            Ok(()) => self.commit(batch),
            Err(error) => self.turn_away(batch, &EngineError::Unavailable(error)),
        }
        self.core.release();
        if self.tidied.elapsed() > TIDY_EVERY {
            self.tidy(false);
        }
        answered
    }

    fn commit(&mut self, mut batch: Batch) {
        while !batch.jobs.is_empty() {
            let note = self.outage_note();
            let own = usize::from(note.is_some());
            batch.jobs.splice(0..0, note);
            match self.core.run(&*self.clock, &batch.jobs) {
                Ok(settled) => {
                    batch.jobs.drain(..settled.verdicts.len().max(own));
                    self.answer(&mut batch.done, settled, own);
                }
                Err(error) => return self.turn_away(batch, &error),
            }
        }
    }

    /// Answers the jobs that were decided.
    fn answer(&mut self, done: &mut VecDeque<Done>, settled: Settled, own: usize) {
        // An outage is over once it is on record.
        if settled.verdicts.len() >= own {
            self.shared.note_good();
        }
        self.shared.publish(self.core.world().clone(), self.generation);
        if let Some(commit) = settled.commit {
            self.unwitnessed = Some(commit.head);
        }
        for verdict in settled.verdicts.into_iter().skip(own) {
            let Some(done) = done.pop_front() else { break };
            done(verdict.into());
        }
    }

    fn turn_away(&mut self, batch: Batch, error: &EngineError) {
        let turned_away = batch.done.len() as u64;
        tracing::warn!(%error, commands = turned_away, "nothing was written");
        if is_outage(error) {
            self.shared.note_bad(self.clock.now(), error.to_string(), turned_away);
        }
        for done in batch.done {
            done(Err(same(error)));
        }
    }

    /// The runtime's own job that records an outage, which is over if this commit goes through.
    fn outage_note(&self) -> Option<Job> {
        let Health::Degraded(outage) = self.shared.health() else { return None };
        let caller =
            Caller { principal: Principal::System, key: self.core.key().public(), session: None };
        Some(Job { caller, command: outage.note(), asked: None, door: None })
    }

    /// Does deferred work: remembers the head, and takes a snapshot if one is due.
    fn tidy(&mut self, ending: bool) {
        self.tidied = Instant::now();
        if self.core.in_place().is_err() {
            // The path has another trail now, and this one's head must not be remembered for it.
            tracing::warn!("the store was replaced; neither witness nor snapshot is written");
            self.unwitnessed = None;
            return;
        }
        if let Some(head) = self.unwitnessed.take() {
            // The witness is a help, not a promise; `althing doctor` reports a stale one.
            if let Err(error) = witness::remember(&self.home, &mut self.core, &head) {
                tracing::warn!(%error, "the newest head was not kept in the witness file");
            }
        }
        let running = self.snapshot.as_ref().is_some_and(|snapshot| !snapshot.is_finished());
        let world = self.core.world();
        if running || !snapshot::is_due(world, self.last_snapshot) {
            return;
        }
        if !ending && snapshot::was_just_taken(&self.home, world) {
            return;
        }
        self.last_snapshot = world.seq();
        let (world, home) = (world.clone(), self.home.clone());
        let thread = std::thread::Builder::new().name("althing-snapshot".to_owned());
        let spawned = thread.spawn(move || {
            // Without a new snapshot the next start replays more; nothing else depends on it.
            match snapshot::save(&home, &world) {
                Ok(()) => tracing::debug!(entry = world.seq(), "snapshot saved"),
                Err(error) => tracing::warn!(%error, "no snapshot was saved"),
            }
        });
        self.snapshot =
            spawned.inspect_err(|error| tracing::warn!(%error, "no thread for a snapshot")).ok();
    }

    fn end(&mut self) {
        self.tidy(true);
        if let Some(snapshot) = self.snapshot.take() {
            // A failed snapshot only makes the next start slower.
            if snapshot.join().is_err() {
                tracing::error!("the thread that saves snapshots panicked");
            }
        }
    }
}

/// Whether the storage failed, rather than something being wrong with the request.
fn is_outage(error: &EngineError) -> bool {
    // A deleted or replaced store says nothing about this one's health.
    !error.is_of_another_store()
        && matches!(
            error,
            EngineError::Unavailable(_) | EngineError::Unconfirmed(_) | EngineError::Store(_)
        )
}

/// A copy of the error, for the next caller it concerns.
fn same(error: &EngineError) -> EngineError {
    match error {
        EngineError::Unavailable(error) | EngineError::Store(error) => {
            EngineError::Unavailable(error.clone())
        }
        EngineError::Unconfirmed(error) => EngineError::Unconfirmed(error.clone()),
        EngineError::RuntimeKey(message) => EngineError::RuntimeKey(message.clone()),
        EngineError::Clock(now) => EngineError::Clock(*now),
        EngineError::Damaged { seq, what } => {
            EngineError::Damaged { seq: *seq, what: what.clone() }
        }
        other => EngineError::Defect(other.to_string()),
    }
}
