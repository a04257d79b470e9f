//! Signals: who emits what, where it goes, and what it changes.

use crate::run::Run;
use crate::support::agent;
use althing_kernel::signal::SignalType;
use althing_kernel::workspace::Status;
use althing_kernel::{Command, Event, Kind, Reply};
use serde_json::json;

/// Shows W-SIG-01, W-CONF-06.
#[test]
fn there_are_eleven_signals_and_nobody_adds_any() {
    assert_eq!(SignalType::ALL.len(), 11);
    for name in ["", "Ready", "progress", "resume", "cancel"] {
        let args = json!({ "type": name }).to_string();
        assert!(Command::read("signal.emit", &args).unwrap().is_err(), "{name}");
    }
    let taxonomy = json!({ "taxonomy": { "id": "t", "version": "1", "protocol_version": "0.1",
        "signal_types": ["progress"] } });
    assert!(Command::read("run.start", &taxonomy.to_string()).unwrap().is_err());
}

/// Shows W-SIG-02.
#[test]
fn what_stops_work_says_why() {
    let mut run = Run::new();
    let id = run.active();
    for kind in ["blocked", "failed", "escalation"] {
        for args in [
            json!({ "workspace": id, "type": kind }),
            json!({ "workspace": id, "type": kind, "reason": " \n" }),
        ] {
            run.refused(&agent("w1"), "signal.emit", args, "W-SIG-02");
        }
    }
    assert!(run.signal("w1", &id, "blocked"));
    let emitted = run.world.entries.iter().rev().find_map(|entry| match &entry.draft.event {
        Event::SignalEmitted(body) => Some(body.clone()),
        _ => None,
    });
    assert_eq!(emitted.unwrap().reason.unwrap().as_str(), "r");
}

/// Shows W-SIG-04, W-SIG-05, W-SIG-06, W-CONC-03, W-SIG-08, W-SIG-09.
#[test]
fn a_signal_goes_to_the_parent_and_nowhere_else_in_order() {
    let mut run = Run::new();
    let top = run.in_state(Status::Active, json!({ "agent": "w1", "delegate": true }));
    let child = run.create(&agent("w1"), json!({ "agent": "w2" }));
    run.signal("w2", &child, "ready");
    let before = run.count();
    run.signal("w2", &child, "started");
    run.signal("w2", &child, "escalation");
    let delivered: Vec<_> = run.world.entries[before..]
        .iter()
        .filter_map(|entry| match &entry.draft.event {
            Event::SignalDelivered(body) => {
                Some((body.delivered_to.clone(), body.signal_id.clone()))
            }
            _ => None,
        })
        .collect();
    let emitted: Vec<_> = run.world.entries[before..]
        .iter()
        .filter_map(|entry| match &entry.draft.event {
            Event::SignalEmitted(body) => Some(body.signal_id.clone()),
            _ => None,
        })
        .collect();
    assert!(delivered.iter().all(|(to, _)| *to == top), "one step up, not to the root");
    assert!(delivered.iter().map(|(_, id)| id).eq(&emitted), "in the order they were emitted");
    assert!(!run.kinds_since(before).contains(&Kind::EnvelopeCreated), "nobody acknowledges one");
    let root = run.root.clone();
    let before = run.count();
    run.signal("lead", &root, "started");
    assert_eq!(run.kinds_since(before), [Kind::SignalEmitted], "the root's go to nobody");
}

/// Shows W-SIG-07.
#[test]
fn signals_wait_for_a_parent_that_cannot_take_them() {
    for (pause, resume) in [("blocked", "started"), ("suspend", "resume"), ("migrate", "ready")] {
        let mut run = Run::new();
        let top = run.in_state(Status::Active, json!({ "agent": "w1", "delegate": true }));
        let child = run.create(&agent("w1"), json!({ "agent": "w2" }));
        run.signal("w2", &child, "ready");
        let (lead, at) = (Run::lead(), json!({ "workspace": top }));
        match pause {
            "suspend" => drop(run.ok(&lead, "workspace.suspend", at.clone())),
            "migrate" => {
                let args = json!({ "workspace": top, "agent": "w3" });
                run.ok(&lead, "workspace.migrate", args);
            }
            signal => drop(run.signal("w1", &top, signal)),
        }
        let before = run.count();
        run.signal("w2", &child, "started");
        run.signal("w2", &child, "escalation");
        let kinds = run.kinds_since(before);
        assert!(!kinds.contains(&Kind::SignalDelivered), "{pause}: {kinds:?}");
        match resume {
            "resume" => drop(run.ok(&lead, "workspace.resume", at)),
            "ready" => drop(run.signal("w3", &top, "ready")),
            signal => drop(run.signal("w1", &top, signal)),
        }
        let delivered = run.world.entries[before..].iter().filter(|entry| {
            matches!(&entry.draft.event, Event::SignalDelivered(body) if body.delivered_to == top)
        });
        assert_eq!(delivered.count(), 2, "{pause}");
    }
    // An ended parent receives nothing; the signal is on record all the same.
    let mut run = Run::new();
    let id = run.in_state(Status::Failed, json!({ "agent": "w1" }));
    let root = run.root.clone();
    run.signal("lead", &root, "failed");
    let before = run.count();
    run.signal("w1", &id, "ready");
    assert_eq!(run.kinds_since(before), [Kind::SignalEmitted]);
}

/// Shows W-SIG-10, W-SIG-12, W-WS-25.
#[test]
fn a_signal_that_does_not_fit_is_recorded_and_changes_nothing() {
    let mut run = Run::new();
    let id = run.active();
    assert!(run.signal("w1", &id, "blocked"));
    let before = run.count();
    assert!(!run.signal("w1", &id, "blocked"), "the second time");
    assert_eq!(run.kinds_since(before)[0], Kind::SignalEmitted);
    assert_eq!(run.status(&id), Status::Blocked);
    assert!(!run.signal("w1", &id, "complete"), "there is no way from blocked to integrating");
    assert_eq!(run.status(&id), Status::Blocked);
    assert!(run.signal("w1", &id, "started"));
    assert!(!run.signal("w1", &id, "started"), "it works already");
}

/// Shows W-SIG-03, W-SEC-12.
#[test]
fn a_refused_signal_is_recorded_as_refused_and_not_as_emitted() {
    let mut run = Run::new();
    let id = run.active();
    for kind in ["integrate", "acknowledged", "suspend", "migrate"] {
        let args = json!({ "workspace": id, "type": kind });
        let refusal = run.refused(&agent("w1"), "signal.emit", args, "W-SIG-03");
        assert_eq!(run.world.last_event().kind(), Kind::CommandRefused);
        assert!(format!("{:?}", refusal.details).contains("complete"), "what would be allowed");
    }
    let args = json!({ "workspace": id, "type": "checkpoint", "ref": "nothing" });
    run.refused(&agent("w1"), "signal.emit", args, "W-ID-07");
}

/// Shows W-TREE-03.
#[test]
fn nobody_completes_before_the_work_below() {
    let mut run = Run::new();
    let top = run.in_state(Status::Active, json!({ "agent": "w1", "delegate": true }));
    let child = run.create(&agent("w1"), json!({ "agent": "w2" }));
    let args = json!({ "workspace": top, "type": "complete" });
    let refusal = run.refused(&agent("w1"), "signal.emit", args, "W-TREE-03");
    assert!(refusal.message.contains(child.as_str()));
    run.ok(&Run::lead(), "workspace.abort", json!({ "workspace": child }));
    assert!(run.signal("w1", &top, "complete"));
}

#[test]
fn the_parent_reads_signals_with_its_mail() {
    let mut run = Run::new();
    let id = run.active();
    run.signal("w1", &id, "blocked");
    let Reply::Mail(mail) = run.ok(&Run::lead(), "inbox.take", json!({})) else { panic!() };
    let kinds: Vec<_> = mail.signals.iter().map(|signal| signal.kind.as_str()).collect();
    assert_eq!(kinds, ["ready", "blocked"], "receipts are nothing to read");
    let Reply::Mail(mail) = run.ok(&Run::lead(), "inbox.take", json!({})) else { panic!() };
    assert!(mail.signals.is_empty() && mail.envelopes.is_empty());
}
