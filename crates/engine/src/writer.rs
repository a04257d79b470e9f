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

use althing_kernel::{Caller, Principal};
use althing_trail::LogError;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::clock::Clock;
use crate::core::{Core, Job, Settled};
use crate::error::EngineError;
use crate::home::Home;
use crate::presence::Presence;
use crate::queue::{Batch, Done, Queue, Ticket, Woken};
use crate::shared::{Health, Shared, lock};
use crate::{snapshot, witness};

/// How long the writer must have been idle before it does what can wait.
const IDLE: Duration = Duration::from_millis(50);
/// What can wait does not wait for ever, however busy the writer is.
const TIDY_EVERY: Duration = Duration::from_secs(2);
/// The longest that those who were just answered may take to come back and share the next
/// commit, and the least. If they do not come back in time, they are waited for less the next
/// time, so that callers who have other things to do cost the others nothing.
const GATHER: std::ops::RangeInclusive<Duration> =
    Duration::from_micros(2)..=Duration::from_micros(300);

/// How long deciding may take before what is decided is written and others get their turn.
const TURN: Duration = Duration::from_millis(100);

/// What the writer's thread and the callers share.
struct Inbox {
    queue: Queue,
    writer: Mutex<Writer>,
    /// Whether the thread waits for other processes.
    waits_for_log: AtomicBool,
    ended: Mutex<bool>,
    ending: Condvar,
}

/// Whoever holds this writes.
struct Writer {
    core: Core,
    shared: Arc<Shared>,
    home: Home,
    clock: Arc<dyn Clock>,
    /// The generation of the log when this writer began.
    generation: u64,
    last_snapshot: u64,
    snapshot: Option<JoinHandle<()>>,
    /// The newest head that the witness does not know yet.
    unwitnessed: Option<String>,
    tidied: Instant,
}

/// The writer with its thread.
pub(crate) struct WriterHandle {
    inbox: Arc<Inbox>,
    thread: JoinHandle<()>,
    /// Ends with this handle, not with the thread: that may still wait, on behalf of nobody.
    presence: Presence,
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
        presence: Presence,
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
        let inbox = Arc::new(Inbox {
            queue: Queue::default(),
            writer: Mutex::new(writer),
            waits_for_log: AtomicBool::new(false),
            ended: Mutex::new(false),
            ending: Condvar::new(),
        });
        let own = inbox.clone();
        let thread =
            std::thread::Builder::new().name("althing-writer".to_owned()).spawn(move || {
                // Also if it ends in a panic: nobody may wait for it for ever.
                let _ended = Ended(own.clone());
                own.run();
            })?;
        Ok(WriterHandle { inbox, thread, presence, shared: known })
    }

    /// Puts a job into the queue and leaves it to the writer's thread.
    pub(crate) fn submit(&self, job: Job, done: Done) -> Ticket {
        let ticket = self.inbox.queue.put(job, done);
        self.inbox.queue.wake();
        ticket
    }

    /// Puts a job into the queue and, if nobody is writing, writes at once.
    pub(crate) fn submit_and_help(&self, job: Job, done: Done) -> Ticket {
        let ticket = self.inbox.queue.put(job, done);
        if let Ok(mut writer) = self.inbox.writer.try_lock() {
            writer.write_if_free(&self.inbox.queue);
        }
        // Whatever is left is for the thread.
        self.inbox.queue.wake();
        ticket
    }
}

/// Says that the thread has ended when it goes.
struct Ended(Arc<Inbox>);

impl Drop for Ended {
    fn drop(&mut self) {
        *lock(&self.0.ended) = true;
        self.0.ending.notify_all();
    }
}

impl WriterHandle {
    /// Whether the thread has ended, which only a defect can make it do.
    pub(crate) fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }
}

impl Drop for WriterHandle {
    fn drop(&mut self) {
        self.inbox.queue.close();
        // If the last handle goes in an answer, this is the writer's thread: it ends by itself.
        if self.thread.thread().id() != std::thread::current().id() {
            self.inbox.await_end();
        }
        if let Health::Degraded(outage) = self.shared.health() {
            self.presence.leave_word(&outage);
        }
    }
}

impl Inbox {
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

    /// Writes until nothing waits.
    fn write_all(&self) {
        let mut writer = lock(&self.writer);
        let mut moment = *GATHER.end();
        while !self.queue.is_empty() {
            // Queue for the log before taking jobs: who gives up meanwhile can withdraw.
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

    /// Waits for the thread to end, unless all it does is wait for other processes on behalf of
    /// nobody.
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
    /// Writes what waits, unless another process is writing: waiting for it is the thread's
    /// business, or a caller could not give up.
    fn write_if_free(&mut self, queue: &Queue) {
        let held = match self.core.try_hold() {
            Ok(false) => return,
            Ok(true) => Ok(()),
            Err(error) => Err(error),
        };
        let batch = queue.take();
        self.write(held, batch);
    }

    /// Writes a batch, if the log could be held. Returns how many callers were answered.
    fn write(&mut self, held: Result<(), LogError>, batch: Batch) -> usize {
        let answered = batch.done.len();
        match held {
            Ok(()) => self.commit(batch),
            Err(error) => self.turn_away(batch, &EngineError::Unavailable(error)),
        }
        self.core.let_go();
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
        if is_outage(error) {
            self.shared.note_bad(self.clock.now(), error.to_string(), turned_away);
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
        Some(Job { caller, command: outage.note(), proof: None })
    }

    /// What can wait until nobody does: remember the head, and take a snapshot if one is due.
    fn tidy(&mut self, ending: bool) {
        self.tidied = Instant::now();
        if self.core.in_place().is_err() {
            // What lies there now is of another trail, and this one's is no help to it.
            self.unwitnessed = None;
            return;
        }
        if let Some(head) = self.unwitnessed.take() {
            // The witness is a help, not a promise; `althing doctor` tells when it is stale.
            let _ = witness::remember(&self.home, &mut self.core, &head);
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
            let _ = snapshot::save(&home, &world);
        });
        self.snapshot = spawned.ok();
    }

    fn end(&mut self) {
        self.tidy(true);
        if let Some(snapshot) = self.snapshot.take() {
            // A snapshot that failed is only a slower start next time.
            let _ = snapshot.join();
        }
    }
}

/// Whether the storage is out, rather than something being wrong with what is asked for.
fn is_outage(error: &EngineError) -> bool {
    // Another store, or none, has nothing to do with this one's health.
    !error.is_of_another_store()
        && matches!(
            error,
            EngineError::Unavailable(_) | EngineError::Unconfirmed(_) | EngineError::Store(_)
        )
}

/// The same error once more, for the next caller it concerns.
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
