//! Two holders work on one plan and finish it at the same time, in processes that do not know of
//! each other: whoever is last closes it.

use super::{Counts, Harness, Scenario, Simulation, add, command, happened, seeds};
use althing_engine::core::{Job, Verdict};
use althing_kernel::records::{Kind, RecordId, Status};
use althing_kernel::{AgentName, Caller, Event, Principal, PublicKey, State, Timestamp};
use althing_trail::{Commit, Entry};
use serde_json::json;
use std::collections::BTreeSet;

/// The most plans of one history.
const PLANS_MAX: usize = 40;

#[derive(Default)]
struct Finishing {
    /// Who claimed something for which plan, as the log says.
    claimed: BTreeSet<(String, String)>,
    plans: BTreeSet<RecordId>,
}

fn holder(number: u8) -> Caller {
    Caller {
        principal: Principal::Agent(AgentName::new(&format!("holder{number}")).unwrap()),
        key: PublicKey::from_bytes([number + 1; 32]),
        session: None,
    }
}

impl Finishing {
    fn is_claimed_by(&self, who: &Caller, plan: RecordId) -> bool {
        self.claimed.contains(&(plan.to_string(), who.principal.to_string()))
    }
}

impl Scenario for Finishing {
    fn jobs(&mut self, harness: &mut Harness, state: &State) -> Vec<Job> {
        let mut asked = Vec::new();
        let plans: Vec<RecordId> =
            state.memory().newest(Kind::Plan, Some(true)).map(|own| own.id).collect();
        if plans.len() < 3 && self.plans.len() < PLANS_MAX {
            let args = json!({ "kind": "plan", "text": "t" });
            asked.push((holder(0), command("memory.create", &args)));
        }
        for plan in plans {
            let both = (0..2).all(|n| self.is_claimed_by(&holder(n), plan));
            for n in 0..2 {
                let who = holder(n);
                if harness.random.one_in(2) {
                    continue;
                }
                let mut held = state.leases_of(&who.principal);
                let own = held.find(|(_, lease)| {
                    lease.task.as_ref().is_some_and(|task| task.as_str() == plan.to_string())
                });
                let asks = match own {
                    Some((lease, _)) if both => {
                        command("work.finish", &json!({ "lease": lease, "plan_status": "done" }))
                    }
                    None if !self.is_claimed_by(&who, plan) => {
                        let surface = format!("{}/{}", plan, who.principal).replace(':', "-");
                        let claim = json!({ "surfaces": [surface], "task": plan,
                            "ttl_s": 30 * 24 * 60 * 60 });
                        command("work.begin", &json!({ "claim": claim }))
                    }
                    _ => continue,
                };
                asked.push((who, asks));
            }
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

    fn check(&mut self, harness: &mut Harness, news: &[Commit], _: Option<Timestamp>) {
        for line in news.iter().flat_map(Commit::entries) {
            match &Entry::read(line).unwrap().stamped.draft.event {
                Event::LeaseOpened(body) => {
                    let plan = body.task.as_ref().map(ToString::to_string).unwrap_or_default();
                    self.claimed.insert((plan, body.holder.to_string()));
                }
                Event::MemoryCreated(body) => {
                    self.plans.insert(body.id);
                }
                _ => {}
            }
        }
        let state = harness.verifier.state();
        let mut closed = 0;
        for plan in &self.plans {
            let both = (0..2).all(|n| self.is_claimed_by(&holder(n), *plan));
            if both && state.leases_for(&plan.to_string()).next().is_none() {
                let status = state.memory().record(*plan).unwrap().status;
                assert_eq!(status, Status::Done, "seed {}: {plan}", harness.seed);
                closed += 1;
            }
        }
        if !news.is_empty() && closed > 0 {
            harness.count("closed");
        }
    }
}

#[test]
fn of_two_holders_who_finish_a_plan_at_once_the_last_one_closes_it() {
    let seeds = seeds(40);
    let mut counts = Counts::new();
    for seed in seeds.clone() {
        add(&mut counts, Simulation::new(seed, Finishing::default()).run(200).0);
    }
    if seeds.end - seeds.start > 10 {
        let expected = ["crash", "conflict", "lost answer", "work.begin", "work.finish", "closed"];
        happened(&counts, &expected, 20);
    }
}
