//! Loops: phases, rounds, places and turns, each act in one commit.

use crate::memory::{alice, bob, get, id_of, no, ok, sound};
use crate::support::{World, agent};
use althing_kernel::records::{RecordId, Status};
use althing_kernel::{Caller, Event, Kind, Rule};
use serde_json::{Value, json};

/// A loop of alice's with a place for bob.
fn opened(world: &mut World, kind: &str) -> RecordId {
    world.run(&bob(), "agent.register", "{}").unwrap();
    world.run(&agent("carol"), "agent.register", "{}").unwrap();
    let fields = json!({ "loop_kind": kind, "slots": [{ "id": "s", "agent": "bob" }] });
    let args = json!({ "kind": "loop", "text": "t", "fields": fields });
    id_of(&ok(world, &alice(), "memory.create", &args))
}

#[expect(clippy::needless_pass_by_value, reason = "callers write it down where they ask")]
fn act(world: &mut World, who: &Caller, id: RecordId, act: Value) -> Value {
    ok(world, who, "memory.loop", &json!({ "id": id, "act": act }))
}

fn stands(world: &World, id: RecordId) -> (String, u32) {
    let fields = get(world, id).fields;
    (fields.phase.unwrap().to_string(), fields.iteration.unwrap())
}

#[test]
fn a_loop_begins_in_its_first_phase_and_nothing_but_its_acts_changes_where_it_stands() {
    let mut world = World::new();
    let id = opened(&mut world, "implementation");
    assert_eq!(stands(&world, id), ("bind".to_owned(), 1));
    for fields in [
        json!({ "phase": "execute" }),
        json!({ "iteration": 2 }),
        json!({ "slots": [{ "id": "s", "agent": "bob", "done": true }] }),
    ] {
        let args = json!({ "id": id, "fields": fields });
        assert_eq!(no(&mut world, &alice(), "memory.update", &args).0, Rule::RecordField, "{args}");
    }
    let cleared = json!({ "id": id, "clear": ["slots"] });
    assert_eq!(no(&mut world, &alice(), "memory.update", &cleared).0, Rule::RecordField);
    for fields in [
        json!({ "phase": "verify" }),
        json!({ "iteration": 2 }),
        json!({ "slots": [{ "id": "s", "agent": "bob", "done": true }] }),
    ] {
        let mut args = json!({ "kind": "loop", "text": "t", "fields": fields });
        args["fields"]["loop_kind"] = "implementation".into();
        assert_eq!(no(&mut world, &alice(), "memory.create", &args).0, Rule::RecordField, "{args}");
    }
    let skip = json!({ "id": id, "act": { "advance": { "phase": "verify" } } });
    assert_eq!(no(&mut world, &alice(), "memory.loop", &skip).0, Rule::RecordStep);
    assert_eq!(stands(&world, id), ("bind".to_owned(), 1));
    sound(&world);
}

#[test]
fn checks_lead_on_or_back() {
    let mut world = World::new();
    let id = opened(&mut world, "implementation");
    act(&mut world, &alice(), id, json!({ "advance": {} }));
    act(&mut world, &alice(), id, json!({ "advance": {} }));
    act(&mut world, &alice(), id, json!({ "verify": { "verdict": "failed", "reason": "r" } }));
    assert_eq!(stands(&world, id), ("execute".to_owned(), 2));
    act(&mut world, &alice(), id, json!({ "advance": {} }));
    act(&mut world, &alice(), id, json!({ "continue": {} }));
    assert_eq!(stands(&world, id), ("execute".to_owned(), 3));
    let again = json!({ "id": id, "act": { "continue": {} } });
    assert_eq!(no(&mut world, &alice(), "memory.loop", &again).0, Rule::RecordStep);
    act(&mut world, &alice(), id, json!({ "advance": {} }));
    act(&mut world, &alice(), id, json!({ "verify": { "verdict": "passed" } }));
    assert_eq!(stands(&world, id), ("handoff_ready".to_owned(), 3));
    assert_eq!(get(&world, id).fields.artifacts.len(), 2);
    sound(&world);
}

#[test]
fn a_turn_is_an_assignment_a_message_and_a_place_in_one_entry() {
    let mut world = World::new();
    let id = opened(&mut world, "review");
    let before = world.entries.len();
    let turn = json!({ "turn": { "slot": "s", "text": "look" } });
    let reply = act(&mut world, &alice(), id, turn.clone());
    let kinds: Vec<_> =
        world.entries[before..].iter().map(|entry| entry.draft.event.kind()).collect();
    let expected = [Kind::MemoryLooped, Kind::WorkspaceCreated, Kind::WorkspaceCreated];
    assert_eq!(kinds, expected, "the turn, the standing root and the workspace of the attempt");
    let made = |at: usize| -> RecordId {
        serde_json::from_value(reply["side_effects"][at]["id"].clone()).unwrap()
    };
    let (work, shown) = (get(&world, made(0)), get(&world, made(1)));
    assert_eq!((work.status, work.text.as_str()), (Status::Offered, "look"));
    assert_eq!(work.fields.message_id, Some(shown.id));
    assert_eq!(shown.fields.assignment_id, Some(work.id));
    assert_eq!(get(&world, id).fields.slots[0].assignment, Some(work.id));
    // Asked for again it is the same turn, and another needs this one to be over.
    let entries = world.entries.len();
    assert_eq!(act(&mut world, &alice(), id, turn)["side_effects"][0]["action"], "unchanged");
    assert_eq!(world.entries.len(), entries);
    let other = json!({ "id": id, "act": { "turn": { "slot": "s", "text": "more" } } });
    assert_eq!(no(&mut world, &alice(), "memory.loop", &other).0, Rule::RecordStep);
    assert_eq!(no(&mut world, &bob(), "memory.loop", &other).0, Rule::RecordOwner);
    ok(&mut world, &bob(), "memory.turn", &json!({ "loop": id, "slot": "s", "outcome": "o" }));
    assert_eq!(get(&world, work.id).status, Status::Completed);
    assert_eq!(get(&world, shown.id).status, Status::Closed);
    sound(&world);
}

#[test]
fn what_is_asked_in_a_loop_is_answered_by_whom_it_is_asked_of() {
    let mut world = World::new();
    let id = opened(&mut world, "review");
    act(&mut world, &alice(), id, json!({ "turn": { "slot": "s" } }));
    let asked = act(&mut world, &alice(), id, json!({ "ask": { "slot": "s", "text": "why?" } }));
    let question: RecordId =
        serde_json::from_value(asked["side_effects"][0]["id"].clone()).unwrap();
    let nobody = json!({ "id": id, "act": { "ask": { "text": "why?" } } });
    assert_eq!(no(&mut world, &alice(), "memory.loop", &nobody).0, Rule::RecordField);
    let answer = json!({ "id": id, "act": { "answer": { "text": "so" } } });
    assert_eq!(no(&mut world, &agent("carol"), "memory.loop", &answer).0, Rule::RecordKnown);
    let before = world.entries.len();
    ok(&mut world, &bob(), "memory.loop", &answer);
    assert_eq!(world.entries.len(), before + 1, "the answer and the end of the question");
    assert_eq!(get(&world, question).status, Status::Closed);
    assert_eq!(no(&mut world, &bob(), "memory.loop", &answer).0, Rule::RecordKnown);
    sound(&world);
}

/// A forged entry does not pass the audit.
#[test]
fn an_entry_that_skips_a_phase_is_a_forgery() {
    let mut world = World::new();
    let id = opened(&mut world, "implementation");
    act(&mut world, &alice(), id, json!({ "advance": {} }));
    let (shown, last) = (world.last().clone(), world.entries.len() - 1);
    let forged = |change: &dyn Fn(&mut althing_kernel::records::loops::Looped)| {
        let mut entry = shown.clone();
        if let Event::MemoryLooped(body) = &mut entry.draft.event {
            change(body);
        }
        world.with(last, entry)
    };
    let label = |text: &str| Some(serde_json::from_value(json!(text)).unwrap());
    assert_eq!(forged(&|_| {}), Ok(()));
    assert!(forged(&|body| body.phase = label("verify")).is_err());
    assert!(forged(&|body| body.iteration = Some(7)).is_err());
    let mut other = shown.clone();
    other.draft.actor = bob().principal.into();
    assert!(world.with(last, other).is_err());
    sound(&world);
}
