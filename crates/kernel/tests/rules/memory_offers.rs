//! Work that is offered: all that belongs to an offer comes at once, once, and is handed over.

use crate::memory::{alice, bob, create, get, id_of, no, ok, sound};
use crate::support::{World, agent};
use althing_kernel::audit::Breach;
use althing_kernel::lease::{Opened, Surfaces};
use althing_kernel::records::{Kind, RecordId, Status};
use althing_kernel::surfaces::Surface;
use althing_kernel::{Caller, Event, Rule};
use serde_json::{Value, json};

fn carol() -> Caller {
    agent("carol")
}

fn team() -> World {
    let mut world = World::new();
    for who in [alice(), bob(), carol()] {
        world.run(&who, "agent.register", "{}").unwrap();
    }
    world
}

fn lane(agent: &str, surface: &str) -> Value {
    json!({ "fields": { "agent": agent, "scope": surface }, "surfaces": [surface], "text": "t",
        "ttl_s": 3600 })
}

fn offer(world: &mut World, lanes: &[Value]) -> Vec<Value> {
    let reply = ok(world, &alice(), "memory.offer", &json!({ "lanes": lanes }));
    reply["offers"].as_array().unwrap().clone()
}

fn id(offer: &Value, name: &str) -> RecordId {
    serde_json::from_value(offer[name].clone()).unwrap()
}

fn go(world: &mut World, who: &Caller, id: RecordId, to: &str) -> Value {
    ok(world, who, "memory.move", &json!({ "id": id, "to": to }))
}

fn actions(reply: &Value) -> Vec<String> {
    let all = reply["side_effects"].as_array().unwrap().iter();
    all.map(|effect| effect["action"].as_str().unwrap().to_owned()).collect()
}

fn held(world: &World) -> Vec<(String, u64)> {
    world.state.leases().map(|(_, own)| (own.holder.to_string(), own.epoch)).collect()
}

#[test]
fn an_offer_is_a_claim_an_assignment_and_a_message_or_nothing() {
    let mut world = team();
    let plan = create(&mut world, Kind::Plan);
    let mut first = lane("bob", "src/a");
    (first["fields"]["plan_id"], first["thread"]) = (json!(plan), json!("th"));
    let mut second = lane("carol", "src/b");
    second["fields"]["plan_id"] = json!(plan);
    let made = offer(&mut world, &[first.clone(), second]);
    let (work, shown) = (id(&made[0], "assignment"), id(&made[0], "message"));
    let own = get(&world, work);
    assert_eq!((own.status, own.fields.message_id), (Status::Offered, Some(shown)));
    assert_eq!(own.fields.claim.map(RecordId::claim), Some(id(&made[0], "claim")));
    assert_eq!(own.fields.dispatcher, Some(alice().principal));
    let message = get(&world, shown).fields;
    assert_eq!((message.assignment_id, message.plan_id), (Some(work), Some(plan)));
    assert_eq!(message.thread.unwrap().as_str(), "th");
    assert_eq!((message.to.unwrap().as_str(), message.requires_ack), ("bob", Some(true)));
    assert_eq!(held(&world).len(), 2);
    let lease = world.state.lease_of_epoch(own.fields.claim.unwrap()).unwrap().1.clone();
    assert_eq!(lease.task.as_ref().unwrap().as_str(), plan.to_string());
    sound(&world);

    // One lane that cannot be is enough.
    let before = world.entries.len();
    let free = lane("carol", "docs");
    let mut unclaimed = lane("bob", "src/a");
    unclaimed.as_object_mut().unwrap().remove("surfaces");
    unclaimed["fields"]["plan_id"] = json!(plan);
    let nobody = lane("nobody", "lib");
    let claimed = |name: &str| {
        let mut lane = lane("bob", "lib");
        lane["fields"][name] = json!(if name == "claim" { json!(1) } else { json!(shown) });
        lane
    };
    let cases = [
        (lane("carol", "src/a/x.rs"), Rule::NoOverlap, "offered to bob"),
        (lane("bob", "docs/x"), Rule::NoOverlap, "two agents at once"),
        (unclaimed, Rule::PlanTaken, "is assigned to"),
        (nobody, Rule::RecordLinks, "no agent nobody"),
        (claimed("claim"), Rule::RecordField, "is set by the offer"),
        (claimed("message_id"), Rule::RecordField, "is set by the offer"),
    ];
    for (bad, rule, why) in cases {
        let args = json!({ "lanes": [free, bad] });
        let (got, message) = no(&mut world, &alice(), "memory.offer", &args);
        assert_eq!(got, rule, "{message}");
        assert!(message.contains(why), "{message}");
    }
    let theirs = json!({ "lanes": [lane("bob", "src/b/y.rs")] });
    assert_eq!(no(&mut world, &carol(), "memory.offer", &theirs).0, Rule::NoOverlap);
    assert_eq!(
        no(&mut world, &alice(), "memory.offer", &json!({ "lanes": [] })).0,
        Rule::SaySomething
    );
    let made = world.entries[before..].iter().map(|entry| entry.draft.event.kind().as_str());
    assert!(made.into_iter().all(|kind| kind == "command.refused"));
    sound(&world);
}

#[test]
fn a_lease_that_its_offer_does_not_speak_of_is_noticed() {
    let mut world = team();
    offer(&mut world, &[lane("bob", "src/a")]);
    let mut forged = 0;
    for (place, entry) in world.entries.iter().enumerate() {
        if let Event::LeaseOpened(body) = &entry.draft.event {
            let wide = Surfaces::new(vec![Surface::new("**").unwrap()]).unwrap();
            let wider = Opened { surfaces: wide, ..body.clone() };
            let other = Opened { holder: carol().principal, ..body.clone() };
            for body in [wider, other] {
                let mut entry = entry.clone();
                entry.draft.event = Event::LeaseOpened(body);
                let expected = althing_kernel::Kind::LeaseOpened;
                assert_eq!(world.with(place, entry), Err(Breach::Differs { expected }));
                forged += 1;
            }
        }
    }
    assert_eq!(forged, 2);
}

#[test]
fn what_an_agent_holds_already_is_not_claimed_for_it() {
    let mut world = team();
    world.run(&bob(), "lease.open", &json!({ "surfaces": ["src"] }).to_string()).unwrap();
    let made = offer(&mut world, &[lane("bob", "src/a")]);
    assert!(made[0]["claim"].is_null(), "{made:?}");
    assert_eq!(held(&world).len(), 1);
    let accepted = go(&mut world, &bob(), id(&made[0], "assignment"), "accepted");
    assert_eq!(actions(&accepted), ["moved"], "the message was read, and nothing is opened");
    sound(&world);
}

#[test]
fn an_offer_is_made_once_by_its_request_whatever_is_free_by_then() {
    let mut world = team();
    let args = |lanes: Value| json!({ "lanes": lanes, "request_id": "r" });
    let first = ok(&mut world, &alice(), "memory.offer", &args(json!([lane("bob", "a")])));
    let count = world.entries.len();
    let again = ok(&mut world, &alice(), "memory.offer", &args(json!([lane("bob", "a")])));
    assert_eq!((&first, world.entries.len()), (&again, count));
    let other = args(json!([lane("bob", "b")]));
    assert_eq!(no(&mut world, &alice(), "memory.offer", &other).0, Rule::RequestOnce);
    // With the hash of what was asked at the door the lanes do not matter.
    let hash = |n: char| format!("sha256:{}", n.to_string().repeat(64));
    let args = |lanes: Value, asked: char| json!({ "lanes": lanes, "request_id": "s", "asked": hash(asked) });
    let first = ok(&mut world, &alice(), "memory.offer", &args(json!([lane("bob", "c")]), 'a'));
    let again = ok(&mut world, &alice(), "memory.offer", &args(json!([lane("carol", "d")]), 'a'));
    assert_eq!(first, again);
    let other = args(json!([lane("bob", "c")]), 'b');
    assert_eq!(no(&mut world, &alice(), "memory.offer", &other).0, Rule::RequestOnce);
    assert_eq!(world.state.memory().count(Kind::Assignment, None), 2);
    sound(&world);
}

#[test]
fn a_claim_that_ran_out_is_opened_again_for_whoever_takes_the_work_up() {
    let mut world = team();
    let made = offer(&mut world, &[lane("bob", "src/a"), lane("carol", "src/b")]);
    let ids = [id(&made[0], "assignment"), id(&made[1], "assignment")];
    world.pass(3601);
    world.tick();
    assert_eq!(held(&world), []);
    let mut taken = world.fork();
    let reply = go(&mut world, &bob(), ids[0], "accepted");
    assert_eq!(actions(&reply), ["already_over", "opened", "moved"]);
    let own = get(&world, ids[0]).fields.claim.unwrap();
    assert_eq!(held(&world), [("agent:bob".to_owned(), own)]);
    sound(&world);
    // Somebody else has it by now.
    taken.run(&carol(), "lease.open", &json!({ "surfaces": ["src/a/x"] }).to_string()).unwrap();
    let accept = json!({ "id": ids[0], "to": "accepted" });
    let (rule, message) = no(&mut taken, &bob(), "memory.move", &accept);
    assert_eq!(rule, Rule::NoOverlap);
    assert!(message.contains("agent:carol"), "{message}");
    assert_eq!(get(&taken, ids[0]).status, Status::Offered);
    // The dispatcher is not kept from giving it to the one who has it.
    let args = json!({ "id": ids[0], "to": "rerouted", "agent": "carol" });
    let reply = ok(&mut taken, &alice(), "memory.move", &args);
    assert_eq!(actions(&reply), ["created", "created", "already_over", "moved"]);
    let next = RecordId { number: ids[1].number + 1, ..ids[0] };
    let reply = go(&mut taken, &carol(), next, "accepted");
    assert_eq!(actions(&reply), ["already_over", "opened", "moved"]);
    sound(&taken);
}

#[test]
fn rerouted_work_has_a_message_and_a_nonce_of_its_own_and_is_rerouted_once() {
    let mut world = team();
    let mut first = lane("bob", "src/a");
    (first["fields"]["nonce"], first["thread"]) = (json!("n1"), json!("th"));
    let made = offer(&mut world, &[first]);
    let old = id(&made[0], "assignment");
    let args = json!({ "id": old, "to": "rerouted", "agent": "carol" });
    let reply = ok(&mut world, &alice(), "memory.move", &args);
    assert_eq!(actions(&reply), ["created", "created", "moved"]);
    let before = get(&world, old).fields.message_id.unwrap();
    assert_eq!(get(&world, before).status, Status::Closed, "it is of no use any more");
    let new = get(&world, RecordId { number: old.number + 1, ..old });
    let nonce = new.fields.nonce.clone().unwrap();
    assert_ne!(nonce.as_str(), "n1");
    let message = get(&world, new.fields.message_id.unwrap()).fields;
    assert_eq!((message.to.unwrap().as_str(), message.assignment_id), ("carol", Some(new.id)));
    assert_eq!(message.thread.unwrap().as_str(), "th", "the same conversation");
    assert_eq!(no(&mut world, &alice(), "memory.move", &args).0, Rule::RecordStep);
    sound(&world);
}

#[test]
fn what_failed_lets_go_and_what_is_blocked_does_where_that_is_asked_for() {
    for (to, kept_on) in [("blocked", 1), ("failed", 0)] {
        let mut world = team();
        let made = offer(&mut world, &[lane("bob", "src/a")]);
        let work = id(&made[0], "assignment");
        go(&mut world, &bob(), work, "accepted");
        go(&mut world, &bob(), work, "started");
        let mut kept = world.fork();
        go(&mut kept, &bob(), work, to);
        assert_eq!(held(&kept).len(), kept_on, "what is blocked may go on");
        let args = json!({ "id": work, "to": to, "let_go": true });
        let reply = ok(&mut world, &bob(), "memory.move", &args);
        assert_eq!(actions(&reply), ["released"]);
        assert_eq!(held(&world), []);
        sound(&world);
    }
    let mut world = team();
    let made = offer(&mut world, &[lane("bob", "src/a")]);
    let args = json!({ "id": id(&made[0], "assignment"), "to": "accepted", "let_go": true });
    assert_eq!(no(&mut world, &bob(), "memory.move", &args).0, Rule::RecordField);
}

#[test]
fn a_plan_that_is_blocked_takes_the_claim_on_it_along() {
    let mut world = team();
    let plan = create(&mut world, Kind::Plan);
    let open = json!({ "surfaces": ["a"], "task": plan }).to_string();
    world.run(&bob(), "lease.open", &open).unwrap();
    let claim = RecordId::claim(held(&world)[0].1);
    let args = json!({ "id": plan, "to": "blocked", "claim": claim });
    assert_eq!(no(&mut world, &alice(), "memory.move", &args).0, Rule::HolderOnly);
    let other = json!({ "id": plan, "to": "in_progress", "claim": claim });
    assert_eq!(no(&mut world, &bob(), "memory.move", &other).0, Rule::RecordField);
    assert_eq!(actions(&ok(&mut world, &bob(), "memory.move", &args)), ["released"]);
    assert_eq!((get(&world, plan).status, held(&world).len()), (Status::Blocked, 0));
    sound(&world);
    // What is done stays done, and says so.
    let done = create(&mut world, Kind::Plan);
    go(&mut world, &alice(), done, "done");
    for status in ["done", "blocked"] {
        let fields = json!({ "agent": "bob", "plan_id": done });
        let args = json!({ "kind": "assignment", "text": "t", "fields": fields });
        let work = id_of(&ok(&mut world, &alice(), "memory.create", &args));
        go(&mut world, &bob(), work, "accepted");
        go(&mut world, &bob(), work, "started");
        let args = json!({ "id": work, "to": "completed", "plan_status": status });
        let reply = ok(&mut world, &bob(), "memory.move", &args);
        assert_eq!(actions(&reply), ["unchanged"], "{status}");
        assert_eq!(get(&world, done).status, Status::Done);
    }
    sound(&world);
}

#[test]
fn plans_of_a_sequence_do_not_wait_for_each_other() {
    let mut world = team();
    let plans = [0; 4].map(|_| create(&mut world, Kind::Plan));
    let item = |at: usize, after: &[usize], kind: &str| {
        let after: Vec<RecordId> = after.iter().map(|at| plans[*at]).collect();
        json!({ "plan": plans[at], "rank": at, kind: after })
    };
    let args =
        |items: &[Value]| json!({ "kind": "sequence", "text": "t", "fields": { "items": items } });
    let fine = [
        item(0, &[], "hard_after"),
        item(1, &[0], "hard_after"),
        item(2, &[0, 1], "hard_after"),
        item(3, &[2, 1, 0], "hard_after"),
    ];
    let made = id_of(&ok(&mut world, &alice(), "memory.create", &args(&fine)));
    let soft = [item(0, &[1], "soft_after"), item(1, &[0], "soft_after")];
    ok(&mut world, &alice(), "memory.create", &args(&soft));
    let circle = [
        item(0, &[], "hard_after"),
        item(1, &[0, 3], "hard_after"),
        item(2, &[1], "hard_after"),
        item(3, &[2], "hard_after"),
    ];
    let (rule, message) = no(&mut world, &alice(), "memory.create", &args(&circle));
    assert_eq!(rule, Rule::RecordLinks);
    let [a, b, c] = [plans[1], plans[3], plans[2]];
    assert!(message.ends_with(&format!("{a} after {b} after {c} after {a}")), "{message}");
    let update = json!({ "id": made, "fields": { "items": [item(0, &[0], "hard_after")] } });
    assert_eq!(no(&mut world, &alice(), "memory.update", &update).0, Rule::RecordLinks);
    sound(&world);
}

#[test]
fn turns_stay_readable_when_a_loop_goes_on() {
    let mut world = team();
    let args = json!({ "kind": "loop", "text": "t", "fields": { "loop_kind": "debug",
        "slots": [{ "id": "s", "agent": "bob" }] } });
    let own = id_of(&ok(&mut world, &alice(), "memory.create", &args));
    for n in 0..70 {
        let turn = json!({ "loop": own, "slot": "s", "outcome": format!("o{n}") });
        ok(&mut world, &bob(), "memory.turn", &turn);
        // From the last phase another round begins.
        let is_last = get(&world, own).fields.phase.unwrap().as_str() == "verify";
        let act = if is_last { json!({ "continue": {} }) } else { json!({ "advance": {} }) };
        ok(&mut world, &alice(), "memory.loop", &json!({ "id": own, "act": act }));
    }
    let turns = get(&world, own).fields.turns.to_vec();
    assert_eq!(turns.len(), 64);
    let shown =
        |at: usize| (turns[at].outcome.as_str(), turns[at].phase.as_ref().unwrap().as_str());
    assert_eq!((shown(0).0, shown(63).0), ("o6", "o69"));
    let forged = json!({ "id": own, "fields": { "turns": [] } });
    assert!(world.run(&alice(), "memory.update", &forged.to_string()).is_err());
    sound(&world);
}

#[test]
fn overlapping_lanes_of_one_agent_go_over_together() {
    let mut world = team();
    let made = offer(&mut world, &[lane("bob", "src/a"), lane("carol", "docs")]);
    let wide = offer(&mut world, &[lane("bob", "src")]);
    let far = offer(&mut world, &[lane("bob", "src/{b,c}")]);
    let ids = [&made[0], &wide[0], &far[0]].map(|offer| id(offer, "assignment"));
    let reply = go(&mut world, &bob(), ids[0], "accepted");
    let each = [vec!["handed_over"; 3], vec!["opened"; 3], vec!["followed"; 2], vec!["moved"]];
    assert_eq!(actions(&reply), each.concat());
    let claims = ids.map(|id| get(&world, id).fields.claim.unwrap());
    let whose = |epoch| world.state.lease_of_epoch(epoch).unwrap().1.holder.to_string();
    assert_eq!(claims.map(whose), ["agent:bob"; 3]);
    assert_eq!(held(&world).len(), 4, "carol's is still held for her");
    sound(&world);
    // Taking up the others moves nothing any more.
    for (id, left) in [(ids[1], 3), (ids[2], 2)] {
        assert_eq!(actions(&go(&mut world, &bob(), id, "accepted")), ["moved"]);
        go(&mut world, &bob(), id, "started");
        assert_eq!(actions(&go(&mut world, &bob(), id, "completed")), ["released", "moved"]);
        assert_eq!(held(&world).len(), left);
    }
    sound(&world);
}

#[test]
fn a_lane_takes_the_place_of_what_its_dispatcher_held_there() {
    let mut world = team();
    let open = |world: &mut World, surface: &str| {
        let args = json!({ "surfaces": [surface] }).to_string();
        world.run(&alice(), "lease.open", &args).unwrap();
    };
    open(&mut world, "src/a");
    open(&mut world, "docs");
    let made = offer(&mut world, &[lane("bob", "src/a")]);
    assert_eq!(held(&world).len(), 2, "the lane and docs");
    let reply = go(&mut world, &bob(), id(&made[0], "assignment"), "accepted");
    assert_eq!(actions(&reply), ["handed_over", "opened", "moved"]);
    sound(&world);
    // What reaches beyond the lane would keep its agent from taking it up.
    let args = json!({ "lanes": [lane("carol", "docs/guide")] });
    let (rule, message) = no(&mut world, &alice(), "memory.offer", &args);
    assert_eq!(rule, Rule::NoOverlap);
    assert!(message.contains("you hold docs yourself"), "{message}");
}

#[test]
fn work_is_not_rerouted_to_where_somebody_else_is() {
    let mut world = team();
    world.run(&agent("dora"), "agent.register", "{}").unwrap();
    let made = offer(&mut world, &[lane("bob", "src/a")]);
    let work = id(&made[0], "assignment");
    go(&mut world, &bob(), work, "accepted");
    let mut over = world.fork();
    let open = |world: &mut World, who: &Caller| {
        let args = json!({ "surfaces": ["src/a/x"] }).to_string();
        world.run(who, "lease.open", &args).unwrap();
    };
    let args = json!({ "id": work, "to": "rerouted", "agent": "carol" });
    // The agent before holds more there than its lane.
    open(&mut world, &bob());
    let (rule, message) = no(&mut world, &alice(), "memory.move", &args);
    assert_eq!(rule, Rule::NoOverlap);
    assert!(message.contains("agent:bob"), "{message}");
    // The lane's claim is over, and somebody else has a part of it.
    over.pass(3601);
    over.tick();
    open(&mut over, &agent("dora"));
    let (rule, message) = no(&mut over, &alice(), "memory.move", &args);
    assert_eq!(rule, Rule::NoOverlap);
    assert!(message.contains("agent:dora"), "{message}");
    let args = json!({ "id": work, "to": "rerouted", "agent": "dora" });
    ok(&mut over, &alice(), "memory.move", &args);
    sound(&over);
}

#[test]
fn work_that_is_tried_again_is_told_and_claimed_again() {
    let mut world = team();
    let mut first = lane("bob", "src/a");
    first["thread"] = json!("th");
    let made = offer(&mut world, &[first]);
    let work = id(&made[0], "assignment");
    // Whoever does not want it says so.
    let reply = go(&mut world, &bob(), work, "failed");
    assert_eq!(actions(&reply), ["released"]);
    assert_eq!(held(&world), []);
    go(&mut world, &alice(), work, "retrying");
    let reply = go(&mut world, &alice(), work, "offered");
    assert_eq!(actions(&reply), ["created", "moved", "already_over", "opened"]);
    let own = get(&world, work);
    assert_eq!((own.status, own.fields.attempt), (Status::Offered, Some(2)));
    let shown = get(&world, own.fields.message_id.unwrap());
    assert_ne!(shown.id, id(&made[0], "message"));
    assert_eq!((shown.status, shown.fields.assignment_id), (Status::Open, Some(work)));
    assert_eq!(shown.fields.thread.unwrap().as_str(), "th");
    assert_eq!(get(&world, id(&made[0], "message")).status, Status::Closed);
    assert_eq!(held(&world), [("agent:alice".to_owned(), own.fields.claim.unwrap())]);
    sound(&world);
    let reply = go(&mut world, &bob(), work, "accepted");
    assert_eq!(actions(&reply), ["handed_over", "opened", "moved"]);
    sound(&world);
}

/// A claim that an agent names itself does not replace the offered surfaces: those go back to the
/// dispatcher.
#[test]
fn work_goes_back_with_what_it_was_offered_with() {
    let mut world = team();
    let made = offer(&mut world, &[lane("bob", "src/a")]);
    let work = id(&made[0], "assignment");
    go(&mut world, &bob(), work, "accepted");
    let first = get(&world, work).fields.claim.unwrap();
    let open = |world: &mut World, surface: &str| {
        let args = json!({ "surfaces": [surface] }).to_string();
        crate::support::lease_of(world.run(&bob(), "lease.open", &args).unwrap()).epoch
    };
    let release = |world: &mut World, epoch: u64| {
        let lease = world.state.lease_of_epoch(epoch).unwrap().0.clone();
        world.run(&bob(), "lease.release", &json!({ "lease": lease }).to_string()).unwrap();
    };
    let args = |epoch: u64| json!({ "id": work, "fields": { "claim": epoch } });
    // Not less than it was offered with, and nobody else says so.
    let less = open(&mut world, "src/a/x");
    assert_eq!(no(&mut world, &bob(), "memory.update", &args(less)).0, Rule::RecordLinks);
    let person = crate::support::user("ada");
    assert_eq!(no(&mut world, &person, "memory.update", &args(less)).0, Rule::RecordOwner);
    release(&mut world, less);
    let unclaimed = json!({ "id": work, "clear": ["claim"] });
    assert_eq!(no(&mut world, &bob(), "memory.update", &unclaimed).0, Rule::RecordOwner);
    let other = open(&mut world, "src");
    ok(&mut world, &bob(), "memory.update", &args(other));
    let args = json!({ "id": work, "to": "rerouted", "agent": "carol" });
    // The first is still bob's.
    assert_eq!(no(&mut world, &alice(), "memory.move", &args).0, Rule::NoOverlap);
    release(&mut world, first);
    let reply = ok(&mut world, &alice(), "memory.move", &args);
    assert_eq!(actions(&reply), ["created", "created", "released", "opened", "moved"]);
    sound(&world);
    let next = RecordId { number: work.number + 1, ..work };
    go(&mut world, &carol(), next, "accepted");
    let (_, lease) = world.state.leases().next().unwrap();
    assert_eq!(lease.surfaces.as_slice()[0].as_str(), "src/a");
    assert_eq!(lease.holder.to_string(), "agent:carol");
    sound(&world);
}

#[test]
fn work_on_what_its_agent_held_is_looked_at_when_it_is_taken_up() {
    let mut world = team();
    let args = json!({ "surfaces": ["src/a"] }).to_string();
    let held = crate::support::lease_of(world.run(&bob(), "lease.open", &args).unwrap()).lease;
    let made = offer(&mut world, &[lane("bob", "src/a")]);
    let work = id(&made[0], "assignment");
    let mut kept = world.fork();
    assert_eq!(actions(&go(&mut kept, &bob(), work, "accepted")), ["moved"], "he holds it");
    let rerouted = json!({ "id": work, "to": "rerouted", "agent": "carol" });
    assert_eq!(no(&mut kept, &alice(), "memory.move", &rerouted).0, Rule::NoOverlap);
    world.run(&bob(), "lease.release", &json!({ "lease": held }).to_string()).unwrap();
    let mut free = world.fork();
    assert_eq!(actions(&go(&mut free, &bob(), work, "accepted")), ["opened", "moved"]);
    sound(&free);
    world.run(&carol(), "lease.open", &args).unwrap();
    let accept = json!({ "id": work, "to": "accepted" });
    assert_eq!(no(&mut world, &bob(), "memory.move", &accept).0, Rule::NoOverlap);
    sound(&world);
}

/// Surfaces promised to one agent are not offered to another, by any transition.
#[test]
fn no_two_offers_keep_each_other_from_being_taken_up() {
    let mut world = team();
    let big = id(&offer(&mut world, &[lane("bob", "src")])[0], "assignment");
    let small = id(&offer(&mut world, &[lane("bob", "src/a")])[0], "assignment");
    let reroute = json!({ "id": small, "to": "rerouted", "agent": "carol" });
    let (rule, message) = no(&mut world, &alice(), "memory.move", &reroute);
    assert_eq!(rule, Rule::NoOverlap);
    assert!(message.contains("offered to bob"), "{message}");
    go(&mut world, &bob(), big, "failed");
    ok(&mut world, &alice(), "memory.move", &reroute);
    go(&mut world, &alice(), big, "retrying");
    let again = json!({ "id": big, "to": "offered" });
    let (rule, message) = no(&mut world, &alice(), "memory.move", &again);
    assert_eq!(rule, Rule::NoOverlap);
    assert!(message.contains("offered to carol"), "{message}");
    sound(&world);
}

#[test]
fn a_plan_is_not_given_out_twice_by_going_back_to_it() {
    let mut world = team();
    let plan = create(&mut world, Kind::Plan);
    let mut one = lane("bob", "src/a");
    one["fields"]["plan_id"] = json!(plan);
    let mut two = lane("carol", "src/b");
    two["fields"]["plan_id"] = json!(plan);
    let first = id(&offer(&mut world, std::slice::from_ref(&one))[0], "assignment");
    go(&mut world, &bob(), first, "failed");
    offer(&mut world, &[two]);
    go(&mut world, &alice(), first, "retrying");
    let again = json!({ "id": first, "to": "offered" });
    assert_eq!(no(&mut world, &alice(), "memory.move", &again).0, Rule::PlanTaken);
    world.run(&agent("dora"), "agent.register", "{}").unwrap();
    let other = json!({ "id": first, "to": "rerouted", "agent": "dora" });
    assert_eq!(no(&mut world, &alice(), "memory.move", &other).0, Rule::PlanTaken);
    // Nobody works on what is done.
    ok(&mut world, &alice(), "memory.move", &json!({ "id": plan, "to": "done" }));
    one["fields"]["agent"] = json!("dora");
    let (rule, message) = no(&mut world, &alice(), "memory.offer", &json!({ "lanes": [one] }));
    assert_eq!(rule, Rule::PlanTaken);
    assert!(message.contains("is done"), "{message}");
}

/// The message of an assignment is read and closed with it, so nobody names one of others.
#[test]
fn messages_of_others_are_not_moved_by_way_of_work() {
    let mut world = team();
    let args = json!({ "kind": "message", "text": "t", "fields": { "to": "carol" } });
    let message = id_of(&ok(&mut world, &alice(), "memory.create", &args));
    let args = json!({ "kind": "assignment", "text": "t",
        "fields": { "agent": "bob", "message_id": message } });
    assert_eq!(no(&mut world, &bob(), "memory.create", &args).0, Rule::RecordLinks);
    ok(&mut world, &alice(), "memory.create", &args);
}

#[test]
fn what_offered_work_is_closed_however_the_work_ends() {
    for end in ["archived", "expired", "loop", "turn"] {
        let mut world = team();
        let made = offer(&mut world, &[lane("bob", "src/a")]);
        let work = id(&made[0], "assignment");
        let slots = json!([{ "id": "a", "agent": "bob", "assignment": work }]);
        let args = json!({ "kind": "loop", "text": "t",
            "fields": { "loop_kind": "review", "slots": slots } });
        let of = id_of(&ok(&mut world, &alice(), "memory.create", &args));
        match end {
            "archived" => {
                ok(&mut world, &alice(), "memory.archive", &json!({ "id": work }));
            }
            "expired" => {
                world.pass(15 * 60 + 1);
                ok(&mut world, &alice(), "memory.sweep", &json!({}));
            }
            "loop" => drop(go(&mut world, &alice(), of, "cancelled")),
            _ => {
                let turn = json!({ "loop": of, "slot": "a", "outcome": "o" });
                let reply = ok(&mut world, &bob(), "memory.turn", &turn);
                assert_eq!(actions(&reply), ["moved", "released", "moved"], "{reply}");
                assert_eq!(get(&world, work).status, Status::Completed);
            }
        }
        assert_eq!(get(&world, id(&made[0], "message")).status, Status::Closed, "{end}");
        assert_eq!(held(&world), [], "{end}");
        sound(&world);
    }
}

#[test]
fn a_place_in_a_loop_goes_over_with_its_work() {
    let mut world = team();
    let made = offer(&mut world, &[lane("bob", "src/a")]);
    let work = id(&made[0], "assignment");
    let slot = |agent: &str| json!([{ "id": "a", "agent": agent, "assignment": work }]);
    let args = |slots: Value| {
        json!({ "kind": "loop", "text": "t",
            "fields": { "loop_kind": "review", "slots": slots } })
    };
    // What is worked on in a place is its agent's work.
    let wrong = args(slot("carol"));
    assert_eq!(no(&mut world, &alice(), "memory.create", &wrong).0, Rule::RecordLinks);
    let of = id_of(&ok(&mut world, &alice(), "memory.create", &args(slot("bob"))));
    let reroute = json!({ "id": work, "to": "rerouted", "agent": "carol" });
    ok(&mut world, &alice(), "memory.move", &reroute);
    let place = get(&world, of).fields.slots[0].clone();
    assert_eq!(
        (place.agent.as_str(), place.assignment.unwrap().number),
        ("carol", work.number + 1)
    );
    sound(&world);
    // Whoever has a place adds to what came of the loop and takes nothing away.
    let came = |refs: &[&str]| {
        let all: Vec<Value> = refs.iter().map(|own| json!({ "type": "f", "ref": own })).collect();
        json!({ "id": of, "fields": { "artifacts": all } })
    };
    ok(&mut world, &carol(), "memory.update", &came(&["x"]));
    ok(&mut world, &carol(), "memory.update", &came(&["x", "y"]));
    assert_eq!(no(&mut world, &carol(), "memory.update", &came(&["z"])).0, Rule::RecordOwner);
    ok(&mut world, &alice(), "memory.update", &came(&["y"]));
    // What is over stays as it is.
    go(&mut world, &alice(), of, "completed");
    assert_eq!(no(&mut world, &alice(), "memory.update", &came(&["q"])).0, Rule::RecordStep);
    sound(&world);
}

/// A loop continues although the assignment of a slot is archived.
#[test]
fn a_loop_outlives_the_work_of_its_places() {
    let mut world = team();
    let args = json!({ "kind": "assignment", "text": "t", "fields": { "agent": "bob" } });
    let work = id_of(&ok(&mut world, &alice(), "memory.create", &args));
    let slots = json!([{ "id": "a", "agent": "bob", "assignment": work },
        { "id": "b", "agent": "carol" }]);
    let args = json!({ "kind": "loop", "text": "t",
        "fields": { "loop_kind": "review", "slots": slots } });
    let of = id_of(&ok(&mut world, &alice(), "memory.create", &args));
    ok(&mut world, &bob(), "memory.turn", &json!({ "loop": of, "slot": "a", "outcome": "o" }));
    ok(&mut world, &alice(), "memory.archive", &json!({ "id": work }));
    ok(&mut world, &alice(), "memory.loop", &json!({ "id": of, "act": { "advance": {} } }));
    assert!(get(&world, of).fields.slots.iter().all(|slot| !slot.done));
    let over = json!({ "takeover": { "agent": "carol", "slot": "a" } });
    ok(&mut world, &alice(), "memory.loop", &json!({ "id": of, "act": over }));
    let place = get(&world, of).fields.slots[0].clone();
    assert_eq!((place.agent.as_str(), place.assignment), ("carol", None));
    sound(&world);
}
