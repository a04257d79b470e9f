//! A deterministic simulation: many processes on one log, with everything going wrong that can.
//!
//! Each run is made from one seed. It has several simulated processes, each with its own writer
//! core and its own wrong clock, and thousands of clients that send commands through them. The
//! steps of the processes are interleaved at random: catch up, decide, append. Between any two
//! steps a process may crash and start again with nothing but the log; an append may be refused,
//! or go through with its answer lost, or be beaten by another process; clocks jump both ways.
//!
//! After every step it is checked that
//! - no two holders hold overlapping leases,
//! - epochs only grow,
//! - the chain verifies (the new commits, by the same code as `trail verify`),
//! - replaying the log gives the state the process believes in, and
//! - every acknowledged command is in the log.
//!
//! A failure prints its seed; `ALTHING_SIM_SEED=n` runs that one alone and
//! `ALTHING_SIM_RUNS=n` runs more of them.

use althing_engine::World;
use althing_engine::core::{Core, Job, Prepared, Verdict};
use althing_kernel::query::LeaseView;
use althing_kernel::{
    AgentName, Caller, Command, IdKind, LeaseId, Mint, Principal, PublicKey, Reply, State,
    Timestamp, UserId,
};
use althing_trail::log::memory::MemoryLog;
use althing_trail::log::{LogErrorKind, Store as _};
use althing_trail::verify::{Options, Verifier};
use althing_trail::{
    AppendError, Chain, Commit, Hash, Log, LogError, LogReader, SecretKey, Signature,
};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A small generator: the same seed gives the same run on every machine, for ever.
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

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        let at = usize::try_from(self.below(list.len() as u64)).unwrap();
        &list[at]
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

/// What the next append will do.
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
        // While answers are lost, so are those to questions.
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

    fn let_go(&mut self) {}

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
        // Small, so that batches are cut.
        8 << 10
    }
}

enum Phase {
    Idle,
    CaughtUp,
    Decided(Box<Prepared>, Vec<Job>),
}

struct Process {
    core: Core,
    phase: Phase,
    clock_offset: i64,
}

/// What a client was told.
enum Acknowledged {
    Lease(LeaseView),
    Ended(LeaseId),
    Commit(Commit),
}

struct Simulation {
    random: Random,
    seed: u64,
    log: MemoryLog,
    fault: Arc<Mutex<Fault>>,
    ids: Arc<Mutex<u64>>,
    processes: Vec<Process>,
    /// True time, in microseconds; no process knows it.
    time: u64,
    // What the checks remember.
    verifier: Verifier,
    checked: u64,
    epoch: u64,
    acknowledged: Vec<Acknowledged>,
    /// How many requests were signed so far.
    signed: u64,
    /// Callers in sessions of their own; some have ended.
    sessions: Vec<Caller>,
    /// The last snapshot anybody took.
    saved: Option<World>,
    known: Vec<(LeaseId, u64, Caller)>,
    counts: BTreeMap<&'static str, u64>,
}

const CLIENTS: u64 = 2_000;
const SURFACES: &[&str] = &[
    "src",
    "src/a.rs",
    "src/b.rs",
    "src/*.rs",
    "src/**",
    "src/deep/**/x.rs",
    "**/x.rs",
    "docs/a.md",
    "docs/{a,b}.md",
    "docs/*",
    "Cargo.toml",
    "[A-Z]*",
    "lib/a.rs#f",
    "lib/a.rs#g",
    "lib/a.rs",
    "tests/one",
    "tests/two",
    "tests/three/*",
    "x/1",
    "x/2",
    "x/3",
    "y/1",
    "y/2",
    "y/3",
    "z",
];

fn runtime_key() -> SecretKey {
    SecretKey::from_seed(&[1; 32])
}

fn client(number: u64) -> Caller {
    let mut key = [2; 32];
    key[..8].copy_from_slice(&number.to_be_bytes());
    Caller {
        principal: Principal::Agent(AgentName::new(&format!("agent{number}")).unwrap()),
        key: PublicKey::from_bytes(key),
        session: None,
    }
}

fn person() -> Caller {
    Caller {
        principal: Principal::User(UserId::new("ada").unwrap()),
        key: persons_key().public(),
        session: None,
    }
}

fn persons_key() -> SecretKey {
    SecretKey::from_seed(&[3; 32])
}

impl Simulation {
    fn new(seed: u64) -> Self {
        let mut simulation = Simulation {
            random: Random(seed),
            seed,
            log: MemoryLog::default(),
            fault: Arc::new(Mutex::new(Fault::None)),
            ids: Arc::new(Mutex::new(0)),
            processes: Vec::new(),
            time: 1_700_000_000_000_000,
            verifier: Verifier::new(Options { every_signature: true, ..Options::default() }),
            checked: 0,
            epoch: 0,
            acknowledged: Vec::new(),
            signed: 0,
            sessions: Vec::new(),
            saved: None,
            known: Vec::new(),
            counts: BTreeMap::new(),
        };
        let mut first = simulation.process();
        let create = serde_json::json!({ "name": "sim", "project": "sim" });
        let create = Command::ProjectCreate(serde_json::from_value(create).unwrap());
        let system =
            Caller { principal: Principal::System, key: runtime_key().public(), session: None };
        let ada = person();
        let sign_up = serde_json::json!({ "user": "ada", "key": ada.key });
        let sign_up = Command::read("user.create", &sign_up.to_string()).unwrap().unwrap();
        let jobs = [(system, create), (ada, sign_up)]
            .map(|(caller, command)| simulation.signed_if_a_person(caller, command));
        let now = Timestamp::from_micros(simulation.time);
        let prepared = first.core.prepare(now, &jobs).unwrap();
        first.core.settle(prepared).unwrap();
        simulation.processes.push(first);
        for _ in 0..=simulation.random.below(4) {
            let process = simulation.process();
            simulation.processes.push(process);
        }
        simulation
    }

    /// A process that has just started: it knows nothing but the log, and perhaps a snapshot.
    fn process(&mut self) -> Process {
        let log = FaultyLog { inner: self.log.clone(), fault: self.fault.clone() };
        let mint = Box::new(SimMint(self.ids.clone()));
        let saved = self.saved.clone().filter(|_| self.random.one_in(2));
        if saved.is_some() {
            self.count("start from a snapshot");
        }
        let core = Core::new(Box::new(log), runtime_key(), mint, saved.unwrap_or_default());
        let skew = i64::try_from(self.random.below(20_000_000)).unwrap() - 10_000_000;
        Process { core, phase: Phase::Idle, clock_offset: skew }
    }

    fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    fn now(&self, process: usize) -> Timestamp {
        let time = self.time.saturating_add_signed(self.processes[process].clock_offset);
        Timestamp::from_micros(time)
    }

    fn step(&mut self) {
        self.time += self.random.below(2_000_000);
        let at = usize::try_from(self.random.below(self.processes.len() as u64)).unwrap();
        if self.random.one_in(40) {
            self.count("crash");
            self.processes[at] = self.process();
            return;
        }
        if self.random.one_in(60) {
            self.count("clock jump");
            let jump = i64::try_from(self.random.below(240_000_000)).unwrap() - 120_000_000;
            self.processes[at].clock_offset += jump;
        }
        match std::mem::replace(&mut self.processes[at].phase, Phase::Idle) {
            Phase::Idle => {
                self.processes[at].core.catch_up().unwrap();
                self.processes[at].phase = Phase::CaughtUp;
            }
            Phase::CaughtUp => {
                let jobs: Vec<Job> = (0..=self.random.below(30)).map(|_| self.job()).collect();
                let now = self.now(at);
                let prepared = self.processes[at].core.prepare(now, &jobs).unwrap();
                self.processes[at].phase = Phase::Decided(Box::new(prepared), jobs);
            }
            Phase::Decided(prepared, jobs) => self.append(at, *prepared, &jobs),
        }
    }

    fn job(&mut self) -> Job {
        let number = self.random.below(CLIENTS);
        let mut caller = client(number);
        let lease = (!self.known.is_empty()).then(|| self.random.pick(&self.known).clone());
        let (name, args) = match (self.random.below(20), lease) {
            (0..=2, Some((lease, epoch, holder))) => {
                caller = holder;
                let off = u64::from(self.random.one_in(5));
                ("lease.renew", serde_json::json!({ "lease": lease, "epoch": epoch + off }))
            }
            (3..=5, Some((lease, _, holder))) => {
                if !self.random.one_in(4) {
                    caller = holder;
                }
                ("lease.release", serde_json::json!({ "lease": lease }))
            }
            (6, Some((lease, ..))) => {
                if self.random.one_in(2) {
                    caller = person();
                }
                ("lease.force", serde_json::json!({ "lease": lease, "reason": "simulated" }))
            }
            (7, Some((_, _, holder))) => {
                caller = holder;
                ("session.close", serde_json::json!({}))
            }
            (8, Some((_, _, holder))) => {
                // Somebody who claims to be another.
                caller = Caller { key: caller.key, ..holder };
                ("lease.open", serde_json::json!({ "surfaces": ["src"] }))
            }
            (9, _) => ("session.open", serde_json::json!({ "idle_s": 60 })),
            (10, _) if !self.sessions.is_empty() => {
                caller = self.random.pick(&self.sessions).clone();
                ("session.close", serde_json::json!({}))
            }
            (wide, _) => {
                if wide < 14 && !self.sessions.is_empty() {
                    caller = self.random.pick(&self.sessions).clone();
                }
                let surfaces: Vec<&str> =
                    (0..=self.random.below(2)).map(|_| *self.random.pick(SURFACES)).collect();
                let ttl = 1 + self.random.below(120);
                ("lease.open", serde_json::json!({ "surfaces": surfaces, "ttl_s": ttl }))
            }
        };
        let command = Command::read(name, &args.to_string()).unwrap().unwrap();
        self.signed_if_a_person(caller, command)
    }

    /// What a person asks for is signed; agents are known by their channel here.
    fn signed_if_a_person(&mut self, caller: Caller, command: Command) -> Job {
        let proof = matches!(caller.principal, Principal::User(_)).then(|| {
            self.signed += 1;
            let mut nonce = [0; 16];
            nonce[..8].copy_from_slice(&self.signed.to_be_bytes());
            let project = althing_kernel::ProjectId::new("sim").unwrap();
            Signature::make(&persons_key(), &project, &caller, &command, nonce).unwrap()
        });
        Job { caller, command, proof }
    }

    fn append(&mut self, at: usize, prepared: Prepared, jobs: &[Job]) {
        let fault = match self.random.below(30) {
            0 => Fault::Refused,
            1 => Fault::AnswerLost,
            2 => Fault::WriteLost,
            _ => Fault::None,
        };
        *self.fault.lock().unwrap() = fault;
        let settled = self.processes[at].core.settle(prepared);
        *self.fault.lock().unwrap() = Fault::None;
        match settled {
            Ok(settled) => {
                self.count("commit");
                self.acknowledged.extend(settled.commit.map(Acknowledged::Commit));
                if self.random.one_in(8) {
                    self.saved = Some(through_a_file(self.processes[at].core.world()));
                }
                for (job, verdict) in jobs.iter().zip(settled.verdicts) {
                    self.acknowledge(job, verdict);
                }
                self.check();
                self.live_is_replayed(at);
            }
            Err(AppendError::Conflict) => self.count("conflict"),
            Err(AppendError::Refused(_)) => self.count("refused append"),
            Err(AppendError::Unknown(_)) => self.count("lost answer"),
        }
    }

    fn acknowledge(&mut self, job: &Job, verdict: Verdict) {
        match (verdict, &job.command) {
            (Verdict::Done(Reply::Lease(lease)), Command::LeaseOpen(_)) => {
                self.count("granted");
                self.known.push((lease.lease.clone(), lease.epoch, job.caller.clone()));
                if self.known.len() > 200 {
                    self.known.swap_remove(0);
                }
                self.acknowledged.push(Acknowledged::Lease(lease));
            }
            (
                Verdict::Done(Reply::Lease(lease)),
                Command::LeaseRelease(_) | Command::LeaseForce(_),
            ) => {
                self.count("ended");
                self.acknowledged.push(Acknowledged::Ended(lease.lease));
            }
            (Verdict::Done(Reply::Session(session)), _) => {
                self.count("session");
                let caller = Caller { session: Some(session.workspace), ..job.caller.clone() };
                self.sessions.push(caller);
                if self.sessions.len() > 50 {
                    self.sessions.swap_remove(0);
                }
            }
            (Verdict::Done(_), _) => self.count("other command"),
            (Verdict::Refused(refusal), _) => {
                let kind = match refusal.kind {
                    althing_kernel::RefusalKind::Collision => "collision",
                    althing_kernel::RefusalKind::NotAuthentic => "impostor",
                    _ => "refused",
                };
                self.count(kind);
            }
            (Verdict::Defect(what), _) => panic!("seed {}: a defect: {what}", self.seed),
        }
    }

    /// What must hold after every step.
    fn check(&mut self) {
        let seed = self.seed;
        let news = self.log.clone().tail(self.checked, usize::MAX).unwrap();
        for commit in &news {
            self.verifier.check(commit).unwrap_or_else(|bad| panic!("seed {seed}: {bad}"));
            self.checked = commit.last;
        }
        let state = self.verifier.state();
        assert!(state.epoch() >= self.epoch, "seed {seed}: epochs only grow");
        self.epoch = state.epoch();
        if !news.is_empty() {
            no_two_holders_overlap(state, seed);
        }
        let told: Vec<Acknowledged> = self.acknowledged.drain(..).collect();
        for told in told {
            match told {
                Acknowledged::Lease(lease) => {
                    let commits = self.log.all();
                    let text = format!("\"lease\":\"{}\"", lease.lease);
                    let found = commits.iter().rev().any(|commit| commit.lines.contains(&text));
                    assert!(found, "seed {seed}: {} was acknowledged and lost", lease.lease);
                }
                Acknowledged::Commit(commit) => {
                    let found = self.log.clone().commit_of(commit.last).unwrap();
                    assert!(
                        found == Some(commit),
                        "seed {seed}: a commit was acknowledged and lost"
                    );
                }
                Acknowledged::Ended(lease) => {
                    let live = state.leases().any(|(id, _)| *id == lease);
                    assert!(!live, "seed {seed}: the end of {lease} was acknowledged and lost");
                }
            }
        }
    }

    /// What a process believes is what replaying the log gives.
    fn live_is_replayed(&self, at: usize) {
        let live = self.processes[at].core.world();
        if live.seq() != self.checked {
            return;
        }
        assert_eq!(live.state.image(), self.verifier.state().image(), "seed {}", self.seed);
        assert_eq!(live.chain.image(), self.verifier.chain().image(), "seed {}", self.seed);
    }
}

/// A world as it comes back from a snapshot.
fn through_a_file(world: &World) -> World {
    World {
        state: State::from_image(world.state.image()).unwrap(),
        chain: Chain::from_image(world.chain.image()).unwrap(),
    }
}

fn no_two_holders_overlap(state: &State, seed: u64) {
    let leases: Vec<_> = state.leases().collect();
    for (n, (id, a)) in leases.iter().enumerate() {
        for (other, b) in &leases[n + 1..] {
            if a.holder == b.holder {
                continue;
            }
            let shared = a.surfaces.as_slice().iter().find_map(|own| {
                b.surfaces.as_slice().iter().find_map(|other| own.common_path(other))
            });
            assert_eq!(shared, None, "seed {seed}: {id} and {other} overlap");
        }
    }
}

fn run(seed: u64, steps: u64) -> BTreeMap<&'static str, u64> {
    let mut simulation = Simulation::new(seed);
    for _ in 0..steps {
        simulation.step();
        simulation.check();
    }
    // At the end everybody who looks sees the same.
    let mut worlds = Vec::new();
    for process in &mut simulation.processes {
        process.core.catch_up().unwrap();
        worlds.push(process.core.world().state.image());
    }
    assert!(worlds.iter().all(|image| *image == simulation.verifier.state().image()));
    assert!(simulation.log.reader().unwrap().position().unwrap() >= 2);
    simulation.counts
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().unwrap())
}

/// Shows W-CLK-05, W-REC-01, W-REC-07.
#[test]
fn many_processes_agree_whatever_goes_wrong() {
    let runs = number("ALTHING_SIM_RUNS").unwrap_or(200);
    let seeds = match number("ALTHING_SIM_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..runs,
    };
    let mut counts: BTreeMap<&'static str, u64> = BTreeMap::new();
    for seed in seeds.clone() {
        for (what, count) in run(seed, 400) {
            *counts.entry(what).or_default() += count;
        }
    }
    println!("{counts:#?}");
    if seeds.end - seeds.start > 10 {
        // A simulation in which something never happens tests nothing of it.
        for what in [
            "crash",
            "clock jump",
            "commit",
            "conflict",
            "refused append",
            "lost answer",
            "granted",
            "collision",
            "impostor",
            "refused",
            "ended",
            "session",
            "start from a snapshot",
        ] {
            assert!(counts.get(what).is_some_and(|count| *count > 20), "{what}: {counts:?}");
        }
    }
}

#[test]
fn a_seed_gives_the_same_run_every_time() {
    assert_eq!(run(7, 200), run(7, 200));
}
