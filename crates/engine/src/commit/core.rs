//! The steps of a commit, without threads: catch up, decide, append, apply.
//!
//! The [`crate::commit::writer`] drives these steps for real; the simulation drives them with
//! crashes, lost answers and other writers in between. The world changes only after an append that
//! went through.

use althing_kernel::deployment::Mechanism;
use althing_kernel::envelope::carrier::{Carrier, Local};
use althing_kernel::surroundings::Surroundings;
use althing_kernel::{Caller, Command, Door, Mint, Refusal, Reply, Timestamp, Transaction};
use althing_trail::chain::Builder;
use althing_trail::log::DamagedTile;
use althing_trail::{AppendError, Asked, Commit, Log, LogError, Request, SecretKey, SignedHead};
use std::time::{Duration, Instant};

use crate::error::EngineError;
use crate::identity::message_keys::MessageKeys;
use crate::snapshot::world::World;
use crate::store::disk::Unknown;

/// About the most overdue deadlines recorded in one commit; with [`JOBS_MAX`] and the kernel's own
/// limits this keeps every commit below the limit of a log.
const TICK_MAX: usize = 1_024;
/// Most commands decided in one commit.
pub const JOBS_MAX: usize = 1_024;

/// Polling interval while waiting for the log with a time limit.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// Latest time that is accepted: 1 January 2200. A clock beyond that is wrong, and a trail stamped
/// with the end of time could never continue.
const CLOCK_MAX: Timestamp = Timestamp::from_secs(7_258_118_400);

/// A command with its authenticated caller and, if the caller signs, the signature.
#[derive(Clone, Debug)]
pub struct Job {
    /// The caller.
    pub caller: Caller,
    /// The command.
    pub command: Command,
    /// The request as its entry carries it; if none, it is made from the command.
    pub asked: Option<Asked>,
    /// The way in it came through; none if the runtime asks.
    pub door: Option<Door>,
}

impl Job {
    /// The request as its entry carries it.
    fn asked(&self) -> Result<Asked, serde_json::Error> {
        match &self.asked {
            Some(asked) => Ok(asked.clone()),
            None => Ok(Asked::unsigned(&self.caller, Request::of(&self.command)?)),
        }
    }
}

/// Result of a command.
#[derive(Debug)]
pub enum Verdict {
    /// Carried out.
    Done(Reply),
    /// Refused, and recorded.
    Refused(Refusal),
    /// Not decided because of a defect; nothing of it was recorded.
    Defect(String),
}

impl From<Verdict> for Result<Reply, EngineError> {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Done(reply) => Ok(reply),
            Verdict::Refused(refusal) => Err(refusal.into()),
            Verdict::Defect(what) => Err(EngineError::Defect(what)),
        }
    }
}

/// Decisions that are not durable yet.
pub struct Prepared {
    expected: u64,
    commit: Option<Commit>,
    world: World,
    verdicts: Vec<Verdict>,
}

/// Decisions that are durable.
pub struct Settled {
    /// Result of each job.
    pub verdicts: Vec<Verdict>,
    /// The commit that was appended, if anything happened.
    pub commit: Option<Commit>,
}

/// A writer without a thread.
pub struct Core {
    log: Box<dyn Log>,
    key: SecretKey,
    mint: Box<dyn Mint + Send>,
    carrier: Box<dyn Carrier + Send>,
    surroundings: Box<dyn Surroundings + Send>,
    /// Proves and checks messages; derived from the key.
    seal: MessageKeys,
    mechanisms: Vec<Mechanism>,
    world: World,
    /// Whether the world is known to have come from this log.
    based: bool,
    /// Time for deciding before the decisions are written.
    budget: Duration,
}

impl Core {
    /// A writer that has seen `world` and will append to `log`.
    pub fn new(
        log: Box<dyn Log>,
        key: SecretKey,
        mint: Box<dyn Mint + Send>,
        world: World,
    ) -> Self {
        let (carrier, surroundings) = (Box::new(Local), Box::new(Unknown));
        let (seal, mechanisms) = (MessageKeys::of(&key), vec![Mechanism::AccessControl]);
        let (based, budget) = (false, Duration::MAX);
        Core { log, key, mint, carrier, surroundings, seal, mechanisms, world, based, budget }
    }

    /// Sets a carrier between the writer and the inboxes.
    #[must_use]
    pub fn with_carrier(self, carrier: Box<dyn Carrier + Send>) -> Self {
        Core { carrier, ..self }
    }

    /// Sets the source of content sizes and free disk space.
    #[must_use]
    pub fn within(self, surroundings: Box<dyn Surroundings + Send>) -> Self {
        Core { surroundings, ..self }
    }

    /// Sets the protections that are in place.
    #[must_use]
    pub fn with_mechanisms(self, mechanisms: Vec<Mechanism>) -> Self {
        Core { mechanisms, ..self }
    }

    /// Sets the time for deciding per commit; at least one job is always decided.
    #[must_use]
    pub(crate) fn with_budget(self, budget: Duration) -> Self {
        Core { budget, ..self }
    }

    /// The durable state this writer knows.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// The runtime's key.
    pub fn key(&self) -> &SecretKey {
        &self.key
    }

    /// Waits for the exclusive right to append.
    pub fn hold(&mut self) -> Result<(), LogError> {
        self.log.hold()
    }

    /// Waits for the exclusive right to append, and reads most new commits while the last writer is
    /// still busy, so that little is left to do during the tx.
    pub fn await_turn(&mut self) -> Result<(), LogError> {
        self.log.queue()?;
        // An error here shows again in the catch-up before deciding, which returns it.
        if let Err(error) = self.catch_up() {
            tracing::debug!(%error, "could not read ahead while queueing for the log");
        }
        self.log.hold()
    }

    /// Takes the exclusive right to append without waiting. Returns whether this writer has it.
    pub fn try_hold(&mut self) -> Result<bool, LogError> {
        self.log.try_hold()
    }

    /// Waits for the exclusive right to append, but not for longer than `patience`.
    pub fn hold_within(&mut self, patience: Duration) -> Result<(), EngineError> {
        let deadline = Instant::now() + patience;
        while !self.try_hold().map_err(EngineError::Unavailable)? {
            if Instant::now() >= deadline {
                return Err(EngineError::TimedOut(patience.as_secs()));
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }

    /// Gives up the exclusive right to append.
    pub fn release(&mut self) {
        self.log.release();
    }

    /// Applies new entries of other writers. Returns how many there were.
    pub fn catch_up(&mut self) -> Result<u64, EngineError> {
        if !self.based {
            self.world.check_base(&mut *self.log)?;
            self.based = true;
        }
        let span = tracing::debug_span!("apply", from = self.world.seq()).entered();
        let caught_up = self.world.catch_up(&mut *self.log);
        drop(span);
        // If entries follow, the chain shows that they continue the known ones. If none do, an
        // older or another trail may have been put in place.
        let caught_up = match caught_up {
            Ok(0) => self.world.check_base(&mut *self.log).map(|()| 0),
            other => other,
        };
        if let Err(error) = &caught_up {
            tracing::debug!(%error, "the log could not be followed; replaying from the start");
            // A partly applied world is useless: replay from the start next time.
            self.world = World::default();
        }
        caught_up
    }

    /// Fails if the log is no longer the one at its path.
    pub fn in_place(&mut self) -> Result<(), LogError> {
        self.log.in_place()
    }

    /// Whether the log has this head at its position.
    pub fn has_head(&mut self, head: &SignedHead) -> Result<bool, LogError> {
        let found = self.log.head_of(head.head().size)?;
        Ok(found.is_some_and(|(_, text)| text == head.text()))
    }

    /// Rebuilds a damaged tile.
    pub(crate) fn rebuild_tile(&mut self, damaged_tile: &DamagedTile) -> Result<(), EngineError> {
        self.log.rebuild_tile(damaged_tile).map_err(EngineError::Unavailable)
    }

    /// Decides jobs on a copy of the world. Nothing is stored yet.
    pub fn prepare(&mut self, now: Timestamp, jobs: &[Job]) -> Result<Prepared, EngineError> {
        let _span = tracing::debug_span!("decide", commands = jobs.len()).entered();
        self.check_key(jobs)?;
        if now > CLOCK_MAX {
            return Err(EngineError::Clock(now));
        }
        let bytes_max = self.log.commit_bytes_max() / 2;
        let begun = Instant::now();
        let mut builder = Builder::begin(self.world.chain.clone());
        let tx = Transaction::begin(self.world.state.clone(), now, &mut *self.mint);
        let tx = tx.sealed_by(&self.seal).protected_by(&self.mechanisms);
        let mut tx = tx.carried_by(&mut *self.carrier).within(&*self.surroundings);
        let mut verdicts = Vec::with_capacity(jobs.len());
        let (mut added, mut ticked) = (0, false);
        for job in jobs.iter().take(JOBS_MAX) {
            // A takeover comes first, since nothing can be signed with the new key before it. An
            // abort comes before due deadlines, and those before everything else: a command that
            // is decided while a deadline is due does not pass an audit.
            let precedes = job.command.precedes_deadlines();
            if !takes_over(job) && (!precedes || tx.is_gate_due()) {
                ticked = true;
                let more_is_due = tx.tick(TICK_MAX)?;
                added = add_entries(&mut builder, &tx, added, None)?;
                if more_is_due {
                    break;
                }
            }
            let mut own = None;
            tx.come_through(job.door);
            verdicts.push(match tx.decide(&job.caller, &job.command) {
                Ok(outcome) => {
                    own = outcome.own.map(|own| (own, job));
                    match outcome.result {
                        Ok(reply) => Verdict::Done(reply),
                        Err(refusal) => Verdict::Refused(refusal),
                    }
                }
                Err(fault) => Verdict::Defect(fault.to_string()),
            });
            added = add_entries(&mut builder, &tx, added, own)?;
            if builder.bytes() > bytes_max || begun.elapsed() > self.budget {
                break;
            }
        }
        if !ticked && !jobs.iter().any(takes_over) {
            tx.tick(TICK_MAX)?;
            added = add_entries(&mut builder, &tx, added, None)?;
        }
        let (state, _) = tx.finish();
        let expected = self.world.seq();
        if added == 0 {
            let world = self.world.clone();
            return Ok(Prepared { expected, commit: None, world, verdicts });
        }
        let finished = builder.finish(&self.key);
        let (commit, chain) = finished.map_err(|error| EngineError::Defect(error.to_string()))?;
        let world = World { state, chain };
        Ok(Prepared { expected, commit: Some(commit), world, verdicts })
    }

    /// Fails if another runtime has taken over the trail since this one began.
    fn check_key(&self, jobs: &[Job]) -> Result<(), EngineError> {
        match self.world.state.project() {
            Some(project) if project.runtime_key != self.key.public() => {
                if jobs.iter().any(takes_over) {
                    return Ok(());
                }
                let message = "this trail is signed with another runtime's key now".to_owned();
                Err(EngineError::RuntimeKey(message))
            }
            _ => Ok(()),
        }
    }

    /// Makes decisions durable. On an error the world is unchanged.
    pub fn settle(&mut self, prepared: Prepared) -> Result<Settled, AppendError> {
        let Prepared { expected, commit, world, verdicts } = prepared;
        if let Some(commit) = &commit {
            let bytes = commit.bytes();
            let _span = tracing::debug_span!("append", last = commit.last, bytes).entered();
            match self.log.append(expected, commit) {
                Ok(()) => {}
                // The answer to the append was lost, but the log has the commit.
                Err(AppendError::Unknown(error)) if self.has(commit) => {
                    tracing::warn!(%error, "the log reported a failure, but has the commit");
                }
                Err(error) => return Err(error),
            }
        }
        self.world = world;
        Ok(Settled { verdicts, commit })
    }

    /// Whether the log has this very commit.
    fn has(&mut self, commit: &Commit) -> bool {
        self.log.in_place().is_ok()
            && self.log.commit_of(commit.last).is_ok_and(|found| found.as_ref() == Some(commit))
    }

    /// Runs one job of the runtime itself. Overdue deadlines come first and may fill a commit of
    /// their own.
    pub fn run_own(
        &mut self,
        clock: &dyn crate::clock::Clock,
        job: Job,
    ) -> Result<Reply, EngineError> {
        let jobs = [job];
        loop {
            if let Some(verdict) = self.run(clock, &jobs)?.verdicts.pop() {
                return verdict.into();
            }
        }
    }

    /// Runs all steps in order, and again while other writers are faster.
    pub fn run(
        &mut self,
        clock: &dyn crate::clock::Clock,
        jobs: &[Job],
    ) -> Result<Settled, EngineError> {
        let _span = tracing::debug_span!("commit", commands = jobs.len()).entered();
        loop {
            let step = self.hold().map_err(EngineError::Unavailable);
            let prepared = step.and_then(|()| {
                self.catch_up()?;
                self.prepare(clock.now(), jobs)
            });
            let prepared = prepared.inspect_err(|_| self.release())?;
            if prepared.commit.is_none() {
                self.release();
            }
            match self.settle(prepared) {
                Ok(settled) => return Ok(settled),
                Err(AppendError::Conflict) => {
                    tracing::debug!("another process was faster; deciding again");
                }
                Err(AppendError::Refused(error)) => return Err(EngineError::Unavailable(error)),
                Err(AppendError::Unknown(error)) => return Err(EngineError::Unconfirmed(error)),
            }
        }
    }
}

fn takes_over(job: &Job) -> bool {
    matches!(job.command, Command::RuntimeRekey(_))
}

/// Chains the entries from `from` on. The caller's entry carries the request.
fn add_entries(
    builder: &mut Builder,
    tx: &Transaction<'_>,
    from: usize,
    own: Option<(usize, &Job)>,
) -> Result<usize, EngineError> {
    let defect = |error: serde_json::Error| EngineError::Defect(error.to_string());
    let entries = tx.entries();
    for (at, entry) in entries.iter().enumerate().skip(from) {
        let own = own.filter(|(own, _)| *own == at);
        let asked = own.map(|(_, job)| job.asked()).transpose().map_err(defect)?;
        builder.add(entry, asked.as_ref()).map_err(defect)?;
    }
    Ok(entries.len())
}
