//! The queue of jobs that wait for the writer, and their withdrawal.

use althing_kernel::Reply;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::commit::core::{JOBS_MAX, Job};
use crate::error::EngineError;

/// The answer to a caller.
pub type Answer = Result<Reply, EngineError>;

/// Receives the answer.
pub type Done = Box<dyn FnOnce(Answer) + Send>;

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

    /// Withdraws the job, if the writer has not taken it yet. Returns whether it is certain that
    /// the job will not be carried out.
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
    done: Done,
}

/// Jobs that were taken, and the receivers of their answers in the same order.
#[derive(Default)]
pub(crate) struct Batch {
    pub(crate) jobs: Vec<Job>,
    pub(crate) done: VecDeque<Done>,
}

#[derive(Default)]
struct Waiting {
    jobs: VecDeque<Pending>,
    /// Whether the writer's thread sleeps and has to be woken.
    asleep: bool,
    closed: bool,
}

/// Reason why a sleeper woke.
pub(crate) enum Woken {
    ForWork,
    ByTime,
    ToEnd,
}

/// Jobs on their way to the writer.
#[derive(Default)]
pub(crate) struct Queue {
    waiting: Mutex<Waiting>,
    filled: Condvar,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // A panic leaves nothing here half changed: each step is one operation.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn put(&self, job: Job, done: Done) -> Ticket {
        let ticket = Ticket::new();
        let pending = Pending { job, ticket: ticket.clone(), done };
        self.lock().jobs.push_back(pending);
        ticket
    }

    /// Wakes the writer's thread, if it sleeps and there is work.
    pub(crate) fn wake(&self) {
        let waiting = self.lock();
        if waiting.asleep && !waiting.jobs.is_empty() {
            self.filled.notify_one();
        }
    }

    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.filled.notify_all();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock().jobs.is_empty()
    }

    /// Waits a moment for the callers that were just answered to submit their next job, so that
    /// they share a commit again. Returns whether about as many wait as before; if not, the moment
    /// is over.
    pub(crate) fn gather(&self, as_before: usize, moment: Duration) -> bool {
        let enough = as_before - as_before / 8;
        let deadline = Instant::now() + moment;
        while self.lock().jobs.len() < enough {
            if Instant::now() >= deadline {
                return false;
            }
            std::thread::yield_now();
        }
        true
    }

    /// Whether any waiting job was not withdrawn.
    pub(crate) fn has_live_jobs(&self) -> bool {
        let waiting = self.lock();
        let is_live = |pending: &Pending| pending.ticket.0.load(Ordering::Acquire) == WAITING;
        waiting.jobs.iter().any(is_live)
    }

    /// Sleeps until there is work, the queue is closed, or the timeout expires.
    pub(crate) fn sleep(&self, timeout: Option<Duration>) -> Woken {
        let mut waiting = self.lock();
        let idle = |waiting: &mut Waiting| waiting.jobs.is_empty() && !waiting.closed;
        waiting.asleep = true;
        waiting = match timeout {
            Some(time) => {
                let woken = self.filled.wait_timeout_while(waiting, time, idle);
                woken.unwrap_or_else(PoisonError::into_inner).0
            }
            None => self.filled.wait_while(waiting, idle).unwrap_or_else(PoisonError::into_inner),
        };
        waiting.asleep = false;
        if !waiting.jobs.is_empty() {
            Woken::ForWork
        } else if waiting.closed {
            Woken::ToEnd
        } else {
            Woken::ByTime
        }
    }

    /// Takes the waiting jobs, leaving out withdrawn ones.
    pub(crate) fn take(&self) -> Batch {
        let mut waiting = self.lock();
        let mut batch = Batch::default();
        // Jobs with precedence are taken first; the others keep their order.
        if waiting.jobs.iter().any(|pending| pending.job.command.precedes_deadlines()) {
            let (first, rest): (VecDeque<_>, VecDeque<_>) = waiting
                .jobs
                .drain(..)
                .partition(|pending| pending.job.command.precedes_deadlines());
            waiting.jobs = first;
            waiting.jobs.extend(rest);
        }
        let count = waiting.jobs.len().min(JOBS_MAX);
        for pending in waiting.jobs.drain(..count).filter(|pending| pending.ticket.take()) {
            batch.jobs.push(pending.job);
            batch.done.push_back(pending.done);
        }
        batch
    }
}
