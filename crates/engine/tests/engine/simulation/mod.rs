//! A deterministic simulation: many processes on one log, with every failure that can happen.
//!
//! Each run is made from one seed. It has several simulated processes, each with its own writer
//! core and its own wrong clock, and many clients that send commands through them. The steps of the
//! processes are interleaved at random: catch up, decide, append. Between any two steps a process
//! may crash and start again with nothing but the log and perhaps a snapshot; an append may be
//! refused, or go through with its answer lost, or be beaten by another process; clocks jump both
//! ways.
//!
//! After every step it is checked that the chain verifies (the new commits, by the same code as
//! `trail verify`), that replaying the log gives the state of the process, and that every
//! acknowledged commit is in the log. The clients' commands and further invariants belong to a
//! scenario: [`leases`], [`blackboard`], [`remembered`], [`mixed`], or [`runs`] with its
//! [`invariants`].
//!
//! A failure prints its seed; `ALTHING_SIM_SEED=n` runs that one alone and `ALTHING_SIM_RUNS=n`
//! runs more of them, from `ALTHING_SIM_FROM=n` on, so that a long run can be shared out over
//! processes.

mod approvals;
mod attempts;
mod blackboard;
mod channels;
mod conduct;
mod finishing;
mod gates;
mod invariants;
mod leases;
mod mixed;
mod plans;
mod remembered;
mod resources;
mod runs;
mod scene;
mod taking;

use althing_engine::World;
use althing_engine::core::{Core, Job, Prepared, Verdict};
use althing_kernel::envelope::carrier::Carrier;
use althing_kernel::{
    Caller, Command, Door, IdKind, Mint, Principal, ProjectId, State, Timestamp, UserId,
};
use althing_trail::log::memory::MemoryLog;
use althing_trail::log::{LogErrorKind, Store as _};
use althing_trail::verify::{Options, Verifier};
use althing_trail::{
    AppendError, Asked, Chain, Commit, Hash, Log, LogError, LogReader, Request, SecretKey,
    Signature,
};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A small generator: a seed gives the same run on every machine, for ever.
#[derive(Clone)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn index(&mut self, end: usize) -> usize {
        usize::try_from(self.below(end as u64)).unwrap()
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.index(list.len())]
    }
}

/// Ids that are unique over the whole run and the same in every run of a seed.
struct SimMint(Arc<Mutex<u64>>);

impl Mint for SimMint {
    fn mint(&mut self, kind: IdKind, at: Timestamp) -> Arc<str> {
        let mut count = self.0.lock().unwrap();
        *count += 1;
        format!("{kind:?}-{:016}-{count:08}", at.micros()).into()
    }
}

/// Behaviour of the next append.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    Refused,
    AnswerLost,
    /// The answer is lost and so is the write.
    WriteLost,
}

struct FaultyLog {
    inner: MemoryLog,
    fault: Arc<Mutex<Fault>>,
    bytes_max: usize,
}

fn trouble() -> LogError {
    LogError::new(LogErrorKind::Unwritable, "simulated")
}

impl LogReader for FaultyLog {
    fn position(&mut self) -> Result<u64, LogError> {
        self.inner.position()
    }

    fn tail(&mut self, after: u64, bytes: usize) -> Result<Vec<Commit>, LogError> {
        self.inner.tail(after, bytes)
    }

    fn commit_of(&mut self, seq: u64) -> Result<Option<Commit>, LogError> {
        // While answers to appends are lost, reads fail too.
        match *self.fault.lock().unwrap() {
            Fault::AnswerLost | Fault::WriteLost => Err(trouble()),
            _ => self.inner.commit_of(seq),
        }
    }

    fn subtree(&mut self, start: u64, size: u64) -> Result<Hash, LogError> {
        self.inner.subtree(start, size)
    }

    fn watch(&mut self, after: u64, timeout: Duration) -> Result<bool, LogError> {
        self.inner.watch(after, timeout)
    }
}

impl Log for FaultyLog {
    fn hold(&mut self) -> Result<(), LogError> {
        Ok(())
    }

    fn try_hold(&mut self) -> Result<bool, LogError> {
        Ok(true)
    }

    fn release(&mut self) {}

    fn append(&mut self, expected: u64, commit: &Commit) -> Result<(), AppendError> {
        let fault = *self.fault.lock().unwrap();
        match fault {
            Fault::None => self.inner.append(expected, commit),
            Fault::Refused => Err(AppendError::Refused(trouble())),
            Fault::WriteLost => Err(AppendError::Unknown(trouble())),
            Fault::AnswerLost => {
                self.inner.append(expected, commit)?;
                Err(AppendError::Unknown(trouble()))
            }
        }
    }

    fn commit_bytes_max(&self) -> usize {
        self.bytes_max
    }
}

enum Phase {
    Idle,
    CaughtUp,
    Decided(Box<Prepared>, Vec<Job>, Timestamp),
}

struct Process {
    core: Core,
    phase: Phase,
    clock_offset: i64,
}

/// The commands of clients, and invariants that hold whatever they do.
trait Scenario {
    /// Commit size at which a batch is cut, in bytes; small, so that batches are cut.
    const BYTES_MAX: usize = 8 << 10;

    /// The carrier between a process and the inboxes, if any.
    fn carrier(_random: &mut Random) -> Option<Box<dyn Carrier + Send>> {
        None
    }

    /// Commands before the first step, sent to one process.
    fn opening(&mut self) -> Vec<(Caller, Command)> {
        Vec::new()
    }

    /// Commands to a process that knows `state`.
    fn jobs(&mut self, harness: &mut Harness, state: &State) -> Vec<Job>;

    /// Receives the answer to a job.
    fn answered(&mut self, harness: &mut Harness, job: &Job, verdict: Verdict);

    /// Checks the invariants after each step; `news` were appended in it. If a process has just
    /// settled, `turn` is the time it decided at.
    fn check(&mut self, harness: &mut Harness, news: &[Commit], turn: Option<Timestamp>);

    /// Interval, in commits, at which the states of processes are compared as a whole.
    const COMPARE: u64 = 1;
}

/// Parts that every scenario shares: the log, its processes, and the verification.
struct Harness {
    random: Random,
    seed: u64,
    log: MemoryLog,
    fault: Arc<Mutex<Fault>>,
    ids: Arc<Mutex<u64>>,
    /// True time, in microseconds; no process knows it.
    time: u64,
    verifier: Verifier,
    checked: u64,
    /// Number of signed requests so far.
    signed: u64,
    /// The last snapshot that any process took.
    saved: Option<World>,
    counts: Counts,
}

type Counts = BTreeMap<String, u64>;

struct Simulation<S> {
    harness: Harness,
    processes: Vec<Process>,
    scenario: S,
    /// Acknowledged commits.
    acknowledged: Vec<Commit>,
}

fn runtime_key() -> SecretKey {
    SecretKey::from_seed(&[1; 32])
}

fn system() -> Caller {
    Caller { principal: Principal::System, key: runtime_key().public(), session: None }
}

/// A person's key, made from the name.
fn persons_key(name: &str) -> SecretKey {
    let mut seed = [3; 32];
    seed[..name.len()].copy_from_slice(name.as_bytes());
    SecretKey::from_seed(&seed)
}

fn person(name: &str) -> Caller {
    Caller {
        principal: Principal::User(UserId::new(name).unwrap()),
        key: persons_key(name).public(),
        session: None,
    }
}

fn command(name: &str, args: &serde_json::Value) -> Command {
    let read = Command::read(name, &args.to_string()).unwrap();
    read.unwrap_or_else(|error| panic!("{name} {args}: {error}"))
}

/// Registers a person; the first one has all permissions, the others as many.
fn sign_up(creator: &str, name: &str) -> (Caller, Command) {
    let mut args = serde_json::json!({ "user": name, "key": person(name).key });
    if creator != name {
        args["capabilities"] = serde_json::json!(althing_kernel::capability::Capability::ALL);
    }
    (person(creator), command("user.create", &args))
}

impl Harness {
    fn new(seed: u64) -> Self {
        Harness {
            random: Random(seed),
            seed,
            log: MemoryLog::default(),
            fault: Arc::new(Mutex::new(Fault::None)),
            ids: Arc::new(Mutex::new(0)),
            time: 1_700_000_000_000_000,
            verifier: Verifier::new(Options { every_signature: true, ..Options::default() }),
            checked: 0,
            signed: 0,
            saved: None,
            counts: BTreeMap::new(),
        }
    }

    fn count(&mut self, what: impl Into<String>) {
        *self.counts.entry(what.into()).or_default() += 1;
    }

    /// A process that has just started: it knows nothing but the log, and perhaps a snapshot.
    fn process<S: Scenario>(&mut self) -> Process {
        let (inner, fault) = (self.log.clone(), self.fault.clone());
        let log = FaultyLog { inner, fault, bytes_max: S::BYTES_MAX };
        let mint = Box::new(SimMint(self.ids.clone()));
        let saved = self.saved.clone().filter(|_| self.random.one_in(2));
        if saved.is_some() {
            self.count("start from a snapshot");
        }
        let mut core = Core::new(Box::new(log), runtime_key(), mint, saved.unwrap_or_default());
        if let Some(carrier) = S::carrier(&mut self.random) {
            core = core.with_carrier(carrier);
        }
        let skew = i64::try_from(self.random.below(20_000_000)).unwrap() - 10_000_000;
        Process { core, phase: Phase::Idle, clock_offset: skew }
    }

    /// A job. Commands of a person are signed with the key the caller holds; agents are
    /// authenticated by their channel here.
    fn job(&mut self, caller: Caller, command: Command) -> Job {
        let key = match &caller.principal {
            Principal::User(id) => {
                let own = persons_key(id.as_str());
                Some(if own.public() == caller.key { own } else { forgers_key() })
            }
            _ => None,
        };
        let proof = key.map(|key| {
            self.signed += 1;
            let mut nonce = [0; 16];
            nonce[..8].copy_from_slice(&self.signed.to_be_bytes());
            let project = ProjectId::new("sim").unwrap();
            Signature::make(&key, &project, &caller, Request::of(&command).unwrap(), nonce).unwrap()
        });
        let door = Some(*self.random.pick(Door::ALL)).filter(|_| caller != system());
        Job { caller, command, asked: proof.map(Asked::Signed), door }
    }
}

/// The key of an impostor.
fn forgers_key() -> SecretKey {
    SecretKey::from_seed(&[4; 32])
}

impl<S: Scenario> Simulation<S> {
    fn new(seed: u64, scenario: S) -> Self {
        let (harness, processes) = (Harness::new(seed), Vec::new());
        let mut simulation = Simulation { harness, processes, scenario, acknowledged: Vec::new() };
        simulation.open();
        simulation
    }

    /// Creates the project, its first user, and the scenario's opening.
    fn open(&mut self) {
        let mut first = self.harness.process::<S>();
        let create = serde_json::json!({ "name": "sim", "project": "sim" });
        let create = Command::ProjectCreate(serde_json::from_value(create).unwrap());
        let mut opening = vec![(system(), create), sign_up("ada", "ada")];
        opening.append(&mut self.scenario.opening());
        let mut asked = opening.into_iter();
        let mut jobs: Vec<Job> =
            asked.by_ref().map(|(caller, command)| self.harness.job(caller, command)).collect();
        while !jobs.is_empty() {
            let now = Timestamp::from_micros(self.harness.time);
            let prepared = first.core.prepare(now, &jobs).unwrap();
            let settled = first.core.settle(prepared).unwrap();
            jobs.drain(..settled.verdicts.len());
        }
        self.processes.push(first);
        for _ in 0..=self.harness.random.below(4) {
            let process = self.harness.process::<S>();
            self.processes.push(process);
        }
    }

    fn now(&self, process: usize) -> Timestamp {
        let offset = self.processes[process].clock_offset;
        Timestamp::from_micros(self.harness.time.saturating_add_signed(offset))
    }

    fn step(&mut self) {
        let harness = &mut self.harness;
        harness.time += harness.random.below(2_000_000);
        let at = harness.random.index(self.processes.len());
        if harness.random.one_in(40) {
            harness.count("crash");
            self.processes[at] = harness.process::<S>();
            return;
        }
        if harness.random.one_in(60) {
            harness.count("clock jump");
            let jump = i64::try_from(harness.random.below(240_000_000)).unwrap() - 120_000_000;
            self.processes[at].clock_offset += jump;
        }
        match std::mem::replace(&mut self.processes[at].phase, Phase::Idle) {
            Phase::Idle => {
                self.processes[at].core.catch_up().unwrap();
                self.processes[at].phase = Phase::CaughtUp;
            }
            Phase::CaughtUp => {
                let state = self.processes[at].core.world().state.clone();
                let jobs = self.scenario.jobs(&mut self.harness, &state);
                let now = self.now(at);
                let seed = self.harness.seed;
                let prepared = self.processes[at].core.prepare(now, &jobs);
                let prepared = prepared.unwrap_or_else(|bad| panic!("seed {seed}: {bad}"));
                let turn = now.max(state.clock());
                self.processes[at].phase = Phase::Decided(Box::new(prepared), jobs, turn);
            }
            Phase::Decided(prepared, jobs, turn) => self.append(at, *prepared, &jobs, turn),
        }
    }

    fn append(&mut self, at: usize, prepared: Prepared, jobs: &[Job], turn: Timestamp) {
        let harness = &mut self.harness;
        let fault = match harness.random.below(30) {
            0 => Fault::Refused,
            1 => Fault::AnswerLost,
            2 => Fault::WriteLost,
            _ => Fault::None,
        };
        *harness.fault.lock().unwrap() = fault;
        let settled = self.processes[at].core.settle(prepared);
        *harness.fault.lock().unwrap() = Fault::None;
        match settled {
            Ok(settled) => {
                harness.count("commit");
                let turn = settled.commit.as_ref().map(|_| turn);
                self.acknowledged.extend(settled.commit);
                if harness.random.one_in(8) {
                    harness.saved = Some(through_a_file(self.processes[at].core.world()));
                }
                for (job, verdict) in jobs.iter().zip(settled.verdicts) {
                    self.scenario.answered(harness, job, verdict);
                }
                self.check(turn);
                if self.harness.random.one_in(S::COMPARE) {
                    self.live_is_replayed(at);
                }
            }
            Err(AppendError::Conflict) => harness.count("conflict"),
            Err(AppendError::Refused(_)) => harness.count("refused append"),
            Err(AppendError::Unknown(_)) => harness.count("lost answer"),
        }
    }

    /// Checks the invariants after a step.
    fn check(&mut self, turn: Option<Timestamp>) {
        let seed = self.harness.seed;
        let news = self.harness.log.clone().tail(self.harness.checked, usize::MAX).unwrap();
        for commit in &news {
            let checked = self.harness.verifier.check(commit);
            checked.unwrap_or_else(|bad| {
                let lines: Vec<&str> = commit.entries().collect();
                panic!("seed {seed}: {bad}\n{}", lines.join("\n"))
            });
            self.harness.checked = commit.last;
        }
        for commit in self.acknowledged.drain(..) {
            let found = self.harness.log.clone().commit_of(commit.last).unwrap();
            assert!(found == Some(commit), "seed {seed}: a commit was acknowledged and lost");
        }
        self.scenario.check(&mut self.harness, &news, turn);
    }

    /// Checks that the state of a process equals that of a replay.
    fn live_is_replayed(&self, at: usize) {
        let (live, harness) = (self.processes[at].core.world(), &self.harness);
        if live.seq() != harness.checked {
            return;
        }
        assert_eq!(live.state.image(), harness.verifier.state().image(), "seed {}", harness.seed);
        assert_eq!(live.chain.image(), harness.verifier.chain().image(), "seed {}", harness.seed);
    }

    /// Runs so many steps; at the end all processes must see the same.
    fn run(mut self, steps: u64) -> (Counts, S) {
        for _ in 0..steps {
            self.step();
            self.check(None);
        }
        let expected = self.harness.verifier.state().image();
        for process in &mut self.processes {
            process.core.catch_up().unwrap();
            let seen = process.core.world();
            assert!(seen.state.image() == expected, "seed {}", self.harness.seed);
        }
        assert!(self.harness.log.reader().unwrap().position().unwrap() >= 2);
        let again = through_a_file(self.processes[0].core.world());
        assert!(again.state.image() == expected, "seed {}", self.harness.seed);
        (self.harness.counts, self.scenario)
    }
}

/// A world after saving and loading a snapshot.
fn through_a_file(world: &World) -> World {
    World {
        state: State::from_image(world.state.image()).unwrap(),
        chain: Chain::from_image(world.chain.image()).unwrap(),
    }
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().unwrap())
}

/// The seeds to run: the requested one, as many as requested, or the default number.
fn seeds(default: u64) -> std::ops::Range<u64> {
    if let Some(seed) = number("ALTHING_SIM_SEED") {
        return seed..seed + 1;
    }
    let first = number("ALTHING_SIM_FROM").unwrap_or(0);
    first..first + number("ALTHING_SIM_RUNS").unwrap_or(default)
}

fn add(all: &mut Counts, more: Counts) {
    for (what, count) in more {
        *all.entry(what).or_default() += count;
    }
}

/// Checks that each kind of event occurred: a simulation in which something never happens does not
/// test it.
fn happened(counts: &Counts, what: &[&str], least: u64) {
    let rare = |what: &&&str| counts.get(**what).copied().unwrap_or_default() < least;
    let rare: Vec<_> = what.iter().filter(rare).collect();
    assert!(rare.is_empty(), "hardly ever: {rare:?} in {counts:#?}");
}
