//! Forecasts of offers: a lane is said to be free if and only if its offer is accepted.

use crate::memory::{alice, bob, create, id_of, ok};
use crate::plans::{plan_of, planned};
use crate::run::Run;
use crate::support::{World, agent, user};
use althing_kernel::forecast::obstacle;
use althing_kernel::records::field::Few;
use althing_kernel::records::offer::{Lane, Offer, PlanTaken};
use althing_kernel::records::{Kind, RecordId};
use althing_kernel::refusal::Details;
use althing_kernel::{AgentName, Caller, Command, Refusal, Rule};
use proptest::prelude::*;
use serde_json::{Value, json};

const AGENTS: [&str; 3] = ["alice", "bob", "carol"];
const SURFACES: [&str; 5] = ["src", "src/a", "src/a/x.rs", "src/*.rs", "docs"];
const STEPS: [&str; 6] = ["accepted", "started", "failed", "retrying", "offered", "cancelled"];

fn callers() -> [Caller; 4] {
    [alice(), bob(), agent("carol"), user("ada")]
}

fn team() -> World {
    let mut world = World::new();
    for name in AGENTS {
        world.run(&agent(name), "agent.register", "{}").unwrap();
    }
    world
}

fn lane(agent: &str, surface: Option<&str>, plan: Option<RecordId>) -> Lane {
    let mut lane = json!({ "fields": { "agent": agent }, "text": "t", "ttl_s": 60 });
    if let Some(surface) = surface {
        lane["surfaces"] = json!([surface]);
    }
    if let Some(plan) = plan {
        lane["fields"]["plan_id"] = json!(plan);
    }
    serde_json::from_value(lane).unwrap()
}

fn offered(world: &mut World, who: &Caller, lanes: &[Lane]) -> Result<(), Refusal> {
    let lanes = Few::new(lanes.to_vec()).unwrap();
    let offer = Command::MemoryOffer(Box::new(Offer { asked: None, lanes, request_id: None }));
    world.run_command(who, &offer).map(drop)
}

/// The forecast for a lane, after comparing it with an offer in a world of its own.
#[track_caller]
fn foretold(world: &World, who: &Caller, others: &[Lane], own: &Lane) -> Option<Refusal> {
    let told = obstacle(&world.state, world.now, &who.principal, others, own).unwrap();
    let lanes = [others, std::slice::from_ref(own)].concat();
    let came = offered(&mut world.fork(), who, &lanes);
    match (&told, &came) {
        (None, Ok(())) => {}
        // Another reason is told only if it says who is in the way.
        (Some(told), Err(refusal)) => {
            assert!(told.rule == refusal.rule || told.details != Details::None {}, "{came:?}");
        }
        _ => panic!("{who:?} {lanes:?}\ntold {told:?}\ncame {came:?}"),
    }
    told
}

#[derive(Clone, Debug)]
enum Step {
    Claim { who: usize, surface: usize, plan: Option<usize> },
    Release { lease: prop::sample::Index },
    Offer { who: usize, agent: usize, surface: Option<usize>, plan: Option<usize> },
    Move { work: prop::sample::Index, by: usize, to: usize },
    End { plan: usize },
    Revoke { who: usize },
    Pass { secs: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    let (who, surface) = (0..4usize, 0..SURFACES.len());
    let maybe = |of: std::ops::Range<usize>| prop::option::of(of);
    prop_oneof![
        3 => (who.clone(), surface.clone(), maybe(0..2))
            .prop_map(|(who, surface, plan)| Step::Claim { who, surface, plan }),
        1 => any::<prop::sample::Index>().prop_map(|lease| Step::Release { lease }),
        4 => (who.clone(), 0..3usize, maybe(surface), maybe(0..2))
            .prop_map(|(who, agent, surface, plan)| Step::Offer { who, agent, surface, plan }),
        3 => (any::<prop::sample::Index>(), who.clone(), 0..STEPS.len())
            .prop_map(|(work, by, to)| Step::Move { work, by, to }),
        1 => (0..2usize).prop_map(|plan| Step::End { plan }),
        1 => who.prop_map(|who| Step::Revoke { who }),
        1 => (1..90u64).prop_map(|secs| Step::Pass { secs }),
    ]
}

fn take(world: &mut World, plans: [RecordId; 2], step: &Step) {
    let callers = callers();
    let mut run = |who: &Caller, name: &str, args: Value| {
        let _ = world.run(who, name, &args.to_string());
    };
    match step {
        Step::Claim { who, surface, plan } => {
            let mut args = json!({ "surfaces": [SURFACES[*surface]], "ttl_s": 60 });
            if let Some(plan) = plan {
                args["task"] = json!(plans[*plan]);
            }
            run(&callers[*who], "lease.open", args);
        }
        Step::Release { lease } => {
            let held: Vec<_> = world.state.leases().map(|(id, own)| (id, &own.holder)).collect();
            let own = (!held.is_empty()).then(|| held[lease.index(held.len())]);
            let own = own.map(|(id, holder)| (id.clone(), holder.clone()));
            if let Some((id, holder)) = own {
                let caller = callers.iter().find(|own| own.principal == holder).unwrap();
                let _ = world.run(caller, "lease.release", &json!({ "lease": id }).to_string());
            }
        }
        Step::Offer { who, agent, surface, plan } => {
            let surface = surface.map(|at| SURFACES[at]);
            let own = lane(AGENTS[*agent], surface, plan.map(|at| plans[at]));
            let _ = offered(world, &callers[*who], &[own]);
        }
        Step::Move { work, by, to } => {
            let all = world.state.memory().newest(Kind::Assignment, None);
            let all: Vec<RecordId> = all.map(|own| own.id).collect();
            if !all.is_empty() {
                let args = json!({ "id": all[work.index(all.len())], "to": STEPS[*to] });
                let _ = world.run(&callers[*by], "memory.move", &args.to_string());
            }
        }
        Step::End { plan } => {
            run(&alice(), "memory.move", json!({ "id": plans[*plan], "to": "done" }));
        }
        Step::Revoke { who } => {
            let name = AGENTS.get(*who).unwrap_or(&"carol");
            run(&user("ada"), "agent.revoke", json!({ "agent": name }));
        }
        Step::Pass { secs } => world.pass(*secs),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_lane_is_foretold_as_it_comes_out(
        steps in prop::collection::vec(step(), 0..14),
        who in 0..4usize,
        beside in (0..3usize, 0..SURFACES.len()),
    ) {
        let mut world = team();
        let plans = [create(&mut world, Kind::Plan), create(&mut world, Kind::Plan)];
        for step in &steps {
            take(&mut world, plans, step);
        }
        let caller = &callers()[who];
        let other = lane(AGENTS[beside.0], Some(SURFACES[beside.1]), None);
        let others: &[Lane] = match foretold(&world, caller, &[], &other) {
            None => std::slice::from_ref(&other),
            Some(_) => &[],
        };
        for agent in AGENTS {
            for surface in [None, Some("src/a"), Some("src"), Some("docs")] {
                for plan in [None, Some(plans[0])] {
                    foretold(&world, caller, others, &lane(agent, surface, plan));
                }
            }
        }
    }
}

/// Each reason is told with the facts that callers are shown.
#[test]
fn the_reason_says_who_is_in_the_way() {
    let mut world = team();
    let plan = create(&mut world, Kind::Plan);
    let claim = |world: &mut World, who: &Caller, surface: &str| {
        ok(world, who, "lease.open", &json!({ "surfaces": [surface] }))["epoch"].as_u64().unwrap()
    };
    let own = lane("bob", Some("src/a"), Some(plan));
    assert_eq!(foretold(&world, &alice(), &[], &own), None);

    // Somebody else holds a part of it.
    let mut other = world.fork();
    let epoch = claim(&mut other, &agent("carol"), "src/a/x.rs");
    let told = foretold(&other, &alice(), &[], &own).unwrap();
    let Details::Collisions(met) = &told.details else { panic!("{told:?}") };
    assert_eq!((met[0].epoch, &met[0].offered_to), (epoch, &None));
    assert_eq!(met[0].holder, agent("carol").principal);

    // The caller holds more than it.
    let mut other = world.fork();
    claim(&mut other, &alice(), "src");
    let told = foretold(&other, &alice(), &[], &own).unwrap();
    let Details::Collisions(met) = &told.details else { panic!("{told:?}") };
    assert_eq!((&met[0].holder, &met[0].offered_to), (&alice().principal, &None));

    // The caller offered it to another; the collision is told before the plan.
    let mut other = world.fork();
    offered(&mut other, &alice(), &[lane("carol", Some("src/a"), Some(plan))]).unwrap();
    let told = foretold(&other, &alice(), &[], &own).unwrap();
    let Details::Collisions(met) = &told.details else { panic!("{told:?}") };
    assert_eq!(met[0].offered_to.as_ref().unwrap().as_str(), "carol");
    let told = foretold(&other, &alice(), &[], &lane("bob", None, Some(plan))).unwrap();
    let work = other.state.memory().newest(Kind::Assignment, None).next().unwrap();
    assert_eq!(
        told.details,
        Details::Plan(PlanTaken::Assigned {
            plan_id: plan,
            agent: work.agent().cloned(),
            assignment_id: Some(work.id),
        })
    );

    // Somebody works on the plan elsewhere.
    let mut other = world.fork();
    let args = json!({ "surfaces": ["docs"], "task": plan });
    ok(&mut other, &agent("carol"), "lease.open", &args);
    let told = foretold(&other, &alice(), &[], &own).unwrap();
    assert!(matches!(told.details, Details::Plan(PlanTaken::Claimed { .. })), "{told:?}");

    // The plan is over.
    let mut other = world.fork();
    ok(&mut other, &alice(), "memory.move", &json!({ "id": plan, "to": "done" }));
    let told = foretold(&other, &alice(), &[], &own).unwrap();
    assert!(matches!(told.details, Details::Plan(PlanTaken::Over { .. })), "{told:?}");

    // Another lane of the same offer is in the way.
    let beside = [lane("carol", Some("src/a/x.rs"), None)];
    let told = foretold(&world, &alice(), &beside, &own).unwrap();
    let Details::Lanes(met) = &told.details else { panic!("{told:?}") };
    assert_eq!(met[0].lanes.each_ref().map(AgentName::as_str), ["carol", "bob"]);
    assert_eq!(met[0].common_path.as_deref(), Some("src/a/x.rs"));

    // Time alone frees it again.
    let mut other = world.fork();
    claim(&mut other, &agent("carol"), "src/a");
    assert!(foretold(&other, &alice(), &[], &own).is_some());
    other.pass(100_000);
    assert_eq!(foretold(&other, &alice(), &[], &own), None);
}

/// A caller that nobody knows yet, one that is revoked, and too many lanes.
#[test]
fn the_caller_and_the_number_of_lanes_count_too() {
    let mut world = team();
    let own = lane("bob", Some("src/a"), None);
    assert_eq!(foretold(&world, &agent("dora"), &[], &own), None);
    assert_eq!(foretold(&world, &agent("dora"), &[], &lane("eve", None, None)).unwrap().rule, {
        Rule::RecordLinks
    });
    ok(&mut world, &user("ada"), "agent.revoke", &json!({ "agent": "alice" }));
    assert_eq!(foretold(&world, &alice(), &[], &own).unwrap().rule, Rule::AgentRevoked);
    let many = vec![lane("bob", None, None); 32];
    let told = obstacle(&world.state, world.now, &bob().principal, &many, &own).unwrap();
    assert_eq!(told.unwrap().rule, Rule::Limits);
}

/// The coordinator of a run binds workspaces to its tasks, which other rules decide.
#[test]
fn tasks_of_a_run_are_foretold_for_its_coordinator_and_for_others() {
    let mut run = Run::new();
    let tasks = ["a", "b", "c"].map(|key| planned(&mut run, key, &[]));
    let [first, second, after] = tasks.each_ref().map(|task| plan_of(&run, task));
    let lead = Run::lead();
    let waits = json!({ "id": after, "fields": { "depends_on": [first] } });
    ok(&mut run.world, &lead, "memory.update", &waits);
    let free = |run: &Run, who: &Caller, others: &[Lane], own: &Lane| {
        foretold(&run.world, who, others, own).is_none()
    };
    let own = lane("w1", Some("src/a"), Some(first));
    assert!(free(&run, &lead, &[], &own));
    assert!(free(&run, &user("ada"), &[], &own));
    let told = foretold(&run.world, &agent("w3"), &[], &own).unwrap();
    assert_eq!(told.rule, Rule::TaskGoverned, "only the coordinator gives it out");
    assert!(!free(&run, &lead, &[], &lane("w1", None, Some(after))), "it waits");
    let beside = [lane("w2", Some("src/b"), Some(second))];
    assert!(free(&run, &lead, &beside, &own));
    assert!(!free(&run, &lead, &[lane("w2", None, None)], &own), "one after the other");
    ok(&mut run.world, &agent("w3"), "lease.open", &json!({ "surfaces": ["src/a"] }));
    let told = foretold(&run.world, &lead, &[], &own).unwrap();
    assert!(matches!(told.details, Details::Collisions(_)), "{told:?}");

    offered(&mut run.world, &lead, &beside).unwrap();
    assert!(free(&run, &lead, &[], &beside[0]), "it is offered to the agent already");
    let told = foretold(&run.world, &lead, &[], &lane("w1", None, Some(second))).unwrap();
    let work = run.world.state.memory().newest(Kind::Assignment, None).next().unwrap();
    let Details::Plan(PlanTaken::Assigned { assignment_id, .. }) = &told.details else {
        panic!("{told:?}")
    };
    assert_eq!(*assignment_id, Some(work.id));
}

/// A forecast leaves no trace.
#[test]
fn a_forecast_changes_nothing() {
    let mut world = team();
    let args = json!({ "kind": "plan", "text": "t" });
    let plan = id_of(&ok(&mut world, &alice(), "memory.create", &args));
    let before = world.state.image();
    obstacle(&world.state, world.now, &alice().principal, &[], &lane("bob", None, Some(plan)))
        .unwrap();
    assert_eq!(world.state.image(), before);
}
