//! The vocabularies mixed: a few agents plan, take, offer, assign and hand in the same few tasks about
//! the same few files, some with the native words, some with the verbs of the memory, some in a run.
//!
//! After every step there is one state: a task is as far for the memory as it is for the run and for
//! its workspace, files have one holder, and nobody is offered a task that somebody works on.

use super::leases::no_two_holders_overlap;
use super::{Counts, Harness, Random, Scenario, Simulation, add, command, happened, person, seeds};
use althing_engine::core::{Job, Verdict};
use althing_kernel::records::next::ready;
use althing_kernel::records::{Kind, Record, Status};
use althing_kernel::workspace::{self, Workspace};
use althing_kernel::{AgentName, Caller, Command, Principal, PublicKey, State, Timestamp, task};
use althing_trail::Commit;
use serde_json::{Value, json};

/// The first of them coordinates the run.
const AGENTS: u8 = 5;

/// The most tasks of one history.
const TASKS_MAX: usize = 40;

/// The number of folders that tasks are about.
const PLACES: u64 = 5;

#[derive(Default)]
struct Mixed {
    planned: usize,
}

/// A command: the caller, its name, its arguments.
type Asked = (Caller, &'static str, Value);

fn client(number: u8) -> Caller {
    Caller {
        principal: Principal::Agent(AgentName::new(&format!("agent{number}")).unwrap()),
        key: PublicKey::from_bytes([number + 1; 32]),
        session: None,
    }
}

/// Content that is stored.
fn content() -> Value {
    json!({ "blob": format!("sha256:{:064x}", 1) })
}

fn anybody(random: &mut Random) -> Caller {
    client(u8::try_from(random.below(u64::from(AGENTS))).unwrap())
}

fn named(agent: &AgentName) -> Option<Caller> {
    (0..AGENTS).map(client).find(|who| who.principal == Principal::Agent(agent.clone()))
}

fn any_of<'s>(random: &mut Random, state: &'s State, kind: Kind) -> Option<&'s Record> {
    let all: Vec<&Record> = state.memory().newest(kind, Some(true)).take(10).collect();
    (!all.is_empty()).then(|| *random.pick(&all))
}

impl Mixed {
    fn ask(&mut self, random: &mut Random, state: &State) -> Option<Asked> {
        match random.below(12) {
            0 | 1 => self.plan(random, state),
            2 | 3 => Some(native(random, state)),
            4..=6 => memory(random, state),
            _ => run(random, state),
        }
    }

    fn plan(&mut self, random: &mut Random, state: &State) -> Option<Asked> {
        let live = state.memory().newest(Kind::Plan, Some(true)).count();
        if live >= 8 || self.planned >= TASKS_MAX {
            return None;
        }
        self.planned += 1;
        let scope = format!("f{}", random.below(PLACES));
        if state.root().is_some() && random.one_in(3) {
            let task = json!({ "key": "t", "name": "t", "description": content() });
            return Some((client(0), "task.graph", json!({ "tasks": [task] })));
        }
        let args = json!({ "kind": "plan", "text": "t", "fields": { "scope": scope } });
        Some((anybody(random), "memory.create", args))
    }
}

/// Taking a task or files.
fn native(random: &mut Random, state: &State) -> Asked {
    let who = anybody(random);
    let place = format!("f{}", random.below(PLACES));
    match (random.below(7), any_of(random, state, Kind::Plan)) {
        (5, _) => (who, "session.close", json!({})),
        (6, Some(task)) => done_or_blocked(random, state, task).unwrap_or((
            who,
            "work.next",
            json!({ "ttl_s": 600 }),
        )),
        (0, _) => (who, "lease.open", json!({ "surfaces": [place], "ttl_s": 60 })),
        (1, Some(task)) => (who, "work.next", json!({ "task": task.id, "ttl_s": 600 })),
        _ => (who, "work.next", json!({ "ttl_s": 600 })),
    }
}

/// Handing in a task that somebody took, with the assignment that it is.
fn done_or_blocked(random: &mut Random, state: &State, task: &Record) -> Option<Asked> {
    let (_, attempt) = state.live_attempt(task)?;
    let (who, own) = (named(attempt.agent.as_ref()?)?, attempt.charter.assignment?);
    let args = if random.one_in(3) {
        json!({ "id": own, "to": "blocked", "let_go": true, "plan_status": "blocked" })
    } else {
        json!({ "id": own, "to": "completed", "plan_status": "done" })
    };
    Some((who, "memory.move", args))
}

/// Moving a plan, offering it, and moving what was offered.
fn memory(random: &mut Random, state: &State) -> Option<Asked> {
    let plan = any_of(random, state, Kind::Plan)?;
    let who = anybody(random);
    match (random.below(6), any_of(random, state, Kind::Assignment)) {
        (0, _) => {
            let to = *random.pick(&["in_progress", "blocked", "done", "done"]);
            Some((who, "memory.move", json!({ "id": plan.id, "to": to })))
        }
        (1, _) | (_, None) => {
            let agent = format!("agent{}", random.below(u64::from(AGENTS)));
            let fields = json!({ "agent": agent, "plan_id": plan.id });
            let mut lane = json!({ "fields": fields, "text": "t", "ttl_s": 600 });
            if let Some(scope) = &plan.fields.scope {
                lane["surfaces"] = json!([scope]);
            }
            Some((who, "memory.offer", json!({ "lanes": [lane] })))
        }
        (_, Some(own)) => {
            let targets = own.table().transitions_from(own.status);
            let to = *random.pick(&targets);
            let who = own.agent().and_then(named).unwrap_or(who);
            Some((who, "memory.move", json!({ "id": own.id, "to": to, "reason": "r" })))
        }
    }
}

/// Orders of the coordinator, and what workers say in their workspaces.
fn run(random: &mut Random, state: &State) -> Option<Asked> {
    let lead = client(0);
    let Some(root) = state.root() else {
        // Only a person may do without gates, which would let every order wait.
        let args = json!({ "agent": "agent0", "highway": { "gates": [] } });
        return Some((person("ada"), "run.start", args));
    };
    let tasks: Vec<task::Task> = state.tasks().collect();
    let live: Vec<_> = state.workspaces().filter(|(id, own)| is_live(own) && *id != root).collect();
    if !live.is_empty() && random.below(6) > 0 {
        let (id, own) = *random.pick(&live);
        return signal(random, state, &id.to_string(), own);
    }
    if tasks.is_empty() {
        return None;
    }
    let task = &random.pick(&tasks).id;
    Some(match random.below(8) {
        0 => (lead, "task.cancel", json!({ "task": task })),
        1 => (lead, "task.retry", json!({ "task": task })),
        2 => (lead, "task.approve", json!({ "tasks": [task] })),
        _ => {
            let agent = format!("agent{}", 1 + random.below(u64::from(AGENTS) - 1));
            (lead, "task.assign", json!({ "task": task, "agent": agent }))
        }
    })
}

/// What its agent or the coordinator does with a workspace.
fn signal(random: &mut Random, state: &State, id: &str, own: &Workspace) -> Option<Asked> {
    let worker = own.agent.as_ref().and_then(named)?;
    if own.status == workspace::Status::Integrating {
        let args = json!({ "workspace": id, "decision": "accept", "strategy": "layered" });
        return Some((dispatcher(state, own), "integration.decide", args));
    }
    if own.status == workspace::Status::Idle {
        return Some((worker, "inbox.take", json!({ "workspace": id })));
    }
    let kind = match random.below(12) {
        0 | 1 => "started",
        2 => "blocked",
        3 => "failed",
        _ if own.latest_final.is_some() => "complete",
        _ => {
            let args = json!({
                "workspace": id, "type": "artifact", "intent": "i", "status": "final",
                "content": content(), "parent": own.head,
            });
            return Some((worker, "checkpoint.create", args));
        }
    };
    Some((worker, "signal.emit", json!({ "workspace": id, "type": kind, "reason": "r" })))
}

/// Whoever decides about a workspace: who offered it, or the coordinator.
fn dispatcher(state: &State, own: &Workspace) -> Caller {
    let offered = own.charter.assignment.and_then(|id| state.memory().record(id));
    let author = offered.map(|offered| offered.author.clone());
    author
        .and_then(|author| (0..AGENTS).map(client).find(|who| who.principal == author))
        .unwrap_or_else(|| client(0))
}

fn is_live(own: &Workspace) -> bool {
    !own.status.is_terminal()
}

/// A task is as far for the memory as for the run and for the workspace it is bound to.
fn one_state_of_each_task(state: &State, seed: u64) {
    for plan in state.memory().newest(Kind::Plan, None) {
        let Some(task) = state.task(&plan.task_id()) else {
            panic!("seed {seed}: {} is no task", plan.id);
        };
        let shown = state.shown(plan).status;
        let attempt = state.live_attempt(plan);
        let status = state.task_status_of(plan);
        let fits = match status {
            task::Status::Draft | task::Status::Pending => {
                matches!(shown, Status::Open | Status::Blocked)
            }
            task::Status::Failed => shown == Status::Open,
            task::Status::Assigned | task::Status::InProgress => {
                matches!(shown, Status::InProgress | Status::Blocked)
            }
            task::Status::Completed => matches!(shown, Status::InProgress | Status::Done),
            task::Status::Integrated => shown == Status::Done,
            task::Status::Cancelled => shown == Status::Cancelled,
        };
        assert!(fits, "seed {seed}: {} is {status} in a run and {shown} elsewhere", plan.id);
        if let Some((id, own)) = attempt {
            let bound = task.workspace.as_ref().is_none_or(|bound| bound == id);
            assert!(bound, "seed {seed}: {}", plan.id);
            // Anybody may say that an open plan is stuck or over, whoever works on it.
            let is_blocked = own.status == workspace::Status::Blocked;
            let signal = !state.is_governed(plan) && plan.status != Status::Open;
            let agrees = signal || (shown == Status::Blocked) == is_blocked;
            assert!(agrees, "seed {seed}: {} {shown}", plan.id);
            assert!(
                own.charter.task.as_ref() == Some(&task.id),
                "seed {seed}: {id} has another task"
            );
        }
    }
}

/// Whoever asks for the next task is not given one that a workspace works on, or whose files are
/// somebody else's.
fn nobody_is_offered_what_is_taken(state: &State, seed: u64) {
    let now = state.clock();
    for who in (0..AGENTS).map(client) {
        for task in ready(state, now, &who.principal) {
            let offered = |own: &Workspace| {
                let is_own = own.agent.as_ref().and_then(named).is_some_and(|own| own == who);
                is_own && own.status == workspace::Status::Idle
            };
            let at_work = state.live_attempt(task).filter(|(_, own)| !offered(own));
            let at_work = at_work.map(|(id, _)| id);
            assert_eq!(at_work, None, "seed {seed}: {} is ready and worked on", task.id);
            let of = task.id.to_string();
            let held = state.leases().find(|(_, lease)| {
                let is_for = lease.task.as_ref().is_some_and(|own| own.to_string() == of);
                is_for && lease.is_live(now) && lease.holder != who.principal
            });
            assert!(held.is_none(), "seed {seed}: {of} is offered and held: {held:?}");
        }
    }
}

impl Scenario for Mixed {
    fn opening(&mut self) -> Vec<(Caller, Command)> {
        let register = |number| (client(number), command("agent.register", &json!({})));
        (0..AGENTS).map(register).collect()
    }

    fn jobs(&mut self, harness: &mut Harness, state: &State) -> Vec<Job> {
        let count = 1 + harness.random.below(4);
        let asked: Vec<Asked> =
            (0..count).filter_map(|_| self.ask(&mut harness.random, state)).collect();
        let job = |(who, name, args): Asked| harness.job(who, command(name, &args));
        asked.into_iter().map(job).collect()
    }

    fn answered(&mut self, harness: &mut Harness, job: &Job, verdict: Verdict) {
        match verdict {
            Verdict::Done(_) => harness.count(job.command.name()),
            Verdict::Refused(refusal) => harness.count(refusal.rule.id()),
            Verdict::Defect(what) => {
                panic!("seed {}: {:?}: a defect: {what}", harness.seed, job.command)
            }
        }
    }

    fn check(&mut self, harness: &mut Harness, _: &[Commit], _: Option<Timestamp>) {
        let (state, seed) = (harness.verifier.state(), harness.seed);
        one_state_of_each_task(state, seed);
        no_two_holders_overlap(state, seed);
        nobody_is_offered_what_is_taken(state, seed);
    }
}

#[test]
fn tasks_have_one_state_whichever_words_move_them() {
    let seeds = seeds(200);
    let mut counts = Counts::new();
    for seed in seeds.clone() {
        add(&mut counts, Simulation::new(seed, Mixed::default()).run(250).0);
    }
    println!("{counts:#?}");
    if seeds.end - seeds.start > 10 {
        let expected = [
            "crash",
            "conflict",
            "work.next",
            "memory.offer",
            "memory.move",
            "task.assign",
            "signal.emit",
            "integration.decide",
            "lease.open",
            "A-TASK-01",
            "session.close",
        ];
        happened(&counts, &expected, 20);
    }
}
