//! Several agents take the next task at the same time, in processes that do not know of each other:
//! each task goes to one of them, with its claim.

use super::{Counts, Harness, Scenario, Simulation, add, command, happened, seeds};
use althing_engine::core::{Job, Verdict};
use althing_kernel::records::{Kind, Record, Status};
use althing_kernel::{AgentName, Caller, Principal, PublicKey, State, Timestamp};
use althing_trail::Commit;
use serde_json::json;
use std::collections::BTreeMap;

const AGENTS: u8 = 4;

/// The most tasks of one history.
const TASKS_MAX: usize = 60;

#[derive(Default)]
struct Taking {
    planned: usize,
}

fn taker(number: u8) -> Caller {
    Caller {
        principal: Principal::Agent(AgentName::new(&format!("taker{number}")).unwrap()),
        key: PublicKey::from_bytes([number + 1; 32]),
        session: None,
    }
}

fn name(who: &Caller) -> String {
    who.principal.to_string().replace("agent:", "")
}

fn in_progress<'s>(state: &'s State, who: &Caller) -> Vec<&'s Record> {
    let own = name(who);
    let all = state.memory().newest(Kind::Plan, Some(true));
    let taken = all.filter(|task| state.status_of(task) == Status::InProgress);
    let is_own = |task: &&Record| {
        state.shown(task).fields.assignee.as_ref().is_some_and(|of| of.as_str() == own)
    };
    taken.filter(is_own).collect()
}

impl Scenario for Taking {
    fn jobs(&mut self, harness: &mut Harness, state: &State) -> Vec<Job> {
        let mut asked = Vec::new();
        if state.memory().newest(Kind::Plan, Some(true)).count() < 6 && self.planned < TASKS_MAX {
            self.planned += 1;
            // Every third is about the same files as another.
            let scope = format!("f{}", self.planned % 5);
            let args = json!({ "kind": "plan", "text": "t", "fields": { "scope": scope } });
            asked.push((taker(0), command("memory.create", &args)));
        }
        for who in (0..AGENTS).map(taker) {
            let asks = match in_progress(state, &who).first() {
                _ if harness.random.one_in(3) => continue,
                Some(own) if harness.random.one_in(2) => {
                    command("memory.move", &json!({ "id": own.id, "to": "done" }))
                }
                _ => command("work.next", &json!({ "ttl_s": 30 * 24 * 60 * 60 })),
            };
            asked.push((who, asks));
        }
        asked.into_iter().map(|(who, command)| harness.job(who, command)).collect()
    }

    fn answered(&mut self, harness: &mut Harness, job: &Job, verdict: Verdict) {
        match verdict {
            Verdict::Done(_) => harness.count(job.command.name()),
            Verdict::Refused(refusal) => harness.count(refusal.rule.id()),
            Verdict::Defect(what) => panic!("seed {}: a defect: {what}", harness.seed),
        }
    }

    fn check(&mut self, harness: &mut Harness, _: &[Commit], _: Option<Timestamp>) {
        let state = harness.verifier.state();
        let mut holders: BTreeMap<String, String> = BTreeMap::new();
        for (_, lease) in state.leases() {
            let task = lease.task.as_ref().map(ToString::to_string).unwrap_or_default();
            let other = holders.insert(task.clone(), lease.holder.to_string());
            assert_eq!(other, None, "seed {}: {task} is held twice", harness.seed);
        }
        for who in (0..AGENTS).map(taker) {
            let own = in_progress(state, &who);
            assert!(own.len() <= 1, "seed {}: {} has {}", harness.seed, name(&who), own.len());
            for task in own {
                let holder = holders.get(&task.id.to_string());
                assert!(
                    holder.is_none_or(|holder| *holder == who.principal.to_string()),
                    "seed {}: {} is {}'s and held by {holder:?}",
                    harness.seed,
                    task.id,
                    name(&who)
                );
            }
        }
    }
}

#[test]
fn of_many_who_take_the_next_task_each_gets_another() {
    let seeds = seeds(40);
    let mut counts = Counts::new();
    for seed in seeds.clone() {
        add(&mut counts, Simulation::new(seed, Taking::default()).run(150).0);
    }
    if seeds.end - seeds.start > 10 {
        let expected =
            ["crash", "conflict", "lost answer", "work.next", "memory.move", "A-WORK-01"];
        happened(&counts, &expected, 20);
    }
}
