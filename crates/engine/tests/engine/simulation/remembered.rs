//! Records: many processes that create, change and move the same records, give work out under
//! leases, and retry when they got no answer.
//!
//! Every record is in the state that the entries of the log say, whatever was lost in between; a
//! request with an id leaves at most one entry (idempotency); a lease for work has one holder at a
//! time.

use super::{
    Counts, Harness, Random, Scenario, Simulation, add, attempts, command, happened, person, seeds,
};
use althing_engine::core::{Job, Verdict};
use althing_kernel::records::loops::Act;
use althing_kernel::records::vocabulary::Action;
use althing_kernel::records::{Effect, Kind, Record, RecordId, Status};
use althing_kernel::{
    AgentName, Caller, Command, Event, Principal, PublicKey, RefusalKind, State, Timestamp,
};
use althing_trail::{Commit, Entry};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

const AGENTS: u64 = 6;

/// The content of the log, tracked independently of the kernel.
#[derive(Default)]
struct Remembered {
    records: BTreeMap<RecordId, (Status, u32)>,
    requests: BTreeSet<(String, String)>,
    /// Requests with an id, to be retried.
    asked: Vec<(Caller, Command)>,
    count: u64,
    /// Texts that were acknowledged and must be in the log.
    acknowledged: Vec<String>,
}

fn client(number: u64) -> Caller {
    let mut key = [6; 32];
    key[..8].copy_from_slice(&number.to_be_bytes());
    Caller {
        principal: Principal::Agent(AgentName::new(&format!("agent{number}")).unwrap()),
        key: PublicKey::from_bytes(key),
        session: None,
    }
}

fn caller_of(who: &Principal) -> Option<Caller> {
    (0..AGENTS).map(client).find(|caller| caller.principal == *who)
}

fn any<'s>(random: &mut Random, state: &'s State, kind: Kind) -> Option<&'s Record> {
    let all: Vec<&Record> = state.memory().newest(kind, None).take(12).collect();
    (!all.is_empty()).then(|| *random.pick(&all))
}

impl Remembered {
    fn create(&mut self, random: &mut Random, state: &State, who: &Caller) -> Value {
        self.count += 1;
        let kinds = [Kind::Plan, Kind::Plan, Kind::Assignment, Kind::Assignment, Kind::Assignment];
        let others = [Kind::Trap, Kind::Candidate, Kind::Handoff, Kind::Loop, Kind::Constraint];
        let kind = *random.pick(&[kinds, others].concat());
        let plan = any(random, state, Kind::Plan).map(|own| own.id);
        let own = state.leases().find(|(_, lease)| lease.holder == who.principal);
        let soon = state.clock().micros() + random.below(60_000_000);
        let fields = match kind {
            Kind::Plan => json!({ "steps": [{ "text": "a" }, { "text": "b" }] }),
            Kind::Assignment => {
                let mut fields = json!({ "agent": format!("agent{}", random.below(AGENTS)),
                    "acceptance_ttl_secs": 20, "heartbeat_ttl_secs": 20 });
                if let Some(plan) = plan {
                    fields["plan_id"] = json!(plan);
                }
                if let Some((_, lease)) = own {
                    fields["claim"] = json!(lease.epoch);
                }
                fields
            }
            Kind::Constraint => json!({ "expires_at": soon }),
            Kind::Candidate => json!({ "candidate_type": "decision" }),
            Kind::Handoff => match any(random, state, Kind::Handoff) {
                Some(before) => json!({ "supersedes": before.id }),
                None => json!({}),
            },
            Kind::Loop => {
                let mut slot =
                    json!({ "id": "s", "agent": format!("agent{}", random.below(AGENTS)) });
                // Mostly an assignment and its author, as required.
                let mut given = state.memory().newest(Kind::Assignment, Some(true));
                let given = given.find(|own| own.author == who.principal);
                let astray = any(random, state, Kind::Assignment).filter(|_| random.one_in(6));
                if let Some(work) = astray.or(given) {
                    slot["assignment"] = json!(work.id);
                }
                json!({ "loop_kind": "debug", "slots": [slot] })
            }
            _ => json!({}),
        };
        json!({ "kind": kind, "text": format!("text {}", self.count), "fields": fields })
    }

    /// An offer of work to one agent or two, on surfaces that others may hold.
    fn offer(&mut self, random: &mut Random, plan: Option<RecordId>) -> Value {
        let mut lanes = Vec::new();
        for _ in 0..=random.below(2) {
            self.count += 1;
            let mut fields = json!({ "agent": format!("agent{}", random.below(AGENTS)),
                "acceptance_ttl_secs": 20, "heartbeat_ttl_secs": 20 });
            if let Some(plan) = plan.filter(|_| random.one_in(3)) {
                fields["plan_id"] = json!(plan);
            }
            let mut lane = json!({ "fields": fields, "text": format!("text {}", self.count),
                "ttl_s": 60 });
            if !random.one_in(4) {
                lane["surfaces"] = json!([place(random)]);
            }
            lanes.push(lane);
        }
        json!({ "lanes": lanes })
    }

    /// A step of a record, mostly an allowed one by an authorized caller.
    fn step(random: &mut Random, own: &Record, who: &Caller) -> (Caller, Value) {
        let targets = own.table().transitions_from(own.status);
        let astray = targets.is_empty() || random.one_in(6);
        let to = *random.pick(if astray { own.table().states } else { &targets });
        let mut args = json!({ "id": own.id, "to": to });
        if own.id.kind != Kind::Assignment {
            let author = caller_of(&own.author).filter(|_| own.id.kind == Kind::Loop);
            return (author.unwrap_or_else(|| who.clone()), args);
        }
        let reports = matches!(
            to,
            Status::Accepted
                | Status::Started
                | Status::Completed
                | Status::Failed
                | Status::Blocked
        );
        let agent = own.agent().map(|name| Principal::Agent(name.clone()));
        let by = if reports { agent } else { own.fields.dispatcher.clone() };
        if to == Status::Rerouted && random.one_in(2) {
            args["agent"] = json!(format!("agent{}", random.below(AGENTS)));
        }
        if to == Status::Completed && random.one_in(2) {
            args["plan_status"] = json!("done");
        }
        let by = by.and_then(|by| caller_of(&by)).filter(|_| !random.one_in(8));
        (by.unwrap_or_else(|| who.clone()), args)
    }

    fn ask(&mut self, random: &mut Random, state: &State) -> (Caller, &'static str, Value) {
        let who = client(random.below(AGENTS));
        // The others are written with commands of their own, in another simulation.
        let keyed = [Kind::Fact, Kind::Symbol, Kind::Capsule];
        let kinds: Vec<Kind> =
            Kind::ALL.iter().copied().filter(|kind| !keyed.contains(kind)).collect();
        let kind = *random.pick(&kinds);
        let kind = if random.one_in(2) { Kind::Assignment } else { kind };
        let (own, plan) = (any(random, state, kind), any(random, state, Kind::Plan));
        let own_agent = |own: &Record| caller_of(&Principal::Agent(own.agent()?.clone()));
        let mut work = state.memory().newest(Kind::Assignment, Some(true));
        let started = work.find(|own| own.status == Status::Started);
        match (random.below(20), own, plan) {
            (3..=11, Some(own), _) if own.id.kind == Kind::Assignment && random.one_in(4) => {
                let (name, args) = attempts::in_other_words(random, own)
                    .unwrap_or_else(|| ("memory.sweep", json!({})));
                let by = match name {
                    "signal.emit" => own_agent(own),
                    _ => caller_of(&own.author),
                };
                (by.unwrap_or(who), name, args)
            }
            (3..=11, Some(own), _) => {
                let (who, args) = Self::step(random, own, &who);
                (who, "memory.move", args)
            }
            // By the agent that holds it, or by its author.
            (12, Some(own), _) if kind == Kind::Assignment && random.one_in(2) => {
                let by = if random.one_in(2) { own_agent(own) } else { caller_of(&own.author) };
                let by = by.unwrap_or(who);
                let mut held = state.leases().filter(|(_, lease)| lease.holder == by.principal);
                let epoch = held.next().map(|(_, lease)| lease.epoch);
                (by, "memory.update", json!({ "id": own.id, "fields": { "claim": epoch } }))
            }
            (12, Some(own), _) if kind == Kind::Loop => {
                let agent = format!("agent{}", random.below(AGENTS));
                let act = match random.below(8) {
                    0..=2 => json!({ "advance": {} }),
                    3 => json!({ "continue": {} }),
                    4 => json!({ "ask": { "slot": "s", "text": "q" } }),
                    5 => json!({ "answer": { "text": "a" } }),
                    6 => json!({ "takeover": { "slot": "s", "agent": agent } }),
                    _ => json!({ "turn": { "slot": "s" } }),
                };
                let answers = act.get("answer").is_some();
                let by = caller_of(&own.author).filter(|_| !answers).unwrap_or(who);
                (by, "memory.loop", json!({ "id": own.id, "act": act }))
            }
            (12, Some(own), _) => {
                self.count += 1;
                let args = json!({ "id": own.id, "text": format!("text {}", self.count) });
                (who, "memory.update", args)
            }
            (13, _, Some(plan)) => {
                let step = format!("stp_{}", random.below(3) + 1);
                (who, "memory.step", json!({ "plan": plan.id, "step": step, "status": "done" }))
            }
            (1 | 2 | 14, ..) if started.is_some() => {
                let own = started.map_or_else(|| json!(null), |own| json!(own.id));
                let who = started.and_then(own_agent).unwrap_or(who);
                (who, "memory.progress", json!({ "id": own, "text": "so far" }))
            }
            (15, Some(own), _) if kind == Kind::Assignment => {
                let at = state.clock().micros() - random.below(60_000_000);
                let sign = json!({ "id": own.id, "at": at, "evidence": "commit" });
                (person("ada"), "memory.sweep", json!({ "signs": [sign] }))
            }
            (16, Some(own), _) if kind == Kind::Assignment => {
                let by = own.fields.dispatcher.as_ref().and_then(caller_of).unwrap_or(who);
                (by, "memory.converge", json!({ "id": own.id, "to": "completed" }))
            }
            (16, Some(own), _) if kind == Kind::Loop => {
                let args = json!({ "loop": own.id, "slot": "s", "outcome": "o" });
                (caller_of(&own.author).unwrap_or(who), "memory.turn", args)
            }
            (17, Some(own), _) => (who, "memory.archive", json!({ "id": own.id })),
            (0, ..) => {
                let args = self.offer(random, plan.map(|own| own.id));
                (who, "memory.offer", args)
            }
            (18 | 19, _, Some(plan)) => {
                let args = json!({ "surfaces": [place(random)], "ttl_s": 60, "task": plan.id });
                (who, "lease.open", args)
            }
            _ => {
                let args = self.create(random, state, &who);
                (who, "memory.create", args)
            }
        }
    }

    fn follow(&mut self, entry: &Entry, seed: u64) {
        let actor = entry.stamped.draft.actor.to_string();
        let event = &entry.stamped.draft.event;
        let (effects, mark): (&[Effect], _) = match event {
            Event::MemoryCreated(body) => {
                let before = self.records.insert(body.id, (body.status, 1));
                assert_eq!(before, None, "seed {seed}: {} is created twice", body.id);
                if let Some(before) = body.fields.supersedes {
                    self.touch(before, None);
                }
                (&[], &body.request)
            }
            Event::MemoryUpdated(body) => {
                self.touch(body.id, body.completed.then_some(Status::Done));
                (&body.effects, &body.request)
            }
            Event::MemoryMoved(body) => {
                assert_eq!(self.records[&body.id].0, body.from, "seed {seed}");
                self.touch(body.id, Some(body.to));
                (&body.effects, &body.request)
            }
            Event::MemoryStepped(body) => {
                self.touch(body.plan, body.completed.then_some(Status::Done));
                (&body.effects, &body.request)
            }
            Event::MemoryHeard(body) => {
                if body.text.is_some() {
                    self.touch(body.id, None);
                }
                (&[], &body.request)
            }
            Event::MemorySwept(body) => {
                for swept in &body.moved {
                    assert_eq!(self.records[&swept.id].0, swept.from, "seed {seed}");
                    self.touch(swept.id, Some(swept.to));
                }
                (&body.effects, &body.request)
            }
            Event::MemoryArchived(body) => {
                assert!(self.records.remove(&body.id).is_some(), "seed {seed}");
                (&body.effects, &body.request)
            }
            Event::MemoryTurned(body) => {
                self.touch(body.id, None);
                (&body.effects, &body.request)
            }
            Event::MemoryOffered(body) => (&body.effects, &body.request),
            Event::MemoryLooped(body) => {
                if !matches!(body.act, Act::Ask { .. } | Act::Answer { .. }) {
                    self.touch(body.id, None);
                }
                (&body.effects, &body.request)
            }
            Event::MemoryExpired(body) => {
                self.touch(body.id, Some(Status::Expired));
                (&[], &None)
            }
            _ => return,
        };
        if let Some(mark) = mark {
            let once = self.requests.insert((actor, mark.id.to_string()));
            assert!(once, "seed {seed}: {} was carried out twice", mark.id);
        }
        for effect in effects {
            match (effect.action, effect.to) {
                (Action::Moved | Action::Followed, to) => self.touch(effect.id, to),
                (Action::Promoted | Action::Created, Some(status)) => {
                    let before = self.records.insert(effect.id, (status, 1));
                    assert_eq!(before, None, "seed {seed}: {} is created twice", effect.id);
                }
                _ => {}
            }
        }
    }

    fn touch(&mut self, id: RecordId, to: Option<Status>) {
        let own = self.records.get_mut(&id).unwrap();
        *own = (to.unwrap_or(own.0), own.1 + 1);
    }
}

/// A surface to work on, in or around those of others.
fn place(random: &mut Random) -> String {
    let folder = random.below(12);
    match random.below(12) {
        0 => "src".to_owned(),
        1..=4 => format!("src/{folder}/{}", random.below(3)),
        _ => format!("src/{folder}"),
    }
}

impl Scenario for Remembered {
    const BYTES_MAX: usize = 16 << 10;

    fn jobs(&mut self, harness: &mut Harness, state: &State) -> Vec<Job> {
        let count = 1 + harness.random.below(8);
        let mut jobs = Vec::new();
        for _ in 0..count {
            if !self.asked.is_empty() && harness.random.one_in(6) {
                let (caller, command) = harness.random.pick(&self.asked).clone();
                harness.count("asked again");
                jobs.push(harness.job(caller, command));
                continue;
            }
            let (caller, name, mut args) = self.ask(&mut harness.random, state);
            let marked = name.starts_with("memory.") && harness.random.one_in(2);
            if marked {
                self.count += 1;
                args["request_id"] = json!(format!("q{}", self.count));
            }
            let command = command(name, &args);
            if marked {
                self.asked.push((caller.clone(), command.clone()));
            }
            jobs.push(harness.job(caller, command));
        }
        jobs
    }

    fn answered(&mut self, harness: &mut Harness, job: &Job, verdict: Verdict) {
        match verdict {
            Verdict::Done(_) => {
                harness.count(job.command.name());
                if let Command::MemoryCreate(args) = &job.command {
                    self.acknowledged.push(format!("\"text\":\"{}\"", args.text));
                }
                if let Command::MemoryOffer(args) = &job.command {
                    let texts = args.lanes.iter().map(|lane| &lane.text);
                    self.acknowledged.extend(texts.map(|text| format!("\"text\":\"{text}\"")));
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
        let seed = harness.seed;
        for line in news.iter().flat_map(Commit::entries) {
            let entry = Entry::read(line).unwrap();
            harness.count(entry.stamped.draft.event.kind().as_str());
            self.follow(&entry, seed);
        }
        for text in self.acknowledged.drain(..) {
            let found = harness.log.all().iter().any(|commit| commit.lines.contains(&text));
            assert!(found, "seed {seed}: {text} was acknowledged and lost");
        }
        if news.is_empty() {
            return;
        }
        attempts::agree(harness.verifier.state(), seed);
        let memory = harness.verifier.state().memory();
        assert_eq!(memory.len(), self.records.len(), "seed {seed}");
        for (id, (status, version)) in &self.records {
            let own = memory.record(*id).unwrap();
            assert_eq!((own.status, own.version), (*status, *version), "seed {seed}: {id}");
        }
    }
}

#[test]
fn records_match_the_log_under_faults() {
    let seeds = seeds(40);
    let mut counts = Counts::new();
    for seed in seeds.clone() {
        add(&mut counts, Simulation::new(seed, Remembered::default()).run(250).0);
    }
    println!("{counts:#?}");
    if seeds.end - seeds.start > 10 {
        let expected = [
            "crash",
            "conflict",
            "lost answer",
            "start from a snapshot",
            "asked again",
            "memory.created",
            "memory.updated",
            "memory.moved",
            "memory.stepped",
            "memory.heard",
            "memory.swept",
            "memory.archived",
            "memory.turned",
            "memory.looped",
            "memory.expired",
            "memory.offered",
            "signal_emitted",
            "workspace_created",
            "workspace_state_changed",
            "memory.converge",
            "lease.opened",
            "lease.released",
            "lease.renewed",
            "A-MEM-03",
            "A-MEM-06",
            "A-MEM-09",
        ];
        happened(&counts, &expected, 5);
    }
}
