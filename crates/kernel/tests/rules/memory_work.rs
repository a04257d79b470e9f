//! Side effects of record transitions on plans, leases, assignments and loops.

use crate::memory::{alice, bob, create, get, id_of, no, ok, sound};
use crate::support::{World, agent, lease_of, user};
use althing_kernel::capability::Capability;
use althing_kernel::lease::ReleaseCause;
use althing_kernel::records::{Kind, RecordId, Status};
use althing_kernel::{Actor, Caller, Event, Kind as Entry, Rule};
use serde_json::{Value, json};

fn carol() -> Caller {
    agent("carol")
}

/// Claims a surface for a plan; returns the epoch.
fn claim(world: &mut World, who: &Caller, surface: &str, plan: RecordId) -> u64 {
    let args = json!({ "surfaces": [surface], "task": plan });
    lease_of(world.run(who, "lease.open", &args.to_string()).unwrap()).epoch
}

fn assign(world: &mut World, fields: &Value) -> RecordId {
    let args = json!({ "kind": "assignment", "text": "t", "fields": fields });
    id_of(&ok(world, &alice(), "memory.create", &args))
}

fn go(world: &mut World, who: &Caller, id: RecordId, to: &str) -> Value {
    ok(world, who, "memory.move", &json!({ "id": id, "to": to }))
}

fn effects(reply: &Value) -> Vec<(String, String)> {
    let all = reply["side_effects"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    all.map(|effect| (text(&effect["action"]), text(&effect["id"]))).collect()
}

fn side_effect(action: &str, id: RecordId) -> (String, String) {
    (action.to_owned(), id.to_string())
}

fn holder_of(world: &World, epoch: u64) -> Option<String> {
    world.state.lease_of_epoch(epoch).map(|(_, lease)| lease.holder.to_string())
}

#[test]
fn a_plan_that_is_over_lets_go_of_the_callers_claims() {
    let mut world = World::new();
    let plan = create(&mut world, Kind::Plan);
    let other = create(&mut world, Kind::Plan);
    let own = claim(&mut world, &alice(), "a", plan);
    let his = claim(&mut world, &bob(), "b", plan);
    let stays = claim(&mut world, &alice(), "c", other);
    let reply = go(&mut world, &alice(), plan, "done");
    let (own, his) = (RecordId::claim(own), RecordId::claim(his));
    assert_eq!(
        effects(&reply),
        [side_effect("released", own), side_effect("ownership_denied", his)]
    );
    assert_eq!(holder_of(&world, own.number), None);
    assert_eq!(holder_of(&world, his.number).as_deref(), Some("agent:bob"));
    assert!(holder_of(&world, stays).is_some());
    let Event::LeaseReleased(body) = world.last_event() else { panic!("{:?}", world.last()) };
    assert_eq!(body.cause, ReleaseCause::WorkOver);
    assert_eq!(world.last().draft.actor, Actor::Protocol);
    sound(&world);
}

#[test]
fn the_last_step_of_a_plan_completes_it() {
    let mut world = World::new();
    let args = json!({ "kind": "plan", "text": "t",
        "fields": { "steps": [{ "text": "a" }, { "text": "b", "id": "stp_7" }] } });
    let plan = id_of(&ok(&mut world, &alice(), "memory.create", &args));
    let epoch = claim(&mut world, &bob(), "a", plan);
    let step = |step: &str, status: &str| json!({ "plan": plan, "step": step, "status": status });
    let first = ok(&mut world, &bob(), "memory.step", &step("stp_1", "done"));
    assert_eq!((&first["total"], &first["done"]), (&json!(2), &json!(1)));
    assert_eq!(first["auto_completed"], false);
    let unknown = no(&mut world, &bob(), "memory.step", &step("stp_7", "done"));
    assert_eq!(unknown.0, Rule::RecordKnown, "the kernel counts");
    let back = no(&mut world, &bob(), "memory.step", &step("stp_1", "todo"));
    assert_eq!(back.0, Rule::RecordStep);
    // Steps keep their numbers, and new ones get others.
    let steps = json!([{ "text": "c" }, { "text": "b!", "id": "stp_2" },
        { "text": "a", "id": "stp_1", "status": "done" }]);
    let args = json!({ "id": plan, "fields": { "steps": steps } });
    ok(&mut world, &alice(), "memory.update", &args);
    let ids: Vec<String> =
        get(&world, plan).fields.steps.iter().map(|own| own.id.unwrap().to_string()).collect();
    assert_eq!(ids, ["stp_3", "stp_2", "stp_1"]);
    let only = json!({ "id": plan, "fields": { "steps": [{ "text": "b", "id": "stp_2" }] } });
    ok(&mut world, &alice(), "memory.update", &only);
    let more = json!({ "id": plan,
        "fields": { "steps": [{ "text": "b", "id": "stp_2" }, { "text": "d" }] } });
    let made = ok(&mut world, &alice(), "memory.update", &more);
    assert_eq!(made["fields"]["steps"][1]["id"], "stp_4", "a number is given once");
    let wrong = json!({ "id": plan, "fields": { "steps": [{ "text": "x", "id": "stp_1" }] } });
    assert_eq!(no(&mut world, &alice(), "memory.update", &wrong).0, Rule::RecordField);
    ok(&mut world, &bob(), "memory.step", &step("stp_2", "in_progress"));
    ok(&mut world, &bob(), "memory.step", &step("stp_2", "done"));
    let last = ok(&mut world, &bob(), "memory.step", &step("stp_4", "done"));
    assert_eq!(last["auto_completed"], true);
    assert_eq!(effects(&last), [side_effect("released", RecordId::claim(epoch))]);
    assert_eq!(get(&world, plan).status, Status::Done);
    assert!(get(&world, plan).fields.completed_at.is_some());
    let late = no(&mut world, &bob(), "memory.step", &step("stp_4", "done"));
    assert_eq!(late.0, Rule::RecordStep);
    sound(&world);
}

#[test]
fn plans_do_not_wait_for_each_other_in_a_circle() {
    let mut world = World::new();
    let plans: Vec<RecordId> = (0..3).map(|_| create(&mut world, Kind::Plan)).collect();
    let after =
        |a: usize, b: usize| json!({ "id": plans[a], "fields": { "depends_on": [plans[b]] } });
    ok(&mut world, &alice(), "memory.update", &after(0, 1));
    ok(&mut world, &alice(), "memory.update", &after(1, 2));
    for args in [after(2, 0), after(2, 2)] {
        assert_eq!(no(&mut world, &alice(), "memory.update", &args).0, Rule::RecordLinks);
    }
    let wrong = json!({ "kind": "plan", "text": "t", "fields": { "depends_on": ["pln#99"] } });
    assert_eq!(no(&mut world, &alice(), "memory.create", &wrong).0, Rule::RecordLinks);
    let items = |ranks: [u32; 2]| {
        json!({ "kind": "sequence", "text": "t", "fields": { "items": [
            { "plan": plans[0], "rank": ranks[0] },
            { "plan": plans[1], "rank": ranks[1], "hard_after": [plans[0]] }] } })
    };
    let (rule, why) = no(&mut world, &alice(), "memory.create", &items([1, 1]));
    assert_eq!(rule, Rule::RecordLinks);
    assert!(why.contains("rank"), "{why}");
    ok(&mut world, &alice(), "memory.create", &items([1, 2]));
    sound(&world);
}

#[test]
fn an_accepted_candidate_becomes_what_it_is_a_candidate_for() {
    let mut world = World::new();
    let args = json!({ "kind": "candidate", "text": "beware", "tags": ["x"],
        "fields": { "candidate_type": "trap", "severity": "high", "origin": "o" } });
    let id = id_of(&ok(&mut world, &alice(), "memory.create", &args));
    let reply = go(&mut world, &bob(), id, "accepted");
    let trap = RecordId { kind: Kind::Trap, number: 1 };
    assert_eq!(effects(&reply), [side_effect("promoted", trap)]);
    let made = get(&world, trap);
    assert_eq!((made.text.as_str(), made.author.clone()), ("beware", alice().principal));
    assert_eq!(made.tags, get(&world, id).tags);
    let fields = serde_json::to_value(&made.fields).unwrap();
    assert_eq!((&fields["severity"], &fields["visibility"]), (&json!("high"), &json!("shared")));
    assert!(fields["candidate_type"].is_null() && fields["origin"].is_null());
    assert_eq!(get(&world, id).fields.promoted_to, Some(trap));
    assert!(!get(&world, id).is_live());
    let second = id_of(&ok(&mut world, &alice(), "memory.create", &args));
    let merge = |into: Value| json!({ "id": second, "to": "merged", "merged_into": into });
    assert_eq!(no(&mut world, &bob(), "memory.move", &merge(Value::Null)).0, Rule::RecordField);
    for wrong in [json!("pln#1"), json!("trp#9"), json!(second)] {
        assert_eq!(no(&mut world, &bob(), "memory.move", &merge(wrong)).0, Rule::RecordLinks);
    }
    ok(&mut world, &bob(), "memory.move", &merge(json!(trap)));
    assert_eq!(get(&world, second).fields.merged_into, Some(trap));
    sound(&world);
}

#[test]
fn a_correction_and_what_it_corrects_name_each_other() {
    let mut world = World::new();
    let correct = |of: RecordId| json!({ "kind": "handoff", "text": "better", "fields": { "supersedes": of } });
    let first = create(&mut world, Kind::Handoff);
    let second = id_of(&ok(&mut world, &bob(), "memory.create", &correct(first)));
    assert_eq!(get(&world, first).fields.superseded_by, Some(second));
    assert_eq!(get(&world, second).fields.supersedes, Some(first));
    assert_eq!(get(&world, second).fields.from.as_ref().unwrap().as_str(), "bob");
    assert_eq!(no(&mut world, &bob(), "memory.create", &correct(first)).0, Rule::RecordLinks);
    let update = json!({ "id": first, "fields": { "narrative": "n" } });
    assert_eq!(no(&mut world, &bob(), "memory.update", &update).0, Rule::RecordStep);
    go(&mut world, &bob(), second, "accepted");
    go(&mut world, &bob(), second, "closed");
    assert_eq!(no(&mut world, &bob(), "memory.create", &correct(second)).0, Rule::RecordLinks);
    sound(&world);
}

#[test]
fn whoever_accepts_work_gets_the_lease_for_it_in_the_same_commit() {
    let mut world = World::new();
    let plan = create(&mut world, Kind::Plan);
    let given = claim(&mut world, &alice(), "src", plan);
    let id = assign(&mut world, &json!({ "agent": "bob", "plan_id": plan, "claim": given }));
    assert_eq!(get(&world, id).fields.dispatcher, Some(alice().principal));
    let reply = go(&mut world, &bob(), id, "accepted");
    let taken = given + 1;
    let expected = [("handed_over", given), ("opened", taken)];
    let expected = expected.map(|(action, epoch)| side_effect(action, RecordId::claim(epoch)));
    assert_eq!(effects(&reply), expected);
    assert_eq!(holder_of(&world, given), None);
    assert_eq!(holder_of(&world, taken).as_deref(), Some("agent:bob"));
    assert_eq!(get(&world, id).fields.claim, Some(taken));
    world.run(&bob(), "lease.open", r#"{"surfaces":["src/x"]}"#).unwrap();
    assert_eq!(world.claim(&carol(), &["src/y"], 60).unwrap_err().rule, Rule::NoOverlap);
    go(&mut world, &bob(), id, "started");
    let done = json!({ "id": id, "to": "completed", "plan_status": "done", "reason": "r" });
    let reply = ok(&mut world, &bob(), "memory.move", &done);
    assert_eq!(
        effects(&reply),
        [side_effect("released", RecordId::claim(taken)), side_effect("moved", plan)]
    );
    assert_eq!((get(&world, plan).status, holder_of(&world, taken)), (Status::Done, None));
    let stamps: Vec<_> = ["offered", "accepted", "started", "completed"]
        .map(|status| get(&world, id).fields.stamps[&Status::named(status).unwrap()])
        .to_vec();
    assert!(stamps.is_sorted());
    sound(&world);
    forged(&world);
}

/// Leases that end or begin without the step that says so do not pass.
fn forged(world: &World) {
    let mut tried = 0;
    for (place, entry) in world.entries.iter().enumerate() {
        let about_lease =
            matches!(entry.draft.event, Event::LeaseReleased(_) | Event::LeaseOpened(_));
        if about_lease && entry.draft.actor == Actor::Protocol {
            let mut other = entry.clone();
            other.draft.causation = None;
            assert!(world.with(place, other).is_err());
            let mut other = entry.clone();
            match &mut other.draft.event {
                Event::LeaseOpened(body) => body.epoch += 1,
                _ => other.draft.actor = carol().principal.into(),
            }
            assert!(world.with(place, other.clone()).is_err(), "{other:?}");
            tried += 2;
        }
        if let Event::MemoryMoved(body) = &entry.draft.event {
            let mut other = entry.clone();
            let mut body = body.clone();
            body.effects.clear();
            body.to = Status::Cancelled;
            other.draft.event = Event::MemoryMoved(body);
            assert!(world.with(place, other.clone()).is_err(), "{other:?}");
            let mut other = entry.clone();
            other.draft.actor = carol().principal.into();
            assert!(world.with(place, other.clone()).is_err(), "{other:?}");
            tried += 2;
        }
    }
    assert!(tried >= 8, "{tried}");
}

#[test]
fn a_plan_others_work_on_stays_open_and_a_blocked_one_is_blocked() {
    let mut world = World::new();
    let plan = create(&mut world, Kind::Plan);
    let fields = json!({ "agent": "bob", "plan_id": plan });
    let (one, other) = (assign(&mut world, &fields), assign(&mut world, &fields));
    for id in [one, other] {
        go(&mut world, &bob(), id, "accepted");
        go(&mut world, &bob(), id, "started");
    }
    let done = |id: RecordId| json!({ "id": id, "to": "completed", "plan_status": "done" });
    let reply = ok(&mut world, &bob(), "memory.move", &done(one));
    assert_eq!(effects(&reply), [side_effect("kept_open", plan)]);
    assert_eq!(get(&world, plan).status, Status::Open);
    let blocked = json!({ "id": other, "to": "blocked", "plan_status": "blocked" });
    ok(&mut world, &bob(), "memory.move", &blocked);
    assert_eq!(get(&world, plan).status, Status::Blocked);
    go(&mut world, &bob(), other, "started");
    go(&mut world, &alice(), plan, "in_progress");
    let epoch = claim(&mut world, &carol(), "src", plan);
    let fork = world.fork();
    let reply = ok(&mut world, &bob(), "memory.move", &done(other));
    assert_eq!(effects(&reply), [side_effect("kept_open", plan)], "carol is at it");
    sound(&world);
    let mut world = fork;
    let lease = world.state.lease_of_epoch(epoch).unwrap().0.clone();
    world.run(&carol(), "lease.release", &json!({ "lease": lease }).to_string()).unwrap();
    ok(&mut world, &bob(), "memory.move", &done(other));
    assert_eq!(get(&world, plan).status, Status::Done);
}

#[test]
fn an_assignment_is_its_agents_to_report_on() {
    let mut world = World::new();
    world.run(&carol(), "agent.register", "{}").unwrap();
    let id = assign(&mut world, &json!({ "agent": "bob" }));
    for who in [alice(), carol()] {
        let (rule, _) = no(&mut world, &who, "memory.move", &json!({ "id": id, "to": "accepted" }));
        assert_eq!(rule, Rule::RecordOwner);
    }
    go(&mut world, &bob(), id, "accepted");
    let early = no(&mut world, &bob(), "memory.progress", &json!({ "id": id }));
    assert_eq!(early.0, Rule::RecordStep);
    go(&mut world, &bob(), id, "started");
    let version = get(&world, id).version;
    world.pass(60);
    let beat = go(&mut world, &bob(), id, "started");
    assert_eq!((&beat["changed"], get(&world, id).version), (&json!(false), version));
    assert_eq!(get(&world, id).fields.last_heartbeat_at, Some(world.last().at));
    assert_eq!(
        world.ask("memory.changes", &json!({ "since": world.state.seq() - 1 }).to_string())["total"],
        0
    );
    for n in 1..=3 {
        world.pass(60);
        let args = json!({ "id": id, "text": format!("{n} of 3"),
            "artifacts": [{ "type": "file", "ref": format!("f{n}") }] });
        ok(&mut world, &bob(), "memory.progress", &args);
        for who in [alice(), carol()] {
            assert_eq!(no(&mut world, &who, "memory.progress", &args).0, Rule::RecordOwner);
        }
    }
    let own = get(&world, id);
    assert_eq!((own.fields.artifacts.len(), own.version), (3, version + 3));
    assert_eq!(own.fields.status_reason.unwrap().as_str(), "3 of 3");
    for to in ["cancelled", "rerouted", "completed"] {
        let (rule, _) = no(&mut world, &carol(), "memory.move", &json!({ "id": id, "to": to }));
        assert_eq!(rule, Rule::RecordOwner);
    }
    let update = json!({ "id": id, "text": "other" });
    assert_eq!(no(&mut world, &carol(), "memory.update", &update).0, Rule::RecordOwner);
    let archive = json!({ "id": id });
    assert_eq!(no(&mut world, &carol(), "memory.archive", &archive).0, Rule::RecordOwner);
    assert_eq!(no(&mut world, &bob(), "memory.archive", &archive).0, Rule::RecordOwner);
    let before = get(&world, id);
    let person = json!({ "id": id, "to": "cancelled" });
    let mut other = world.fork();
    go(&mut other, &user("ada"), id, "cancelled");
    sound(&other);
    assert_eq!(get(&world, id), before);
    let own = &[Capability::CreateWorkspace, Capability::AbortOwn];
    let eve = crate::run::person_with(&mut world, "eve", own);
    assert_eq!(no(&mut world, &eve, "memory.move", &person).0, Rule::Capability);
    go(&mut world, &alice(), id, "cancelled");
    sound(&world);
}

#[test]
fn work_is_forced_by_its_dispatcher_and_retried_as_often_as_it_may() {
    let mut world = World::new();
    let id = assign(&mut world, &json!({ "agent": "bob", "max_retries": 1 }));
    let to = |to: &str| json!({ "id": id, "to": to });
    let force = |to: &str| json!({ "id": id, "to": to, "forced": true });
    assert_eq!(no(&mut world, &alice(), "memory.move", &to("completed")).0, Rule::RecordOwner);
    assert_eq!(no(&mut world, &bob(), "memory.move", &to("completed")).0, Rule::RecordStep);
    assert_eq!(no(&mut world, &bob(), "memory.move", &force("completed")).0, Rule::RecordOwner);
    ok(&mut world, &alice(), "memory.move", &force("failed"));
    go(&mut world, &alice(), id, "retrying");
    let own = get(&world, id).fields;
    assert_eq!((own.attempt, own.retry_count), (Some(2), Some(1)));
    go(&mut world, &alice(), id, "offered");
    go(&mut world, &bob(), id, "failed");
    let (rule, why) = no(&mut world, &alice(), "memory.move", &to("retrying"));
    assert_eq!(rule, Rule::RecordStep);
    assert!(why.contains("the maximum"), "{why}");
    ok(&mut world, &alice(), "memory.move", &force("completed"));
    assert_eq!(no(&mut world, &alice(), "memory.move", &force("failed")).0, Rule::RecordStep);
    let plan = create(&mut world, Kind::Plan);
    let forced = json!({ "id": plan, "to": "done", "forced": true });
    assert_eq!(no(&mut world, &alice(), "memory.move", &forced).0, Rule::RecordField);
    sound(&world);
}

#[test]
fn rerouted_work_goes_to_another_with_its_lease() {
    let mut world = World::new();
    let plan = create(&mut world, Kind::Plan);
    let epoch = claim(&mut world, &alice(), "src", plan);
    let first = assign(&mut world, &json!({ "agent": "bob", "plan_id": plan, "claim": epoch }));
    let second = RecordId { number: first.number + 1, ..first };
    let args = json!({ "id": first, "to": "rerouted", "agent": "carol" });
    assert_eq!(no(&mut world, &alice(), "memory.move", &args).0, Rule::RecordLinks);
    world.run(&carol(), "agent.register", "{}").unwrap();
    // Offered and not taken up: the lease is alice's and stays hers.
    let mut other = world.fork();
    let reply = ok(&mut other, &alice(), "memory.move", &args);
    let shown = RecordId { kind: Kind::Message, number: 1 };
    assert_eq!(effects(&reply), [side_effect("created", second), side_effect("created", shown)]);
    assert_eq!(get(&other, second).fields.claim, Some(epoch));
    sound(&other);
    // Taken up: the lease was bob's.
    go(&mut world, &bob(), first, "accepted");
    let reply = ok(&mut world, &alice(), "memory.move", &args);
    let back = epoch + 2;
    let claims = [RecordId::claim(epoch + 1), RecordId::claim(back)];
    let expected = [
        side_effect("created", second),
        side_effect("created", shown),
        side_effect("handed_over", claims[0]),
        side_effect("opened", claims[1]),
    ];
    assert_eq!(effects(&reply), expected);
    assert_eq!(holder_of(&world, back).as_deref(), Some("agent:alice"));
    let made = get(&world, second);
    assert_eq!((made.status, made.fields.claim), (Status::Offered, Some(back)));
    assert_eq!(made.fields.agent.as_ref().unwrap().as_str(), "carol");
    assert_eq!(made.fields.supersedes, Some(first));
    assert_eq!(get(&world, first).fields.superseded_by, Some(second));
    go(&mut world, &carol(), second, "accepted");
    assert_eq!(holder_of(&world, back + 1).as_deref(), Some("agent:carol"));
    let gone = ok(&mut world, &alice(), "memory.archive", &json!({ "id": second }));
    let message = made.fields.message_id.unwrap();
    let expected =
        [side_effect("released", RecordId::claim(back + 1)), side_effect("moved", message)];
    assert_eq!(effects(&gone), expected);
    sound(&world);
}

fn sweep(world: &mut World, signs: &[(RecordId, u64, &str)]) -> Vec<(RecordId, String)> {
    let signs: Vec<Value> = signs
        .iter()
        .map(|(id, ago, what)| {
            let at = world.now.micros().saturating_sub(ago * 1_000_000);
            json!({ "id": id, "at": at, "evidence": what })
        })
        .collect();
    let reply = ok(world, &alice(), "memory.sweep", &json!({ "signs": signs }));
    let moved = reply["moved"].as_array().unwrap().iter();
    moved.map(|own| (id_of(own), own["to"].as_str().unwrap().to_owned())).collect()
}

#[test]
fn a_sweep_gives_nothing_up_that_shows_a_sign_of_life() {
    let mut world = World::new();
    world.run(&carol(), "agent.register", "{}").unwrap();
    let plan = create(&mut world, Kind::Plan);
    let epoch = claim(&mut world, &alice(), "src", plan);
    let silent = assign(&mut world, &json!({ "agent": "bob", "claim": epoch }));
    let seen = assign(&mut world, &json!({ "agent": "bob" }));
    let stale = assign(&mut world, &json!({ "agent": "bob" }));
    let ahead = assign(&mut world, &json!({ "agent": "bob" }));
    world.pass(15 * 60 - 1);
    assert_eq!(sweep(&mut world, &[]), [], "its time is not over");
    world.pass(2);
    let fork = world.fork();
    assert_eq!(ok(&mut world, &carol(), "memory.sweep", &json!({}))["moved"], json!([]));
    let count = world.entries.len();
    let future = (ahead, 0, "ack_file");
    let mut signs = vec![(seen, 600, "commit"), (stale, 2000, "commit"), future];
    // Far ahead of the clock is no sign at all.
    let far = json!({ "signs": [{ "id": ahead, "at": world.now.micros() + 301_000_000,
        "evidence": "ack_file" }] });
    let mut other = fork;
    let swept = ok(&mut other, &alice(), "memory.sweep", &far);
    assert_eq!(swept["moved"].as_array().unwrap().len(), 4);
    assert_eq!(get(&other, ahead).status, Status::Expired);
    sound(&other);
    signs.truncate(2);
    let mut moved = sweep(&mut world, &signs);
    moved.sort();
    let expired = |id: RecordId| (id, "expired".to_owned());
    let expected = [expired(silent), (seen, "accepted".to_owned()), expired(stale), expired(ahead)];
    assert_eq!(moved, expected);
    assert_eq!(holder_of(&world, epoch), None, "nobody works under it");
    let kinds = world.entries[count..].iter().map(|entry| entry.draft.event.kind());
    let own: Vec<_> = kinds.filter(|kind| !kind.as_str().starts_with("workspace_")).collect();
    let expected = [Entry::MemorySwept, Entry::LeaseReleased, Entry::SignalEmitted];
    assert!(expected.iter().all(|kind| own.contains(kind)), "{own:?}");
    assert_eq!(own.iter().filter(|kind| **kind == Entry::MemorySwept).count(), 1, "one for all");
    go(&mut world, &bob(), stale, "completed");
    world.pass(15 * 60 + 1);
    assert_eq!(sweep(&mut world, &[(seen, 1200, "commit")]), [(seen, "timed_out".to_owned())]);
    go(&mut world, &alice(), seen, "retrying");
    go(&mut world, &alice(), seen, "offered");
    go(&mut world, &bob(), seen, "accepted");
    world.pass(15 * 60 + 1);
    let fresh = [(seen, 100, "worktree_file")];
    assert_eq!(sweep(&mut world, &fresh), [(seen, "started".to_owned())]);
    world.pass(30 * 60 + 1);
    assert_eq!(sweep(&mut world, &fresh), [(seen, "started".to_owned())], "heard of");
    assert!(get(&world, seen).is_overdue(world.now.after(althing_kernel::Span::from_secs(1700))));
    world.pass(30 * 60 + 1);
    assert_eq!(sweep(&mut world, &[]), [(seen, "timed_out".to_owned())]);
    sound(&world);
}

#[test]
fn nobody_takes_up_work_on_what_another_holds() {
    let mut world = World::new();
    let plan = create(&mut world, Kind::Plan);
    let epoch = claim(&mut world, &alice(), "src/a", plan);
    let wide = claim(&mut world, &alice(), "src", plan);
    let id = assign(&mut world, &json!({ "agent": "bob", "claim": epoch }));
    let accept = json!({ "id": id, "to": "accepted" });
    let (rule, message) = no(&mut world, &bob(), "memory.move", &accept);
    assert_eq!(rule, Rule::NoOverlap);
    assert!(message.contains("overlaps src, held by agent:alice"), "{message}");
    assert_eq!(get(&world, id).status, Status::Offered);
    assert_eq!(holder_of(&world, epoch).as_deref(), Some("agent:alice"));
    let lease = world.state.lease_of_epoch(wide).unwrap().0.clone();
    world.run(&alice(), "lease.release", &json!({ "lease": lease }).to_string()).unwrap();
    let reply = go(&mut world, &bob(), id, "accepted");
    assert_eq!(effects(&reply).len(), 2, "now it goes over");
    assert_eq!(holder_of(&world, epoch), None);
    sound(&world);
}

#[test]
fn a_lease_that_two_are_worked_on_under_ends_once() {
    let mut world = World::new();
    let plan = create(&mut world, Kind::Plan);
    let epoch = claim(&mut world, &alice(), "src", plan);
    let fields = json!({ "agent": "bob", "claim": epoch });
    let ids = [assign(&mut world, &fields), assign(&mut world, &fields)];
    world.pass(15 * 60 + 1);
    let mut other = world.fork();
    assert_eq!(sweep(&mut world, &[]).len(), 2);
    assert_eq!(holder_of(&world, epoch), None);
    sound(&world);
    let slots = json!([{ "id": "a", "agent": "bob", "assignment": ids[0] },
        { "id": "b", "agent": "bob", "assignment": ids[1] }]);
    let args = json!({ "kind": "loop", "text": "t",
        "fields": { "loop_kind": "review", "slots": slots } });
    let id = id_of(&ok(&mut other, &alice(), "memory.create", &args));
    let reply = go(&mut other, &alice(), id, "cancelled");
    let lease = RecordId::claim(epoch);
    let expected = [
        side_effect("moved", ids[0]),
        side_effect("released", lease),
        side_effect("moved", ids[1]),
        side_effect("already_over", lease),
    ];
    assert_eq!(effects(&reply), expected);
    sound(&other);
}

#[test]
fn a_stuck_assignment_converges_and_one_that_says_what_is_the_matter_does_not() {
    let mut world = World::new();
    let id = assign(&mut world, &json!({ "agent": "bob" }));
    let end = |id: RecordId, to: &str| json!({ "id": id, "to": to });
    let bad = no(&mut world, &alice(), "memory.converge", &end(id, "failed"));
    assert_eq!(bad.0, Rule::RecordStep);
    let reply = ok(&mut world, &alice(), "memory.converge", &end(id, "completed"));
    assert_eq!((&reply["from"], &reply["changed"]), (&json!("offered"), &json!(true)));
    let again = ok(&mut world, &alice(), "memory.converge", &end(id, "cancelled"));
    assert_eq!((&again["to"], &again["changed"]), (&json!("completed"), &json!(false)));
    let missing = RecordId { number: 99, ..id };
    let none = ok(&mut world, &alice(), "memory.converge", &end(missing, "completed"));
    assert_eq!(none["changed"], false);
    for stuck in ["failed", "blocked"] {
        let id = assign(&mut world, &json!({ "agent": "bob" }));
        go(&mut world, &bob(), id, "accepted");
        go(&mut world, &bob(), id, "started");
        go(&mut world, &bob(), id, stuck);
        let reply = ok(&mut world, &alice(), "memory.converge", &end(id, "completed"));
        assert_eq!((&reply["to"], &reply["changed"]), (&json!(stuck), &json!(false)));
    }
    sound(&world);
}

#[test]
fn turns_in_a_loop_are_the_slots_and_its_assignments_end_with_it() {
    let mut world = World::new();
    world.run(&carol(), "agent.register", "{}").unwrap();
    let running = assign(&mut world, &json!({ "agent": "bob" }));
    let failed = assign(&mut world, &json!({ "agent": "bob" }));
    let idle = assign(&mut world, &json!({ "agent": "carol" }));
    go(&mut world, &bob(), failed, "failed");
    let slots = json!([{ "id": "a", "agent": "bob", "assignment": running },
        { "id": "b", "agent": "bob", "assignment": failed },
        { "id": "d", "agent": "carol", "assignment": idle }]);
    let args = json!({ "kind": "loop", "text": "t",
        "fields": { "loop_kind": "review", "slots": slots } });
    let id = id_of(&ok(&mut world, &alice(), "memory.create", &args));
    let turn = |slot: &str| json!({ "loop": id, "slot": slot, "outcome": "fine" });
    assert_eq!(no(&mut world, &carol(), "memory.turn", &turn("a")).0, Rule::RecordOwner);
    assert_eq!(no(&mut world, &bob(), "memory.turn", &turn("c")).0, Rule::RecordKnown);
    let reply = ok(&mut world, &bob(), "memory.turn", &turn("a"));
    assert_eq!(effects(&reply), [side_effect("moved", running)], "its work is over with it");
    ok(&mut world, &alice(), "memory.turn", &turn("b"));
    assert_eq!(no(&mut world, &bob(), "memory.turn", &turn("a")).0, Rule::RecordStep);
    let next = json!({ "id": id, "act": { "advance": {} } });
    assert_eq!(no(&mut world, &carol(), "memory.loop", &next).0, Rule::RecordOwner);
    ok(&mut world, &alice(), "memory.loop", &next);
    assert!(get(&world, id).fields.slots.iter().all(|slot| !slot.done));
    let close = json!({ "id": id, "to": "completed" });
    assert_eq!(no(&mut world, &bob(), "memory.move", &close).0, Rule::RecordOwner);
    let never = json!({ "id": id, "to": "failed" });
    assert_eq!(no(&mut world, &alice(), "memory.move", &never).0, Rule::RecordStep);
    let reply = ok(&mut world, &alice(), "memory.move", &close);
    assert_eq!(effects(&reply), [side_effect("moved", idle)]);
    assert_eq!(get(&world, idle).status, Status::Completed);
    assert_eq!(get(&world, running).status, Status::Completed);
    assert_eq!(get(&world, failed).status, Status::Failed, "it says what is the matter");
    assert_eq!(no(&mut world, &bob(), "memory.turn", &turn("a")).0, Rule::RecordStep);
    sound(&world);
}

#[test]
fn nobodys_lease_but_ones_own_is_given_out_with_work() {
    let mut world = World::new();
    let plan = create(&mut world, Kind::Plan);
    let his = claim(&mut world, &bob(), "a", plan);
    let fields = json!({ "agent": "bob", "claim": his });
    let args = json!({ "kind": "assignment", "text": "t", "fields": fields });
    assert_eq!(no(&mut world, &alice(), "memory.create", &args).0, Rule::RecordLinks);
    let offered = assign(&mut world, &json!({ "agent": "bob" }));
    let args = json!({ "id": offered, "fields": { "claim": his } });
    assert_ne!(no(&mut world, &alice(), "memory.update", &args).1, "");
    go(&mut world, &alice(), offered, "cancelled");
    assert_eq!(holder_of(&world, his).as_deref(), Some("agent:bob"));
    sound(&world);
}

#[test]
fn a_loop_ends_only_what_its_author_gave_out_and_its_places_are_its_authors() {
    let mut world = World::new();
    let foreign = assign(&mut world, &json!({ "agent": "bob" }));
    let slots = |assignment: Option<RecordId>, done: bool| {
        let mut slot = json!({ "id": "s", "agent": "bob", "done": done });
        if let Some(id) = assignment {
            slot["assignment"] = json!(id);
        }
        json!([slot])
    };
    let open = |slots: Value| {
        let fields = json!({ "loop_kind": "review", "slots": slots });
        json!({ "kind": "loop", "text": "t", "fields": fields })
    };
    let args = open(slots(Some(foreign), false));
    assert_eq!(no(&mut world, &carol(), "memory.create", &args).0, Rule::RecordLinks);
    let own = id_of(&ok(&mut world, &carol(), "memory.create", &open(slots(None, false))));
    // Whoever has a place says what came of its turn, and changes no places.
    let args = json!({ "id": own, "fields": { "slots": slots(None, true) } });
    assert_eq!(no(&mut world, &bob(), "memory.update", &args).0, Rule::RecordOwner);
    ok(&mut world, &bob(), "memory.turn", &json!({ "loop": own, "slot": "s", "outcome": "o" }));
    assert_eq!(get(&world, foreign).status, Status::Offered);
    sound(&world);
}

#[test]
fn an_agent_does_not_write_in_a_persons_name() {
    let mut world = World::new();
    let args = |kind: &str| json!({ "kind": "plan", "text": "t", "provenance": { "kind": kind } });
    assert_eq!(no(&mut world, &alice(), "memory.create", &args("human")).0, Rule::RecordField);
    for kind in ["agent", "auto", "legacy"] {
        ok(&mut world, &alice(), "memory.create", &args(kind));
    }
}

#[test]
fn whoever_says_again_that_work_was_taken_up_is_not_given_up() {
    let mut world = World::new();
    let id = assign(&mut world, &json!({ "agent": "bob", "acceptance_ttl_secs": 60 }));
    go(&mut world, &bob(), id, "accepted");
    world.pass(50);
    go(&mut world, &bob(), id, "accepted");
    world.pass(50);
    let swept = ok(&mut world, &alice(), "memory.sweep", &json!({}));
    assert_eq!(swept["moved"].as_array().map(Vec::len), Some(0), "{swept}");
    world.pass(50);
    let elsewhere = json!({ "looked_at": [] });
    let swept = ok(&mut world, &alice(), "memory.sweep", &elsewhere);
    assert_eq!(swept["moved"].as_array().map(Vec::len), Some(0), "nobody looked at it");
    ok(&mut world, &alice(), "memory.sweep", &json!({}));
    assert_eq!(get(&world, id).status, Status::TimedOut);
    sound(&world);
}
