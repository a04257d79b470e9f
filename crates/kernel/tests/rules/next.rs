//! `work.next`: which task is taken, by whom, and what comes with it in the same commit.

use crate::memory::{alice, bob, id_of, no, ok, sound};
use crate::support::{World, agent};
use althing_kernel::records::{Kind, RecordId, Status, next};
use althing_kernel::{Caller, Rule, workspace};
use serde_json::{Value, json};

fn plan(world: &mut World, fields: &Value) -> RecordId {
    let args = json!({ "kind": "plan", "text": "do it", "fields": fields });
    id_of(&ok(world, &alice(), "memory.create", &args))
}

fn take(world: &mut World, who: &Caller) -> Value {
    ok(world, who, "work.next", &json!({}))
}

#[test]
fn the_most_urgent_task_is_taken_first_then_the_oldest() {
    let mut world = World::new();
    let first = plan(&mut world, &json!({}));
    let second = plan(&mut world, &json!({}));
    let urgent = plan(&mut world, &json!({ "priority": "urgent" }));
    let own = plan(&mut world, &json!({ "priority": "low", "assignee": "bob" }));
    assert_eq!(take(&mut world, &alice())["task"], urgent.to_string());
    assert_eq!(take(&mut world, &bob())["task"], own.to_string(), "what is bob's comes first");
    assert_eq!(take(&mut world, &agent("carol"))["task"], first.to_string());
    assert_eq!(take(&mut world, &agent("dave"))["task"], second.to_string());
}

#[test]
fn a_task_comes_with_its_claim_in_one_commit() {
    let mut world = World::new();
    let task = plan(&mut world, &json!({ "scope": "src/a.rs, docs" }));
    let reply = take(&mut world, &alice());
    assert_eq!(reply["claim"]["surfaces"], json!(["src/a.rs", "docs"]), "{reply}");
    assert_eq!(reply["claim"]["task"], task.to_string());
    let record = world.state.shown(world.state.memory().record(task).unwrap());
    assert_eq!(record.status, Status::InProgress);
    assert_eq!(
        record.fields.assignee.as_ref().map(althing_kernel::blackboard::Label::as_str),
        Some("alice")
    );
    let tried = world.state.memory().newest(Kind::Assignment, Some(true)).next().unwrap();
    assert_eq!((tried.status, tried.fields.plan_id), (Status::Started, Some(task)));
    assert_eq!(tried.fields.claim, reply["claim"]["epoch"].as_u64(), "its claim is its authority");
    let (_, attempt) = world.state.workspace_of(tried).unwrap();
    assert_eq!(attempt.status, workspace::Status::Active);
    // Asked again, the same task comes back and nothing is recorded.
    let before = world.state.seq();
    let again = take(&mut world, &alice());
    assert_eq!((&again["task"], &again["taken"]), (&reply["task"], &json!(false)));
    assert_eq!(world.state.seq(), before);
}

#[test]
fn nothing_is_taken_that_somebody_has_or_that_waits() {
    let mut world = World::new();
    let first = plan(&mut world, &json!({ "scope": "src" }));
    let after = plan(&mut world, &json!({ "depends_on": [first] }));
    let beside = plan(&mut world, &json!({ "scope": "src/a.rs" }));
    take(&mut world, &alice());
    let (rule, message) = no(&mut world, &bob(), "work.next", &json!({}));
    assert_eq!(rule, Rule::NextReady, "{message}");
    for part in ["waits for", "needs src/a.rs", "is worked on by"] {
        assert!(message.contains(part), "{part}: {message}");
    }
    let (rule, _) = no(&mut world, &bob(), "work.next", &json!({ "task": beside }));
    assert_eq!(rule, Rule::NoOverlap);
    ok(&mut world, &alice(), "memory.move", &json!({ "id": first, "to": "done" }));
    assert_eq!(take(&mut world, &bob())["task"], after.to_string());
    assert_eq!(take(&mut world, &alice())["task"], beside.to_string());
    sound(&world);
}

#[test]
fn an_offer_is_accepted_with_its_task() {
    let mut world = World::new();
    ok(&mut world, &bob(), "agent.register", &json!({}));
    let task = plan(&mut world, &json!({ "scope": "docs" }));
    let offered =
        json!({ "kind": "assignment", "text": "t", "fields": { "agent": "bob", "plan_id": task } });
    let offered = id_of(&ok(&mut world, &alice(), "memory.create", &offered));
    let (_, message) = no(&mut world, &agent("carol"), "work.next", &json!({}));
    assert!(message.contains("is assigned to bob"), "{message}");
    assert_eq!(take(&mut world, &bob())["task"], task.to_string());
    assert_eq!(world.state.memory().record(offered).unwrap().status, Status::Started);
    sound(&world);
}

#[test]
fn work_that_was_left_goes_to_the_next_one() {
    let mut world = World::new();
    let task = plan(&mut world, &json!({ "scope": "src" }));
    take(&mut world, &alice());
    let who = bob().principal;
    assert!(next::ready(&world.state, world.now, &who).is_empty());
    ok(&mut world, &alice(), "session.close", &json!({}));
    let reply = take(&mut world, &bob());
    assert_eq!((&reply["task"], &reply["taken"]), (&json!(task.to_string()), &json!(true)));
    assert_eq!(next::current(&world.state, world.now, &who).count(), 1);
    assert_eq!(task.kind, Kind::Plan);
}

#[test]
fn a_displaced_agent_gets_a_message_with_the_dispute() {
    let mut world = World::new();
    ok(&mut world, &bob(), "agent.register", &json!({}));
    let raise = json!({
        "id": "c1", "title": "Two parsers", "surfaces": ["src"], "displaced_agent": "bob",
        "preserved_branch": "displaced/bob-c1",
    });
    ok(&mut world, &alice(), "dispute.raise", &raise);
    let message = world.state.memory().newest(Kind::Message, Some(true)).next().unwrap().clone();
    assert_eq!(
        message.fields.to.as_ref().map(althing_kernel::blackboard::Label::as_str),
        Some("bob")
    );
    assert!(message.text.as_str().contains("displaced/bob-c1"), "{}", message.text);
    ok(&mut world, &bob(), "memory.move", &json!({ "id": message.id, "to": "acknowledged" }));
    sound(&world);
}
