//! Recovery: a trail that ends in the middle of something is made good, once, and the record of it
//! is true. A command's entries are one commit, so such trails are made here by cutting one.

use crate::run::{Run, blob, workspace_of};
use crate::support::{agent, system, user};
use althing_kernel::integrity::IntegrityViolation;
use althing_kernel::recovery::{Recover, RecoveryCompleted, plan};
use althing_kernel::workspace::{Status, Trigger};
use althing_kernel::{Caller, Command, EnvelopeId, Event, Kind, Reply, WorkspaceId};
use serde_json::{Value, json};

impl Run {
    /// Runs a command and keeps only what came of it up to the first entry of a kind.
    fn cut_after(&mut self, who: &Caller, name: &str, args: Value, kind: Kind) {
        let (state, count) = (self.world.state.clone(), self.count());
        self.ok(who, name, args);
        let kinds = self.kinds_since(count);
        let last = kinds.iter().position(|own| *own == kind).unwrap();
        self.world.entries.truncate(count + last + 1);
        self.world.cut_after.push(count + last);
        self.world.state = state;
        for entry in &self.world.entries[count..] {
            self.world.state.apply(entry).unwrap();
        }
    }

    /// A message whose delivery is not on record.
    fn in_flight(&mut self, who: &str, from: &WorkspaceId, to: &WorkspaceId) -> EnvelopeId {
        let args = json!({ "workspace": from, "to": to, "type": "feedback",
            "payload": { "content": blob(3) } });
        self.cut_after(&agent(who), "envelope.send", args, Kind::EnvelopeCreated);
        match self.world.last_event() {
            Event::EnvelopeCreated(body) => body.envelope_id.clone(),
            other => panic!("{other:?}"),
        }
    }

    fn recover(&mut self, writers: &[&str]) -> Option<RecoveryCompleted> {
        let args = json!({ "examined": 7, "findings": [], "left_over": 0, "writers": writers });
        let recover: Recover = serde_json::from_value(args).unwrap();
        match self.world.run_command(&system(), &Command::RuntimeRecover(recover)).unwrap() {
            Reply::Recovery(completed) => Some(*completed),
            Reply::Done => None,
            other => panic!("{other:?}"),
        }
    }

    /// Checks that all entries so far pass the audit and replay to this state.
    #[track_caller]
    fn replays(&self) {
        self.world.is_sound();
    }

    fn delivered_since(&self, count: usize) -> Vec<EnvelopeId> {
        let delivered = |event: &Event| match event {
            Event::EnvelopeDelivered(body) => Some(body.envelope_id.clone()),
            _ => None,
        };
        self.world.entries[count..].iter().filter_map(|e| delivered(&e.draft.event)).collect()
    }
}

/// Shows W-ENV-26, W-REC-04, W-REC-06, W-REC-07.
#[test]
fn envelopes_on_their_way_arrive_in_order_before_anything_new() {
    let mut run = Run::new();
    let (id, root) = (run.active(), run.root.clone());
    let first = run.in_flight("lead", &root, &id);
    let second = run.in_flight("lead", &root, &id);
    let count = run.count();
    assert_eq!(plan(&run.world.state, run.world.now).envelopes.len(), 2, "looking changes nothing");
    let done = run.recover(&["a"]).unwrap();
    assert_eq!(run.delivered_since(count), [first.clone(), second.clone()]);
    assert_eq!((done.envelopes_redelivered, done.workspaces_recovered), (2, 2));
    let third = run.send("lead", &root, &id, "feedback").unwrap();
    assert_eq!(run.delivered_since(count), [first, second, third]);
    run.replays();
}

/// Shows W-ENV-26, W-REC-08.
#[test]
fn what_was_on_its_way_to_a_workspace_that_ended_goes_back() {
    let mut run = Run::new();
    let (id, root) = (run.active(), run.root.clone());
    let envelope = run.in_flight("lead", &root, &id);
    let abort = json!({ "workspace": id, "reason": "r" });
    run.cut_after(&Run::lead(), "workspace.abort", abort, Kind::WorkspaceStateChanged);
    let count = run.count();
    let done = run.recover(&["a"]).unwrap();
    assert_eq!(done.envelopes_redelivered, 0, "it arrived nowhere");
    let gone = run.world.entries[count..].iter().any(|entry| {
        matches!(&entry.draft.event, Event::EnvelopeUndeliverable(body)
            if body.envelope_id == envelope)
    });
    assert!(gone && run.delivered_since(count).is_empty());
    run.replays();
}

/// Shows W-REC-04.
#[test]
fn an_envelope_whose_receipt_was_cut_off_is_acknowledged_and_not_shown_twice() {
    let mut run = Run::new();
    let (id, root) = (run.active(), run.root.clone());
    run.ok(&agent("w1"), "inbox.take", json!({ "workspace": id }));
    let args = json!({ "workspace": root, "to": id, "type": "feedback",
        "payload": { "content": blob(3) } });
    run.cut_after(&Run::lead(), "envelope.send", args, Kind::EnvelopeDelivered);
    run.recover(&["a"]).unwrap();
    let Reply::Mail(mail) = run.ok(&agent("w1"), "inbox.take", json!({ "workspace": id })) else {
        panic!()
    };
    assert_eq!(mail.envelopes.len(), 1);
    let status = serde_json::to_value(mail.envelopes[0].status).unwrap();
    assert_eq!(status, "acknowledged");
    run.replays();
}

/// Shows W-REC-04.
#[test]
fn signals_on_their_way_arrive_in_the_order_they_were_emitted() {
    let mut run = Run::new();
    let (id, root) = (run.active(), run.root.clone());
    run.ok(&Run::lead(), "inbox.take", json!({}));
    for reason in ["one", "two"] {
        let args = json!({ "workspace": id, "type": "escalation", "reason": reason });
        run.cut_after(&agent("w1"), "signal.emit", args, Kind::SignalEmitted);
    }
    let done = run.recover(&["a"]).unwrap();
    assert_eq!(done.signals_requeued, 2);
    let Reply::Mail(mail) = run.ok(&Run::lead(), "inbox.take", json!({ "workspace": root })) else {
        panic!()
    };
    let words: Vec<String> = mail
        .signals
        .iter()
        .map(|notice| notice.reason.as_ref().map_or("", |text| text.as_str()).to_owned())
        .collect();
    assert_eq!(words[..2], ["one", "two"]);
    assert!(words[2].starts_with("recovered: 2 workspaces go on"), "the coordinator is told");
    run.replays();
}

/// Shows W-REC-04.
#[test]
fn a_step_that_an_agent_asked_for_is_taken() {
    for (signal, status) in [
        ("blocked", Status::Blocked),
        ("complete", Status::Integrating),
        ("failed", Status::Failed),
    ] {
        let mut run = Run::new();
        let plan = json!({ "tasks": [{ "key": "a", "name": "a", "description": blob(1) }] });
        let Reply::Graph(graph) = run.ok(&user("ada"), "task.graph", plan) else { panic!() };
        run.ok(&user("ada"), "task.approve", json!({ "graph": graph.graph }));
        let args = json!({ "task": graph.tasks["a"], "agent": "w1" });
        let id = workspace_of(run.ok(&Run::lead(), "task.assign", args)).workspace;
        run.signal("w1", &id, "started");
        run.checkpoint("w1", &id, "artifact", &["src/a.rs"]);
        let args = json!({ "workspace": id, "type": signal, "reason": "because" });
        run.cut_after(&agent("w1"), "signal.emit", args, Kind::SignalEmitted);
        assert_eq!(run.status(&id), Status::Active);
        run.recover(&["a"]).unwrap();
        assert_eq!(run.status(&id), status, "{signal}");
        let task = run.world.state.task(&graph.tasks["a"]).unwrap();
        let expected = match signal {
            "blocked" => "in_progress",
            "complete" => "completed",
            _ => "failed",
        };
        assert_eq!(serde_json::to_value(task.status).unwrap(), expected, "its task follows");
        run.replays();
        // Signals that lead to a step and take it leave nothing to be taken.
        assert_eq!(run.recover(&["b"]).unwrap().workspaces_failed, 0);
        assert_eq!(run.status(&id), status);
    }
}

/// Shows W-REC-05, W-CLK-10.
#[test]
fn deadlines_that_passed_act_at_once_and_the_others_go_on_where_they_were() {
    let mut run = Run::new();
    let short = run.in_state(Status::Active, json!({ "agent": "w1", "timeout_s": 10 }));
    let long = run.in_state(Status::Active, json!({ "agent": "w2", "timeout_s": 100 }));
    let deadline = run.view(&long).deadline;
    run.world.pass(50);
    // As whoever recovers does it: without recording first what is due.
    let mut mint = crate::support::Counter::default();
    let state = run.world.state.clone();
    let mut turn = althing_kernel::Transaction::begin(state, run.world.now, &mut mint);
    let recover =
        Recover { writers: vec![althing_kernel::text::Text::lossy("a")], ..Recover::default() };
    let outcome = turn.decide(&system(), &Command::RuntimeRecover(recover)).unwrap();
    let Ok(Reply::Recovery(done)) = outcome.result else { panic!("{outcome:?}") };
    let (state, made) = turn.finish();
    assert_eq!((done.workspaces_failed, done.workspaces_recovered), (1, 2));
    assert_eq!(done.downtime.secs(), 50);
    assert_eq!(state.workspace(&short).unwrap().ended, Some(Trigger::Timeout));
    assert_eq!(state.workspace(&long).unwrap().deadline(), deadline, "50 of 100 seconds are left");
    assert_eq!(done.timers_reconstructed, 1);
    let last = made.last().unwrap().at;
    assert!(last > run.world.state.clock(), "time goes on above the largest stamp");
}

/// Shows W-REC-07, W-PORT-11.
#[test]
fn recovering_again_changes_nothing_and_a_death_counts_once() {
    let mut run = Run::new();
    let (id, root) = (run.active(), run.root.clone());
    run.in_flight("lead", &root, &id);
    let rights: Vec<String> =
        run.world.state.rights().map(|(id, right)| format!("{id} {right:?}")).collect();
    run.recover(&["a", "b"]).unwrap();
    let (image, count) = (run.world.state.image(), run.count());
    assert!(run.recover(&["a", "b"]).is_none(), "it is on record already");
    assert!(run.recover(&["b"]).is_none());
    assert_eq!((run.world.state.image(), run.count()), (image, count));
    assert_eq!(run.recover(&["b", "c"]).unwrap().writers.len(), 1, "only the new one");
    // However often it is cut short before the dead are struck off the list.
    assert!(run.recover(&["b", "c"]).is_none());
    let third = run.recover(&["b", "c", "d"]).unwrap();
    assert_eq!((third.writers.len(), third.known_writers.len()), (1, 2));
    let after = run.world.state.rights().map(|(id, right)| format!("{id} {right:?}"));
    assert!(after.eq(rights), "the rights there were, no more and no fewer");
}

/// Recovery records what fell due while nobody was there, within its own decision.
#[test]
fn a_recovery_after_deadlines_passes_the_audit() {
    let mut run = Run::new();
    run.world.claim(&agent("w1"), &["a"], 1).unwrap();
    run.world.pass(5);
    let before = run.count();
    run.recover(&["a"]).unwrap();
    let kinds = run.kinds_since(before);
    assert!(kinds.contains(&Kind::LeaseExpired), "{kinds:?}");
    run.replays();
}

/// Shows W-REC-06.
#[test]
fn a_recovery_that_tells_something_else_does_not_pass_the_audit() {
    let mut run = Run::new();
    run.active();
    run.recover(&["a"]).unwrap();
    let at = run
        .world
        .entries
        .iter()
        .rposition(|entry| entry.draft.event.kind() == Kind::RecoveryCompleted);
    let at = at.unwrap();
    let right = &run.world.entries[at];
    assert_eq!(run.world.with(at, right.clone()), Ok(()));
    let changes: [&dyn Fn(&mut RecoveryCompleted); 3] =
        [&|body| body.workspaces_recovered += 1, &|body| body.timers_reconstructed = 0, &|body| {
            body.writers.push(body.writers[0].clone());
        }];
    for change in changes {
        let mut forged = right.clone();
        let Event::RecoveryCompleted(body) = &mut forged.draft.event else { panic!() };
        change(body);
        assert!(run.world.with(at, forged.clone()).is_err(), "{forged:?}");
    }
    let mut forged = right.clone();
    forged.draft.actor = agent("w1").principal.into();
    assert!(run.world.with(at, forged).is_err());
    let mut twice = right.clone();
    twice.at = run.world.now.after(althing_kernel::Span::from_secs(1));
    let asked = run.world.requests.get(&at).cloned();
    assert!(run.world.with_next(&twice, asked).is_err(), "nor the same death twice");
}

#[test]
fn what_was_found_damaged_is_recorded_and_counted() {
    let mut run = Run::new();
    let finding = |action: &str| -> IntegrityViolation {
        let body = json!({ "action_taken": action, "actual": "x", "expected": "y",
            "subject_id": "s", "subject_type": "trail_entry", "violation": "hash_mismatch" });
        serde_json::from_value(body).unwrap()
    };
    let findings = vec![finding("quarantined"), finding("flagged")];
    let recover = Recover { findings, left_over: 2, ..Recover::default() };
    let count = run.count();
    run.world.run_command(&system(), &Command::RuntimeRecover(recover)).unwrap();
    let kinds = run.kinds_since(count);
    let expected = [Kind::IntegrityViolation, Kind::IntegrityViolation, Kind::RecoveryCompleted];
    assert_eq!(kinds[..3], expected);
    let Event::RecoveryCompleted(body) = &run.world.entries[count + 2].draft.event else {
        panic!()
    };
    assert_eq!(body.quarantined_entries, 3, "one of them was only told");
    run.replays();
}

/// Shows W-REC-10.
#[test]
fn a_worker_that_cannot_be_reached_at_all_runs_out_of_time_and_its_parent_hears() {
    use althing_kernel::envelope::carrier::Carried;
    let mut run = Run::new();
    run.world.carrier = Some(crate::support::Script::of(&[Carried::Lost; 100]));
    let id = run.create(&Run::lead(), json!({ "agent": "w1", "idle_timeout_s": 3600 }));
    run.signal("w1", &id, "ready");
    run.world.pass(3600);
    run.world.tick();
    let known = run.world.state.workspace(&id).unwrap();
    assert_eq!((known.status, known.ended), (Status::Failed, Some(Trigger::Timeout)));
    let shown = run.world.entries.iter().any(|entry| {
        matches!(&entry.draft.event, Event::SignalDelivered(body)
            if body.delivered_to == run.root && body.from == id)
    });
    assert!(shown);
}
