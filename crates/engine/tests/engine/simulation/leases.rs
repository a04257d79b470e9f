//! Leases: thousands of clients that want the same surfaces.
//!
//! Some hold them through connections whose hosts die and come back. No two holders ever hold
//! overlapping leases, epochs only grow, and every acknowledged change is in the log.

use super::{Counts, Harness, Scenario, Simulation, add, command, happened, person, seeds, system};
use althing_engine::core::{Job, Verdict};
use althing_kernel::query::LeaseView;
use althing_kernel::{
    AgentName, Caller, Command, LeaseId, Principal, PublicKey, Reply, State, Timestamp,
};
use althing_trail::Commit;

/// An acknowledged change.
enum Acknowledged {
    Lease(LeaseView),
    Ended(LeaseId),
}

#[derive(Default)]
struct Leases {
    epoch: u64,
    acknowledged: Vec<Acknowledged>,
    /// Callers in sessions of their own; some have ended.
    sessions: Vec<Caller>,
    known: Vec<(LeaseId, u64, Caller)>,
    /// Connections of hosts that live, each with its agent; the next one's number.
    connections: Vec<(String, u64)>,
    next_connection: u64,
    /// Callers in sessions with a connection; some have ended.
    hosted: Vec<Caller>,
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

fn client(number: u64) -> Caller {
    let mut key = [2; 32];
    key[..8].copy_from_slice(&number.to_be_bytes());
    Caller {
        principal: Principal::Agent(AgentName::new(&format!("agent{number}")).unwrap()),
        key: PublicKey::from_bytes(key),
        session: None,
    }
}

impl Leases {
    fn job(&mut self, harness: &mut Harness) -> Job {
        let number = harness.random.below(CLIENTS);
        let mut caller = client(number);
        let lease = (!self.known.is_empty()).then(|| harness.random.pick(&self.known).clone());
        let (name, args) = match (harness.random.below(20), lease) {
            (0..=2, Some((lease, epoch, holder))) => {
                caller = holder;
                let off = u64::from(harness.random.one_in(5));
                ("lease.renew", serde_json::json!({ "lease": lease, "epoch": epoch + off }))
            }
            (3..=5, Some((lease, _, holder))) => {
                if !harness.random.one_in(4) {
                    caller = holder;
                }
                ("lease.release", serde_json::json!({ "lease": lease }))
            }
            (6, Some((lease, ..))) => {
                if harness.random.one_in(2) {
                    caller = person("ada");
                }
                ("lease.force", serde_json::json!({ "lease": lease, "reason": "simulated" }))
            }
            (7, Some((_, _, holder))) => {
                caller = holder;
                ("session.close", serde_json::json!({}))
            }
            (8, Some((_, _, holder))) => {
                // A caller that pretends to be another.
                caller = Caller { key: caller.key, ..holder };
                ("lease.open", serde_json::json!({ "surfaces": ["src"] }))
            }
            (12, _) => return self.connection(harness),
            (9, _) => ("session.open", serde_json::json!({ "idle_s": 60 })),
            (10, _) if !self.sessions.is_empty() => {
                caller = harness.random.pick(&self.sessions).clone();
                ("session.close", serde_json::json!({}))
            }
            (wide, _) => {
                if wide == 11 && !self.hosted.is_empty() {
                    caller = harness.random.pick(&self.hosted).clone();
                } else if wide < 14 && !self.sessions.is_empty() {
                    caller = harness.random.pick(&self.sessions).clone();
                }
                let surfaces: Vec<&str> =
                    (0..=harness.random.below(2)).map(|_| *harness.random.pick(SURFACES)).collect();
                let ttl = 1 + harness.random.below(120);
                if wide > 17 {
                    let is_path = |surface: &&str| !surface.contains(['*', '[', '{', '#']);
                    let paths: Vec<&str> = surfaces.into_iter().filter(is_path).collect();
                    let paths = if paths.is_empty() { vec!["z"] } else { paths };
                    let unheld = *harness.random.pick(&["claim", "allow", "refuse"]);
                    let args =
                        serde_json::json!({ "paths": paths, "ttl_s": ttl, "unheld": unheld });
                    return harness.job(caller, command("lease.use", &args));
                }
                ("lease.open", serde_json::json!({ "surfaces": surfaces, "ttl_s": ttl }))
            }
        };
        harness.job(caller, command(name, &args))
    }
}

impl Leases {
    /// A host that connects its agent, comes back, or dies.
    fn connection(&mut self, harness: &mut Harness) -> Job {
        if !self.connections.is_empty() && harness.random.one_in(2) {
            let at = harness.random.below(self.connections.len() as u64);
            let (name, agent) = self.connections.swap_remove(usize::try_from(at).unwrap());
            if harness.random.one_in(2) {
                // Its agent comes back through another connection before the death is noticed.
                self.connections.push((name, agent));
                return self.connect(harness, agent);
            }
            let since = harness.time.saturating_sub(harness.random.below(60_000_000));
            let lost = serde_json::json!({ "lost": [{ "name": name, "since": since }] });
            let lost = serde_json::from_value(lost).unwrap();
            return harness.job(system(), Command::RuntimeDisconnect(lost));
        }
        let agent = harness.random.below(20);
        self.connect(harness, agent)
    }

    fn connect(&mut self, harness: &mut Harness, agent: u64) -> Job {
        self.next_connection += 1;
        let name = format!("c{}", self.next_connection);
        let grace = 1 + harness.random.below(60);
        let connection = serde_json::json!({ "name": name, "grace_s": grace });
        let open = serde_json::json!({ "client": "host", "connection": connection });
        self.connections.push((name, agent));
        harness.job(client(agent), command("session.open", &open))
    }
}

/// A session is gone only if it has no connection left, and no lapsed one is still there.
fn gone_sessions_have_no_connection(state: &State, seed: u64) {
    for session in althing_kernel::query::sessions(state, state.clock()) {
        let gone = session.gone_since.is_some();
        assert!(!gone || session.connections == 0, "seed {seed}: {session:?}");
    }
}

impl Scenario for Leases {
    fn jobs(&mut self, harness: &mut Harness, _: &State) -> Vec<Job> {
        (0..=harness.random.below(30)).map(|_| self.job(harness)).collect()
    }

    fn answered(&mut self, harness: &mut Harness, job: &Job, verdict: Verdict) {
        match (verdict, &job.command) {
            (Verdict::Done(Reply::Lease(lease)), Command::LeaseOpen(_)) => {
                harness.count("granted");
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
                harness.count("ended");
                self.acknowledged.push(Acknowledged::Ended(lease.lease));
            }
            (Verdict::Done(Reply::Used(used)), _) => {
                harness.count("used");
                self.acknowledged.extend(used.claimed.map(Acknowledged::Lease));
            }
            (Verdict::Done(Reply::Session(session)), _) => {
                harness.count("session");
                let caller = Caller { session: Some(session.workspace), ..job.caller.clone() };
                if session.connections > 0 {
                    self.hosted.push(caller.clone());
                    if self.hosted.len() > 10 {
                        self.hosted.swap_remove(0);
                    }
                }
                self.sessions.push(caller);
                if self.sessions.len() > 50 {
                    self.sessions.swap_remove(0);
                }
            }
            (Verdict::Done(_), _) => harness.count("other command"),
            (Verdict::Refused(refusal), _) => {
                let kind = match refusal.kind {
                    althing_kernel::RefusalKind::Collision => "collision",
                    althing_kernel::RefusalKind::NotAuthentic => "impostor",
                    _ => "refused",
                };
                harness.count(kind);
            }
            (Verdict::Defect(what), _) => panic!("seed {}: a defect: {what}", harness.seed),
        }
    }

    fn check(&mut self, harness: &mut Harness, news: &[Commit], _: Option<Timestamp>) {
        let (seed, state) = (harness.seed, harness.verifier.state());
        assert!(state.epoch() >= self.epoch, "seed {seed}: epochs only grow");
        self.epoch = state.epoch();
        if !news.is_empty() {
            no_two_holders_overlap(state, seed);
            gone_sessions_have_no_connection(state, seed);
        }
        for commit in news {
            for (kind, count) in
                [("session.disconnected", "host gone"), ("host_gone", "given back")]
            {
                if commit.lines.contains(kind) {
                    harness.count(count);
                }
            }
        }
        let state = harness.verifier.state();
        for answered in self.acknowledged.drain(..) {
            match answered {
                Acknowledged::Lease(lease) => {
                    let commits = harness.log.all();
                    let text = format!("\"lease\":\"{}\"", lease.lease);
                    let found = commits.iter().rev().any(|commit| commit.lines.contains(&text));
                    assert!(found, "seed {seed}: {} was acknowledged and lost", lease.lease);
                }
                Acknowledged::Ended(lease) => {
                    let live = state.leases().any(|(id, _)| *id == lease);
                    assert!(!live, "seed {seed}: the end of {lease} was acknowledged and lost");
                }
            }
        }
    }
}

pub(super) fn no_two_holders_overlap(state: &State, seed: u64) {
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

fn run(seed: u64, steps: u64) -> Counts {
    Simulation::new(seed, Leases::default()).run(steps).0
}

/// Shows W-CLK-05, W-REC-01, W-REC-07.
#[test]
fn many_processes_agree_under_faults() {
    let seeds = seeds(200);
    let mut counts = Counts::new();
    for seed in seeds.clone() {
        add(&mut counts, run(seed, 400));
    }
    println!("{counts:#?}");
    if seeds.end - seeds.start > 10 {
        let expected = [
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
            "used",
            "start from a snapshot",
        ];
        happened(&counts, &expected, 20);
    }
}

#[test]
fn a_seed_gives_the_same_run_every_time() {
    assert_eq!(run(7, 200), run(7, 200));
}
