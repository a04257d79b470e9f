//! Runs: coordinators, delegates, workers and observers, with allowed and forbidden commands.
//!
//! Most commands make sense in the state their process knows; the rest is random, stale or forged.
//! Between the processes and the inboxes lies a carrier that loses envelopes and the answers to
//! them.

use althing_engine::core::{Job, Verdict};
use althing_kernel::envelope::carrier::{Carried, Carrier};
use althing_kernel::signal::SignalType;
use althing_kernel::workspace::Status;
use althing_kernel::workspace::edges::STEPS;
use althing_kernel::{Caller, Command, EnvelopeId, RefusalKind, Span, State, Timestamp};
use althing_trail::{Commit, Entry};
use serde_json::{Value, json};

use super::invariants::Ledger;
use super::scene::{AGENTS, PEOPLE, Scene, Seen, agent, named, somebody};
use super::{
    Counts, Harness, Random, Scenario, Simulation, add, approvals, attempts, command, forgers_key,
    happened, plans, resources, seeds, sign_up, system,
};

/// Time the carrier waits for an answer the first time.
pub(super) const BASE: Span = Span::from_micros(500_000);

/// Loses envelopes and answers; on some routes nearly all of them.
struct Lossy(Random);

impl Carrier for Lossy {
    fn carry(&mut self, envelope: &EnvelopeId, _: u8) -> Carried {
        let way =
            envelope.as_str().bytes().fold(7_u64, |all, byte| all * 31 % 1009 + u64::from(byte));
        let lost = if way.is_multiple_of(11) { 75 } else { 8 };
        match self.0.below(100) {
            luck if luck < lost => Carried::Lost,
            luck if luck < lost + 10 => Carried::AnswerLost,
            _ => Carried::Acknowledged,
        }
    }

    fn base_timeout(&self) -> Span {
        BASE
    }
}

/// A command: the caller, its name, its arguments.
pub(super) type Asked = (Caller, &'static str, Value);

pub(super) struct Runs {
    ledger: Ledger,
    /// Whether this run is being brought to its end.
    winding_down: bool,
}

impl Runs {
    fn new(seed: u64) -> Self {
        Runs { ledger: Ledger::new(seed), winding_down: false }
    }

    fn ask(&mut self, harness: &mut Harness, scene: &Scene) -> Option<Asked> {
        let Some(root) = &scene.root else {
            self.winding_down = false;
            // One start is enough; the others are late.
            return harness.random.one_in(6).then(|| start(harness));
        };
        if scene.live.is_empty() && self.winding_down {
            return Some((scene.coordinator(harness), "run.end", json!({})));
        }
        let choice = harness.random.below(100);
        if self.winding_down && choice < 40 {
            return wind_down(harness, scene);
        }
        match choice {
            0..=12 if scene.live.len() < 120 => Some(create(harness, scene, root)),
            0..=30 => signal(harness, scene, root, &self.ledger),
            31..=50 => send(harness, scene, root, &self.ledger),
            51..=55 => take(harness, scene, root),
            56..=61 => order(harness, scene),
            62..=65 => rights(harness, scene),
            66 if harness.random.one_in(2) => people(harness, scene),
            66 => forged(harness, scene),
            67 if harness.random.one_in(3) => Some(post(harness, scene)),
            68..=74 => resources::ask(harness, scene),
            75..=81 => approvals::ask(harness, scene),
            82..=84 => assignment(harness, scene),
            _ => plans::ask(harness, scene),
        }
    }
}

impl Scenario for Runs {
    const BYTES_MAX: usize = 96 << 10;
    const COMPARE: u64 = 6;

    fn carrier(random: &mut Random) -> Option<Box<dyn Carrier + Send>> {
        Some(Box::new(Lossy(Random(random.next()))))
    }

    fn opening(&mut self) -> Vec<(Caller, Command)> {
        let mut opening: Vec<_> = PEOPLE[1..].iter().map(|name| sign_up("ada", name)).collect();
        let register = |number| (agent(number), command("agent.register", &json!({})));
        opening.extend((0..AGENTS).map(register));
        opening
    }

    fn jobs(&mut self, harness: &mut Harness, state: &State) -> Vec<Job> {
        if harness.random.one_in(150) {
            // Nothing happens for more than an hour: everything awaited expires.
            harness.time += 4_000_000_000;
            harness.count("long pause");
        }
        if harness.random.one_in(150) {
            self.winding_down = true;
        }
        let scene = Scene::of(state);
        let mut jobs = Vec::new();
        for _ in 0..=harness.random.below(50) {
            if let Some((caller, name, args)) = self.ask(harness, &scene) {
                jobs.push(harness.job(caller, command(name, &args)));
            }
        }
        jobs
    }

    fn answered(&mut self, harness: &mut Harness, job: &Job, verdict: Verdict) {
        match verdict {
            Verdict::Done(_) => harness.count(format!("done {}", job.command.name())),
            Verdict::Refused(refusal) => {
                if refusal.kind == RefusalKind::NotAuthentic {
                    harness.count("impostor");
                }
                harness.count(format!("refused {:?}", refusal.rule));
            }
            Verdict::Defect(what) => {
                panic!("seed {}: {:?} is a defect: {what}", harness.seed, job.command)
            }
        }
    }

    fn check(&mut self, harness: &mut Harness, news: &[Commit], turn: Option<Timestamp>) {
        for line in news.iter().flat_map(Commit::entries) {
            let entry = Entry::read(line).unwrap();
            self.ledger.note(&entry.stamped);
        }
        if !news.is_empty() {
            self.ledger.compare(harness.verifier.state(), turn);
            attempts::agree(harness.verifier.state(), harness.seed);
        }
        add(&mut harness.counts, std::mem::take(&mut self.ledger.counts));
    }
}

/// Content, by its name beside the trail.
pub(super) fn blob(harness: &mut Harness) -> Value {
    json!({ "blob": format!("sha256:{:064x}", harness.random.below(5)) })
}

fn taxonomy() -> Value {
    json!({
        "id": "sim", "version": "1", "protocol_version": "0.1",
        "roles": [
            { "name": "reviewer", "extends": "worker",
              "override": { "checkpoint_types": ["review"] },
              "remove": [{ "action": "send", "target": "query" }] },
            { "name": "auditor", "extends": "observer" },
        ],
        "envelope_types": [
            { "name": "hint", "permissions": [
                { "sender_role": "worker", "receiver_role": "worker" },
                { "sender_role": "reviewer", "receiver_role": "coordinator" },
            ] },
        ],
        "checkpoint_types": [
            { "name": "review", "permitted_roles": ["reviewer"], "required_fields": ["content"] },
        ],
    })
}

fn some_agent(harness: &mut Harness) -> String {
    format!("agent{}", harness.random.below(AGENTS))
}

fn start(harness: &mut Harness) -> Asked {
    let mut args = json!({});
    if harness.random.one_in(2) {
        args["agent"] = some_agent(harness).into();
    }
    if !harness.random.one_in(3) {
        args["taxonomy"] = taxonomy();
    }
    match harness.random.below(6) {
        0 => {}
        1 | 2 => args["highway"] = json!({ "gates": [] }),
        _ => args["highway"] = approvals::wish(harness),
    }
    let caller = match harness.random.below(6) {
        0 => agent(harness.random.below(AGENTS)),
        1 => system(),
        _ => somebody(harness),
    };
    (caller, "run.start", args)
}

fn post(harness: &mut Harness, scene: &Scene) -> Asked {
    let caller = scene.coordinator(harness);
    match harness.random.below(12) {
        0..=2 => (caller, "run.end", json!({ "force": true, "reason": "simulated" })),
        3 => (caller, "run.end", json!({})),
        5 => (caller, "run.hand_over", json!({})),
        4 => (agent(harness.random.below(AGENTS)), "run.hand_over", json!({})),
        _ => (caller, "run.hand_over", json!({ "agent": some_agent(harness) })),
    }
}

fn create(harness: &mut Harness, scene: &Scene, root: &Seen) -> Asked {
    let bosses: Vec<&Seen> = scene.live.iter().filter(|seen| seen.delegate).collect();
    let below = !bosses.is_empty() && harness.random.one_in(2);
    let parent = if below { *harness.random.pick(&bosses) } else { root };
    let own = below && harness.random.one_in(2);
    let caller = if own { parent.worker() } else { scene.coordinator(harness) };
    let role = match harness.random.below(12) {
        0..=6 => "worker",
        7 | 8 => "reviewer",
        9 => "observer",
        10 => "auditor",
        _ => *harness.random.pick(&["coordinator", "stranger", "worker"]),
    };
    let mut args = json!({
        "agent": some_agent(harness), "role": role, "parent": parent.id,
        "directive": { "content": blob(harness) },
    });
    if harness.random.one_in(3) {
        args["owner"] = (*harness.random.pick(&["ada", "bob", "eve", "eve", "nobody"])).into();
    }
    if harness.random.one_in(3) {
        // Many, so that most do not overlap.
        let part = format!("part{}", harness.random.below(60));
        let wide = ["src".to_owned(), "docs/*".to_owned(), part.clone(), part.clone(), part];
        let narrow =
            ["src".to_owned(), format!("src/{}", harness.random.below(9)), "lib".to_owned()];
        let wanted = if parent.wide { &wide[..] } else { &narrow };
        args["authority"] = json!([harness.random.pick(wanted)]);
    }
    args["delegate"] = (!own && harness.random.one_in(3) || harness.random.one_in(20)).into();
    args["global_trail"] = harness.random.one_in(5).into();
    if harness.random.one_in(5) {
        args["visibility"] = json!([scene.some_id(harness)]);
    }
    if harness.random.one_in(4) {
        args["timeout_s"] = (1 + harness.random.below(300)).into();
    }
    if harness.random.one_in(6) {
        args["idle_timeout_s"] = (1 + harness.random.below(60)).into();
    }
    resources::allow(harness, &mut args);
    (caller, "workspace.create", args)
}

/// A verb of the memory protocol about work of the run: an offer by the coordinator, or a step by the
/// agent that has the assignment.
fn assignment(harness: &mut Harness, scene: &Scene) -> Option<Asked> {
    if harness.random.one_in(3) {
        let plan = *harness.random.pick(scene.plans.first().map(|_| scene.plans.as_slice())?);
        let mut lane = json!({ "text": "t",
            "fields": { "agent": some_agent(harness), "plan_id": plan } });
        if harness.random.one_in(3) {
            lane["surfaces"] = json!([format!("part{}", harness.random.below(40))]);
        }
        let args = json!({ "lanes": [lane] });
        return Some((named(scene.root.as_ref()?.agent.as_ref()?), "memory.offer", args));
    }
    let given = scene.given.first().map(|_| scene.given.as_slice())?;
    let own = harness.random.pick(given).clone();
    let args = attempts::in_memory_words(&mut harness.random, &own);
    let orders = matches!(args["to"].as_str(), Some("cancelled" | "rerouted"));
    let by = if orders { scene.coordinator(harness) } else { named(own.agent()?) };
    Some((by, "memory.move", args))
}

fn signal(harness: &mut Harness, scene: &Scene, root: &Seen, known: &Ledger) -> Option<Asked> {
    if harness.random.one_in(8) {
        return anything(harness, scene, root, known);
    }
    let waiting = [Status::Idle, Status::Blocked, Status::Migrating];
    let states = if harness.random.one_in(2) { &waiting[..] } else { Status::ALL };
    let seen = scene.one(harness, states)?;
    let kind = match (seen.status, harness.random.below(20)) {
        (Status::Idle | Status::Blocked, 0) | (Status::Active, 0..=1) => SignalType::Failed,
        (Status::Idle, 1..=12) | (Status::Migrating, 0..=9) => SignalType::Ready,
        (Status::Active, 2..=5) => SignalType::Blocked,
        (Status::Active, 6..=14) if seen.finished || harness.random.one_in(12) => {
            SignalType::Complete
        }
        (_, 19) => SignalType::Escalation,
        (Status::Migrating, _) => return None,
        _ => SignalType::Started,
    };
    let mut args = json!({ "type": kind, "workspace": seen.id });
    if kind.needs_reason() {
        args["reason"] = "simulated".into();
    }
    Some((seen.worker(), "signal.emit", args))
}

/// Any message from anybody.
fn anything(harness: &mut Harness, scene: &Scene, root: &Seen, known: &Ledger) -> Option<Asked> {
    let seen = if harness.random.one_in(3) { root.clone() } else { scene.any(harness)? };
    let kind = *harness.random.pick(SignalType::ALL);
    let (mut caller, mut args) = (seen.worker(), json!({ "type": kind, "workspace": seen.id }));
    if harness.random.one_in(2) {
        args["reason"] = "simulated".into();
    }
    let envelope = match kind {
        SignalType::Acknowledged => known.unanswered(),
        _ => known.some_envelope(harness.random.next()),
    };
    match (harness.random.below(4), envelope) {
        (0 | 1, Some(envelope)) => args["ref"] = json!(envelope),
        (2, _) => args["ref"] = scene.some_id(harness).into(),
        _ => {}
    }
    if harness.random.one_in(6) {
        caller = agent(harness.random.below(AGENTS));
    }
    Some((caller, "signal.emit", args))
}

fn send(harness: &mut Harness, scene: &Scene, root: &Seen, known: &Ledger) -> Option<Asked> {
    // Mostly along an existing right.
    let along = (!scene.rights.is_empty()).then(|| harness.random.pick(&scene.rights).clone());
    let (from, to) = match along.filter(|_| !harness.random.one_in(10)) {
        Some((_, holder, target)) => (scene.get(&holder)?.clone(), target.to_string()),
        None => (scene.any(harness)?, scene.some_id(harness)),
    };
    let boss = from.parent.is_none() || from.delegate;
    let target = scene.live.iter().find(|seen| seen.id.as_str() == to);
    let kind = match harness.random.below(16) {
        0 => *harness.random.pick(&["directive", "feedback", "query", "hint", "riddle"]),
        1..=8 if boss => "feedback",
        9..=12 if boss => "directive",
        _ if target.is_some() => "hint",
        _ if from.role == "reviewer" => "hint",
        _ => "query",
    };
    let mut args = json!({
        "to": to, "type": kind, "workspace": from.id, "payload": { "content": blob(harness) },
    });
    args["priority"] = (*harness.random.pick(&["normal", "normal", "urgent", "blocking"])).into();
    if harness.random.one_in(4)
        && let Some(earlier) = known.some_envelope(harness.random.next())
    {
        args["in_reply_to"] = json!(earlier);
    } else if harness.random.one_in(40) {
        args["in_reply_to"] = "Envelope-that-never-was".into();
    }
    if harness.random.one_in(5) && !scene.rights.is_empty() {
        let own: Vec<_> = scene.rights.iter().filter(|(_, of, _)| *of == from.id).collect();
        let foreign = own.is_empty() || harness.random.one_in(8);
        let right =
            if foreign { harness.random.pick(&scene.rights) } else { *harness.random.pick(&own) };
        args["rights"] = json!([right.0]);
    }
    let caller = if from.id == root.id { scene.coordinator(harness) } else { from.worker() };
    Some((caller, "envelope.send", args))
}

fn take(harness: &mut Harness, scene: &Scene, root: &Seen) -> Option<Asked> {
    let states = [Status::Idle, Status::Active, Status::Blocked];
    let seen = match harness.random.below(6) {
        0 => root.clone(),
        1 => scene.any(harness)?,
        _ => scene.one(harness, &states)?,
    };
    let caller = if seen.id == root.id { scene.coordinator(harness) } else { seen.worker() };
    let args = json!({ "workspace": seen.id, "max": 1 + harness.random.below(8) });
    Some((caller, "inbox.take", args))
}

/// An order of the coordinator: pauses, moves, ends.
fn order(harness: &mut Harness, scene: &Scene) -> Option<Asked> {
    let caller = match harness.random.below(12) {
        0 => scene.any(harness)?.worker(),
        _ => scene.coordinator(harness),
    };
    let at_work = [Status::Active, Status::Blocked];
    if !scene.orphans.is_empty() && harness.random.one_in(4) {
        let lost = harness.random.pick(&scene.orphans).clone();
        let args = json!({ "workspace": lost, "parent": scene.one(harness, &at_work)?.id });
        return Some((caller, "workspace.reparent", args));
    }
    let blocked = [Status::Blocked];
    let from = if harness.random.one_in(2) { &at_work[..] } else { &blocked };
    Some(match harness.random.below(22) {
        12..=15 => {
            let grace_s = 1 + harness.random.below(40);
            let args = json!({ "workspace": scene.one(harness, &at_work)?.id, "grace_s": grace_s });
            (caller, "workspace.terminate", args)
        }
        16..=18 => {
            let to = scene.one(harness, &at_work)?;
            let by_delegate = to.parent.as_ref().and_then(|above| scene.get(above));
            let by_delegate =
                by_delegate.filter(|above| above.delegate && harness.random.one_in(2));
            let caller = by_delegate.map_or(caller, Seen::worker);
            let args = json!({ "workspace": to.id, "target": scene.some_id(harness) });
            (caller, "workspace.grant_visibility", args)
        }
        19..=21 => {
            let lost = match scene.orphans.as_slice() {
                [] => scene.any(harness)?.id,
                orphans => harness.random.pick(orphans).clone(),
            };
            let args = json!({ "workspace": lost, "parent": scene.one(harness, &at_work)?.id });
            (caller, "workspace.reparent", args)
        }
        0..=2 => {
            (caller, "workspace.suspend", json!({ "workspace": scene.one(harness, from)?.id }))
        }
        3..=6 => {
            let paused = scene.one(harness, &[Status::Suspended])?;
            (caller, "workspace.resume", json!({ "workspace": paused.id }))
        }
        7..=9 => {
            let moved = scene.one(harness, from)?;
            let by_delegate = moved.parent.as_ref().and_then(|above| scene.get(above));
            let by_delegate = by_delegate.filter(|above| above.delegate).map(Seen::worker);
            let caller = by_delegate.unwrap_or(caller);
            let args = json!({ "workspace": moved.id, "agent": some_agent(harness) });
            (caller, "workspace.migrate", args)
        }
        10 => {
            let states = [*harness.random.pick(Status::ALL)];
            let args = json!({ "workspace": scene.one(harness, &states)?.id, "reason": "why not" });
            (caller, "workspace.abort", args)
        }
        _ => (caller, "workspace.abort", json!({ "workspace": scene.some_id(harness) })),
    })
}

fn rights(harness: &mut Harness, scene: &Scene) -> Option<Asked> {
    if harness.random.one_in(4) && !scene.rights.is_empty() {
        let right = &harness.random.pick(&scene.rights).0;
        return Some((scene.coordinator(harness), "right.revoke", json!({ "right": right })));
    }
    let holder = scene.any(harness)?;
    let target = match harness.random.below(5) {
        0 => scene.some_id(harness),
        _ => scene.any(harness)?.id.to_string(),
    };
    let caller = match harness.random.below(6) {
        0 => holder.worker(),
        _ => scene.coordinator(harness),
    };
    let args = json!({ "holder": holder.id, "target": target, "once": harness.random.one_in(2) });
    Some((caller, "right.grant", args))
}

/// Work is transferred, and people come and go.
fn people(harness: &mut Harness, scene: &Scene) -> Option<Asked> {
    let whom = *harness.random.pick(&["bob", "eve"]);
    let ada = super::person("ada");
    Some(match harness.random.below(8) {
        0..=2 => {
            let to = *harness.random.pick(&PEOPLE);
            let args = json!({ "workspace": scene.any(harness)?.id, "to": to });
            (scene.coordinator(harness), "workspace.transfer", args)
        }
        3 => (ada, "user.suspend", json!({ "user": whom })),
        4 | 5 => (ada, "user.resume", json!({ "user": whom })),
        6 => (ada, "capability.revoke", json!({ "user": whom, "capability": "abort_any" })),
        _ => (ada, "capability.grant", json!({ "user": whom, "capability": "abort_any" })),
    })
}

/// A caller that pretends to be another, or speaks from a workspace of another.
fn forged(harness: &mut Harness, scene: &Scene) -> Option<Asked> {
    let victim = scene.any(harness)?;
    let stranger = agent(harness.random.below(AGENTS));
    let started = json!({ "type": "failed", "reason": "forged", "workspace": victim.id });
    Some(match harness.random.below(4) {
        0 => (Caller { key: stranger.key, ..victim.worker() }, "signal.emit", started),
        1 => {
            let key = forgers_key().public();
            let claimed = Caller { key, ..somebody(harness) };
            (claimed, "workspace.abort", json!({ "workspace": victim.id }))
        }
        2 => (Caller { key: stranger.key, ..system() }, "run.end", json!({ "force": true })),
        _ => (stranger, "signal.emit", started),
    })
}

/// Ends the open workspaces, one after another.
fn wind_down(harness: &mut Harness, scene: &Scene) -> Option<Asked> {
    let seen = scene.any(harness)?;
    let caller = scene.coordinator(harness);
    Some(match seen.status {
        Status::Integrating => {
            let args = json!({ "workspace": seen.id, "decision": "reject" });
            (caller, "integration.decide", args)
        }
        Status::Active if harness.random.one_in(2) => {
            let args = json!({ "workspace": seen.id, "type": "complete" });
            (seen.worker(), "signal.emit", args)
        }
        _ => (caller, "workspace.abort", json!({ "workspace": seen.id })),
    })
}

fn run(seed: u64, steps: u64) -> Counts {
    let (mut counts, scenario) = Simulation::new(seed, Runs::new(seed)).run(steps);
    add(&mut counts, scenario.ledger.summary());
    counts
}

/// Everything that must happen for the simulation to be worth something.
fn expected() -> Vec<String> {
    let steps = STEPS.iter().map(|step| format!("step {:02}", step.number));
    let states = Status::ALL.iter().map(|status| format!("state {status}"));
    let signals = SignalType::ALL.iter().map(|signal| format!("signal {signal}"));
    let others = super::invariants::EXPECTED.iter().map(ToString::to_string);
    steps.chain(states).chain(signals).chain(others).collect()
}

/// Shows W-TREE-01, W-TREE-03, W-TREE-04, W-TREE-05, W-WS-21, W-WS-22, W-WS-25, W-RES-01.
/// Shows W-PORT-02, W-PORT-04, W-PORT-05, W-PORT-06, W-PORT-09, W-PORT-11, W-ENV-24.
/// Shows W-ENV-13, W-ENV-14, W-ENV-15, W-ENV-17, W-ENV-18, W-ENV-19.
/// Shows W-SIG-05, W-SIG-07, W-SIG-08, W-SIG-14, W-CONC-01, W-CONC-03, W-CONC-04.
/// Shows W-CP-07, W-CP-08, W-TASK-03, W-TASK-05, W-TASK-06, W-TASK-10, W-TASK-11.
/// Shows W-REC-04, W-REC-08.
#[test]
fn runs_keep_their_invariants_under_faults() {
    let seeds = seeds(360);
    let mut counts = Counts::new();
    for seed in seeds.clone() {
        // Most are short, so that there are many; some grow large.
        add(&mut counts, run(seed, if seed % 15 == 1 { 1_500 } else { 300 }));
        if seed % 500 == 499 {
            println!("seeds up to {seed} kept their promises");
        }
    }
    println!("{counts:#?}");
    if seeds.end - seeds.start >= 220 {
        let expected = expected();
        let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        happened(&counts, &expected, 10);
    }
}

/// One history that grows: hundreds of workspaces, thousands of envelopes.
#[test]
fn a_long_history_keeps_its_invariants() {
    let counts = run(1_000_001, 7_900);
    let count = |what: &str| counts.get(what).copied().unwrap_or_default();
    println!("{counts:#?}");
    assert!(count("workspace_created") > 500, "{}", count("workspace_created"));
    assert!(count("envelope_created") > 2_000, "{}", count("envelope_created"));
}

#[test]
fn a_run_of_a_seed_is_the_same_every_time() {
    assert_eq!(run(3, 100), run(3, 100));
}
