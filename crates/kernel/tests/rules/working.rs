//! `work.begin` and `work.finish`: one command and one commit each.

use crate::memory::{alice, bob, create, get, no, ok, sound};
use crate::support::{World, agent, user};
use althing_kernel::records::{Kind as Of, Status};
use althing_kernel::{Actor, Event, Kind, Rule};
use serde_json::{Value, json};

fn begin(surface: &str) -> Value {
    json!({ "claim": { "surfaces": [surface], "ttl_s": 100 }, "client": "c", "looked": true })
}

#[test]
fn beginning_opens_a_session_and_a_lease_and_leaves_a_mark() {
    let mut world = World::new();
    world.run(&alice(), "agent.register", "{}").unwrap();
    let before = world.entries.len();
    let first = ok(&mut world, &alice(), "work.begin", &begin("a"));
    let kinds = world.kinds()[before..].to_vec();
    let expected = [Kind::SessionOpened, Kind::AgentHeartbeat, Kind::LeaseOpened];
    assert_eq!(kinds, expected, "{kinds:?}");
    assert_eq!(
        (&first["claim_status"], &first["session_opened"]),
        (&json!("created"), &json!(true))
    );
    assert_eq!(first["claim"]["workspace"], first["session"]);
    let again = json!({ "claim": { "surfaces": ["a"] }, "client": "c" });
    let entries = world.entries.len();
    let second = ok(&mut world, &alice(), "work.begin", &again);
    assert_eq!(world.entries.len(), entries, "nothing happened");
    assert_eq!(
        (&second["claim_status"], &second["session"]),
        (&json!("existing"), &first["session"])
    );
    assert_eq!(second["claim"]["lease"], first["claim"]["lease"]);
    sound(&world);
}

#[test]
fn whoever_comes_second_has_a_session_and_a_refusal_in_one_commit() {
    let mut world = World::new();
    ok(&mut world, &alice(), "work.begin", &begin("src"));
    world.run(&bob(), "agent.register", "{}").unwrap();
    let before = world.entries.len();
    let second = ok(&mut world, &bob(), "work.begin", &begin("src/x"));
    assert_eq!(second["claim_status"], "conflict");
    assert_eq!(second["collisions"][0]["holder"], "agent:alice");
    let kinds = world.kinds()[before..].to_vec();
    assert_eq!(kinds, [Kind::SessionOpened, Kind::AgentHeartbeat, Kind::CommandRefused]);
    let Event::CommandRefused(refused) = world.last_event() else { panic!("{:?}", world.last()) };
    assert_eq!((refused.rule, refused.command.as_str()), (Rule::NoOverlap, "work.begin"));
    assert_eq!(world.last().draft.actor, Actor::from(bob().principal));
    sound(&world);
}

#[test]
fn a_request_is_carried_out_once() {
    let mut world = World::new();
    let ask = |surface: &str| json!({ "client": "c", "claim": { "surfaces": [surface], "request_id": "r" } });
    let first = ok(&mut world, &alice(), "work.begin", &ask("a"));
    assert_eq!(ok(&mut world, &alice(), "work.begin", &ask("a"))["claim_status"], "existing");
    assert_eq!(no(&mut world, &alice(), "work.begin", &ask("b")).0, Rule::RequestOnce);
    let lease = json!({ "lease": first["claim"]["lease"] });
    ok(&mut world, &alice(), "work.finish", &lease);
    let late = ok(&mut world, &alice(), "work.begin", &ask("a"));
    assert_eq!(late["claim_status"], "over", "what was given back is not opened again");
    assert!(world.leases().is_empty());
    sound(&world);
}

#[test]
fn a_lease_on_the_same_surfaces_is_gone_on_with() {
    let mut world = World::new();
    let open = |reuse: &str| json!({ "surfaces": ["b", "a"], "ttl_s": 100, "reuse": reuse });
    let first = ok(&mut world, &alice(), "lease.open", &open("as_is"));
    world.pass(10);
    let turned = json!({ "surfaces": ["a", "b"], "reuse": "as_is" });
    let same = ok(&mut world, &alice(), "lease.open", &turned);
    assert_eq!((&same["lease"], &same["expires_at"]), (&first["lease"], &first["expires_at"]));
    let longer = ok(&mut world, &alice(), "lease.open", &open("renewed"));
    assert_eq!(longer["lease"], first["lease"]);
    assert!(longer["expires_at"].as_u64() > first["expires_at"].as_u64());
    assert_ne!(
        ok(&mut world, &alice(), "lease.open", &json!({ "surfaces": ["a"], "reuse": "as_is" }))["lease"],
        first["lease"]
    );
    sound(&world);
}

/// A holder's activity renews its leases, in the same commit.
#[test]
fn leases_are_renewed_by_use() {
    let mut world = World::new();
    let open = |surface: &str| json!({ "surfaces": [surface], "ttl_s": 100 });
    let own = ok(&mut world, &alice(), "lease.open", &open("a"));
    ok(&mut world, &bob(), "lease.open", &open("b"));
    world.pass(20);
    create(&mut world, Of::Plan);
    assert_eq!(world.last().draft.event.kind(), Kind::MemoryCreated, "most of its time is left");
    world.pass(10);
    create(&mut world, Of::Plan);
    let (made, renewed) = (&world.entries[world.entries.len() - 2], world.last().clone());
    assert_eq!(renewed.draft.causation.as_ref(), Some(&made.id));
    assert_eq!(renewed.draft.actor, Actor::Protocol);
    let Event::LeaseRenewed(body) = &renewed.draft.event else { panic!("{renewed:?}") };
    assert_eq!(body.lease.as_str(), own["lease"].as_str().unwrap(), "and nobody else's");
    // Without what the holder did there is no such entry.
    let last = world.entries.len() - 1;
    assert!(world.with(last - 1, renewed.clone()).is_err());
    assert_eq!(world.with(last, renewed.clone()), Ok(()));
    let mut longer = renewed.clone();
    if let Event::LeaseRenewed(body) = &mut longer.draft.event {
        body.ttl_s = althing_kernel::lease::Ttl::new(101).unwrap();
    }
    assert!(world.with(last, longer).is_err());
    let mut twice = renewed;
    twice.at = althing_kernel::Timestamp::from_micros(world.state.clock().micros() + 1);
    let asked = world.requests.values().last().cloned();
    assert!(world.with_next(&twice, asked).is_err(), "it is fresh");
    sound(&world);
}

/// A person's act is one entry in their name.
#[test]
fn what_a_person_begins_is_one_entry_of_theirs() {
    let mut world = World::new();
    let ada = user("ada");
    for surface in ["a", "b"] {
        ok(
            &mut world,
            &ada,
            "work.begin",
            &json!({ "claim": { "surfaces": [surface], "ttl_s": 100 } }),
        );
    }
    world.pass(30);
    let before = world.entries.len();
    let renewed = ok(&mut world, &ada, "work.begin", &json!({}));
    assert_eq!(renewed["renewed"].as_array().unwrap().len(), 2);
    let own = world.entries[before..].iter().filter(|entry| entry.draft.actor != Actor::Protocol);
    assert_eq!(own.count(), 1);
    sound(&world);
}

#[test]
fn a_plan_is_done_with_the_last_claim_on_it() {
    let mut world = World::new();
    let plan = create(&mut world, Of::Plan);
    let mut claim = |who: &althing_kernel::Caller, surface: &str| {
        let args = json!({ "client": "c", "claim": { "surfaces": [surface], "task": plan } });
        ok(&mut world, who, "work.begin", &args)["claim"]["lease"].clone()
    };
    let (first, second) = (claim(&alice(), "a"), claim(&bob(), "b"));
    let done = |lease: &Value| json!({ "lease": lease, "plan_status": "done" });
    let kept = ok(&mut world, &alice(), "work.finish", &done(&first));
    assert_eq!(kept["side_effects"][0]["action"], "kept_open", "{kept}");
    assert_eq!(get(&world, plan).status, Status::Open);
    assert_eq!(no(&mut world, &agent("carol"), "work.finish", &done(&second)).0, Rule::HolderOnly);
    let over = ok(&mut world, &bob(), "work.finish", &done(&second));
    assert_eq!(over["side_effects"][0]["id"], json!(plan), "{over}");
    assert_eq!(get(&world, plan).status, Status::Done);
    assert!(world.leases().is_empty());
    let third = ok(&mut world, &alice(), "lease.open", &json!({ "surfaces": ["a"], "task": plan }));
    let same = ok(&mut world, &alice(), "work.finish", &done(&third["lease"]));
    assert_eq!(same["side_effects"][0]["action"], "unchanged", "{same}");
    assert!(world.leases().is_empty(), "that is no reason to hold on to it");
    sound(&world);
}
