//! Messages injected by people, and escalations of agents.

use crate::run::{Run, payload, second_person};
use crate::support::{agent, user};
use althing_kernel::capability::DenialReason;
use althing_kernel::workspace::Status;
use althing_kernel::{Event, Kind, Reply, WorkspaceId};
use serde_json::{Value, json};

fn say(to: &WorkspaceId, kind: &str) -> Value {
    json!({ "to": to, "type": kind, "payload": payload(3) })
}

fn mail(run: &Run, id: &WorkspaceId) -> Vec<Value> {
    let list = run.world.ask("inbox.list", &json!({ "workspace": id }).to_string());
    list["envelopes"].as_array().unwrap().clone()
}

/// Shows W-HH-20, W-ENV-05, W-ENV-06, W-PORT-02, W-HH-35.
#[test]
fn a_person_says_anything_registered_to_anybody() {
    let mut run = Run::new();
    let id = run.active();
    let watcher = run.in_state(Status::Active, json!({ "agent": "watcher", "role": "observer" }));
    for (to, kind) in [(&id, "query"), (&id, "directive"), (&watcher, "directive")] {
        let before = run.count();
        run.ok(&user("ada"), "highway.inject", say(to, kind));
        let kinds = run.kinds_since(before);
        assert_eq!(
            kinds[..3],
            [Kind::EnvelopeCreated, Kind::HumanInjection, Kind::EnvelopeDelivered]
        );
        let last = mail(&run, to).pop().unwrap();
        assert_eq!((&last["origin"], &last["originator"]), (&json!("human"), &json!("ada")));
    }
    for who in [Run::lead(), agent("w1")] {
        run.refused(&who, "highway.inject", say(&id, "query"), "W-HH-35");
    }
    let rejected = |run: &mut Run, args: Value, rule: &str, reason: &str| {
        run.refused(&user("ada"), "highway.inject", args, rule);
        assert_eq!(run.world.last_event().kind(), Kind::HumanInjection);
        assert!(format!("{:?}", run.world.last_event()).contains(reason));
    };
    rejected(&mut run, say(&id, "gossip"), "W-TAX-05", "InvalidType");
    let nobody = WorkspaceId::new("nobody").unwrap();
    run.refused(&user("ada"), "highway.inject", say(&nobody, "query"), "W-ID-07");
    run.ok(&user("ada"), "highway.configure", json!({ "injection": false }));
    run.refused(&user("ada"), "highway.inject", say(&id, "query"), "W-HH-20");
    run.sound();
}

/// Resumes an interrupted workspace.
fn wake(run: &mut Run, status: Status, id: &WorkspaceId) {
    match status {
        Status::Migrating => {
            let agent = run.view(id).agent.unwrap();
            assert!(run.signal(agent.as_str(), id, "ready"));
        }
        _ => {
            run.ok(&Run::lead(), "workspace.resume", json!({ "workspace": id }));
        }
    }
}

/// Shows W-HH-21.
#[test]
fn what_is_said_to_a_workspace_waits_or_is_turned_away_by_its_state() {
    let mut run = Run::new();
    let table = [
        (Status::Migrating, None),
        (Status::Suspended, None),
        (Status::Integrating, Some("WorkspaceSealed")),
        (Status::Conflicted, Some("WorkspaceSealed")),
        (Status::Closed, Some("WorkspaceTerminal")),
        (Status::Failed, Some("WorkspaceTerminal")),
    ];
    for (status, turned_away) in table {
        let id = run.in_state(status, json!({ "agent": "w1" }));
        match turned_away {
            None => {
                run.ok(&user("ada"), "highway.inject", say(&id, "feedback"));
                let mail = mail(&run, &id);
                assert!(mail.iter().all(|sent| sent["origin"] != "human"), "{status}: it waits");
                wake(&mut run, status, &id);
                let mail = self::mail(&run, &id);
                let there = mail.iter().any(|sent| sent["origin"] == "human");
                assert!(there, "{status}: it arrives afterwards");
                run.ok(&Run::lead(), "workspace.abort", json!({ "workspace": id }));
            }
            Some(reason) => {
                run.refused(&user("ada"), "highway.inject", say(&id, "feedback"), "W-ENV-19");
                let text = format!("{:?}", run.world.last_event());
                assert!(text.contains(reason) && text.contains("Rejected"), "{text}");
            }
        }
        if status == Status::Conflicted {
            run.ok(&Run::lead(), "workspace.abort", json!({ "workspace": id }));
        }
    }
    run.sound();
}

/// Shows W-USER-31, W-USER-32.
#[test]
fn work_that_follows_from_what_a_person_said_is_on_that_persons_account() {
    let mut run = Run::new();
    second_person(&mut run.world, "bob");
    let root = run.root.clone();
    let text = run.ok(&user("bob"), "highway.inject", say(&root, "directive"));
    let Reply::Envelope(text) = text else { panic!() };
    let id = run.create(
        &Run::lead(),
        json!({ "agent": "w1", "caused_by": text.envelope,
        "delegate": true }),
    );
    assert_eq!(run.view(&id).originator.to_string(), "bob");
    run.signal("w1", &id, "started");
    let below = run.create(&agent("w1"), json!({ "agent": "w2", "parent": id }));
    assert_eq!(run.view(&below).originator.to_string(), "bob", "and so is what is below it");
    let own = run.create(&Run::lead(), json!({ "agent": "w3" }));
    assert_eq!(run.view(&own).originator.to_string(), "system");
    // Neither below somebody's work nor with an agent's envelope.
    let args = json!({ "agent": "w3", "role": "worker", "directive": payload(1), "parent": id,
        "caused_by": text.envelope });
    run.refused(&Run::lead(), "workspace.create", args, "W-USER-31");
    run.signal("w3", &own, "ready");
    let sent = run.send("lead", &root, &own, "feedback").unwrap();
    let args = json!({ "agent": "w3", "role": "worker", "directive": payload(1),
        "caused_by": sent });
    run.refused(&Run::lead(), "workspace.create", args, "W-USER-31");
    run.sound();
}

fn escalate(run: &mut Run, id: &WorkspaceId) -> Value {
    run.signal("w1", id, "blocked");
    let args = json!({ "workspace": id, "type": "escalation", "reason": "which licence?" });
    match run.ok(&agent("w1"), "signal.emit", args) {
        Reply::Signal(reply) => json!(reply.signal_id),
        other => panic!("{other:?}"),
    }
}

fn waiting(run: &Run) -> Vec<Value> {
    run.world.ask("escalation.list", "{}").as_array().unwrap().clone()
}

/// Shows W-HH-30, W-HH-31, W-SIG-11, W-SIG-04, W-EVT-02.
#[test]
fn an_escalation_reaches_the_parent_and_the_owner() {
    let mut run = Run::new();
    second_person(&mut run.world, "bob");
    let id = run.in_state(Status::Active, json!({ "agent": "w1", "owner": "bob" }));
    let before = run.count();
    escalate(&mut run, &id);
    let kinds = run.kinds_since(before);
    assert!(kinds.contains(&Kind::SignalDelivered) && kinds.contains(&Kind::EscalationReceived));
    let open = waiting(&run);
    assert_eq!((&open[0]["owner"], &open[0]["reason"]), (&json!("bob"), &json!("which licence?")));
    // Without settings for them they go up the tree all the same.
    let off = json!({ "escalation": { "enabled": false, "fallback": "reject", "timeout_s": 1 } });
    run.ok(&user("ada"), "highway.configure", off);
    let before = run.count();
    run.signal("w1", &id, "started");
    escalate(&mut run, &id);
    let kinds = run.kinds_since(before);
    assert!(kinds.contains(&Kind::SignalDelivered) && !kinds.contains(&Kind::EscalationReceived));
    run.sound();
}

/// Shows W-HH-33, W-HH-34.
#[test]
fn a_person_answers_in_words_or_ends_it_or_leaves_it_to_the_coordinator() {
    let mut run = Run::new();
    let answer = |run: &mut Run, id: &Value, response: &str, payload: Option<Value>| {
        let mut args = json!({ "escalation": id, "response": response });
        if let Some(payload) = payload {
            args["payload"] = payload;
        }
        run.do_(&user("ada"), "escalation.answer", args)
    };
    let id = run.active();
    let asked = escalate(&mut run, &id);
    let args = json!({ "escalation": asked, "response": "delegation" });
    for who in [Run::lead(), agent("w1")] {
        run.refused(&who, "escalation.answer", args.clone(), "W-HH-35");
    }
    assert!(answer(&mut run, &asked, "envelope", None).is_err(), "words are needed");
    assert!(answer(&mut run, &asked, "delegation", Some(payload(1))).is_err());
    answer(&mut run, &asked, "envelope", Some(payload(4))).unwrap();
    let last = mail(&run, &id).pop().unwrap();
    assert_eq!((&last["origin"], &last["type"]), (&json!("human"), &json!("feedback")));
    assert!(answer(&mut run, &asked, "delegation", None).is_err(), "it was answered");
    assert!(run.signal("w1", &id, "started"), "the agent goes on");
    let asked = escalate(&mut run, &id);
    let before = run.count();
    answer(&mut run, &asked, "delegation", None).unwrap();
    assert_eq!(run.kinds_since(before), [Kind::EscalationResolved]);
    run.signal("w1", &id, "started");
    let asked = escalate(&mut run, &id);
    answer(&mut run, &asked, "abort", None).unwrap();
    assert_eq!(run.view(&id).ended.unwrap().as_str(), "aborted_by_human");
    assert!(waiting(&run).is_empty());
    let args = json!({ "workspace": run.root, "type": "escalation", "reason": "r" });
    run.refused(&Run::lead(), "signal.emit", args, "W-SIG-03");
    run.sound();
}

/// Shows W-HH-33, W-CLK-09, W-EVT-02.
#[test]
fn when_nobody_answers_an_escalation_the_fallback_does() {
    for (fallback, response) in
        [("approve", "envelope"), ("reject", "abort"), ("delegate_to_coordinator", "delegation")]
    {
        let policy = json!({ "enabled": true, "fallback": fallback, "timeout_s": 30 });
        let mut run = Run::with_approvals(json!({ "gates": [], "escalation": policy }));
        let id = run.active();
        escalate(&mut run, &id);
        run.world.pass(29);
        run.world.tick();
        assert_eq!(waiting(&run).len(), 1);
        let before = run.count();
        run.world.pass(1);
        run.world.tick();
        assert!(waiting(&run).is_empty());
        let kinds = run.kinds_since(before);
        assert_eq!(kinds[0], Kind::EscalationTimeout);
        let resolved = &run.world.entries[before..];
        let mut resolved =
            resolved.iter().filter(|e| e.draft.event.kind() == Kind::EscalationResolved);
        let resolved = format!("{:?}", resolved.next().unwrap()).to_lowercase();
        assert!(resolved.contains("fallback") && resolved.contains(response), "{resolved}");
        match fallback {
            "approve" => {
                let last = mail(&run, &id).pop().unwrap();
                let proceed = althing_kernel::approvals::escalation::proceed();
                assert_eq!(last["payload"]["content"], json!(proceed));
            }
            "reject" => assert_eq!(run.status(&id), Status::Failed),
            _ => assert_eq!(run.status(&id), Status::Blocked),
        }
        run.sound();
    }
}

/// Shows W-HH-36.
#[test]
fn too_many_escalations_push_out_the_oldest_and_say_so() {
    use althing_kernel::approvals::escalation::ESCALATIONS_MAX;
    let mut run = Run::new();
    let id = run.active();
    let args = json!({ "workspace": id, "type": "escalation", "reason": "r" });
    for _ in 0..ESCALATIONS_MAX {
        run.ok(&agent("w1"), "signal.emit", args.clone());
    }
    let oldest = waiting(&run)[0]["escalation"].clone();
    run.ok(&agent("w1"), "signal.emit", args);
    let open = waiting(&run);
    assert_eq!(open.len(), ESCALATIONS_MAX);
    assert!(open.iter().all(|open| open["escalation"] != oldest));
    let denied = run.world.entries.iter().find_map(|entry| match &entry.draft.event {
        Event::CapabilityDenied(body) => Some(body),
        _ => None,
    });
    let denied = denied.expect("it is on record who was not asked");
    assert_eq!(denied.reason, DenialReason::EscalationQueueOverflow);
    assert_eq!(denied.target, Some((&id).into()));
    run.sound();
}

/// Shows W-HH-22, W-USER-04.
#[test]
fn whoever_is_not_active_says_nothing_and_answers_nothing() {
    let mut run = Run::new();
    let bob = second_person(&mut run.world, "bob");
    let id = run.in_state(Status::Active, json!({ "agent": "w1", "owner": "bob" }));
    let asked = escalate(&mut run, &id);
    run.ok(&user("ada"), "user.suspend", json!({ "user": "bob", "reason": "r" }));
    for (name, args) in [
        ("highway.inject", say(&id, "feedback")),
        ("escalation.answer", json!({ "escalation": asked, "response": "delegation" })),
    ] {
        run.refused(&bob, name, args, "W-USER-04");
        let text = format!("{:?}", run.world.last_event());
        assert!(text.contains("UserNotActive"), "{text}");
        assert_eq!(run.world.last_event().kind(), Kind::CapabilityDenied);
    }
    assert_eq!(waiting(&run).len(), 1);
    run.sound();
}

/// Shows W-HH-32, W-HH-31, W-HH-38.
#[test]
fn how_the_owner_stands_decides_where_an_escalation_goes() {
    let policy = json!({ "enabled": true, "fallback": "delegate_to_coordinator", "timeout_s": 60 });
    let mut run = Run::with_approvals(json!({ "gates": [], "escalation": policy }));
    let (ada, bob) = (user("ada"), second_person(&mut run.world, "bob"));
    let id = run.in_state(Status::Active, json!({ "agent": "w1", "owner": "bob" }));
    // Somebody who is away finds it later, in order, and its time runs on.
    run.ok(&ada, "user.block", json!({ "user": "bob", "condition": "c" }));
    run.ok(&ada, "user.unblock", json!({ "user": "bob", "condition": "c" }));
    run.ok(&ada, "user.suspend", json!({ "user": "bob" }));
    let args = json!({ "workspace": id, "type": "escalation", "reason": "first" });
    run.ok(&agent("w1"), "signal.emit", args);
    run.world.pass(30);
    let args = json!({ "workspace": id, "type": "escalation", "reason": "second" });
    run.ok(&agent("w1"), "signal.emit", args);
    let open = waiting(&run);
    assert!(open.iter().all(|open| open["presented"] == false), "{open:?}");
    run.ok(&ada, "user.resume", json!({ "user": "bob" }));
    let open = waiting(&run);
    let reasons: Vec<&str> = open.iter().map(|open| open["reason"].as_str().unwrap()).collect();
    assert_eq!(reasons, ["first", "second"]);
    assert!(open.iter().all(|open| open["presented"] == true));
    run.world.pass(31);
    run.world.tick();
    assert_eq!(waiting(&run)[0]["reason"], "second", "the first one's time was over");
    // Whoever the workspace is handed to is asked from then on.
    run.ok(&Run::lead(), "workspace.transfer", json!({ "workspace": id, "to": "ada" }));
    assert_eq!(waiting(&run)[0]["owner"], "ada");
    run.ok(&Run::lead(), "workspace.transfer", json!({ "workspace": id, "to": "bob" }));
    let delegation =
        json!({ "escalation": waiting(&run)[0]["escalation"], "response": "delegation" });
    run.ok(&bob, "escalation.answer", delegation);
    // What waits for somebody who leaves goes to the coordinator, and so does what comes later:
    // nobody is asked who is gone.
    let args = json!({ "workspace": id, "type": "escalation", "reason": "before" });
    run.ok(&agent("w1"), "signal.emit", args);
    run.ok(&ada, "user.block", json!({ "user": "bob", "condition": "c" }));
    assert_eq!(waiting(&run)[0]["presented"], false);
    let before = run.count();
    run.ok(&ada, "user.deactivate", json!({ "user": "bob", "reason": "left" }));
    assert!(waiting(&run).is_empty());
    assert!(run.kinds_since(before).contains(&Kind::EscalationResolved));
    let before = run.count();
    let args = json!({ "workspace": id, "type": "escalation", "reason": "third" });
    run.ok(&agent("w1"), "signal.emit", args);
    let kinds = run.kinds_since(before);
    assert!(kinds.contains(&Kind::CapabilityDenied) && kinds.contains(&Kind::EscalationResolved));
    assert!(waiting(&run).is_empty());
    let shown = run.world.ask("inbox.list", &json!({ "workspace": run.root }).to_string());
    assert!(shown["news"].to_string().contains("escalation:"), "{shown}");
    run.sound();
}
