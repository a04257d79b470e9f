//! One store of records: what the frugal dialect writes is found as a record, and what the memory
//! decides is found by the frugal dialect.

use crate::memory::{alice, get, sound};
use crate::support::{World, agent, user};
use althing_kernel::records::{Kind, Record, RecordId, Status};
use althing_kernel::state::Image;
use althing_kernel::{Door, Event, Rule, State};
use serde_json::{Value, json};

fn done(world: &mut World, name: &str, args: &Value) -> Value {
    let reply = world.run(&alice(), name, &args.to_string());
    serde_json::to_value(reply.unwrap_or_else(|no| panic!("{name} {args}: {no:?}"))).unwrap()
}

fn ask(world: &World, name: &str, args: &Value) -> Value {
    world.ask(name, &args.to_string())
}

fn id(kind: Kind, number: u64) -> RecordId {
    RecordId { kind, number }
}

fn titles(world: &World) -> Vec<String> {
    let listed = ask(world, "decision.list", &json!({}));
    let title = |own: &Value| own["title"].as_str().unwrap().to_owned();
    listed.as_array().unwrap().iter().map(title).collect()
}

#[test]
fn a_decision_of_the_log_is_an_approved_record() {
    let mut world = World::new();
    let words = json!({ "title": "Use SQLite", "body": "One file.\nNo server." });
    assert_eq!(done(&mut world, "decision.append", &words)["number"], 1);
    let own = get(&world, id(Kind::Decision, 1));
    assert_eq!(own.text.as_str(), "Use SQLite\n\nOne file.\nNo server.");
    assert_eq!((own.status, own.version, &own.author), (Status::Approved, 1, &alice().principal));
    assert_eq!(own.created_seq, world.entries.len() as u64);
    let found = ask(&world, "memory.find", &json!({ "kind": "decision", "status": "approved" }));
    assert_eq!((&found["total"], &found["items"][0]["id"]), (&json!(1), &json!("dec_00000001")));
    // A dispute is told of by a decision, which names it.
    let raise = json!({ "id": "c1", "title": "two agents", "surfaces": ["a"] });
    done(&mut world, "dispute.raise", &raise);
    let shown = get(&world, id(Kind::Decision, 2));
    assert_eq!(shown.fields.dispute.as_ref().map(ToString::to_string).as_deref(), Some("c1"));
    assert_eq!((shown.status, &shown.author), (Status::Approved, &alice().principal));
    sound(&world);
}

#[test]
fn decisions_of_the_memory_that_stand_are_in_the_log() {
    let mut world = World::new();
    for text in ["Keep it small\n\nBecause.", "One line", "Never"] {
        done(&mut world, "memory.create", &json!({ "kind": "decision", "text": text }));
    }
    assert_eq!(titles(&world), [""; 0], "a pending decision is none yet");
    for (number, to) in [(2, "approved"), (1, "approved"), (3, "rejected")] {
        let args = json!({ "id": id(Kind::Decision, number), "to": to });
        done(&mut world, "memory.move", &args);
    }
    assert_eq!(titles(&world), ["One line", "Keep it small"], "in the order they were decided");
    let listed = ask(&world, "decision.list", &json!({}));
    assert_eq!((&listed[0]["body"], &listed[0]["number"]), (&json!("One line"), &json!(2)));
    assert_eq!(listed[1]["body"], "Because.");
    // What changes one of them changes what the log lists, and its entry says the new text.
    let args = json!({ "id": "dec#1", "text": "Keep it smaller\n\nBecause." });
    done(&mut world, "memory.update", &args);
    let Event::MemoryUpdated(body) = &world.last().draft.event else { panic!("no update") };
    assert_eq!(body.decided.as_ref().unwrap().as_str(), "Keep it smaller\n\nBecause.");
    assert_eq!(titles(&world), ["One line", "Keep it smaller"]);
    done(&mut world, "memory.archive", &json!({ "id": "dec#2" }));
    assert_eq!(titles(&world), ["Keep it smaller"]);
    // So does a decision of the log, through the commands of the memory.
    done(&mut world, "decision.append", &json!({ "title": "t", "body": "b" }));
    let args = json!({ "id": "dec#4", "fields": { "scope": "src" }, "text": "u\n\nc" });
    assert_eq!(done(&mut world, "memory.update", &args)["version"], 2);
    assert_eq!(titles(&world), ["Keep it smaller", "u"]);
    sound(&world);
}

#[test]
fn facts_symbols_and_capsules_are_records_with_a_version() {
    let mut world = World::new();
    done(&mut world, "fact.set", &json!({ "key": "port", "value": "80" }));
    world.run(&user("ada"), "fact.set", r#"{"key":"port","value":"81"}"#).unwrap();
    done(&mut world, "symbol.set", &json!({ "id": "F1", "value": "src/file.rs" }));
    let capsule = json!({ "id": "w1", "what": "moved", "where": "src", "gotcha": "slow",
        "depends": ["w0"] });
    done(&mut world, "capsule.write", &capsule);
    let fact = ask(&world, "memory.get", &json!({ "id": "fct#1" }));
    assert_eq!((&fact["kind"], &fact["text"]), (&json!("fact"), &json!("81")));
    assert_eq!((&fact["fields"]["key"], &fact["version"]), (&json!("port"), &json!(2)));
    assert_eq!((&fact["author"], &fact["updated_by"]), (&json!("agent:alice"), &json!("user:ada")));
    let of = |kind: &str| ask(&world, "memory.find", &json!({ "kind": kind }))["items"][0].clone();
    assert_eq!(of("symbol")["text"], "src/file.rs");
    let own = of("capsule");
    assert_eq!((&own["text"], &own["fields"]["gotcha"]), (&json!("moved"), &json!("slow")));
    assert_eq!(own["fields"]["depends"], json!(["w0"]));
    // Written again without them, it has them no more.
    done(&mut world, "capsule.write", &json!({ "id": "w1", "what": "moved again" }));
    let own = get(&world, id(Kind::Capsule, 1));
    assert_eq!((own.version, own.fields.gotcha.as_ref()), (2, None));
    // A fact that was deleted is none, and comes back as another record.
    done(&mut world, "fact.delete", &json!({ "key": "port" }));
    assert!(world.state.memory().record(id(Kind::Fact, 1)).is_none());
    done(&mut world, "fact.set", &json!({ "key": "port", "value": "82" }));
    assert_eq!(get(&world, id(Kind::Fact, 2)).version, 1);
    sound(&world);
    world.is_sound();
}

#[test]
fn the_memory_names_the_command_that_writes_a_kind() {
    let mut world = World::new();
    done(&mut world, "fact.set", &json!({ "key": "k", "value": "v" }));
    done(&mut world, "symbol.set", &json!({ "id": "k", "value": "v" }));
    done(&mut world, "capsule.write", &json!({ "id": "k", "what": "v" }));
    for (kind, command) in
        [(Kind::Fact, "fact.set"), (Kind::Symbol, "symbol.set"), (Kind::Capsule, "capsule.write")]
    {
        let id = id(kind, 1);
        for (name, args) in [
            ("memory.create", json!({ "kind": kind, "text": "t", "fields": { "key": "a" } })),
            ("memory.update", json!({ "id": id, "text": "t" })),
            ("memory.move", json!({ "id": id, "to": "active" })),
            ("memory.archive", json!({ "id": id })),
        ] {
            let no = world.run(&alice(), name, &args.to_string()).unwrap_err();
            assert_eq!(no.rule, Rule::RecordField, "{name} {kind}: {}", no.message);
            assert!(no.message.contains(command), "{name}: {}", no.message);
        }
        assert_eq!(get(&world, id).version, 1);
    }
}

/// Entries of earlier builds do not name the record of a decision, and later entries of the same
/// trail name records by numbers that were given out without it.
#[test]
fn decisions_of_earlier_builds_get_numbers_of_their_own() {
    let mut world = World::new();
    done(&mut world, "decision.append", &json!({ "title": "t", "body": "b" }));
    let mut entries = world.entries.clone();
    let last = entries.last_mut().unwrap();
    let Event::DecisionAppended(body) = &mut last.draft.event else { panic!("no decision") };
    body.id = None;
    world.state = State::default();
    for entry in &entries {
        world.state.apply(entry).unwrap();
    }
    world.entries = entries;
    let made = done(&mut world, "memory.create", &json!({ "kind": "decision", "text": "x" }));
    assert_eq!(made["id"], "dec_00000001");
    let own = get(&world, id(Kind::Decision, 1_000_000_001));
    assert_eq!((own.status, own.text.as_str()), (Status::Approved, "t\n\nb"));
    assert_eq!(titles(&world), ["t"]);
    let restored = State::from_image(world.state.image()).unwrap();
    assert_eq!(format!("{restored:?}"), format!("{:?}", world.state));
    let next = done(&mut world, "memory.create", &json!({ "kind": "decision", "text": "y" }));
    assert_eq!(next["id"], "dec_00000002");
}

/// The state that replay begins with, as earlier builds wrote it.
#[test]
fn an_image_of_an_earlier_build_is_read_into_the_records() {
    let world = World::new();
    let mut image = serde_json::to_value(world.state.image()).unwrap();
    let set = json!({ "at": 7, "by": "agent:bob" });
    image["commons"]["symbols"] = json!([[0, "F2", { "value": "b", "set": set }],
        [1, "F1", { "value": "a", "set": set }]]);
    image["commons"]["facts"] = json!([[3, "k", { "value": "v", "set": set }]]);
    image["commons"]["capsules"] = json!([["w1", { "what": "x", "place": "p", "decision": null,
        "gotcha": null, "depends": ["w0"], "written": set }]]);
    image["commons"]["decisions"] = json!([[5, { "title": "t", "body": "b", "dispute": "c",
        "written": set }]]);
    image["commons"]["decided"] = json!(5);
    let image: Image = serde_json::from_value(image).unwrap();
    let state = State::from_image(image).unwrap();
    let blackboard = state.blackboard();
    let symbols: Vec<String> = blackboard.symbols().map(|own| own.id.to_string()).collect();
    assert_eq!(symbols, ["F2", "F1"]);
    let fact = blackboard.facts().next().unwrap();
    assert_eq!((fact.value.as_str(), fact.set_by.to_string().as_str()), ("v", "agent:bob"));
    let capsule = blackboard.capsules().next().unwrap();
    assert_eq!((capsule.place.as_deref(), capsule.depends.len()), (Some("p"), 1));
    let decision = blackboard.decisions().next().unwrap();
    assert_eq!((decision.number, decision.title.as_str()), (1_000_000_005, "t"));
    // From then on it is like any other.
    let again = State::from_image(state.image()).unwrap();
    assert_eq!(format!("{again:?}"), format!("{state:?}"));
}

#[test]
fn every_record_says_through_which_door_it_came() {
    let mut world = World::new();
    let acts = [
        ("memory.create", json!({ "kind": "trap", "text": "t" }), id(Kind::Trap, 1)),
        ("decision.append", json!({ "title": "t", "body": "b" }), id(Kind::Decision, 1)),
        ("fact.set", json!({ "key": "k", "value": "v" }), id(Kind::Fact, 1)),
        ("symbol.set", json!({ "id": "k", "value": "v" }), id(Kind::Symbol, 1)),
        ("capsule.write", json!({ "id": "k", "what": "v" }), id(Kind::Capsule, 1)),
    ];
    for (door, (name, args, id)) in Door::ALL.iter().zip(&acts) {
        world.door = Some(*door);
        done(&mut world, name, args);
        assert_eq!(world.last().door, Some(*door), "{name}");
        assert_eq!(get(&world, *id).door, Some(*door), "{name}");
    }
    // A later change comes through a door of its own.
    world.door = Some(Door::CommandLine);
    done(&mut world, "fact.set", &json!({ "key": "k", "value": "w" }));
    let fact: Record = get(&world, id(Kind::Fact, 1));
    assert_eq!((fact.door, fact.last_door), (Some(Door::Heimdall), Some(Door::CommandLine)));
    // Nobody asked for what falls due.
    world.door = Some(Door::Do);
    let soon = world.state.clock().micros() + 1_000_000;
    let args = json!({ "kind": "constraint", "text": "t", "fields": { "expires_at": soon } });
    done(&mut world, "memory.create", &args);
    world.pass(5);
    world.tick();
    assert!(matches!(world.last().draft.event, Event::MemoryExpired(_)));
    assert_eq!(world.last().door, None);
    sound(&world);
    world.is_sound();
}

/// The entries of one request came through one door.
#[test]
fn a_door_that_the_request_did_not_come_through_fails_the_audit() {
    let mut world = World::new();
    world.door = Some(Door::McpFrugal);
    let raise = json!({ "id": "c", "title": "t", "surfaces": ["a"] });
    done(&mut world, "dispute.raise", &raise);
    let place = world.entries.len() - 1;
    for door in [None, Some(Door::Do)] {
        let mut forged = world.last().clone();
        forged.door = door;
        assert!(world.with(place, forged).is_err(), "{door:?}");
    }
    assert_eq!(world.last().door, Some(Door::McpFrugal));
    let author = &get(&world, id(Kind::Decision, 1)).author;
    assert_eq!(*author, agent("alice").principal);
    world.is_sound();
}
