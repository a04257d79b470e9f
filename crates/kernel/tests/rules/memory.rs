//! Records: the table, and commands on single records.

use crate::support::{World, agent, in_session, session_of, system, user};
use althing_kernel::records::field::{Fields, WRITTEN_BY_KERNEL};
use althing_kernel::records::table::TABLES;
use althing_kernel::records::vocabulary::STEP_EDGES;
use althing_kernel::records::{Kind, Record, RecordId, Status};
use althing_kernel::state::State;
use althing_kernel::{Caller, Event, Rule};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeSet;

pub(crate) fn ok(world: &mut World, who: &Caller, name: &str, args: &Value) -> Value {
    let reply = world.run(who, name, &args.to_string());
    serde_json::to_value(reply.unwrap_or_else(|no| panic!("{name} {args}: {no:?}"))).unwrap()
}

pub(crate) fn no(world: &mut World, who: &Caller, name: &str, args: &Value) -> (Rule, String) {
    let refusal = world.run(who, name, &args.to_string()).unwrap_err();
    (refusal.rule, refusal.message)
}

pub(crate) fn alice() -> Caller {
    agent("alice")
}

pub(crate) fn bob() -> Caller {
    agent("bob")
}

/// Creates a record with what its kind needs, of alice's; work is for bob.
pub(crate) fn create(world: &mut World, kind: Kind) -> RecordId {
    let fields = match kind {
        Kind::Assignment => json!({ "agent": "bob" }),
        Kind::Candidate => json!({ "candidate_type": "trap" }),
        Kind::Message => json!({ "to": "bob" }),
        Kind::Loop => json!({ "loop_kind": "review" }),
        Kind::Sequence => json!({ "items": [{ "plan": create(world, Kind::Plan), "rank": 1 }] }),
        _ => json!({}),
    };
    let args = json!({ "kind": kind, "text": "t", "fields": fields });
    id_of(&ok(world, &alice(), "memory.create", &args))
}

pub(crate) fn id_of(reply: &Value) -> RecordId {
    let reply = if reply["record"].is_null() { reply } else { &reply["record"] };
    serde_json::from_value(reply["id"].clone()).unwrap()
}

pub(crate) fn get(world: &World, id: RecordId) -> Record {
    world.state.memory().record(id).unwrap().clone()
}

/// Replays everything with an audit of each entry, and compares what comes of it; and what is
/// listed with what is there.
pub(crate) fn sound(world: &World) {
    let state = world.audited().unwrap_or_else(|(place, breach)| {
        panic!("{breach}: {:?}", world.entries[place]);
    });
    let image = world.state.image();
    assert_eq!(state.image(), image);
    let stored = postcard::to_allocvec(&image).unwrap();
    let restored = State::from_image(postcard::from_bytes(&stored).unwrap()).unwrap();
    assert_eq!(restored.image(), image);
    for state in [&state, &restored] {
        let memory = state.memory();
        let mut count = 0;
        for kind in Kind::ALL {
            let all: Vec<&Record> = memory.newest(*kind, None).collect();
            assert!(
                all.is_sorted_by_key(|own| std::cmp::Reverse((own.updated_seq, own.id.number)))
            );
            for live in [true, false] {
                let some: Vec<_> = memory.newest(*kind, Some(live)).map(|own| own.id).collect();
                let expected = all.iter().filter(|own| own.is_live() == live);
                assert!(expected.map(|own| own.id).eq(some.iter().copied()));
                assert_eq!(memory.count(*kind, Some(live)), some.len());
            }
            assert_eq!(memory.count(*kind, None), all.len());
            count += all.len();
        }
        assert_eq!(count, memory.len());
        assert_eq!(memory.changed_since(0).count(), count);
        assert_eq!(state.seq(), world.entries.len() as u64);
    }
}

/// Issues a command as whichever of the two callers may.
fn either(world: &mut World, args: &Value) -> Result<Value, Vec<Rule>> {
    let mut rules = Vec::new();
    for who in [alice(), bob()] {
        match world.run(&who, "memory.move", &args.to_string()) {
            Ok(reply) => return Ok(serde_json::to_value(reply).unwrap()),
            Err(refusal) => rules.push(refusal.rule),
        }
    }
    Err(rules)
}

fn step_to(world: &mut World, id: RecordId, to: Status) -> Result<Value, Vec<Rule>> {
    let mut args = json!({ "id": id, "to": to });
    if to == Status::Merged {
        args["merged_into"] = json!(create(world, Kind::Trap));
    }
    either(world, &args)
}

/// A record in a state, by the shortest way there.
fn in_state(world: &mut World, kind: Kind, status: Status) -> RecordId {
    let mut paths: Vec<Vec<Status>> =
        kind.table().initial.iter().map(|first| vec![*first]).collect();
    loop {
        let found = paths.iter().find(|path| path.last() == Some(&status)).cloned();
        if let Some(path) = found {
            let id = match path[0] {
                Status::Created => {
                    let args = json!({ "kind": kind, "text": "t", "status": "created",
                        "fields": { "agent": "bob" } });
                    id_of(&ok(world, &alice(), "memory.create", &args))
                }
                _ => create(world, kind),
            };
            for to in &path[1..] {
                step_to(world, id, *to).unwrap();
            }
            return id;
        }
        let longer = paths.iter().flat_map(|path| {
            let next = kind.table().transitions_from(*path.last().unwrap());
            next.into_iter().map(|to| [path.clone(), vec![to]].concat()).collect::<Vec<_>>()
        });
        paths = longer.collect();
        assert!(!paths.is_empty(), "{kind} is never {status}");
    }
}

#[test]
fn every_step_of_the_table_is_taken_and_no_other() {
    let (mut legal, mut illegal) = (0, 0);
    let mut base = World::new();
    base.run(&bob(), "agent.register", "{}").unwrap();
    for table in TABLES.iter().filter(|table| table.kind.written_with().is_none()) {
        for from in table.states {
            for to in table.states.iter().filter(|to| *to != from) {
                let mut world = base.fork();
                let id = in_state(&mut world, table.kind, *from);
                let before = get(&world, id);
                assert_eq!(before.status, *from);
                match step_to(&mut world, id, *to) {
                    Ok(reply) => {
                        assert!(table.has_step(*from, *to), "{id}: {from} -> {to}");
                        assert_eq!((&reply["from"], &reply["to"]), (&json!(from), &json!(to)));
                        let after = get(&world, id);
                        assert_eq!((after.status, after.version), (*to, before.version + 1));
                        assert_eq!(after.fields.stamps[to], after.updated_at);
                        legal += 1;
                    }
                    Err(rules) => {
                        assert!(!table.has_step(*from, *to), "{id}: {from} -> {to}: {rules:?}");
                        assert!(rules.contains(&Rule::RecordStep), "{from} -> {to}: {rules:?}");
                        assert_eq!(get(&world, id), before);
                        illegal += 1;
                    }
                }
            }
        }
    }
    assert!(legal > 60 && illegal > 150, "{legal} {illegal}");
}

/// The steps as the protocol's text has them, beside the table.
#[test]
fn the_table_is_what_the_protocol_says() {
    let words = [
        (Kind::Constraint, "active:resolved,expired"),
        (Kind::Trap, "active:resolved,expired"),
        (Kind::Decision, "pending:approved,rejected,deferred deferred:approved,rejected"),
        (
            Kind::Plan,
            "open:in_progress,blocked,done,cancelled in_progress:blocked,done,cancelled \
             blocked:in_progress,cancelled",
        ),
        (Kind::Claim, "open:released,expired"),
        (Kind::Handoff, "open:accepted,closed accepted:closed"),
        (Kind::Candidate, "proposed:accepted,rejected,merged"),
        (
            Kind::Assignment,
            "created:offered,rerouted,cancelled \
             offered:accepted,failed,expired,rerouted,cancelled \
             accepted:started,timed_out,rerouted,cancelled \
             started:completed,failed,blocked,timed_out,rerouted,cancelled \
             blocked:started,failed,rerouted,cancelled failed:retrying,rerouted,cancelled \
             timed_out:retrying,rerouted,cancelled retrying:offered,rerouted,cancelled \
             expired:completed",
        ),
        (Kind::Message, "open:acknowledged,closed acknowledged:closed"),
        (Kind::Sequence, "active:paused,done,cancelled paused:active,cancelled"),
        (
            Kind::Loop,
            "open:paused,blocked,completed,cancelled paused:open,blocked,completed,cancelled \
             blocked:open,completed,cancelled",
        ),
        (Kind::Fact, ""),
        (Kind::Symbol, ""),
        (Kind::Capsule, ""),
    ];
    assert_eq!(words.len(), Kind::ALL.len());
    for (kind, text) in words {
        let expected: BTreeSet<(String, String)> = text
            .split_whitespace()
            .flat_map(|line| {
                let (from, all) = line.split_once(':').unwrap();
                all.split(',').map(|to| (from.to_owned(), to.to_owned())).collect::<Vec<_>>()
            })
            .collect();
        let table = kind.table().steps.iter().map(|(a, b)| (a.to_string(), b.to_string()));
        assert_eq!(table.collect::<BTreeSet<_>>(), expected, "{kind}");
    }
    let steps: Vec<String> = STEP_EDGES.iter().map(|(a, b)| format!("{a}:{b}")).collect();
    let expected = "todo:in_progress todo:blocked todo:done in_progress:testing in_progress:done \
        in_progress:blocked testing:done testing:blocked testing:in_progress blocked:in_progress \
        blocked:todo";
    assert_eq!(steps, expected.split_whitespace().collect::<Vec<_>>());
    for (kind, alias, status) in [
        (Kind::Plan, "todo", Status::Open),
        (Kind::Plan, "dropped", Status::Cancelled),
        (Kind::Candidate, "pending", Status::Proposed),
        (Kind::Claim, "active", Status::Open),
        (Kind::Claim, "stale", Status::Expired),
    ] {
        assert_eq!(kind.table().state(alias), Some(status));
    }
}

#[test]
fn a_record_has_an_id_of_its_kind_and_says_who_wrote_it_where() {
    let mut world = World::new();
    let session = session_of(world.run(&alice(), "session.open", "{}").unwrap());
    let caller = in_session(&alice(), &session);
    let args = json!({ "kind": "plan", "text": "t", "tags": ["b", "a", "b"] });
    let first = ok(&mut world, &caller, "memory.create", &args);
    assert_eq!(first["id"], "pln_00000001");
    assert_eq!(first["short_label"], "pln#1");
    assert_eq!(first["tags"], json!(["a", "b"]));
    assert_eq!((&first["status"], &first["version"]), (&json!("open"), &json!(1)));
    assert_eq!(first["created_at"], first["updated_at"]);
    assert_eq!(first["created_seq"], json!(world.entries.len()));
    assert_eq!((&first["author"], &first["session"]), (&json!("agent:alice"), &json!(session)));
    assert_eq!(first["provenance"], json!({ "kind": "agent" }));
    for n in 2..=42 {
        let made = ok(&mut world, &user("ada"), "memory.create", &args);
        assert_eq!(made["short_label"], format!("pln#{n}"));
        assert_eq!(made["provenance"]["kind"], "human");
    }
    for id in ["pln#42", "pln_0000002a"] {
        assert_eq!(world.ask("memory.get", &json!({ "id": id }).to_string())["id"], "pln_0000002a");
    }
    assert_eq!(ok(&mut world, &system(), "memory.create", &args)["provenance"]["kind"], "auto");
    let other = in_session(&bob(), &session);
    assert_eq!(no(&mut world, &other, "memory.create", &args).0, Rule::SessionOwned);
    sound(&world);
}

#[test]
fn what_a_kind_needs_is_given_and_what_it_lacks_is_refused() {
    let mut world = World::new();
    let mut refused = |args: Value| no(&mut world, &alice(), "memory.create", &args);
    assert_eq!(refused(json!({ "kind": "plan", "text": " " })).0, Rule::SaySomething);
    assert_eq!(refused(json!({ "kind": "claim", "text": "t" })).0, Rule::RecordField);
    let begun = json!({ "kind": "plan", "text": "t", "status": "done" });
    assert_eq!(refused(begun).0, Rule::RecordStep);
    let sure = json!({ "kind": "plan", "text": "t",
        "provenance": { "kind": "auto", "confidence_percent": 101 } });
    assert_eq!(refused(sure).0, Rule::RecordField);
    for (kind, needed) in
        [("assignment", "agent"), ("candidate", "candidate_type"), ("loop", "loop_kind")]
    {
        let (rule, why) = refused(json!({ "kind": kind, "text": "t" }));
        assert_eq!(rule, Rule::RecordField);
        assert!(why.contains(needed), "{why}");
    }
    let (rule, why) =
        refused(json!({ "kind": "trap", "text": "t", "fields": { "category": "other" } }));
    assert_eq!(rule, Rule::RecordField);
    assert!(why.contains("category"), "{why}");
    let (_, why) = refused(json!({ "kind": "plan", "text": "t", "fields": { "attempt": 3 } }));
    assert!(why.contains("written by the kernel"), "{why}");
    let forged = json!({ "kind": "handoff", "text": "t", "fields": { "from": "bob" } });
    assert_eq!(refused(forged).0, Rule::RecordLinks);
    assert_eq!(world.state.memory().len(), 0);
    for table in TABLES {
        for name in Fields::NAMES.iter().filter(|name| WRITTEN_BY_KERNEL.contains(name)) {
            assert!(!table.fields.contains(name) && !table.updatable.contains(name), "{name}");
        }
    }
    let long = json!({ "kind": "plan", "text": "x".repeat(16_001) }).to_string();
    assert!(althing_kernel::Command::read("memory.create", &long).unwrap().is_err());
    let tags: Vec<String> = (0..33).map(|n| format!("t{n}")).collect();
    let many = json!({ "kind": "plan", "text": "t", "tags": tags }).to_string();
    assert!(althing_kernel::Command::read("memory.create", &many).unwrap().is_err());
}

#[test]
fn an_update_changes_what_it_names_and_nothing_else() {
    let mut world = World::new();
    let id = create(&mut world, Kind::Plan);
    let before = get(&world, id);
    world.pass(5);
    ok(&mut world, &bob(), "memory.update", &json!({ "id": id, "text": "new" }));
    let after = get(&world, id);
    let expected = Record {
        text: after.text.clone(),
        updated_at: after.updated_at,
        updated_by: bob().principal,
        updated_seq: after.updated_seq,
        version: 2,
        ..before
    };
    assert_eq!((after.clone(), after.text.as_str()), (expected, "new"));
    let args = json!({ "id": id, "fields": { "scope": "s", "assignee": "a" } });
    ok(&mut world, &bob(), "memory.update", &args);
    let args = json!({ "id": id, "clear": ["scope"], "expected_version": 3 });
    ok(&mut world, &bob(), "memory.update", &args);
    let after = get(&world, id);
    assert_eq!((after.fields.scope.as_ref(), after.version), (None, 4));
    assert_eq!(after.fields.assignee.as_ref().unwrap().as_str(), "a");
    let mut refused = |args: Value| no(&mut world, &bob(), "memory.update", &args);
    let (rule, why) = refused(json!({ "id": id, "text": "x", "expected_version": 3 }));
    assert_eq!(rule, Rule::RecordVersion);
    assert!(why.contains("version 4"), "{why}");
    assert_eq!(refused(json!({ "id": id })).0, Rule::SaySomething);
    assert_eq!(refused(json!({ "id": id, "text": "" })).0, Rule::SaySomething);
    assert_eq!(refused(json!({ "id": id, "clear": ["stamps"] })).0, Rule::RecordField);
    let stamped = json!({ "id": id, "fields": { "started_at": 1 } });
    assert_eq!(refused(stamped).0, Rule::RecordField);
    let both = json!({ "id": id, "clear": ["scope"], "fields": { "scope": "s" } });
    assert_eq!(refused(both).0, Rule::RecordField);
    assert_eq!(refused(json!({ "id": "pln#9", "text": "x" })).0, Rule::RecordKnown);
    let moved = json!({ "id": id, "to": "done", "expected_version": 1 });
    assert_eq!(no(&mut world, &bob(), "memory.move", &moved).0, Rule::RecordVersion);
    sound(&world);
}

/// A plan is done with its last step, whichever command says so. Steps that were done before finish
/// nothing again.
#[test]
fn an_update_that_sets_the_last_step_finishes_the_plan() {
    let mut world = World::new();
    let steps = |status: &str| json!([{ "id": "stp_1", "text": "one", "status": status }]);
    let plan = json!({ "kind": "plan", "text": "t", "fields": { "steps": [{ "text": "one" }] } });
    let id = ok(&mut world, &alice(), "memory.create", &plan)["id"].clone();
    let update = |status: &str| json!({ "id": id, "fields": { "steps": steps(status) } });
    let half = ok(&mut world, &alice(), "memory.update", &update("in_progress"));
    assert_eq!((&half["status"], half.get("auto_completed")), (&json!("open"), None));
    let done = ok(&mut world, &alice(), "memory.update", &update("done"));
    assert_eq!((&done["status"], &done["auto_completed"]), (&json!("done"), &json!(true)));
    let again = ok(&mut world, &alice(), "memory.update", &update("done"));
    assert_eq!(again.get("auto_completed"), None);
    sound(&world);
}

#[test]
fn a_request_is_carried_out_once_and_answered_as_before() {
    let mut world = World::new();
    let args = json!({ "kind": "plan", "text": "t", "request_id": "q1" });
    let first = ok(&mut world, &alice(), "memory.create", &args);
    let made = ok(&mut world, &bob(), "memory.create", &args);
    assert_ne!(made["id"], first["id"], "everybody has request ids of their own");
    let id = id_of(&first);
    let done = json!({ "id": id, "to": "done", "request_id": "q2" });
    let moved = ok(&mut world, &alice(), "memory.move", &done);
    let count = world.entries.len();
    assert_eq!(ok(&mut world, &alice(), "memory.create", &args), first, "as it was then");
    assert_eq!(ok(&mut world, &alice(), "memory.move", &done), moved);
    assert_eq!(world.entries.len(), count, "nothing happened again");
    let other = json!({ "kind": "plan", "text": "other", "request_id": "q1" });
    assert_eq!(no(&mut world, &alice(), "memory.create", &other).0, Rule::RequestOnce);
    let step = json!({ "id": id, "to": "done", "request_id": "q1" });
    assert_eq!(no(&mut world, &alice(), "memory.move", &step).0, Rule::RequestOnce);
    sound(&world);
    world.pass(24 * 60 * 60);
    let later = ok(&mut world, &alice(), "memory.create", &other);
    assert_ne!(later["id"], first["id"], "a day later it is a new request");
    sound(&world);
}

#[test]
fn what_is_found_is_newest_first_and_page_by_page() {
    let mut world = World::new();
    let ids: Vec<RecordId> = (0..120).map(|_| create(&mut world, Kind::Plan)).collect();
    create(&mut world, Kind::Trap);
    let since = world.entries.len();
    ok(&mut world, &bob(), "memory.update", &json!({ "id": ids[7], "tags": ["x", "y"] }));
    ok(&mut world, &bob(), "memory.move", &json!({ "id": ids[3], "to": "done" }));
    let find = |more: Value| {
        let mut args = json!({ "kind": "plan" });
        args.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        world.ask("memory.find", &args.to_string())
    };
    let first = find(json!({}));
    assert_eq!((&first["total"], &first["next_offset"]), (&json!(120), &json!(50)));
    assert_eq!(first["items"][0]["id"], json!(ids[3]));
    assert_eq!(first["items"][1]["id"], json!(ids[7]));
    let mut seen = BTreeSet::new();
    let mut offset = json!(0);
    while !offset.is_null() {
        let page = find(json!({ "offset": offset }));
        for item in page["items"].as_array().unwrap() {
            assert!(seen.insert(item["id"].as_str().unwrap().to_owned()), "once each");
        }
        offset = page["next_offset"].clone();
    }
    assert_eq!(seen.len(), 120);
    assert_eq!(find(json!({ "status": "todo" }))["total"], 119);
    assert_eq!(find(json!({ "status": "done" }))["total"], 1);
    assert_eq!(find(json!({ "status": "open", "tag": "x" }))["total"], 1);
    assert_eq!(find(json!({ "status": "done", "tag": "x" }))["total"], 0);
    assert_eq!(find(json!({ "tags": ["z", "y"] }))["total"], 1);
    assert_eq!(find(json!({ "author": "agent:bob" }))["total"], 0);
    assert!(find(json!({ "status": "nope" })).as_str().unwrap().contains("in_progress"));
    let changes = world.ask("memory.changes", &json!({ "since": since }).to_string());
    assert_eq!(changes["total"], 2);
    assert_eq!(changes["items"][0]["id"], json!(ids[3]));
    assert!(world.ask("memory.get", r#"{"id":"pln#999"}"#).as_str().unwrap().contains("no record"));
}

#[test]
fn what_runs_out_expires_by_itself_and_what_is_over_is_archived() {
    let mut world = World::new();
    let at = world.now.micros() + 60_000_000;
    let args = json!({ "kind": "constraint", "text": "t", "fields": { "expires_at": at } });
    let made = ok(&mut world, &alice(), "memory.create", &args);
    let id = id_of(&made);
    let longer = json!({ "id": id, "fields": { "expires_at": at + 60_000_000 } });
    ok(&mut world, &alice(), "memory.update", &longer);
    let open = create(&mut world, Kind::Constraint);
    world.pass(61);
    world.tick();
    assert_eq!(get(&world, id).status, Status::Active, "its time was put off");
    let (rule, _) = no(&mut world, &alice(), "memory.archive", &json!({ "id": id }));
    assert_eq!(rule, Rule::RecordOver);
    world.pass(60);
    world.tick();
    assert!(matches!(world.last_event(), Event::MemoryExpired(body) if body.id == id));
    assert_eq!((get(&world, id).status, get(&world, id).version), (Status::Expired, 3));
    assert_eq!(get(&world, open).status, Status::Active);
    let gone = ok(&mut world, &bob(), "memory.archive", &json!({ "id": id, "reason": "old" }));
    assert_eq!(gone["archived"], json!(id));
    assert!(world.state.memory().record(id).is_none());
    let next = create(&mut world, Kind::Constraint);
    assert_eq!(next.number, 3, "a number is given once");
    sound(&world);
}

#[derive(Clone, Debug)]
struct Step {
    who: u8,
    what: u8,
    id: u64,
    to: u8,
}

fn requests() -> impl Strategy<Value = Vec<Step>> {
    let step = (0..3u8, 0..12u8, 1..5u64, 0..28u8);
    prop::collection::vec(step.prop_map(|(who, what, id, to)| Step { who, what, id, to }), 1..60)
}

fn as_command(step: &Step) -> (Caller, &'static str, Value) {
    let who = [alice(), bob(), user("ada")][usize::from(step.who)].clone();
    let kind = Kind::ALL[usize::from(step.to) % Kind::ALL.len()];
    let id = RecordId { kind, number: step.id };
    let work = RecordId { kind: Kind::Assignment, number: step.id };
    let plan = RecordId { kind: Kind::Plan, number: step.id };
    let status = Status::ALL[usize::from(step.to) % Status::ALL.len()];
    let (name, args) = match step.what {
        0 | 1 => {
            let fields = match kind {
                Kind::Assignment => json!({ "agent": "bob" }),
                Kind::Candidate => json!({ "candidate_type": "handoff" }),
                Kind::Plan => json!({ "steps": [{ "text": "a" }, { "text": "b" }] }),
                Kind::Loop => json!({ "loop_kind": "debug",
                    "slots": [{ "id": "s", "agent": "bob" }] }),
                _ => json!({}),
            };
            ("memory.create", json!({ "kind": kind, "text": "t", "fields": fields }))
        }
        2 => (
            "memory.create",
            json!({ "kind": "assignment", "text": "t",
            "fields": { "agent": "bob", "plan_id": plan } }),
        ),
        3 => ("memory.update", json!({ "id": id, "text": "u" })),
        4 => (
            "memory.update",
            json!({ "id": plan, "fields": { "depends_on": [
            RecordId { kind: Kind::Plan, number: u64::from(step.to % 4) + 1 } ] } }),
        ),
        5 => ("memory.move", json!({ "id": id, "to": status })),
        6 | 7 => ("memory.move", json!({ "id": work, "to": status })),
        8 => (
            "memory.step",
            json!({ "plan": plan, "status": "done",
            "step": format!("stp_{}", step.to % 3 + 1) }),
        ),
        9 => ("memory.archive", json!({ "id": id })),
        10 => ("memory.sweep", json!({})),
        _ => ("memory.converge", json!({ "id": work, "to": "completed" })),
    };
    (who, name, args)
}

/// Whether plans wait for each other in a circle.
fn has_circle(state: &State) -> bool {
    let plans: Vec<&Record> = state.memory().newest(Kind::Plan, None).collect();
    let mut free: BTreeSet<RecordId> = BTreeSet::new();
    for _ in 0..=plans.len() {
        for plan in &plans {
            let met = |id: &RecordId| free.contains(id) || state.memory().record(*id).is_none();
            if plan.fields.depends_on.iter().all(met) {
                free.insert(plan.id);
            }
        }
    }
    free.len() < plans.len()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn whatever_is_asked_the_records_stay_sound(requests in requests()) {
        let mut world = World::new();
        world.run(&bob(), "agent.register", "{}").unwrap();
        for step in requests {
            let (who, name, args) = as_command(&step);
            let before = world.state.clone();
            let refused = world.run(&who, name, &args.to_string()).is_err();
            if refused {
                prop_assert_eq!(before.memory().len(), world.state.memory().len());
                prop_assert_eq!(world.state.memory().changed_since(before.seq()).count(), 0);
            }
            prop_assert!(!has_circle(&world.state));
            world.pass(u64::from(step.to) * 60);
        }
        sound(&world);
    }
}

/// Private records are invisible to other agents in every query; only the author or a person
/// changes the visibility.
#[test]
fn what_is_private_is_not_there_for_others() {
    let mut world = World::new();
    let fields = json!({ "visibility": "private" });
    let trap = json!({ "kind": "trap", "text": "hidden", "fields": fields });
    let hidden = id_of(&ok(&mut world, &alice(), "memory.create", &trap));
    let missing = RecordId { kind: Kind::Trap, number: 999 };
    for (name, args) in [
        ("memory.update", json!({ "text": "x", "expected_version": 9 })),
        ("memory.move", json!({ "to": "resolved", "expected_version": 9 })),
        ("memory.move", json!({ "to": "nonsense" })),
        ("memory.archive", json!({ "expected_version": 9 })),
        ("memory.progress", json!({ "text": "x" })),
    ] {
        let mut ask = |id: RecordId| {
            let mut args = args.clone();
            args["id"] = json!(id);
            let (rule, message) = no(&mut world, &bob(), name, &args);
            (rule, message.replace(&id.to_string(), "ID").replace(&id.label(), "ID"))
        };
        assert_eq!(ask(hidden), ask(missing), "{name} {args}");
        assert_eq!(ask(hidden).0, Rule::RecordKnown, "{name} {args}");
    }
    let converge = |id: RecordId| json!({ "id": id, "to": "cancelled" });
    let shown = ok(&mut world, &bob(), "memory.converge", &converge(hidden));
    assert_eq!(shown, ok(&mut world, &bob(), "memory.converge", &converge(missing)));
    assert!(!shown.to_string().contains("hidden"), "{shown}");
    let candidate = create(&mut world, Kind::Candidate);
    let merge = |id: RecordId| json!({ "id": candidate, "to": "merged", "merged_into": id });
    assert_eq!(no(&mut world, &bob(), "memory.move", &merge(hidden)).0, Rule::RecordLinks);

    let shared = create(&mut world, Kind::Trap);
    let seen = |id: RecordId, word: &str| json!({ "id": id, "fields": { "visibility": word } });
    let (rule, message) = no(&mut world, &bob(), "memory.update", &seen(shared, "private"));
    assert_eq!(rule, Rule::RecordOwner);
    assert!(message.contains("its author's"), "{message}");
    ok(&mut world, &bob(), "memory.update", &seen(shared, "shared"));
    ok(&mut world, &alice(), "memory.update", &seen(shared, "machine"));
    let clear = json!({ "id": shared, "clear": ["visibility"] });
    assert_eq!(no(&mut world, &bob(), "memory.update", &clear).0, Rule::RecordOwner);
    ok(&mut world, &alice(), "memory.update", &clear);
    ok(&mut world, &user("ada"), "memory.update", &seen(shared, "private"));
    assert_eq!(
        no(&mut world, &bob(), "memory.update", &seen(shared, "shared")).0,
        Rule::RecordKnown
    );
    ok(&mut world, &alice(), "memory.move", &merge(hidden));
    sound(&world);
}
