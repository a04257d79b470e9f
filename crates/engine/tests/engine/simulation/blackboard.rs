//! The blackboard: many processes that write the same symbols, facts and capsules, and agents that
//! are revoked while they claim.
//!
//! Every acknowledged write is in the log, capsules never depend on each other in a circle, sums
//! match the logged numbers, and no revoked agent is granted anything.

use super::{Counts, Harness, Scenario, Simulation, add, command, happened, person, seeds, system};
use althing_engine::core::{Job, Verdict};
use althing_kernel::blackboard::Handle;
use althing_kernel::blackboard::ledger::By;
use althing_kernel::records::{Kind, Status};
use althing_kernel::{
    AgentName, Caller, Command, Event, Principal, PublicKey, RefusalKind, Reply, State, Timestamp,
};
use althing_trail::{Commit, Entry};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The content of the trail, tracked independently of the kernel.
#[derive(Default)]
struct Shared {
    facts: BTreeMap<String, String>,
    symbols: Vec<String>,
    tokens: u64,
    /// The decisions that stand, in both dialects, by their numbers.
    decisions: BTreeSet<u64>,
    revoked: BTreeSet<AgentName>,
    /// Texts that were acknowledged and must be in the log.
    acknowledged: Vec<String>,
    written: u64,
}

fn client(number: u64) -> Caller {
    let mut key = [5; 32];
    key[..8].copy_from_slice(&number.to_be_bytes());
    Caller {
        principal: Principal::Agent(AgentName::new(&format!("agent{number}")).unwrap()),
        key: PublicKey::from_bytes(key),
        session: None,
    }
}

impl Shared {
    fn ask(&mut self, harness: &mut Harness) -> (&'static str, Value) {
        self.written += 1;
        let random = &mut harness.random;
        let few = random.below(12);
        let value = format!("value {} {}", self.written, "x".repeat(random.index(200)));
        let decision = format!("dec#{}", 1 + random.below(40));
        match random.below(22) {
            0..=2 => ("symbol.set", json!({ "id": format!("S{few}"), "value": value })),
            3 | 4 => ("fact.set", json!({ "key": format!("k{few}"), "value": value })),
            5 => ("fact.delete", json!({ "key": format!("k{few}") })),
            6..=8 => {
                let depends: Vec<String> =
                    (0..random.below(4)).map(|_| format!("c{}", random.below(12))).collect();
                let what = if random.one_in(9) { "a\n".repeat(9) } else { value };
                (
                    "capsule.write",
                    json!({ "id": format!("c{few}"), "what": what, "depends": depends }),
                )
            }
            9 => ("decision.append", json!({ "title": "t", "body": value })),
            10 => {
                let id = format!("d{}", random.below(40));
                ("dispute.raise", json!({ "id": id, "title": "t", "surfaces": ["src"] }))
            }
            11 => {
                let log = json!({ "role": format!("r{few}"), "kind": "k", "tokens": few,
                    "task": format!("t{}", random.below(500)) });
                ("ledger.log", log)
            }
            12 => ("message.note", json!({ "outcome": "reject", "errors": [value] })),
            16 => ("memory.create", json!({ "kind": "decision", "text": value })),
            17 | 18 => {
                let to = if random.one_in(4) { "rejected" } else { "approved" };
                ("memory.move", json!({ "id": decision, "to": to }))
            }
            19 => ("memory.update", json!({ "id": decision, "text": value })),
            20 => ("memory.archive", json!({ "id": decision })),
            21 => ("memory.update", json!({ "id": format!("fct#{}", 1 + few), "text": value })),
            13 => ("agent.register", json!({ "role": format!("role {few}") })),
            _ => {
                let surface = format!("src/{}", random.below(30));
                let args = json!({ "surfaces": [surface], "ttl_s": 30, "replace": few < 6 });
                ("lease.open", args)
            }
        }
    }
}

impl Scenario for Shared {
    fn jobs(&mut self, harness: &mut Harness, _: &State) -> Vec<Job> {
        let count = 1 + harness.random.below(12);
        let mut jobs = Vec::new();
        for _ in 0..count {
            let number = harness.random.below(20);
            let (caller, (name, args)) = if harness.random.one_in(12) {
                let name =
                    if harness.random.one_in(2) { "agent.revoke" } else { "agent.reinstate" };
                let who = match harness.random.below(3) {
                    0 => client(number),
                    1 => person("ada"),
                    _ => system(),
                };
                let target = format!("agent{}", harness.random.below(20));
                (who, (name, json!({ "agent": target })))
            } else {
                let who = if harness.random.one_in(10) { person("ada") } else { client(number) };
                (who, self.ask(harness))
            };
            jobs.push(harness.job(caller, command(name, &args)));
        }
        jobs
    }

    fn answered(&mut self, harness: &mut Harness, job: &Job, verdict: Verdict) {
        let name = job.command.name();
        match verdict {
            Verdict::Done(reply) => {
                harness.count(name);
                if let (Reply::Blackboard(reply), true) =
                    (reply, !matches!(job.command, Command::FactDelete(_)))
                {
                    let reply = serde_json::to_value(reply).unwrap();
                    let text = ["value", "what", "body"].iter().find_map(|key| reply[key].as_str());
                    self.acknowledged.extend(text.map(|own| own.replace('\n', "\\n")));
                }
            }
            Verdict::Refused(refusal) if refusal.kind == RefusalKind::Collision => {
                harness.count("collision");
            }
            Verdict::Refused(refusal) => harness.count(refusal.rule.id()),
            Verdict::Defect(what) => panic!("seed {}: a defect: {what}", harness.seed),
        }
    }

    fn check(&mut self, harness: &mut Harness, news: &[Commit], _: Option<Timestamp>) {
        for line in news.iter().flat_map(Commit::entries) {
            self.follow(&Entry::read(line).unwrap().stamped.draft.event, harness.seed);
        }
        let seed = harness.seed;
        for text in self.acknowledged.drain(..) {
            let found = harness.log.all().iter().any(|commit| commit.lines.contains(&text));
            assert!(found, "seed {seed}: {text} was acknowledged and lost");
        }
        if news.is_empty() {
            return;
        }
        let blackboard = harness.verifier.state().blackboard();
        let facts: BTreeMap<String, String> =
            blackboard.facts().map(|own| (own.key.to_string(), own.value.to_string())).collect();
        assert_eq!(facts, self.facts, "seed {seed}");
        let symbols: Vec<String> = blackboard.symbols().map(|own| own.id.to_string()).collect();
        assert_eq!(symbols, self.symbols, "seed {seed}: in the order they came");
        assert_eq!(blackboard.report(By::Role).total.tokens, self.tokens, "seed {seed}");
        let decisions: BTreeSet<u64> = blackboard.decisions().map(|own| own.number).collect();
        assert_eq!(decisions, self.decisions, "seed {seed}: one list for both dialects");
        let memory = harness.verifier.state().memory();
        assert_eq!(memory.count(Kind::Fact, None), self.facts.len(), "seed {seed}");
        assert_eq!(memory.count(Kind::Symbol, None), self.symbols.len(), "seed {seed}");
        let ids: Vec<Handle> = blackboard.capsules().map(|own| own.id).collect();
        let mut before = BTreeSet::new();
        for own in blackboard.hydrate(&ids).capsules {
            let circle = own.depends.iter().find(|id| ids.contains(id) && !before.contains(*id));
            assert_eq!(circle, None, "seed {seed}: {} comes before what it builds on", own.id);
            before.insert(own.id);
        }
        assert_eq!(before.len(), ids.len(), "seed {seed}");
    }
}

impl Shared {
    fn follow(&mut self, event: &Event, seed: u64) {
        match event {
            Event::FactSet(body) => {
                self.facts.insert(body.key.to_string(), body.value.to_string());
            }
            Event::FactDeleted(body) => {
                assert!(self.facts.remove(body.key.as_str()).is_some(), "seed {seed}");
            }
            Event::SymbolSet(body) => {
                let id = body.id.to_string();
                if !self.symbols.contains(&id) {
                    self.symbols.push(id);
                }
            }
            Event::LedgerLogged(body) => self.tokens += body.tokens.get(),
            Event::DecisionAppended(body) => {
                assert!(self.decisions.insert(body.id.unwrap().number), "seed {seed}");
            }
            Event::MemoryMoved(body) if body.to == Status::Approved => {
                assert!(self.decisions.insert(body.id.number), "seed {seed}");
            }
            Event::MemoryArchived(body) => {
                let stood = self.decisions.remove(&body.id.number);
                assert_eq!(stood, body.withdrawn.is_some(), "seed {seed}");
            }
            Event::AgentRevoked(body) => assert!(self.revoked.insert(body.agent.clone())),
            Event::AgentReinstated(body) => assert!(self.revoked.remove(&body.agent)),
            Event::LeaseOpened(body) => {
                if let Principal::Agent(name) = &body.holder {
                    assert!(!self.revoked.contains(name), "seed {seed}: {name} is revoked");
                }
            }
            _ => {}
        }
    }
}

fn run(seed: u64, steps: u64) -> Counts {
    Simulation::new(seed, Shared::default()).run(steps).0
}

#[test]
fn the_blackboard_is_consistent_under_faults() {
    let seeds = seeds(60);
    let mut counts = Counts::new();
    for seed in seeds.clone() {
        add(&mut counts, run(seed, 250));
    }
    println!("{counts:#?}");
    if seeds.end - seeds.start > 10 {
        let expected = [
            "crash",
            "conflict",
            "lost answer",
            "start from a snapshot",
            "symbol.set",
            "fact.set",
            "fact.delete",
            "capsule.write",
            "decision.append",
            "dispute.raise",
            "ledger.log",
            "message.note",
            "agent.register",
            "agent.revoke",
            "agent.reinstate",
            "lease.open",
            "collision",
            "A-AGENT-01",
            "A-AGENT-02",
            "A-SHARE-02",
            "A-SHARE-03",
            "A-SHARE-04",
            "memory.create",
            "memory.move",
            "memory.update",
            "memory.archive",
        ];
        happened(&counts, &expected, 10);
    }
}
