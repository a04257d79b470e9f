//! An attempt is a workspace and an assignment: whichever vocabulary moves it, both show the step.

use crate::memory::{alice, bob, create, get, id_of, no, ok, sound};
use crate::plans::{plan_of, planned};
use crate::run::{Run, payload};
use crate::support::{World, agent, user};
use althing_kernel::records::{Kind, Record, RecordId, Status as Word};
use althing_kernel::workspace::{Status, Trigger, Workspace};
use althing_kernel::{Caller, Rule, WorkspaceId};
use serde_json::{Value, json};

fn newest(world: &World) -> Record {
    world.state.memory().newest(Kind::Assignment, None).next().unwrap().clone()
}

fn at(world: &World, assignment: RecordId) -> WorkspaceId {
    get(world, assignment).fields.workspace.clone().unwrap()
}

fn known(world: &World, id: &WorkspaceId) -> Workspace {
    let (_, known) = world.state.workspaces().find(|(own, _)| *own == id).unwrap();
    Workspace::clone(known)
}

/// How both vocabularies see an attempt.
fn both(world: &World, assignment: RecordId) -> (Word, Status) {
    let own = get(world, assignment);
    (own.status, known(world, own.fields.workspace.as_ref().unwrap()).status)
}

/// Offers work to bob, of alice's, outside any run.
fn offered(world: &mut World) -> (RecordId, RecordId) {
    let plan = create(world, Kind::Plan);
    let lane = json!({ "fields": { "agent": "bob", "plan_id": plan }, "surfaces": ["src"],
        "text": "t" });
    ok(world, &alice(), "memory.offer", &json!({ "lanes": [lane] }));
    (newest(world).id, plan)
}

fn moves(world: &mut World, who: &Caller, id: RecordId, to: &str) -> Value {
    ok(world, who, "memory.move", &json!({ "id": id, "to": to, "reason": "r" }))
}

fn says(world: &mut World, who: &Caller, id: &WorkspaceId, kind: &str) -> Value {
    let text = json!({ "workspace": id, "type": kind, "reason": "r" });
    ok(world, who, "signal.emit", &text)
}

fn world() -> World {
    let mut world = World::new();
    for who in [alice(), bob(), agent("carol")] {
        world.run(&who, "agent.register", "{}").unwrap();
    }
    world
}

#[test]
fn the_verbs_for_records_move_the_workspace() {
    let mut world = world();
    let (id, _) = offered(&mut world);
    let here = at(&world, id);
    assert_eq!(both(&world, id), (Word::Offered, Status::Idle));
    for (to, then) in [
        ("accepted", Status::Active),
        ("started", Status::Active),
        ("blocked", Status::Blocked),
        ("started", Status::Active),
    ] {
        moves(&mut world, &bob(), id, to);
        assert_eq!(both(&world, id).1, then, "{to}");
        sound(&world);
    }
    let shown = world.ask("workspace.get", &json!({ "workspace": here }).to_string());
    assert_eq!((&shown["assignment"], &shown["place"]), (&json!(id), &json!("open_attempt")));
    assert_eq!((&shown["agent"], &shown["authority"]), (&json!("bob"), &json!(["src"])));
    moves(&mut world, &bob(), id, "completed");
    assert_eq!(both(&world, id), (Word::Completed, Status::Closed), "nothing is to be merged");
    sound(&world);
}

#[test]
fn signals_move_the_assignment() {
    let mut world = world();
    let (id, plan) = offered(&mut world);
    let here = at(&world, id);
    for (text, then) in [
        ("ready", Word::Accepted),
        ("started", Word::Started),
        ("blocked", Word::Blocked),
        ("complete", Word::Blocked),
        ("started", Word::Started),
    ] {
        let reply = says(&mut world, &bob(), &here, text);
        assert_eq!(get(&world, id).status, then, "{text}");
        assert_eq!(reply["effect"], json!(text != "complete"), "{text}");
        sound(&world);
    }
    assert_eq!(get(&world, plan).status, Word::Blocked, "the plan was said to be stuck");
    says(&mut world, &bob(), &here, "complete");
    assert_eq!(both(&world, id), (Word::Completed, Status::Closed));
    assert!(world.leases().is_empty(), "its claim ends with it");
    let (id, _) = offered(&mut world);
    let here = at(&world, id);
    says(&mut world, &bob(), &here, "started");
    assert_eq!(both(&world, id), (Word::Started, Status::Active), "starting accepts");
    says(&mut world, &bob(), &here, "failed");
    assert_eq!(both(&world, id), (Word::Failed, Status::Failed));
    sound(&world);
}

#[test]
fn an_attempt_outside_runs_makes_checkpoints_and_its_dispatcher_merges_them() {
    let mut world = world();
    let (id, _) = offered(&mut world);
    let here = at(&world, id);
    says(&mut world, &bob(), &here, "started");
    let files = |path: &str| json!([{ "path": path, "content": payload(4)["content"] }]);
    let made = |path: &str| {
        json!({ "workspace": here, "type": "artifact", "intent": "i", "status": "final",
            "files_changed": files(path) })
    };
    let (rule, _) = no(&mut world, &bob(), "checkpoint.create", &made("docs/a"));
    assert_eq!(rule, Rule::Authority, "what it may change is its claim");
    ok(&mut world, &bob(), "checkpoint.create", &made("src/a"));
    moves(&mut world, &bob(), id, "completed");
    assert_eq!(both(&world, id), (Word::Completed, Status::Integrating));
    let accept = json!({ "workspace": here, "decision": "accept" });
    assert_eq!(no(&mut world, &bob(), "integration.decide", &accept).0, Rule::Integrator);
    ok(&mut world, &alice(), "integration.decide", &accept);
    assert_eq!(both(&world, id), (Word::Completed, Status::Closed));
    // What is turned down is not completed.
    let (id, _) = offered(&mut world);
    let here = at(&world, id);
    says(&mut world, &bob(), &here, "started");
    let again = json!({ "workspace": here, "type": "artifact", "intent": "i", "status": "final",
        "files_changed": files("src/b") });
    ok(&mut world, &bob(), "checkpoint.create", &again);
    says(&mut world, &bob(), &here, "complete");
    let reject = json!({ "workspace": here, "decision": "reject", "reason": "no" });
    ok(&mut world, &alice(), "integration.decide", &reject);
    assert_eq!(both(&world, id), (Word::Failed, Status::Failed));
    sound(&world);
}

#[test]
fn cancelling_rerouting_and_time_outs_end_the_workspace() {
    let mut world = world();
    let (id, _) = offered(&mut world);
    let here = at(&world, id);
    let abort = json!({ "workspace": here, "reason": "r" });
    assert_eq!(no(&mut world, &agent("carol"), "workspace.abort", &abort).0, Rule::RecordOwner);
    ok(&mut world, &alice(), "workspace.abort", &abort);
    assert_eq!(both(&world, id), (Word::Cancelled, Status::Failed));
    assert_eq!(known(&world, &here).ended, Some(Trigger::AbortedByCoordinator));

    let (id, _) = offered(&mut world);
    let here = at(&world, id);
    let migrate = json!({ "workspace": here, "agent": "carol" });
    let next = ok(&mut world, &alice(), "workspace.migrate", &migrate);
    assert_eq!(both(&world, id), (Word::Rerouted, Status::Failed));
    let next: RecordId = serde_json::from_value(next["assignment"].clone()).unwrap();
    assert_eq!(get(&world, next).agent().unwrap().as_str(), "carol");
    assert_eq!(both(&world, next), (Word::Offered, Status::Idle));
    moves(&mut world, &alice(), next, "cancelled");

    let (id, _) = offered(&mut world);
    moves(&mut world, &bob(), id, "accepted");
    world.pass(15 * 60 + 1);
    ok(&mut world, &alice(), "memory.sweep", &json!({}));
    assert_eq!(both(&world, id), (Word::TimedOut, Status::Failed));
    let before = at(&world, id);
    moves(&mut world, &alice(), id, "retrying");
    moves(&mut world, &alice(), id, "offered");
    assert_eq!(both(&world, id), (Word::Offered, Status::Idle));
    assert_ne!(at(&world, id), before, "another attempt is another workspace");
    ok(&mut world, &alice(), "memory.archive", &json!({ "id": id }));
    assert!(
        world
            .state
            .workspaces()
            .all(|(_, known)| { known.status.is_terminal() || known.parent.is_none() })
    );
    sound(&world);
}

#[test]
fn orders_that_need_a_run_say_so() {
    let mut world = world();
    let (id, _) = offered(&mut world);
    let here = at(&world, id);
    says(&mut world, &bob(), &here, "started");
    world.run(&user("ada"), "run.start", r#"{"agent":"carol"}"#).unwrap();
    let suspend = json!({ "workspace": here });
    let (rule, message) = no(&mut world, &user("ada"), "workspace.suspend", &suspend);
    assert_eq!(rule, Rule::OpenAttempt, "{message}");
    // The coordinator of a run has no say in what is dispatched outside it.
    let abort = json!({ "workspace": here });
    assert_eq!(both(&world, id).1, Status::Active);
    ok(&mut world, &user("ada"), "workspace.abort", &abort);
    assert_eq!(both(&world, id).1, Status::Failed);
    sound(&world);
}

/// A task of the run and the workspace that `w1` works on it in.
fn bound(run: &mut Run) -> (RecordId, WorkspaceId) {
    let task = planned(run, "a", &[]);
    let plan = plan_of(run, &task);
    let offer = json!({ "lanes": [{ "fields": { "agent": "w1", "plan_id": plan }, "text": "t",
        "surfaces": ["src"] }] });
    run.refused(&agent("w3"), "memory.offer", offer.clone(), "A-TASK-01");
    run.ok(&Run::lead(), "memory.offer", offer.clone());
    let id = newest(&run.world).id;
    run.ok(&Run::lead(), "memory.offer", offer);
    assert_eq!(newest(&run.world).id, id, "asked for again, it is the same offer");
    (id, at(&run.world, id))
}

#[test]
fn an_offer_of_a_runs_task_binds_a_workspace_and_memory_verbs_are_its_signals() {
    let mut run = Run::new();
    let (id, here) = bound(&mut run);
    let task = run.view(&here).task.unwrap();
    let state = |run: &Run| {
        let task = run.world.ask("task.get", &json!({ "task": task }).to_string());
        (task["status"].as_str().unwrap().to_owned(), both(&run.world, id))
    };
    let now = |task: &str, word, status| (task.to_owned(), (word, status));
    assert_eq!(state(&run), now("assigned", Word::Offered, Status::Idle));
    run.refused(&agent("w2"), "memory.move", json!({ "id": id, "to": "accepted" }), "A-MEM-06");
    for (to, then) in [
        ("accepted", now("assigned", Word::Accepted, Status::Active)),
        ("started", now("in_progress", Word::Started, Status::Active)),
        ("blocked", now("in_progress", Word::Blocked, Status::Blocked)),
        ("started", now("in_progress", Word::Started, Status::Active)),
    ] {
        run.ok(&agent("w1"), "memory.move", json!({ "id": id, "to": to }));
        assert_eq!(state(&run), then, "{to}");
        run.sound();
    }
    for to in ["timed_out", "expired", "retrying"] {
        run.refused(&Run::lead(), "memory.move", json!({ "id": id, "to": to }), "A-ATT-01");
    }
    run.ok(&agent("w1"), "memory.progress", json!({ "id": id, "text": "half" }));
    run.checkpoint("w1", &here, "artifact", &["src/a"]);
    run.ok(&agent("w1"), "memory.move", json!({ "id": id, "to": "completed" }));
    assert_eq!(state(&run), now("completed", Word::Completed, Status::Integrating));
    run.ok(&Run::lead(), "integration.decide", json!({ "workspace": here, "decision": "accept" }));
    assert_eq!(state(&run), now("integrated", Word::Completed, Status::Closed));
    assert!(run.world.leases().is_empty(), "its authority ends with it");
    run.sound();
}

#[test]
fn the_assignment_of_a_runs_workspace_follows_orders_and_time_outs() {
    let mut run = Run::new();
    let (id, here) = bound(&mut run);
    run.signal("w1", &here, "started");
    assert_eq!(both(&run.world, id), (Word::Started, Status::Active));
    run.ok(&Run::lead(), "memory.move", json!({ "id": id, "to": "rerouted", "agent": "w2" }));
    assert_eq!(both(&run.world, id), (Word::Offered, Status::Migrating));
    assert_eq!(get(&run.world, id).agent().unwrap().as_str(), "w2");
    run.ok(&agent("w2"), "memory.move", json!({ "id": id, "to": "accepted" }));
    assert_eq!(both(&run.world, id), (Word::Started, Status::Active), "where the other stopped");
    run.ok(&Run::lead(), "memory.move", json!({ "id": id, "to": "cancelled" }));
    assert_eq!(both(&run.world, id), (Word::Cancelled, Status::Failed));
    let idle = run.create(&Run::lead(), json!({ "agent": "w1", "idle_timeout_s": 60 }));
    let id = run.view(&idle).assignment.unwrap();
    run.world.pass(61);
    run.ok(&Run::lead(), "agent.register", json!({}));
    assert_eq!(both(&run.world, id), (Word::Expired, Status::Failed));
    run.sound();
}

#[test]
fn the_authority_of_a_workspace_is_a_lease_that_collides_with_everybodys() {
    let mut run = Run::new();
    let lead = Run::lead();
    let one = run.in_state(Status::Active, json!({ "agent": "w1", "authority": ["src"] }));
    let held = run.world.leases();
    assert_eq!((held.len(), held[0].holder.to_string().as_str()), (1, "agent:w1"));
    let claim = json!({ "surfaces": ["src/a"] });
    let refusal = run.do_(&agent("w2"), "lease.open", claim.clone()).unwrap_err();
    assert_eq!(refusal.rule, Rule::NoOverlap);
    assert!(refusal.message.contains("w1"), "{refusal:?}");
    let second = json!({ "role": "worker", "directive": payload(1), "agent": "w2",
        "authority": ["src/a"] });
    let refusal = run.refused(&lead, "workspace.create", second.clone(), Rule::NoOverlap.id());
    assert!(refusal.message.contains("w1"), "{refusal:?}");
    // The same agent is not given one file twice either.
    let mut again = second.clone();
    again["agent"] = json!("w1");
    run.refused(&lead, "workspace.create", again, Rule::NoOverlap.id());
    let release = json!({ "lease": held[0].lease });
    let refusal = run.do_(&agent("w1"), "lease.release", release).unwrap_err();
    assert_eq!(refusal.rule, Rule::AuthorityLease);
    // It does not run out while the workspace goes on.
    run.world.pass(3 * 24 * 3600 / 4);
    run.ok(&lead, "agent.register", json!({}));
    assert_eq!(run.world.leases().len(), 1);
    // A suspended workspace holds nothing, and goes on only if nobody else took it.
    run.ok(&lead, "workspace.suspend", json!({ "workspace": one }));
    assert!(run.world.leases().is_empty());
    run.ok(&agent("w2"), "lease.open", claim);
    let resume = json!({ "workspace": one });
    run.refused(&lead, "workspace.resume", resume.clone(), Rule::NoOverlap.id());
    let lease = run.world.leases()[0].lease.clone();
    run.ok(&agent("w2"), "lease.release", json!({ "lease": lease }));
    run.ok(&lead, "workspace.resume", resume);
    assert_eq!(run.world.leases().len(), 1);
    run.ok(&lead, "workspace.migrate", json!({ "workspace": one, "agent": "w3" }));
    assert_eq!(run.world.leases()[0].holder.to_string(), "agent:w3");
    run.ok(&lead, "workspace.abort", json!({ "workspace": one }));
    assert!(run.world.leases().is_empty());
    run.ok(&lead, "workspace.create", second);
    run.sound();
}

#[test]
fn a_delegates_children_share_its_lease_and_not_each_others_files() {
    let mut run = Run::new();
    let top = json!({ "agent": "w1", "authority": ["src"], "delegate": true });
    let top = run.in_state(Status::Active, top);
    let child = |agent: &str, surface: &str| {
        json!({ "role": "worker", "directive": payload(1), "agent": agent, "parent": top,
            "authority": [surface] })
    };
    run.ok(&agent("w1"), "workspace.create", child("w2", "src/a"));
    let refused = child("w3", "src/a/b");
    let refusal = run.refused(&agent("w1"), "workspace.create", refused, Rule::NoOverlap.id());
    assert!(refusal.message.contains("w2"), "{refusal:?}");
    run.ok(&agent("w1"), "workspace.create", child("w3", "src/b"));
    assert_eq!(run.world.leases().len(), 1, "one lease covers them");
    run.sound();
}

/// What one holds, another's checkpoint does not contain, and no merge writes.
#[test]
fn a_lease_of_one_stops_the_checkpoint_and_the_merge_of_another() {
    let mut run = Run::new();
    let lead = Run::lead();
    let id = run.in_state(Status::Integrating, json!({ "agent": "w1" }));
    let other = run.active();
    run.ok(&agent("w2"), "lease.open", json!({ "surfaces": ["src"] }));
    let accept = json!({ "workspace": id, "decision": "accept" });
    let refusal = run.refused(&lead, "integration.decide", accept.clone(), Rule::NoOverlap.id());
    assert!(refusal.message.contains("w2"), "{refusal:?}");
    let files = json!([{ "path": "src/a.rs", "content": payload(4)["content"] }]);
    let made = json!({ "workspace": other, "type": "artifact", "intent": "i",
        "status": "provisional", "files_changed": files });
    let refusal = run.do_(&agent("w1"), "checkpoint.create", made).unwrap_err();
    assert_eq!(refusal.rule, Rule::NoOverlap);
    let lease = run.world.leases()[0].lease.clone();
    run.ok(&agent("w2"), "lease.release", json!({ "lease": lease }));
    run.ok(&lead, "integration.decide", accept);
    run.sound();
}

#[test]
fn an_assignment_made_for_a_runs_task_is_its_workspace() {
    let mut run = Run::new();
    let task = planned(&mut run, "a", &[]);
    let plan = plan_of(&run, &task);
    let asked = json!({ "kind": "assignment", "text": "t",
        "fields": { "agent": "w2", "plan_id": plan } });
    run.refused(&agent("w3"), "memory.create", asked.clone(), "A-TASK-01");
    let made = serde_json::to_value(run.ok(&Run::lead(), "memory.create", asked)).unwrap();
    let id = id_of(&made);
    let here = at(&run.world, id);
    assert_eq!(run.view(&here).task, Some(task));
    run.sound();
}

/// A task of alice's own, taken with the native word, and the assignment that it is.
fn taken(world: &mut World) -> (RecordId, RecordId) {
    let plan = create(world, Kind::Plan);
    ok(world, &alice(), "work.next", &json!({ "task": plan }));
    (newest(world).id, plan)
}

fn status_of(world: &World, plan: RecordId) -> Word {
    world.state.status_of(&get(world, plan))
}

#[test]
fn a_task_is_as_far_as_the_attempt_at_it() {
    let mut world = world();
    let (id, plan) = taken(&mut world);
    assert_eq!(both(&world, id), (Word::Started, Status::Active));
    assert_eq!(status_of(&world, plan), Word::InProgress);
    moves(&mut world, &alice(), id, "blocked");
    assert_eq!(status_of(&world, plan), Word::Blocked);
    ok(&mut world, &alice(), "work.next", &json!({ "task": plan }));
    assert_eq!((both(&world, id).0, status_of(&world, plan)), (Word::Started, Word::InProgress));
    let here = at(&world, id);
    says(&mut world, &alice(), &here, "failed");
    assert_eq!(both(&world, id), (Word::Failed, Status::Failed));
    assert_eq!(status_of(&world, plan), Word::Open, "somebody else may try");
    // The verbs for records say the same about what was offered.
    let (id, plan) = offered(&mut world);
    assert_eq!(status_of(&world, plan), Word::Open, "bob has not taken it yet");
    moves(&mut world, &bob(), id, "accepted");
    assert_eq!(status_of(&world, plan), Word::InProgress);
    sound(&world);
}

#[test]
fn whoever_declares_the_plan_over_ends_the_own_attempt() {
    for (to, then) in [("done", Word::Completed), ("cancelled", Word::Cancelled)] {
        let mut world = world();
        let (id, plan) = taken(&mut world);
        moves(&mut world, &alice(), plan, to);
        assert_eq!(get(&world, id).status, then);
        assert!(both(&world, id).1.is_terminal());
        sound(&world);
    }
    // So does the last step of the plan.
    let mut world = world();
    let steps = json!({ "kind": "plan", "text": "t", "fields": { "steps": [{ "text": "s" }] } });
    let plan = id_of(&ok(&mut world, &alice(), "memory.create", &steps));
    ok(&mut world, &alice(), "work.next", &json!({ "task": plan }));
    let id = newest(&world).id;
    let step = json!({ "plan": plan, "step": "stp_1", "status": "done" });
    ok(&mut world, &alice(), "memory.step", &step);
    assert_eq!(both(&world, id), (Word::Completed, Status::Closed));
    sound(&world);
}

#[test]
fn an_attempt_of_ones_own_ends_with_the_session_and_one_that_was_given_goes_on() {
    let mut world = world();
    let (own, plan) = taken(&mut world);
    let (given, other) = offered(&mut world);
    moves(&mut world, &bob(), given, "accepted");
    for who in [alice(), bob()] {
        ok(&mut world, &who, "session.close", &json!({}));
    }
    assert_eq!(both(&world, own), (Word::TimedOut, Status::Failed));
    assert_eq!(status_of(&world, plan), Word::Open);
    assert_eq!(both(&world, given), (Word::Accepted, Status::Active));
    assert_eq!(status_of(&world, other), Word::InProgress);
    sound(&world);
}
