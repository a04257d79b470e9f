//! The blackboard: symbols, facts, capsules, decisions, disputes and tokens.

use crate::support::{Request, World, agent, system, user};
use althing_kernel::blackboard::capsule::{CAPSULES_MAX, DEPENDS_MAX};
use althing_kernel::blackboard::decision::DECISIONS_LISTED;
use althing_kernel::blackboard::fact::FACTS_MAX;
use althing_kernel::blackboard::ledger::{NAMES_MAX, OTHER};
use althing_kernel::kind::Room;
use althing_kernel::{Actor, Command, Event, Kind, Principal, Rule, Stamped};
use proptest::prelude::*;
use serde_json::{Value, json};

fn ok(world: &mut World, name: &str, args: &Value) -> Value {
    let reply = world.run(&agent("alice"), name, &args.to_string());
    serde_json::to_value(reply.unwrap_or_else(|no| panic!("{name} {args}: {no:?}"))).unwrap()
}

fn no(world: &mut World, name: &str, args: &Value) -> (Rule, String) {
    let refusal = world.run(&agent("alice"), name, &args.to_string()).unwrap_err();
    (refusal.rule, refusal.message)
}

fn ask(world: &World, name: &str, args: &Value) -> Value {
    world.ask(name, &args.to_string())
}

fn capsule(id: &str, depends: &[&str]) -> Value {
    json!({ "id": id, "what": format!("{id} is done"), "depends": depends })
}

#[test]
fn symbols_keep_their_order_and_are_found_both_ways() {
    let mut world = World::new();
    for (id, value) in [("F2", "b"), ("F1", "a"), ("G", "b"), ("F2", "c"), ("Z", "b")] {
        assert_eq!(ok(&mut world, "symbol.set", &json!({ "id": id, "value": value }))["id"], id);
    }
    let listed = ask(&world, "symbol.list", &json!({}));
    let listed: Vec<_> = listed.as_array().unwrap().iter().map(|own| &own["id"]).collect();
    assert_eq!(listed, ["F2", "F1", "G", "Z"], "a new value keeps the place");
    assert_eq!(ask(&world, "symbol.get", &json!({ "id": "F2" }))["value"], "c");
    assert_eq!(ask(&world, "symbol.reverse", &json!({ "value": "b" }))["id"], "G", "the first");
    assert_eq!(ask(&world, "symbol.get", &json!({ "id": "X" })), "unknown symbol id: X");
    let none = ask(&world, "symbol.reverse", &json!({ "value": "bb" }));
    assert_eq!(none, "no symbol resolves to value: bb");
    assert_eq!(listed_by(&world), "agent:alice");
}

fn listed_by(world: &World) -> String {
    ask(world, "symbol.list", &json!({}))[0]["set_by"].as_str().unwrap().to_owned()
}

#[test]
fn facts_are_whose_who_writes_last_and_can_be_wiped_off() {
    let mut world = World::new();
    ok(&mut world, "fact.set", &json!({ "key": "a", "value": "1" }));
    ok(&mut world, "fact.set", &json!({ "key": "b", "value": "1\n2\t3" }));
    let set = r#"{"key":"a","value":"2"}"#;
    world.run(&user("ada"), "fact.set", set).unwrap();
    let fact = ask(&world, "fact.get", &json!({ "key": "a" }));
    assert_eq!((&fact["value"], &fact["set_by"]), (&json!("2"), &json!("user:ada")));
    let count = world.entries.len();
    assert_eq!(ok(&mut world, "fact.delete", &json!({ "key": "x" }))["deleted"], false);
    assert_eq!(world.entries.len(), count, "nothing happened, so nothing is on record");
    assert_eq!(ok(&mut world, "fact.delete", &json!({ "key": "a" }))["deleted"], true);
    assert_eq!(ask(&world, "fact.get", &json!({ "key": "a" })), "no fact for key: a");
    ok(&mut world, "fact.set", &json!({ "key": "a", "value": "3" }));
    let keys: Vec<Value> = ask(&world, "fact.list", &json!({})).as_array().unwrap().clone();
    assert_eq!((&keys[0]["key"], &keys[1]["key"]), (&json!("b"), &json!("a")), "at the end");
}

#[test]
fn a_capsule_has_ten_lines_and_a_refused_one_leaves_the_old() {
    let mut world = World::new();
    let ten = json!({ "id": "w1", "what": "1\n2\n3\n4\n5" });
    assert_eq!(ok(&mut world, "capsule.write", &ten)["lines"], 10);
    let eleven = json!({ "id": "w1", "what": "1\n2\n3\n4", "where": "5", "gotcha": "6" });
    let (rule, message) = no(&mut world, "capsule.write", &eleven);
    assert_eq!(rule, Rule::CapsuleLines);
    assert_eq!(message, "capsule w1 would be 11 lines (>10); compact harder");
    assert_eq!(ask(&world, "capsule.get", &json!({ "id": "w1" }))["what"], "1\n2\n3\n4\n5");
    let blank = json!({ "id": "w2", "what": " " });
    assert_eq!(no(&mut world, "capsule.write", &blank).0, Rule::SaySomething);
    let many: Vec<String> = (0..=DEPENDS_MAX).map(|n| format!("d{n}")).collect();
    let many = json!({ "id": "w2", "what": "x", "depends": many });
    assert_eq!(no(&mut world, "capsule.write", &many).0, Rule::CapsuleLines);
    assert_eq!(ask(&world, "capsule.get", &json!({ "id": "w2" })), "no capsule: w2");
}

#[test]
fn capsules_come_after_what_they_build_on() {
    let mut world = World::new();
    // The order of discovery would put d2 before d1, which it builds on.
    for (id, depends) in [("d3", vec!["d1", "d2"]), ("d2", vec!["d1", "d1"]), ("d1", vec!["gone"])]
    {
        ok(&mut world, "capsule.write", &capsule(id, &depends));
    }
    let deps = ask(&world, "capsule.deps", &json!({ "ids": ["d3", "nope", "d3"] }));
    assert_eq!(deps["ids"], json!(["d1", "d2", "d3"]));
    assert_eq!((&deps["missing"], &deps["unknown"]), (&json!(["gone"]), &json!(["nope"])));
    let hydrated = ask(&world, "capsule.hydrate", &json!({ "ids": ["d2", "d1"] }));
    let ids: Vec<_> =
        hydrated["capsules"].as_array().unwrap().iter().map(|own| &own["id"]).collect();
    assert_eq!(ids, ["d1", "d2"]);
    assert_eq!(hydrated["missing"], json!(["gone"]));
}

#[test]
fn capsules_never_build_on_themselves() {
    let mut world = World::new();
    assert_eq!(no(&mut world, "capsule.write", &capsule("a", &["a"])).0, Rule::CapsuleCycle);
    ok(&mut world, "capsule.write", &capsule("a", &["b"]));
    ok(&mut world, "capsule.write", &capsule("b", &["c"]));
    // It closes the circle although nobody asked for it there before.
    let (rule, message) = no(&mut world, "capsule.write", &capsule("c", &["x", "a"]));
    assert_eq!(rule, Rule::CapsuleCycle);
    assert_eq!(message, "capsule c would depend on itself, by way of a");
    ok(&mut world, "capsule.write", &capsule("b", &[]));
    ok(&mut world, "capsule.write", &capsule("c", &["a"]));
}

#[test]
fn a_long_chain_of_capsules_is_followed_to_its_end() {
    let mut world = World::new();
    for n in 0..3_000 {
        let below = format!("c{n}");
        ok(&mut world, "capsule.write", &capsule(&format!("c{}", n + 1), &[&below]));
    }
    let deps = ask(&world, "capsule.deps", &json!({ "ids": ["c3000"] }));
    assert_eq!(deps["ids"].as_array().unwrap().len(), 3_000);
    assert_eq!(deps["missing"], json!(["c0"]));
    assert_eq!(no(&mut world, "capsule.write", &capsule("c0", &["c3000"])).0, Rule::CapsuleCycle);
}

/// A dispute leaves two entries: its own, and the decision that tells of it.
#[test]
fn a_dispute_is_raised_once_and_a_decision_tells_of_it() {
    let mut world = World::new();
    let raise = json!({ "id": "conf-1", "title": "two agents", "surfaces": ["src/a/**"],
        "displaced": "haid:bob.mbp-bbbb", "displaced_intent": "x" });
    let raised = ok(&mut world, "dispute.raise", &raise);
    assert_eq!(raised["raised_by"], "agent:alice");
    let (dispute, decision) = (&world.entries[world.entries.len() - 2], world.last());
    assert_eq!(dispute.draft.event.kind(), Kind::DisputeRaised);
    assert_eq!(decision.draft.event.kind(), Kind::DecisionAppended);
    assert_eq!(decision.draft.actor, Actor::Protocol);
    assert_eq!(decision.draft.causation.as_ref(), Some(&dispute.id));
    let decisions = ask(&world, "decision.list", &json!({}));
    assert_eq!(decisions[0]["title"], "conflict conf-1 raised");
    assert_eq!(decisions[0]["dispute"], "conf-1");
    assert_eq!(decisions[0]["by"], "agent:alice");
    let (rule, message) = no(&mut world, "dispute.raise", &raise);
    assert_eq!(
        (rule, message.as_str()),
        (Rule::DisputeOnce, "conflict record already exists: conf-1")
    );
    assert_eq!(ask(&world, "dispute.list", &json!({})).as_array().unwrap().len(), 1);
    assert_eq!(ask(&world, "dispute.get", &json!({ "id": "conf-1" })), raised);
}

#[test]
fn a_dispute_names_what_was_kept_where_within_limits() {
    let mut world = World::new();
    let mut raise = json!({ "id": "d", "title": "t", "surfaces": ["a"], "via": "a-server",
        "preserved_branch": "displaced/x", "also_preserved": ["displaced/y"] });
    for (field, max) in [("also_preserved", 32), ("not_preserved", 64)] {
        let mut over = raise.clone();
        over[field] = vec!["x"; max + 1].into();
        assert_eq!(no(&mut world, "dispute.raise", &over).0, Rule::Limits, "{field}");
        raise[field] = vec!["x"; max].into();
    }
    let raised = ok(&mut world, "dispute.raise", &raise);
    for field in ["via", "also_preserved", "not_preserved"] {
        assert_eq!(raised[field], raise[field]);
    }
    let Event::DecisionAppended(shown) = &world.last().draft.event else { panic!("no decision") };
    assert_eq!(shown.via.as_ref().map(ToString::to_string), Some("a-server".to_owned()));
}

#[test]
fn the_newest_decisions_are_at_hand_and_all_are_counted() {
    let mut world = World::new();
    for n in 0..DECISIONS_LISTED + 5 {
        ok(&mut world, "decision.append", &json!({ "title": format!("t{n}"), "body": "b" }));
    }
    let listed = ask(&world, "decision.list", &json!({}));
    assert_eq!(listed.as_array().unwrap().len(), DECISIONS_LISTED);
    assert_eq!((&listed[0]["number"], &listed[0]["title"]), (&json!(6), &json!("t5")));
    for blank in [json!({ "title": "", "body": "b" }), json!({ "title": "t", "body": "\n" })] {
        assert_eq!(no(&mut world, "decision.append", &blank).0, Rule::SaySomething);
    }
}

#[test]
fn tokens_are_summed_up_and_reported_ones_told_apart() {
    let mut world = World::new();
    let log = |role: &str, tokens: u64| json!({ "role": role, "kind": "brief", "tokens": tokens });
    let mut counted = log("coder", 800);
    counted["tokenizer"] = "o200k_base".into();
    counted["task"] = "3.2".into();
    ok(&mut world, "ledger.log", &log("orchestration", 12_000));
    let sum = ok(&mut world, "ledger.log", &counted);
    assert_eq!((&sum["tokens"], &sum["counted"]), (&json!(800), &json!(800)));
    let report = ask(&world, "ledger.report", &json!({}));
    let rows = report["rows"].as_array().unwrap();
    assert_eq!((&rows[0]["name"], &rows[1]["name"]), (&json!("coder"), &json!("orchestration")));
    assert_eq!(rows[1]["reported"], 12_000);
    assert_eq!(
        (&report["total"]["tokens"], &report["total"]["messages"]),
        (&json!(12_800), &json!(2))
    );
    let by = |by: &str| ask(&world, "ledger.report", &json!({ "by": by }))["rows"].clone();
    assert_eq!(by("task")[0]["name"], "3.2");
    assert_eq!(by("agent")[0]["name"], "alice", "whoever logs it, if nothing else is said");
    assert_eq!(by("kind")[0]["tokens"], 12_800);
    assert_eq!(by("tool"), json!([]));

    assert_eq!(ask(&world, "ledger.delta", &json!({})), json!([]));
    ok(&mut world, "ledger.baseline", &json!({ "role": "orchestration", "tokens": 41_000 }));
    let delta = ask(&world, "ledger.delta", &json!({}));
    let expected = json!([{ "role": "orchestration", "baseline": 41_000, "measured": 12_000,
        "tools": 0 }]);
    assert_eq!(delta, expected);
    let tool = json!({ "role": "orchestration", "kind": "tool_list", "tokens": 30 });
    ok(&mut world, "ledger.log", &tool);
    let delta = ask(&world, "ledger.delta", &json!({}));
    assert_eq!((&delta[0]["measured"], &delta[0]["tools"]), (&json!(12_030), &json!(30)));
    let none = ask(&world, "ledger.delta", &json!({ "role": "zz" }));
    assert_eq!(none, json!([{ "role": "zz", "baseline": null, "measured": 0, "tools": 0 }]));
}

#[test]
fn names_beyond_a_number_are_added_up_as_one() {
    let mut world = World::new();
    for n in 0..NAMES_MAX + 3 {
        let log = json!({ "role": "r", "kind": "k", "tokens": 1, "task": format!("t{n}") });
        ok(&mut world, "ledger.log", &log);
    }
    let report = ask(&world, "ledger.report", &json!({ "by": "task" }));
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), NAMES_MAX + 1);
    let other = rows.iter().find(|row| row["name"] == OTHER).unwrap();
    assert_eq!(other["tokens"], 3);
    assert_eq!(report["total"]["tokens"], NAMES_MAX + 3, "nothing is lost");
}

#[test]
fn there_is_room_for_so_much_and_no_more() {
    let mut world = World::new();
    for n in 0..FACTS_MAX {
        ok(&mut world, "fact.set", &json!({ "key": format!("k{n}"), "value": "v" }));
    }
    let one_more = json!({ "key": "one more", "value": "v" });
    let (rule, message) = no(&mut world, "fact.set", &one_more);
    assert_eq!(rule, Rule::SharedRoom);
    assert!(message.contains("10000 facts") && message.contains("fact.delete"), "{message}");
    ok(&mut world, "fact.set", &json!({ "key": "k7", "value": "w" }));
    ok(&mut world, "fact.delete", &json!({ "key": "k7" }));
    ok(&mut world, "fact.set", &one_more);
    const { assert!(CAPSULES_MAX >= FACTS_MAX) };
}

#[test]
fn what_is_out_of_range_is_not_a_command() {
    let long = "x".repeat(1_001);
    for (name, args) in [
        ("symbol.set", json!({ "id": "", "value": "v" })),
        ("symbol.set", json!({ "id": "a\tb", "value": "v" })),
        ("symbol.set", json!({ "id": "a", "value": long })),
        ("fact.set", json!({ "key": "k", "value": "\u{1b}[2J" })),
        ("capsule.write", json!({ "id": "../x", "what": "w" })),
        ("capsule.write", json!({ "id": "a", "what": "w", "depends": ["a/b"] })),
        ("dispute.raise", json!({ "id": "d", "title": "t", "surfaces": [] })),
        ("ledger.log", json!({ "role": "r", "kind": "k", "tokens": -1 })),
        ("ledger.log", json!({ "role": "r", "kind": "k", "tokens": 1.5 })),
        ("message.note", json!({ "outcome": "maybe" })),
        ("decision.append", json!({ "title": "t", "body": "b", "by": "agent:bob" })),
    ] {
        let read = Command::read(name, &args.to_string()).expect("a known command");
        assert!(read.is_err(), "{name} {args}");
    }
}

/// Forged entries that nobody wrote.
fn forgeries(entry: &Stamped) -> Vec<Stamped> {
    let with = |change: &dyn Fn(&mut Stamped)| {
        let mut forged = entry.clone();
        change(&mut forged);
        forged
    };
    let stranger = Actor::Principal("agent:stranger".parse().unwrap());
    let mut forged = vec![with(&|own| own.draft.actor = stranger.clone())];
    let by_runtime = with(&|own| own.draft.actor = Actor::Protocol);
    if entry.draft.actor == Actor::Protocol {
        let bob = Actor::Principal(agent("bob").principal);
        forged.push(with(&|own| own.draft.actor = bob.clone()));
        forged.push(with(&|own| own.draft.causation = None));
    } else {
        forged.push(by_runtime);
    }
    if let Event::DecisionAppended(_) = &entry.draft.event {
        forged.push(with(&|own| {
            if let Event::DecisionAppended(body) = &mut own.draft.event {
                body.by = Principal::System;
            }
        }));
    }
    forged
}

#[test]
fn what_nobody_wrote_does_not_pass_the_audit() {
    let mut world = World::new();
    world.run(&agent("bob"), "agent.register", "{}").unwrap();
    ok(&mut world, "symbol.set", &json!({ "id": "F", "value": "v" }));
    ok(&mut world, "capsule.write", &capsule("a", &[]));
    let raise = json!({ "id": "c", "title": "t", "surfaces": ["a"] });
    ok(&mut world, "dispute.raise", &raise);
    ok(&mut world, "decision.append", &json!({ "title": "t", "body": "b" }));
    ok(&mut world, "ledger.log", &json!({ "role": "r", "kind": "k", "tokens": 1 }));
    let mut tried = 0;
    for (place, entry) in world.entries.iter().enumerate() {
        if entry.draft.event.kind().room() == Room::Blackboard {
            for forged in forgeries(entry) {
                assert!(world.with(place, forged.clone()).is_err(), "{forged:?}");
                tried += 1;
            }
        }
    }
    world.is_sound();
    assert!(tried >= 12, "{tried}");
    // A capsule that builds on itself was never decided.
    let circle = Event::read(Kind::CapsuleWritten, &capsule("z", &["z"]).to_string()).unwrap();
    let mut forged = world.last().clone();
    forged.draft.event = circle;
    let command = Command::read("capsule.write", &capsule("z", &["z"]).to_string());
    let asked = Request::of(&agent("bob"), &command.unwrap().unwrap());
    assert!(world.with_next(&forged, Some(asked)).is_err());
}

#[derive(Clone, Debug)]
enum Step {
    Symbol(u8, u8),
    Fact(u8, u8),
    Wipe(u8),
    Capsule(u8, Vec<u8>),
    Raise(u8),
    Log(u8, u16),
}

fn step() -> impl Strategy<Value = Step> {
    let small = 0..8u8;
    prop_oneof![
        (small.clone(), 0..4u8).prop_map(|(id, value)| Step::Symbol(id, value)),
        (small.clone(), 0..4u8).prop_map(|(id, value)| Step::Fact(id, value)),
        small.clone().prop_map(Step::Wipe),
        (small.clone(), prop::collection::vec(small.clone(), 0..4))
            .prop_map(|(id, depends)| Step::Capsule(id, depends)),
        small.clone().prop_map(Step::Raise),
        (small, any::<u16>()).prop_map(|(role, tokens)| Step::Log(role, tokens)),
    ]
}

fn take(world: &mut World, step: &Step) -> bool {
    let (name, args) = match step {
        Step::Symbol(id, value) => {
            ("symbol.set", json!({ "id": format!("s{id}"), "value": format!("v{value}") }))
        }
        Step::Fact(id, value) => {
            ("fact.set", json!({ "key": format!("k{id}"), "value": format!("v{value}") }))
        }
        Step::Wipe(id) => ("fact.delete", json!({ "key": format!("k{id}") })),
        Step::Capsule(id, depends) => {
            let depends: Vec<String> = depends.iter().map(|id| format!("c{id}")).collect();
            ("capsule.write", json!({ "id": format!("c{id}"), "what": "w", "depends": depends }))
        }
        Step::Raise(id) => {
            ("dispute.raise", json!({ "id": format!("d{id}"), "title": "t", "surfaces": ["a"] }))
        }
        Step::Log(role, tokens) => {
            let role = format!("r{role}");
            ("ledger.log", json!({ "role": role, "kind": "k", "tokens": tokens }))
        }
    };
    let who = if args.to_string().len() % 2 == 0 { agent("alice") } else { system() };
    world.run(&who, name, &args.to_string()).is_ok()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn whatever_is_written_it_holds_together(steps in prop::collection::vec(step(), 1..60)) {
        let mut world = World::new();
        let (mut symbols, mut tokens) = (Vec::<(String, String)>::new(), 0u64);
        for step in &steps {
            let done = take(&mut world, step);
            match step {
                Step::Symbol(id, value) => {
                    let (id, value) = (format!("s{id}"), format!("v{value}"));
                    match symbols.iter_mut().find(|own| own.0 == id) {
                        Some(own) => own.1 = value,
                        None => symbols.push((id, value)),
                    }
                }
                Step::Log(_, more) => tokens += u64::from(*more),
                _ => {}
            }
            prop_assert!(done || matches!(step, Step::Capsule(..) | Step::Raise(_)));
        }
        // A plain list says the same.
        let blackboard = world.state.blackboard();
        let listed: Vec<(String, String)> =
            blackboard.symbols().map(|own| (own.id.to_string(), own.value.to_string())).collect();
        prop_assert_eq!(&listed, &symbols);
        for value in 0..4 {
            let value = format!("v{value}");
            let first = symbols.iter().find(|own| own.1 == value).map(|own| own.0.clone());
            let text = althing_kernel::text::Text::new(&value).unwrap();
            let found = blackboard.symbol_for(&text).map(|own| own.id.to_string());
            prop_assert_eq!(found, first);
        }
        let report = ask(&world, "ledger.report", &json!({}));
        prop_assert_eq!(report["total"]["tokens"].as_u64(), Some(tokens));
        // Every capsule comes after what it builds on.
        let all: Vec<String> = blackboard.capsules().map(|own| own.id.to_string()).collect();
        let hydrated = ask(&world, "capsule.hydrate", &json!({ "ids": all }));
        let mut seen = std::collections::BTreeSet::new();
        for own in hydrated["capsules"].as_array().unwrap() {
            for below in own["depends"].as_array().unwrap() {
                let there = all.iter().any(|id| below == id.as_str());
                prop_assert!(!there || seen.contains(below.as_str().unwrap()), "{}", own);
            }
            seen.insert(own["id"].as_str().unwrap().to_owned());
        }
        prop_assert_eq!(seen.len(), all.len());
        // It replays, is allowed, and survives a snapshot.
        world.is_sound();
    }
}
