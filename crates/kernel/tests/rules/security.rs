//! Security: authentication, integrity proofs, deployment models.

use crate::run::{Run, blob, payload, second_person};
use crate::support::{World, agent, in_session, key, session_of, system, user};
use althing_kernel::access::{reads_all_content, reads_content};
use althing_kernel::authentication::{Method, Succeeded};
use althing_kernel::deployment::{Deployment, Mechanism};
use althing_kernel::envelope::carrier::{Carried, Carrier, Parcel};
use althing_kernel::envelope::{RejectReason, Status as Way};
use althing_kernel::integrity::{SubjectType, Violation};
use althing_kernel::query::{Answer, Query, answer_to};
use althing_kernel::seal::Integrity;
use althing_kernel::signal::SignalType;
use althing_kernel::state::Image;
use althing_kernel::workspace::Status;
use althing_kernel::{
    Actor, AgentName, Blob, Caller, Command, EnvelopeId, Event, Kind, Principal, RefusalKind,
    Reply, State, Transaction, WorkspaceId,
};
use serde_json::{Value, json};

fn successes(world: &World) -> Vec<Succeeded> {
    let entries = world.entries.iter();
    let found = entries.filter_map(|entry| match &entry.draft.event {
        Event::AuthenticationSucceeded(body) => {
            assert_eq!((&entry.draft.actor, &entry.draft.workspace), (&Actor::Protocol, &None));
            Some(body.clone())
        }
        _ => None,
    });
    found.collect()
}

/// Shows W-SEC-03, W-USER-03.
#[test]
fn success_is_recorded_once_for_a_key_and_a_session_and_again_after_a_failure() {
    let mut world = World::new();
    let (ada, alice) = (user("ada"), agent("alice"));
    for n in 0..3 {
        world.claim(&alice, &[&format!("a{n}")], 60).unwrap();
        world.claim(&ada, &[&format!("u{n}")], 60).unwrap();
    }
    let of = |entity: &Caller, session: Option<&WorkspaceId>| {
        let person = entity.principal == user("ada").principal;
        Succeeded {
            entity: entity.principal.clone(),
            key: entity.key,
            method: if person { Method::SealedKey } else { Method::Key },
            session: session.cloned(),
            user_id: person.then(|| "ada".parse().unwrap()),
        }
    };
    assert_eq!(successes(&world), [of(&alice, None), of(&ada, None)], "not with every command");
    // It comes before whatever the caller did.
    let place = |kind: Kind, actor: &Caller| {
        let by = |entry: &&althing_kernel::Stamped| {
            let success = matches!(&entry.draft.event, Event::AuthenticationSucceeded(body)
                if body.entity == actor.principal);
            success || entry.draft.actor == actor.principal.clone().into()
        };
        let first = world.entries.iter().filter(by).map(|entry| entry.draft.event.kind());
        first.take_while(|found| *found != kind).count()
    };
    assert_eq!(place(Kind::AuthenticationSucceeded, &alice), 0);
    // A session of its own counts by itself.
    let session = session_of(world.run(&alice, "session.open", r#"{"client":"c"}"#).unwrap());
    for n in 0..2 {
        world.claim(&in_session(&alice, &session), &[&format!("s{n}")], 60).unwrap();
    }
    assert_eq!(successes(&world)[2..], [of(&alice, Some(&session))]);
    // After a failure the next success is news.
    world.claim(&Caller { key: key(9), ..ada.clone() }, &["x"], 60).unwrap_err();
    world.claim(&ada, &["x"], 60).unwrap();
    world.claim(&ada, &["y"], 60).unwrap();
    assert_eq!(successes(&world)[3..], [of(&ada, None)]);
    // Whoever comes for nothing else is recorded each time, with the right key.
    let note = |key| {
        let note = json!({ "entity": "user:ada", "key": key });
        Command::RuntimeAuthentic(serde_json::from_value(note).unwrap())
    };
    world.run_command(&system(), &note(ada.key)).unwrap();
    assert_eq!(successes(&world).len(), 5);
    let refusal = world.run_command(&system(), &note(key(9))).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::NotAuthentic);
    assert_eq!(world.kinds().last(), Some(&Kind::AuthenticationFailed));
}

/// Changes what comes out, and counts what went in.
struct Forger<F>(F);

impl<F: FnMut(&mut Parcel)> Carrier for Forger<F> {
    fn carry(&mut self, _: &EnvelopeId, _: u8) -> Carried {
        Carried::Acknowledged
    }

    fn hand_over(&mut self, mut sent: Parcel) -> Parcel {
        (self.0)(&mut sent);
        sent
    }
}

fn way(run: &Run, id: &EnvelopeId) -> Way {
    run.world.state.envelope(id).unwrap().status
}

fn proof_of(run: &Run, kind: Kind) -> Option<Integrity> {
    let mut made = run.world.entries.iter().rev().map(|entry| &entry.draft.event);
    match made.find(|event| event.kind() == kind).unwrap() {
        Event::EnvelopeCreated(body) => body.integrity,
        Event::CheckpointCreated(body) => body.integrity,
        other => panic!("{other:?}"),
    }
}

/// The rejection and the violation among the entries since a count.
fn rejection(run: &Run, since: usize, id: &EnvelopeId, violation: Violation) {
    let since = &run.world.entries[since..];
    let at = since.iter().position(|entry| {
        matches!(&entry.draft.event, Event::EnvelopeRejected(body)
            if body.envelope_id == *id && body.reason == RejectReason::IntegrityViolation)
    });
    let at = at.unwrap_or_else(|| panic!("{since:#?}"));
    let Event::IntegrityViolation(found) = &since[at + 1].draft.event else { panic!("{since:#?}") };
    assert_eq!((found.subject_type, found.violation), (SubjectType::Envelope, violation));
    assert_eq!(found.subject_id.as_str(), id.as_str());
    assert_eq!(
        (&since[at + 1].draft.workspace, &since[at + 1].draft.actor),
        (&None, &Actor::Protocol)
    );
    let delivered = |entry: &althing_kernel::Stamped| match &entry.draft.event {
        Event::EnvelopeDelivered(body) => body.envelope_id == *id,
        _ => false,
    };
    assert!(!since.iter().any(delivered));
}

/// Shows W-SEC-06, W-ENV-01, W-ENV-09.
#[test]
fn an_envelope_that_a_carrier_changes_is_never_delivered_and_its_sender_is_told() {
    type Change = fn(&mut Parcel);
    let changes: &[Change] = &[
        |parcel| parcel.envelope.payload.content = Blob::from_digest([9; 32]),
        |parcel| parcel.envelope.payload.attachments.push(Blob::from_digest([9; 32])),
        |parcel| parcel.envelope.payload.format = serde_json::from_str(r#""json""#).unwrap(),
        |parcel| std::mem::swap(&mut parcel.envelope.from, &mut parcel.envelope.to),
        |parcel| parcel.envelope.to = parcel.envelope.from.clone(),
        |parcel| parcel.envelope.kind = serde_json::from_str(r#""directive""#).unwrap(),
        |parcel| parcel.envelope.priority = serde_json::from_str(r#""blocking""#).unwrap(),
        |parcel| parcel.envelope.origin = serde_json::from_str(r#""human""#).unwrap(),
        |parcel| parcel.envelope.rights.clear(),
        |parcel| parcel.envelope.in_reply_to = Some(parcel.id.clone()),
        |parcel| parcel.envelope.integrity = None,
    ];
    for (number, change) in changes.iter().enumerate() {
        let mut run = Run::new();
        let (id, root, lead) = (run.active(), run.root.clone(), Run::lead());
        let travels = json!({ "holder": root, "target": root });
        let Reply::Right(right) = run.ok(&lead, "right.grant", travels) else { panic!() };
        run.ok(&agent("w1"), "inbox.take", json!({ "workspace": id }));
        run.world.carrier = Some(Box::new(Forger(change)));
        let before = run.count();
        let letter = json!({ "to": id, "type": "feedback", "rights": [right.right],
            "payload": payload(2) });
        let Reply::Envelope(sent) = run.ok(&lead, "envelope.send", letter) else { panic!() };
        assert!(sent.integrity.is_some());
        let missing = number + 1 == changes.len();
        let violation = if missing { Violation::ProofMissing } else { Violation::HashMismatch };
        rejection(&run, before, &sent.envelope, violation);
        assert_eq!(way(&run, &sent.envelope), Way::Rejected);
        let Reply::Mail(mail) = run.ok(&agent("w1"), "inbox.take", json!({ "workspace": id }))
        else {
            panic!()
        };
        assert_eq!(mail.envelopes, [], "change {number}");
        assert!(run.right(&root, &root).is_some(), "what it carried stays with its sender");
        let shown = run.world.entries[before..].iter().any(|entry| {
            matches!(&entry.draft.event, Event::SignalEmitted(text)
                if text.signal == SignalType::Failed && text.to.as_ref() == Some(&root))
        });
        assert!(shown, "change {number}");
        // The channel goes on.
        run.world.carrier = None;
        let next = run.send("lead", &root, &id, "feedback").unwrap();
        assert_eq!(way(&run, &next), Way::Acknowledged);
    }
}

/// Shows W-SEC-06.
#[test]
fn what_is_no_part_of_the_message_may_differ_and_another_message_is_not_this_one() {
    let mut run = Run::new();
    let (id, root) = (run.active(), run.root.clone());
    run.world.carrier = Some(Box::new(Forger(|parcel: &mut Parcel| parcel.envelope.attempts = 3)));
    let sent = run.send("lead", &root, &id, "feedback").unwrap();
    assert_eq!(way(&run, &sent), Way::Acknowledged);
    // A whole other envelope, with its own good proof.
    let mut first = None;
    run.world.carrier = Some(Box::new(Forger(move |parcel: &mut Parcel| match &first {
        None => first = Some(parcel.clone()),
        Some(first) => *parcel = Parcel::clone(first),
    })));
    let good = run.send("lead", &root, &id, "feedback").unwrap();
    let before = run.count();
    let swapped = run.send("lead", &root, &id, "feedback").unwrap();
    assert_eq!((way(&run, &good), way(&run, &swapped)), (Way::Acknowledged, Way::Rejected));
    rejection(&run, before, &swapped, Violation::HashMismatch);
}

/// The same state with one thing in it changed, as it could be in a snapshot.
fn altered(state: &State, noun: &str, id: &str, field: &str, value: Value) -> State {
    let mut image = serde_json::to_value(state.image()).unwrap();
    let found = image[noun].as_array_mut().unwrap().iter_mut().find(|own| own[0] == id).unwrap();
    assert_ne!(found[1][field], value, "{field}");
    found[1][field] = value;
    State::from_image(serde_json::from_value::<Image>(image).unwrap()).unwrap()
}

/// Shows W-SEC-06, W-ENV-09.
#[test]
fn an_envelope_that_is_changed_while_it_waits_is_never_delivered() {
    let mut run = Run::new();
    let (lead, root) = (Run::lead(), run.root.clone());
    let id = run.create(&lead, json!({ "agent": "w1" }));
    let other = run.create(&lead, json!({ "agent": "w2" }));
    let waiting = run.view(&id).directive.unwrap();
    let payload = json!({ "attachments": [], "content": blob(9)["blob"], "format": "markdown" });
    let changes = [
        ("payload", payload),
        ("from", json!(other)),
        ("to", json!(other)),
        ("kind", json!("feedback")),
        ("priority", json!("urgent")),
        ("origin", json!("human")),
        ("in_reply_to", json!(waiting)),
        ("rights", json!(["r"])),
        ("task", json!("t")),
        ("originator", json!("system")),
        ("integrity", Value::Null),
    ];
    for (field, value) in changes {
        let mut run = Run { world: run.world.fork(), root: root.clone() };
        let known = run.world.state.envelope(&waiting).unwrap();
        if field == "originator" && serde_json::to_value(&known.originator).unwrap() == value {
            continue;
        }
        let (before, missing) = (run.count(), value.is_null());
        run.world.state = altered(&run.world.state, "envelopes", waiting.as_str(), field, value);
        for (who, at) in [("w1", &id), ("w2", &other)] {
            run.signal(who, at, "ready");
        }
        let violation = if missing { Violation::ProofMissing } else { Violation::HashMismatch };
        rejection(&run, before, &waiting, violation);
        assert_eq!(way(&run, &waiting), Way::Rejected, "{field}");
    }
    // Unchanged, it is delivered.
    assert!(proof_of(&run, Kind::EnvelopeCreated).is_some());
    run.signal("w1", &id, "ready");
    assert_eq!(way(&run, &waiting), Way::Acknowledged);
}

fn refused_as_bad(run: &mut Run, name: &str, args: Value) {
    let before = run.count();
    let refusal = run.do_(&Run::lead(), name, args).unwrap_err();
    assert_eq!((refusal.kind, refusal.rule.id()), (RefusalKind::Integrity, "W-INT-11"));
    assert_eq!(run.kinds_since(before), [Kind::CommandRefused, Kind::IntegrityViolation]);
    let Event::IntegrityViolation(found) = run.world.last_event() else { panic!() };
    assert_eq!(found.subject_type, SubjectType::Checkpoint);
    let shown = &run.world.entries[before];
    assert_eq!(shown.draft.actor, Run::lead().principal.into(), "who asked is on record");
}

/// Shows W-SEC-08, W-INT-11.
#[test]
fn a_checkpoint_that_was_changed_is_refused_and_recorded_and_never_merged() {
    let mut run = Run::new();
    let done = run.in_state(Status::Integrating, json!({ "agent": "w1" }));
    let other = run.in_state(Status::Active, json!({ "agent": "w2" }));
    assert!(proof_of(&run, Kind::CheckpointCreated).is_some());
    let checkpoint = run.view(&done).latest_final.unwrap();
    let usage = json!({ "cost": 1, "tokens_consumed": 1, "wall_time": 1 });
    let changes = [
        ("files", json!([{ "path": "src/a.rs", "content": blob(9)["blob"] }])),
        ("content", blob(9)["blob"].clone()),
        ("artifacts", json!([{ "artifact_id": "a", "content": blob(9)["blob"], "name": "n" }])),
        ("intent", json!("another")),
        ("kind", json!("observation")),
        ("status", json!("provisional")),
        ("confidence", json!("low")),
        ("parent", json!("c")),
        ("usage", usage),
        ("workspace", json!(other)),
        ("integrity", Value::Null),
    ];
    let whole = run.world.state.clone();
    for (field, value) in changes {
        let mut run = Run { world: run.world.fork(), root: run.root.clone() };
        run.world.state = altered(&whole, "checkpoints", checkpoint.as_str(), field, value);
        for strategy in ["direct", "layered"] {
            let accept = json!({ "workspace": done, "decision": "accept", "strategy": strategy });
            refused_as_bad(&mut run, "integration.decide", accept);
        }
        assert_eq!(run.status(&done), Status::Integrating, "{field}");
        let files = run.world.ask("workspace.files", &json!({ "workspace": run.root }).to_string());
        assert_eq!(files["merged"], json!([]), "{field}: {files}");
    }
    // Nor is anything saved of it, once its workspace has failed.
    let lost = run.in_state(Status::Integrating, json!({ "agent": "w2" }));
    run.ok(&Run::lead(), "workspace.abort", json!({ "workspace": lost }));
    let saved = run.view(&lost).latest_final.unwrap();
    let whole = run.world.state.clone();
    run.world.state = altered(&whole, "checkpoints", saved.as_str(), "intent", json!("another"));
    refused_as_bad(&mut run, "integration.salvage", json!({ "workspace": lost, "merged": [] }));
    run.world.state = whole;
    // What is whole is merged.
    run.ok(&Run::lead(), "integration.decide", json!({ "workspace": done, "decision": "accept" }));
    assert_eq!(run.status(&done), Status::Closed);
    // A conflict is settled on what was made, too.
    let stuck = run.in_state(Status::Conflicted, json!({ "agent": "w1" }));
    let (merging, conflict) =
        (run.view(&stuck).latest_final.unwrap(), run.view(&stuck).conflicts[0].id.clone());
    let settle = json!({ "workspace": stuck, "conflict": conflict, "resolution": "r",
        "strategy": "coordinator_resolve" });
    let whole = run.world.state.clone();
    run.world.state = altered(&whole, "checkpoints", merging.as_str(), "intent", json!("another"));
    refused_as_bad(&mut run, "conflict.resolve", settle.clone());
    assert_eq!(run.status(&stuck), Status::Conflicted);
    run.world.state = whole;
    run.ok(&Run::lead(), "conflict.resolve", settle);
    assert_eq!(run.status(&stuck), Status::Closed);
}

/// Shows W-SIG-14, W-SEC-07, W-SEC-04.
#[test]
fn no_agent_signals_for_the_workspace_of_another() {
    let mut run = Run::new();
    let (mine, yours) = (run.active(), run.in_state(Status::Active, json!({ "agent": "w2" })));
    let args = json!({ "workspace": yours, "type": "failed", "reason": "r" });
    run.refused(&agent("w1"), "signal.emit", args.clone(), "W-WS-02");
    let impostor = Caller { key: agent("w1").key, ..agent("w2") };
    run.refused(&impostor, "signal.emit", args.clone(), "A-ID-01");
    assert_eq!(run.world.kinds().last(), Some(&Kind::AuthenticationFailed));
    assert_eq!((run.status(&mine), run.status(&yours)), (Status::Active, Status::Active));
    // What a workspace was once bound to is nobody's voice any more.
    run.ok(&Run::lead(), "workspace.migrate", json!({ "workspace": yours, "agent": "w3" }));
    let refusal = run.do_(&agent("w2"), "signal.emit", args).unwrap_err();
    assert_eq!(refusal.rule.id(), "W-WS-02");
}

/// Shows W-SEC-09.
#[test]
fn a_run_begins_only_under_a_model_whose_mechanisms_are_all_in_place() {
    let start = |model: &str| {
        let args = json!({ "deployment": model }).to_string();
        Command::read("run.start", &args).unwrap().unwrap()
    };
    let mut world = World::new();
    for (model, lacks) in [
        ("shared-infrastructure", &["TLS", "isolation", "encryption at rest"][..]),
        (
            "zero-trust",
            &["TLS", "isolation", "at rest", "workspace's own", "attested", "end-to-end"],
        ),
    ] {
        let refusal = world.run_command(&user("ada"), &start(model)).unwrap_err();
        assert_eq!(refusal.rule.id(), "W-SEC-09");
        for mechanism in lacks {
            assert!(refusal.message.contains(mechanism), "{mechanism}: {}", refusal.message);
        }
        assert!(!refusal.message.contains("access control"), "{}", refusal.message);
        assert_eq!(world.kinds().last(), Some(&Kind::CommandRefused));
    }
    // Each mechanism counts by itself.
    let all = Deployment::SharedInfrastructure.needs();
    for missing in 0..=all.len() {
        let there: Vec<Mechanism> =
            (0..all.len()).filter(|n| *n != missing).map(|n| all[n]).collect();
        let mut mint = crate::support::Counter::default();
        let turn = Transaction::begin(world.state.clone(), world.now, &mut mint);
        let mut turn = turn.protected_by(&there);
        let outcome = turn.decide(&user("ada"), &start("shared-infrastructure")).unwrap();
        assert_eq!(outcome.result.is_ok(), missing == all.len(), "{missing}");
        if outcome.result.is_ok() {
            let head = turn.entries().iter().find_map(|entry| match &entry.draft.event {
                Event::WorkspaceCreated(body) => body.run.clone(),
                _ => None,
            });
            assert_eq!(head.unwrap().deployment_model, Deployment::SharedInfrastructure);
        }
    }
    world.run_command(&user("ada"), &start("single-runtime")).unwrap();
}

/// Shows W-SEC-10, W-SEC-11.
#[test]
fn content_is_for_those_to_whom_it_was_given_on_record() {
    let mut run = Run::new();
    second_person(&mut run.world, "bob");
    let id = run.in_state(Status::Active, json!({ "agent": "w1", "context": blob(3) }));
    run.checkpoint("w1", &id, "artifact", &["a"]);
    let sees = json!({ "agent": "w2", "visibility": [id] });
    run.in_state(Status::Active, sees);
    run.in_state(Status::Active, json!({ "agent": "w3" }));
    let watches = json!({ "agent": "watcher", "role": "observer", "global_trail": true });
    run.create(&Run::lead(), watches);
    run.world.run(&agent("outsider"), "agent.register", "{}").unwrap();
    let state = &run.world.state;
    let checkpoint = run.view(&id).head.unwrap();
    for (name, content, mail) in [
        ("lead", true, true),
        ("w1", true, true),
        ("w2", true, false),
        ("watcher", true, false),
        ("w3", false, false),
        ("outsider", false, false),
    ] {
        let name = Principal::Agent(AgentName::new(name).unwrap());
        assert_eq!(reads_content(state, Some(&name), &id), content, "{name}");
        let asks = |query: &str, args: &Value| {
            let query = Query::read(query, &args.to_string()).unwrap().unwrap();
            !matches!(answer_to(state, run.world.now, &query, Some(&name)), Answer::Missing(_))
        };
        assert_eq!(asks("checkpoint.get", &json!({ "checkpoint": checkpoint })), content, "{name}");
        assert_eq!(asks("checkpoint.list", &json!({ "workspace": id })), content, "{name}");
        assert_eq!(asks("workspace.files", &json!({ "workspace": id })), content, "{name}");
        let directive = run.view(&id).directive;
        assert_eq!(asks("envelope.get", &json!({ "envelope": directive })), mail, "{name}");
    }
    let lead = Principal::Agent(AgentName::new("lead").unwrap());
    assert!(reads_all_content(state, None) && reads_all_content(state, Some(&lead)));
}

#[test]
fn the_audit_refuses_records_of_security_that_nobody_could_have_made() {
    let mut run = Run::new();
    let id = run.create(&Run::lead(), json!({ "agent": "w1" }));
    let waiting = run.view(&id).directive.unwrap();
    let entries = run.world.entries.iter().enumerate();
    let found = entries.rev().find_map(|(place, entry)| match &entry.draft.event {
        Event::AuthenticationSucceeded(body) => Some((place, entry, body.clone())),
        _ => None,
    });
    let (place, entry, body) = found.unwrap();
    let tells = |body: Succeeded| {
        let mut entry = entry.clone();
        entry.draft.event = Event::AuthenticationSucceeded(body);
        run.world.with(place, entry).is_ok()
    };
    assert!(tells(body.clone()));
    assert!(!tells(Succeeded { key: key(99), ..body.clone() }));
    assert!(!tells(Succeeded { entity: agent("w1").principal, ..body.clone() }));
    assert!(!tells(Succeeded { user_id: None, ..body.clone() }));
    assert!(!tells(Succeeded { method: Method::Key, ..body.clone() }));
    assert!(!tells(Succeeded { session: Some(id.clone()), ..body }));
    // Nobody found fault with an envelope that waits, whoever says so and with whatever request.
    let made_up = |entry: &althing_kernel::Stamped, event: &Event| {
        let mut entry = entry.clone();
        entry.at = run.world.now.after(althing_kernel::Span::from_secs(1));
        entry.draft.event = event.clone();
        let mut asked = run.world.requests.values().cloned().map(Some).chain([None]);
        asked.all(|asked| run.world.with_next(&entry, asked).is_err())
    };
    let sent = run.world.state.envelope(&waiting).unwrap();
    let rejected = Event::EnvelopeRejected(althing_kernel::envelope::Rejected {
        envelope_id: waiting.clone(),
        from: sent.from.clone(),
        reason: RejectReason::IntegrityViolation,
        to: sent.to.clone(),
        kind: sent.kind.clone(),
    });
    let mut by = entry.clone();
    by.draft.workspace = Some(run.root.clone());
    assert!(made_up(&by, &rejected));
    by.draft.actor = agent("lead").principal.into();
    assert!(made_up(&by, &rejected));
    let violation = json!({ "action_taken": "rejected", "actual": "a", "expected": "e",
        "subject_id": waiting, "subject_type": "envelope", "violation": "hash_mismatch" });
    let violation = Event::read(Kind::IntegrityViolation, &violation.to_string()).unwrap();
    assert!(made_up(entry, &violation) && made_up(&by, &violation));
}
