//! Attempts to bypass a gate: by another command, by asking again, by somebody without permission,
//! and by granting at the gate what one may not grant.

use crate::gates::{answer, gate_of, gated, queue, wait};
use crate::run::{Run, payload, person_with, second_person};
use crate::support::{agent, system, user};
use althing_kernel::approvals::resolve;
use althing_kernel::capability::Capability;
use althing_kernel::query::{Answer, Query, answer_to};
use althing_kernel::workspace::Status;
use althing_kernel::{Event, Kind, WorkspaceId};
use serde_json::{Value, json};

/// Shows W-HH-02.
#[test]
fn while_aborts_are_gated_nobody_but_a_person_ends_anything_in_another_way() {
    let mut run = gated(&["workspace_abort"], "reject");
    let id = run.in_state(Status::Active, json!({ "agent": "w1", "group": "g" }));
    for who in [Run::lead(), system()] {
        for (order, args) in [
            ("workspace.terminate", json!({ "workspace": id, "grace_s": 1 })),
            ("workspace.batch_abort", json!({ "group": "g", "reason": "r" })),
            ("run.end", json!({ "force": true })),
        ] {
            run.refused(&who, order, args, "W-HH-02");
        }
    }
    run.world.pass(120);
    run.world.tick();
    assert_eq!(run.status(&id), Status::Active, "and it goes on");
    // A run in which nothing goes on is ended as ever, and people do as they like.
    run.ok(&user("ada"), "workspace.terminate", json!({ "workspace": id, "grace_s": 1 }));
    run.world.pass(2);
    run.world.tick();
    assert_eq!(run.status(&id), Status::Failed);
    run.ok(&Run::lead(), "run.end", json!({ "force": true }));
    run.sound();
}

/// Shows W-HH-08, W-HH-02.
#[test]
fn what_a_fallback_turned_back_stays_so_for_everybody_but_people() {
    let mut run = gated(&["workspace_abort"], "reject");
    let id = run.active();
    let abort = json!({ "workspace": id });
    gate_of(run.ok(&Run::lead(), "workspace.abort", abort.clone()));
    wait(&mut run);
    assert_eq!(run.status(&id), Status::Active);
    let before = run.count();
    let refusal = run.refused(&Run::lead(), "workspace.abort", abort.clone(), "W-HH-02");
    assert!(refusal.message.contains("a person"), "{}", refusal.message);
    assert!(!run.kinds_since(before).contains(&Kind::GateTriggered), "it is not asked again");
    run.ok(&user("ada"), "workspace.abort", abort);
    assert_eq!(run.status(&id), Status::Failed);
    run.sound();
}

/// Shows W-HH-08.
#[test]
fn what_a_fallback_let_through_or_left_to_the_coordinator_is_not_asked_again() {
    for fallback in ["approve", "escalate_to_coordinator"] {
        let mut run = gated(&["workspace_abort"], fallback);
        let id = run.active();
        let abort = json!({ "workspace": id });
        gate_of(run.ok(&Run::lead(), "workspace.abort", abort.clone()));
        wait(&mut run);
        if fallback == "escalate_to_coordinator" {
            assert_eq!(run.status(&id), Status::Active);
            let before = run.count();
            run.ok(&Run::lead(), "workspace.abort", abort);
            assert!(run.kinds_since(before).contains(&Kind::GateReentryBlocked));
        }
        assert_eq!(run.status(&id), Status::Failed, "{fallback}");
        run.sound();
    }
}

/// Shows W-HH-08, W-USER-41.
#[test]
fn an_owner_may_let_go_on_what_was_left_to_the_coordinator_in_what_is_their_own() {
    let mut run = gated(&["workspace_abort"], "escalate_to_coordinator");
    let bob = person_with(&mut run.world, "bob", &[Capability::AbortOwn]);
    let eve = person_with(&mut run.world, "eve", &[Capability::AbortOwn]);
    let id = run.in_state(Status::Active, json!({ "agent": "w1", "owner": "bob" }));
    let gate = gate_of(run.ok(&Run::lead(), "workspace.abort", json!({ "workspace": id })));
    wait(&mut run);
    assert_eq!(run.status(&id), Status::Active);
    let approve = json!({ "gate": gate.gate, "action": "approve" });
    run.refused(&eve, "gate.resolve", approve.clone(), "W-USER-41");
    run.ok(&bob, "gate.resolve", approve);
    assert_eq!(run.status(&id), Status::Failed);
    run.sound();
}

/// Shows W-HH-02, W-INT-20.
#[test]
fn a_merge_that_was_turned_back_is_not_let_in_as_a_salvage() {
    let mut run = gated(&["integration"], "reject");
    let work = run.in_state(Status::Integrating, json!({ "agent": "w1" }));
    let accept = json!({ "workspace": work, "decision": "accept" });
    gate_of(run.ok(&Run::lead(), "integration.decide", accept));
    wait(&mut run);
    let reject = json!({ "workspace": work, "decision": "reject" });
    run.ok(&Run::lead(), "integration.decide", reject);
    assert_eq!(run.status(&work), Status::Failed);
    let order = json!({ "workspace": work, "merged": [] });
    let gate = gate_of(run.ok(&Run::lead(), "integration.salvage", order));
    let before = run.count();
    assert_eq!(queue(&run).len(), 1, "to save what is left is another question");
    answer(&mut run, &json!(gate.gate), "approve");
    assert!(run.kinds_since(before).contains(&Kind::IntegrationCompleted));
    run.sound();
}

/// Shows W-HH-02, W-HH-08.
#[test]
fn an_envelope_that_is_left_to_the_coordinator_waits_for_its_word() {
    let mut run = gated(&["envelope_delivery"], "escalate_to_coordinator");
    let id = run.active();
    let root = run.root.clone();
    let first = run.send("lead", &root, &id, "feedback").unwrap();
    let gate = queue(&run)[0]["gate"].clone();
    wait(&mut run);
    let second = run.send("lead", &root, &id, "feedback").unwrap();
    let status = |run: &Run, id| {
        run.world.ask("envelope.get", &json!({ "envelope": id }).to_string())["status"].clone()
    };
    wait(&mut run);
    assert_eq!([status(&run, &first), status(&run, &second)], ["validated", "validated"]);
    run.sound();
    let args = json!({ "gate": gate, "action": "approve" });
    run.refused(&agent("w1"), "gate.resolve", args.clone(), "W-ROLE-04");
    run.ok(&Run::lead(), "gate.resolve", args.clone());
    assert_eq!([status(&run, &first), status(&run, &second)], ["acknowledged", "validated"]);
    run.refused(&Run::lead(), "gate.resolve", args, "W-HH-06");
    run.sound();
}

/// Shows W-HH-08.
#[test]
fn what_the_coordinator_let_go_on_is_carried_out_once() {
    let mut run = gated(&["workspace_create"], "escalate_to_coordinator");
    let order = json!({ "agent": "w1", "role": "worker", "directive": payload(1) });
    let gate = gate_of(run.ok(&Run::lead(), "workspace.create", order));
    wait(&mut run);
    let args = json!({ "gate": gate.gate, "action": "approve" });
    run.ok(&Run::lead(), "gate.resolve", args.clone());
    run.refused(&Run::lead(), "gate.resolve", args.clone(), "W-HH-06");
    run.refused(&user("ada"), "gate.resolve", args, "W-HH-06");
    let id = WorkspaceId::new(gate.subject.as_str()).unwrap();
    assert_eq!(run.status(&id), Status::Idle);
    run.sound();
}

/// Shows W-HH-08, W-INT-08.
#[test]
fn a_conflict_is_handed_to_people_once() {
    for fallback in ["escalate_to_coordinator", "approve"] {
        let mut run = gated(&[], fallback);
        let id = run.in_state(Status::Conflicted, json!({ "agent": "w1" }));
        let conflict = run.view(&id).conflicts[0].id.clone();
        let hand = json!({ "workspace": id, "conflict": conflict, "strategy": "escalate",
            "resolution": "please look" });
        gate_of(run.ok(&Run::lead(), "conflict.resolve", hand.clone()));
        run.refused(&Run::lead(), "conflict.resolve", hand.clone(), "W-HH-02");
        wait(&mut run);
        if fallback == "approve" {
            assert_eq!(run.status(&id), Status::Closed);
            continue;
        }
        run.refused(&Run::lead(), "conflict.resolve", hand.clone(), "W-HH-02");
        let settle = json!({ "workspace": id, "conflict": conflict, "resolution": "so",
            "strategy": "coordinator_resolve" });
        run.ok(&Run::lead(), "conflict.resolve", settle);
        assert_eq!(run.status(&id), Status::Closed);
        run.sound();
    }
}

/// Shows W-USER-41, W-HH-04, W-INT-10.
#[test]
fn whoever_answers_at_a_gate_gives_only_what_they_may_give() {
    let mut run = Run::new();
    second_person(&mut run.world, "eve");
    let secret = run.in_state(Status::Active, json!({ "agent": "w3", "owner": "eve" }));
    let work = run.in_state(Status::Integrating, json!({ "agent": "w2" }));
    let gates = json!({ "gates": ["integration", "workspace_create"] });
    run.ok(&user("ada"), "highway.configure", gates);
    let bob = person_with(&mut run.world, "bob", &[Capability::CreateWorkspaceAny]);
    let order = json!({ "agent": "w1", "role": "worker", "directive": payload(1) });
    let gate = gate_of(run.ok(&Run::lead(), "workspace.create", order));
    let modify =
        |changed: Value| json!({ "gate": gate.gate, "action": "modify", "modifications": changed });
    for changed in [
        json!({ "visibility": [secret] }),
        json!({ "budget": { "token_limit": 1_000_000 } }),
        json!({ "workspace_priority": "critical" }),
    ] {
        run.refused(&bob, "gate.resolve", modify(changed), "W-USER-41");
        assert_eq!(run.world.last_event().kind(), Kind::CapabilityDenied);
    }
    // What they may not decide about at all they are not asked about.
    let accept = json!({ "workspace": work, "decision": "accept" });
    let merge = gate_of(run.ok(&Run::lead(), "integration.decide", accept));
    let args = json!({ "gate": merge.gate, "action": "approve" });
    run.refused(&bob, "gate.resolve", args, "W-USER-41");
    run.ok(&bob, "gate.resolve", json!({ "gate": gate.gate, "action": "approve" }));
    let id = WorkspaceId::new(gate.subject.as_str()).unwrap();
    assert_eq!(run.status(&id), Status::Idle);
    // Whoever may do both sets both.
    let order = json!({ "agent": "w3", "role": "worker", "directive": payload(1) });
    let gate = gate_of(run.ok(&Run::lead(), "workspace.create", order));
    let changed = json!({ "budget": { "token_limit": 77 }, "visibility": [secret] });
    let args = json!({ "gate": gate.gate, "action": "modify", "modifications": changed });
    run.ok(&user("ada"), "gate.resolve", args);
    let id = WorkspaceId::new(gate.subject.as_str()).unwrap();
    let view = run.world.ask("workspace.get", &json!({ "workspace": id }).to_string());
    assert_eq!(view["budget"]["token_limit"], 77, "{view}");
    run.sound();
}

/// A payload changed by a person has its own size and proof.
///
/// Shows W-HH-04.
#[test]
fn an_envelope_that_was_changed_weighs_what_is_in_it() {
    let mut run = gated(&["envelope_delivery"], "reject");
    let id = run.active();
    let root = run.root.clone();
    run.send("lead", &root, &id, "feedback").unwrap();
    let gate = queue(&run)[0]["gate"].clone();
    let args =
        json!({ "gate": gate, "action": "modify", "modifications": { "payload": payload(8) } });
    run.ok(&user("ada"), "gate.resolve", args);
    let resolved = run.world.entries.iter().rev().find_map(|entry| match &entry.draft.event {
        Event::GateResolved(body) => Some(body),
        _ => None,
    });
    let resolve::Resolved { integrity, payload_bytes, modifications, .. } = resolved.unwrap();
    assert!(integrity.is_some() && payload_bytes.is_some());
    let now = modifications.as_ref().unwrap().payload.as_ref().unwrap();
    assert_eq!(json!(now.content), payload(8)["content"], "what it is now is on record");
    run.sound();
}

/// Shows W-HH-04, W-RES-07.
#[test]
fn a_limit_that_is_changed_at_a_gate_leaves_the_others_as_they_were_ordered() {
    let mut run = gated(&["workspace_create"], "reject");
    let order = json!({ "agent": "w1", "role": "worker", "directive": payload(1),
        "budget": { "token_limit": 1_000, "cost_limit": 500_000 } });
    let gate = gate_of(run.ok(&Run::lead(), "workspace.create", order));
    let changed = json!({ "budget": { "token_limit": 2_000 } });
    let args = json!({ "gate": gate.gate, "action": "modify", "modifications": changed });
    run.ok(&user("ada"), "gate.resolve", args);
    let view =
        run.world.ask("workspace.get", &json!({ "workspace": gate.subject.as_str() }).to_string());
    assert_eq!(view["budget"], json!({ "token_limit": 2_000, "cost_limit": 500_000 }));
    run.sound();
}

/// Shows W-HH-04.
#[test]
fn to_change_nothing_is_to_approve_or_to_reject() {
    for action in ["approve", "reject"] {
        let mut run = gated(&["workspace_abort"], "reject");
        let id = run.active();
        let gate = gate_of(run.ok(&Run::lead(), "workspace.abort", json!({ "workspace": id })));
        let args = json!({ "gate": gate.gate, "action": action, "modifications": {} });
        run.ok(&user("ada"), "gate.resolve", args);
        run.sound();
    }
}

/// Shows W-HH-07, W-TASK-05.
#[test]
fn a_task_is_taken_up_once_although_two_were_to_have_it() {
    let mut run = Run::new();
    let task = json!({ "key": "k", "name": "n", "description": payload(1)["content"] });
    run.ok(&Run::lead(), "task.graph", json!({ "tasks": [task] }));
    let graph = run.world.ask("task.graphs", "{}")[0]["graph"].clone();
    run.ok(&Run::lead(), "task.approve", json!({ "graph": graph }));
    let task = run.world.ask("task.list", "{}")[0]["task"].clone();
    run.ok(&user("ada"), "highway.configure", json!({ "gates": ["workspace_create"] }));
    let assign = |agent: &str| json!({ "task": task, "agent": agent });
    let first = gate_of(run.ok(&Run::lead(), "task.assign", assign("w1")));
    gate_of(run.ok(&Run::lead(), "task.assign", assign("w2")));
    answer(&mut run, &json!(first.gate), "approve");
    assert!(queue(&run).is_empty(), "there is nothing left to decide about the second");
    run.sound();
}

/// Shows W-USER-41, W-HH-35.
#[test]
fn whoever_may_not_decide_at_a_gate_may_not_take_it_away() {
    let mut run = gated(&["integration", "task_approval"], "reject");
    let xan = person_with(&mut run.world, "xan", &[Capability::CreateWorkspaceAny]);
    for wish in [
        json!({ "preset": "autonomous" }),
        json!({ "gates": ["task_approval"] }),
        json!({ "gate_overrides": { "integration": { "fallback": "approve", "timeout_s": 1 } } }),
    ] {
        run.refused(&xan, "highway.configure", wish, "W-USER-41");
    }
    run.ok(&xan, "highway.configure", json!({ "gates": ["integration"] }));
    run.sound();
}

/// Shows W-HH-02, W-SEC-14.
#[test]
fn nobody_reads_a_message_that_was_not_let_through() {
    use althing_kernel::access::reads_cited;
    let mut run = gated(&["envelope_delivery"], "reject");
    let id = run.active();
    let root = run.root.clone();
    let reads = |run: &Run, envelope: &Value| {
        let receiver = agent("w1").principal;
        let query = json!({ "envelope": envelope }).to_string();
        let query = Query::read("envelope.get", &query).unwrap().unwrap();
        let got = answer_to(&run.world.state, run.world.now, &query, Some(&receiver));
        let cited = run.world.entries.iter().filter(|entry| match &entry.draft.event {
            Event::EnvelopeCreated(body) => json!(body.envelope_id) == *envelope,
            Event::GateResolved(body) => body.modifications.is_some(),
            _ => false,
        });
        let content: Vec<bool> =
            cited.map(|entry| reads_cited(&run.world.state, Some(&receiver), entry)).collect();
        (!matches!(got, Answer::Missing(_)), content)
    };
    let sent = json!(run.send("lead", &root, &id, "feedback").unwrap());
    assert_eq!(reads(&run, &sent), (false, vec![false]), "before anybody answered");
    let gate = queue(&run)[0]["gate"].clone();
    answer(&mut run, &gate, "reject");
    assert_eq!(reads(&run, &sent), (false, vec![false]), "after it was sent back");
    let sent = json!(run.send("lead", &root, &id, "feedback").unwrap());
    let gate = queue(&run)[0]["gate"].clone();
    let changed = json!({ "payload": payload(8) });
    let args = json!({ "gate": gate, "action": "modify", "modifications": changed });
    run.ok(&user("ada"), "gate.resolve", args);
    assert_eq!(reads(&run, &sent), (true, vec![false, true]), "what it was and what it is");
    let sent = json!(run.send("lead", &root, &id, "directive").unwrap());
    let gate = queue(&run)[0]["gate"].clone();
    answer(&mut run, &gate, "approve");
    let (got, content) = reads(&run, &sent);
    assert!(got && content[0], "what arrived as it was sent");
    run.sound();
}
