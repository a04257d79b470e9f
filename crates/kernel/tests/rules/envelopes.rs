//! Envelopes and port rights: what is accepted, how it travels, and what becomes of it.

use crate::run::{Run, payload};
use crate::support::agent;
use althing_kernel::envelope::carrier::{Carried, Carrier, REDELIVERIES};
use althing_kernel::envelope::deliver::Missing;
use althing_kernel::envelope::{RejectReason, Status as Way, UndeliverableReason};
use althing_kernel::workspace::Status;
use althing_kernel::{EnvelopeId, Event, Kind, Reply, Span, Timestamp, WorkspaceId};
use serde_json::{Value, json};

/// The envelopes an agent takes out of its inbox, most pressing first.
fn take(run: &mut Run, who: &str, id: &WorkspaceId) -> Vec<EnvelopeId> {
    match run.ok(&agent(who), "inbox.take", json!({ "workspace": id })) {
        Reply::Mail(mail) => mail.envelopes.into_iter().map(|mail| mail.envelope).collect(),
        other => panic!("{other:?}"),
    }
}

fn place(run: &Run, id: &EnvelopeId) -> Way {
    run.world.state.envelopes().find(|(own, _)| *own == id).unwrap().1.status
}

fn last_reason(run: &Run) -> RejectReason {
    match run.world.last_event() {
        Event::EnvelopeRejected(rejected) => rejected.reason,
        other => panic!("{other:?}"),
    }
}

/// Shows W-ENV-01, W-ENV-02, W-ENV-05, W-ENV-07, W-ENV-08, W-ENV-12, W-ENV-13, W-SIG-06, W-TRAIL-02.
#[test]
fn an_accepted_envelope_is_recorded_delivered_and_acknowledged_once() {
    let mut run = Run::new();
    let (id, root) = (run.active(), run.root.clone());
    let before = run.count();
    let envelope = run.send("w1", &id, &root, "query").unwrap();
    let entries = run.world.entries[before..].to_vec();
    let homes: Vec<_> =
        entries.iter().map(|e| (e.draft.event.kind(), e.draft.workspace.clone())).collect();
    let expected = [
        (Kind::EnvelopeCreated, Some(id.clone())),
        (Kind::EnvelopeDelivered, Some(root.clone())),
        (Kind::SignalEmitted, Some(root.clone())),
        (Kind::SignalDelivered, Some(id.clone())),
    ];
    assert_eq!(homes, expected, "each in the local trail it belongs to");
    assert_eq!(place(&run, &envelope), Way::Acknowledged);
    let Event::EnvelopeCreated(created) = &entries[0].draft.event else { panic!() };
    assert_eq!(created.origin, althing_kernel::envelope::Origin::Agent, "no person injected it");
    let body = serde_json::to_value(created).unwrap();
    assert!(!body.to_string().contains("text"), "the payload stands there by hash alone");
    let Event::SignalEmitted(receipt) = &entries[2].draft.event else { panic!() };
    assert_eq!(receipt.signal.as_str(), "acknowledged");
    assert_eq!(receipt.about.as_ref().unwrap().as_str(), envelope.as_str());
    assert_eq!(receipt.to, Some(id), "the receipt goes to the sender");
    // The sender says nothing about id, time, origin and state: there are no such arguments.
    for made_up in ["id", "timestamp", "origin", "status", "from"] {
        let mut args = json!({ "to": root, "type": "query", "payload": payload(1) });
        args[made_up] = json!("x");
        let read = althing_kernel::Command::read("envelope.send", &args.to_string()).unwrap();
        assert!(read.is_err(), "{made_up}");
    }
}

/// Shows W-ENV-03, W-ENV-09, W-ENV-10, W-ENV-11, W-ID-06, W-ID-07, W-ID-09, W-TAX-05.
#[test]
fn the_first_thing_that_is_wrong_gives_the_reason_and_uses_the_id_up() {
    let mut run = Run::new();
    let (id, root) = (run.active(), run.root.clone());
    let sealed = run.in_state(Status::Integrating, json!({ "agent": "w2" }));
    let peer = run.in_state(Status::Active, json!({ "agent": "w2" }));
    let send = |to: &str, kind: &str, more: Value| {
        let mut args = json!({ "workspace": id, "to": to, "type": kind, "payload": payload(1) });
        for (key, value) in more.as_object().unwrap() {
            args[key] = value.clone();
        }
        args
    };
    let unstored = json!({ "payload": { "content": { "text": "x" } } });
    let w1 = agent("w1");
    let cases = [
        // Everything is wrong: the structure is looked at first.
        (send("nowhere", "poem", json!({})), RejectReason::InvalidType, "W-TAX-05"),
        (send("nowhere", "query", json!({})), RejectReason::TargetNotFound, "W-ID-07"),
        (send(sealed.as_str(), "query", json!({})), RejectReason::TargetTerminal, "W-ENV-19"),
        (
            send(root.as_str(), "query", json!({ "in_reply_to": "nothing" })),
            RejectReason::InvalidStructure,
            "W-ID-07",
        ),
        (
            send(root.as_str(), "query", json!({ "rights": ["none"] })),
            RejectReason::InvalidStructure,
            "W-PORT-06",
        ),
        (send(root.as_str(), "query", unstored), RejectReason::InvalidStructure, "W-ENV-09"),
        // Then the matrix: no right is held to the peer either.
        (send(peer.as_str(), "query", json!({})), RejectReason::PermissionDenied, "W-ROLE-03"),
        (send(root.as_str(), "directive", json!({})), RejectReason::PermissionDenied, "W-ROLE-03"),
    ];
    let mut used = std::collections::BTreeSet::new();
    for (args, reason, rule) in cases {
        let refusal = run.refused(&w1, "envelope.send", args.clone(), rule);
        assert_eq!(last_reason(&run), reason, "{args}");
        assert!(!refusal.message.is_empty());
        let Event::EnvelopeRejected(rejected) = run.world.last_event() else { panic!() };
        assert!(used.insert(rejected.envelope_id.clone()), "each attempt uses up an id");
    }
    assert!(run.world.state.envelopes().all(|(own, _)| !used.contains(own)), "none was accepted");
    // Last the right.
    let right = run.right(&id, &root).unwrap();
    run.ok(&Run::lead(), "right.revoke", json!({ "right": right }));
    run.refused(&w1, "envelope.send", send(root.as_str(), "query", json!({})), "W-PORT-02");
    assert_eq!(last_reason(&run), RejectReason::NoSendRight);
    // A corrected message is a new envelope.
    run.ok(&Run::lead(), "right.grant", json!({ "holder": id, "target": root }));
    let accepted = run.send("w1", &id, &root, "query").unwrap();
    assert!(!used.contains(&accepted));
}

/// Shows W-ENV-19, W-ENV-22, W-SUS-02, W-ENV-14.
#[test]
fn an_inbox_takes_holds_or_refuses_by_its_workspaces_state() {
    for status in Status::ALL {
        let mut run = Run::new();
        let root = run.root.clone();
        let id = run.in_state(*status, json!({ "agent": "w1" }));
        if *status == Status::Idle {
            run.signal("w1", &id, "ready");
            assert_eq!(run.status(&id), Status::Active, "the directive was its first envelope");
            continue;
        }
        let sent = run.send("lead", &root, &id, "feedback");
        match status {
            Status::Active | Status::Blocked => {
                assert_eq!(place(&run, &sent.unwrap()), Way::Acknowledged);
            }
            Status::Migrating | Status::Suspended => {
                let (first, second) =
                    (sent.unwrap(), run.send("lead", &root, &id, "feedback").unwrap());
                assert_eq!(place(&run, &first), Way::Validated, "{status}");
                let who = if *status == Status::Migrating { "w3" } else { "w1" };
                // A new agent that looks into its inbox is there; a pause is the coordinator's.
                if *status == Status::Suspended {
                    run.refused(&agent(who), "inbox.take", json!({ "workspace": id }), "W-WS-21");
                    run.ok(&Run::lead(), "workspace.resume", json!({ "workspace": id }));
                }
                let taken = take(&mut run, who, &id);
                assert_eq!(&taken[1..], [first, second], "in order, after the directive");
            }
            _ => {
                assert_eq!(sent.unwrap_err().rule.id(), "W-ENV-19", "{status}");
                assert_eq!(last_reason(&run), RejectReason::TargetTerminal);
            }
        }
    }
    // What waits when its receiver ends goes back.
    let mut run = Run::new();
    let root = run.root.clone();
    let id = run.in_state(Status::Suspended, json!({ "agent": "w1" }));
    let sent = run.send("lead", &root, &id, "feedback").unwrap();
    run.ok(&Run::lead(), "workspace.abort", json!({ "workspace": id }));
    assert_eq!(place(&run, &sent), Way::Rejected);
    let shown = run.world.entries.iter().any(|entry| {
        matches!(&entry.draft.event,
        Event::EnvelopeUndeliverable(body) if body.envelope_id == sent
            && body.reason == UndeliverableReason::TargetTerminal)
    });
    assert!(shown);
}

/// Shows W-ENV-20, W-ENV-23.
#[test]
fn what_presses_comes_first_and_threads_may_branch() {
    let mut run = Run::new();
    let (id, root) = (run.active(), run.root.clone());
    take(&mut run, "w1", &id);
    let mut sent = Vec::new();
    for priority in ["normal", "urgent", "blocking", "normal", "urgent"] {
        let reply_to = sent.first().cloned();
        let mut args = json!({ "to": id, "type": "feedback", "payload": payload(1),
            "priority": priority });
        if let Some(first) = &reply_to {
            args["in_reply_to"] = json!(first);
        }
        match run.ok(&Run::lead(), "envelope.send", args) {
            Reply::Envelope(envelope) => sent.push(envelope.envelope),
            other => panic!("{other:?}"),
        }
    }
    let _ = root;
    let expected = |places: &[usize]| places.iter().map(|n| sent[*n].clone()).collect::<Vec<_>>();
    assert_eq!(take(&mut run, "w1", &id), expected(&[2, 1, 0]));
    assert_eq!(take(&mut run, "w1", &id), expected(&[4, 3]), "what came after what blocks");
    assert_eq!(take(&mut run, "w1", &id), [], "taken once");
}

fn send_with(run: &mut Run, to: &WorkspaceId, priority: &str) -> EnvelopeId {
    let args = json!({ "to": to, "type": "feedback", "payload": payload(1), "priority": priority });
    match run.ok(&Run::lead(), "envelope.send", args) {
        Reply::Envelope(envelope) => envelope.envelope,
        other => panic!("{other:?}"),
    }
}

/// Shows W-ENV-21, W-ENV-14.
#[test]
fn until_a_blocking_envelope_is_read_nothing_more_comes_in() {
    use Way::{Acknowledged as In, Validated as Held};
    let (mut run, id, _) = over(&[]);
    let order = ["normal", "blocking", "urgent", "blocking", "normal"];
    let sent = order.map(|priority| send_with(&mut run, &id, priority));
    let places = |run: &Run| sent.clone().map(|id| place(run, &id));
    run.world.pass(1_000);
    run.world.tick();
    assert_eq!(places(&run), [In, In, Held, Held, Held], "however long it takes");
    let [before, first, after, second, last] = sent.clone();
    let reply = run.ok(&agent("w1"), "inbox.take", json!({ "workspace": id, "max": 1 }));
    let Reply::Mail(mail) = reply else { panic!() };
    assert_eq!(mail.envelopes[0].envelope, first);
    assert_eq!(places(&run), [In, In, In, In, Held], "up to the next that blocks, in their order");
    assert_eq!(mail.left, 3);
    assert_eq!(take(&mut run, "w1", &id), [second, after, before]);
    assert_eq!(take(&mut run, "w1", &id), [last]);
}

/// Shows W-ENV-21.
#[test]
fn what_blocks_holds_up_every_sender_and_what_was_lost_before() {
    let mut run = Run::new();
    let delegate = run.in_state(Status::Active, json!({ "agent": "w1", "delegate": true }));
    let child = run.create(&agent("w1"), json!({ "agent": "w2" }));
    run.signal("w2", &child, "ready");
    take(&mut run, "w2", &child);
    let root = run.root.clone();
    run.ok(&Run::lead(), "right.grant", json!({ "holder": root, "target": child }));
    let (says, asked) = ([Carried::Lost].into_iter().collect(), std::sync::Arc::default());
    run.world.carrier = Some(Box::new(Worded { says, asked: std::sync::Arc::clone(&asked) }));
    let lost = run.send("w1", &delegate, &child, "feedback").unwrap();
    let blocking = send_with(&mut run, &child, "blocking");
    let other = send_with(&mut run, &child, "normal");
    for _ in 0..5 {
        run.world.pass(10);
        run.world.tick();
    }
    assert_eq!(asked.lock().unwrap().len(), 2, "what was lost is not tried meanwhile");
    assert_eq!((place(&run, &lost), place(&run, &other)), (Way::Validated, Way::Validated));
    assert_eq!(take(&mut run, "w2", &child), [blocking]);
    assert_eq!(take(&mut run, "w2", &child), [lost, other], "and then both");
}

/// A carrier that does what it is told, and notes when it was asked.
struct Worded {
    says: std::collections::VecDeque<Carried>,
    asked: std::sync::Arc<std::sync::Mutex<Vec<u8>>>,
}

impl Carrier for Worded {
    fn carry(&mut self, _: &EnvelopeId, attempt: u8) -> Carried {
        self.asked.lock().unwrap().push(attempt);
        self.says.pop_front().unwrap_or(Carried::Acknowledged)
    }

    fn base_timeout(&self) -> Span {
        Span::from_secs(10)
    }
}

/// A run whose carrier will answer so from now on, with a worker that has taken its directive.
fn over(says: &[Carried]) -> (Run, WorkspaceId, std::sync::Arc<std::sync::Mutex<Vec<u8>>>) {
    let mut run = Run::new();
    let id = run.active();
    take(&mut run, "w1", &id);
    let asked = std::sync::Arc::default();
    let says = says.iter().copied().collect();
    run.world.carrier = Some(Box::new(Worded { says, asked: std::sync::Arc::clone(&asked) }));
    (run, id, asked)
}

fn retries(run: &Run, envelope: &EnvelopeId) -> Vec<(u8, Missing, Option<Timestamp>, Timestamp)> {
    let entries = run.world.entries.iter();
    let attempts = entries.filter_map(|entry| match &entry.draft.event {
        Event::EnvelopeAttempted(body) if body.envelope_id == *envelope => {
            Some((body.attempt, body.missing, body.retry_at, entry.at))
        }
        _ => None,
    });
    attempts.collect()
}

/// Shows W-ENV-15, W-CONF-06.
#[test]
fn a_lost_envelope_is_sent_three_times_more_each_time_after_a_longer_wait() {
    let (mut run, id, asked) = over(&[Carried::Lost; 3]);
    let root = run.root.clone();
    let envelope = run.send("lead", &root, &id, "feedback").unwrap();
    assert_eq!(place(&run, &envelope), Way::Validated);
    for wait in [10, 20, 30] {
        run.world.pass(wait - 1);
        run.world.tick();
        assert_eq!(take(&mut run, "w1", &id), [], "not before its time");
        run.world.pass(1);
        run.world.tick();
    }
    assert_eq!(*asked.lock().unwrap(), [0, 1, 2, 3], "four times in all");
    assert_eq!(place(&run, &envelope), Way::Acknowledged);
    assert_eq!(take(&mut run, "w1", &id), [envelope]);
    assert_eq!(REDELIVERIES, 3, "a constant of the protocol");
}

/// Shows W-ENV-16, W-REC-08, W-REC-10.
#[test]
fn an_envelope_that_is_lost_every_time_is_given_up_and_its_sender_told() {
    let (mut run, id, asked) = over(&[Carried::Lost; 4]);
    let root = run.root.clone();
    let envelope = run.send("lead", &root, &id, "feedback").unwrap();
    for _ in 0..20 {
        run.world.pass(10);
        run.world.tick();
    }
    assert_eq!(asked.lock().unwrap().len(), 4);
    assert_eq!(place(&run, &envelope), Way::Rejected);
    let Event::SignalDelivered(shown) = run.world.last_event() else { panic!() };
    assert_eq!(shown.delivered_to, root);
    let text = run.world.entries.iter().rev().find_map(|entry| match &entry.draft.event {
        Event::SignalEmitted(text) => Some((text.signal.as_str(), text.reason.clone().unwrap())),
        _ => None,
    });
    let (signal, reason) = text.unwrap();
    assert_eq!((signal, reason.as_str()), ("failed", "delivery_exhausted"));
    assert_eq!(run.status(&id), Status::Active, "the notice fails nobody");
    assert_eq!(run.status(&root), Status::Active);
}

/// Shows W-ENV-17, W-ENV-18, W-ENV-12, W-ID-05.
#[test]
fn an_envelope_that_comes_twice_is_shown_once_and_acknowledged_once() {
    let (mut run, id, _) = over(&[Carried::AnswerLost, Carried::AnswerLost]);
    let root = run.root.clone();
    let envelope = run.send("lead", &root, &id, "feedback").unwrap();
    assert_eq!(place(&run, &envelope), Way::Delivered, "there, but nobody knows");
    assert_eq!(take(&mut run, "w1", &id), std::slice::from_ref(&envelope));
    for _ in 0..10 {
        run.world.pass(10);
        run.world.tick();
    }
    assert_eq!(take(&mut run, "w1", &id), [], "not shown again");
    assert_eq!(place(&run, &envelope), Way::Acknowledged);
    let count = |wanted: &dyn Fn(&Event) -> bool| {
        run.world.entries.iter().filter(|entry| wanted(&entry.draft.event)).count()
    };
    let again = |event: &Event| matches!(event, Event::EnvelopeRedelivered(body) if body.envelope_id == envelope);
    let receipts = |event: &Event| {
        matches!(event, Event::SignalEmitted(body) if body.signal.as_str() == "acknowledged"
            && body.about.as_ref().is_some_and(|about| about.as_str() == envelope.as_str()))
    };
    assert_eq!((count(&again), count(&receipts)), (2, 1));
    assert_eq!(retries(&run, &envelope).len(), 2);
}

/// Shows W-ENV-14.
#[test]
fn a_lost_envelope_holds_up_its_channel_and_no_other() {
    let mut run = Run::new();
    let delegate = run.in_state(Status::Active, json!({ "agent": "w1", "delegate": true }));
    let child = run.create(&agent("w1"), json!({ "agent": "w2" }));
    run.signal("w2", &child, "ready");
    take(&mut run, "w2", &child);
    let root = run.root.clone();
    run.ok(&Run::lead(), "right.grant", json!({ "holder": root, "target": child }));
    let says = [Carried::Lost].into_iter().collect();
    let asked = std::sync::Arc::default();
    run.world.carrier = Some(Box::new(Worded { says, asked }));
    let first = run.send("w1", &delegate, &child, "feedback").unwrap();
    let second = run.send("w1", &delegate, &child, "feedback").unwrap();
    let other = run.send("lead", &root, &child, "feedback").unwrap();
    assert_eq!(take(&mut run, "w2", &child), [other], "another channel goes on");
    run.world.pass(10);
    run.world.tick();
    assert_eq!(take(&mut run, "w2", &child), [first, second], "this one keeps its order");
}

/// Shows W-PORT-01, W-PORT-05, W-PORT-08, W-ROLE-01.
#[test]
fn a_right_for_one_envelope_is_gone_with_it_and_a_lasting_one_is_preferred() {
    let mut run = Run::new();
    let (id, root) = (run.active(), run.root.clone());
    let lasting = run.right(&id, &root).unwrap();
    run.ok(&Run::lead(), "right.grant", json!({ "holder": id, "target": root, "once": true }));
    run.send("w1", &id, &root, "query").unwrap();
    assert!(!run.world.kinds().contains(&Kind::PortRightConsumed), "the lasting one was used");
    run.ok(&Run::lead(), "right.revoke", json!({ "right": lasting, "reason": "r" }));
    run.send("w1", &id, &root, "query").unwrap();
    assert!(run.world.kinds().contains(&Kind::PortRightConsumed));
    assert_eq!(run.send("w1", &id, &root, "query").unwrap_err().rule.id(), "W-PORT-02");
    let used = run.do_(&Run::lead(), "right.revoke", json!({ "right": lasting }));
    assert_eq!(used.unwrap_err().rule.id(), "W-PORT-07", "it is gone already");
}

/// Shows W-PORT-06, W-PORT-09, W-ENV-24.
#[test]
fn a_right_travels_with_an_envelope_and_ends_with_its_holder() {
    let taxonomy = json!({ "id": "t", "version": "1", "protocol_version": "0.1",
        "envelope_types": [{ "name": "note", "permissions": [
            { "sender_role": "worker", "receiver_role": "worker" },
            { "sender_role": "coordinator", "receiver_role": "worker" }] }] });
    let mut run = Run::with_taxonomy(Some(taxonomy));
    let a = run.active();
    let b = run.in_state(Status::Active, json!({ "agent": "w2" }));
    let root = run.root.clone();
    assert_eq!(run.send("w1", &a, &b, "note").unwrap_err().rule.id(), "W-PORT-02");
    let granted = run.ok(&Run::lead(), "right.grant", json!({ "holder": root, "target": b }));
    let Reply::Right(right) = granted else { panic!() };
    // The root has a right of its own by creation too; this one goes to a.
    let args = json!({ "to": a, "type": "note", "payload": payload(1), "rights": [right.right] });
    run.ok(&Run::lead(), "envelope.send", args.clone());
    assert!(run.world.kinds().contains(&Kind::PortRightTransferred));
    run.send("w1", &a, &b, "note").unwrap();
    run.refused(&Run::lead(), "envelope.send", args, "W-PORT-06");
    // Nobody passes on the right to its own inbox.
    let own = run.right(&a, &a).unwrap();
    let args = json!({ "workspace": a, "to": b, "type": "note", "payload": payload(1),
        "rights": [own] });
    run.refused(&agent("w1"), "envelope.send", args, "W-PORT-06");
    run.ok(&Run::lead(), "workspace.abort", json!({ "workspace": a }));
    assert!(run.world.state.rights().all(|(_, right)| right.holder != a && right.target != a));
}

/// Shows W-PORT-07.
#[test]
fn a_revoked_right_stops_new_envelopes_and_not_those_on_their_way() {
    let (mut run, id, _) = over(&[Carried::Lost]);
    let root = run.root.clone();
    let envelope = run.send("lead", &root, &id, "feedback").unwrap();
    let right = run.right(&root, &id).unwrap();
    run.refused(&agent("w1"), "right.revoke", json!({ "right": right }), "W-ROLE-04");
    run.ok(&Run::lead(), "right.revoke", json!({ "right": right }));
    assert_eq!(run.send("lead", &root, &id, "feedback").unwrap_err().rule.id(), "W-PORT-02");
    run.world.pass(10);
    run.world.tick();
    assert_eq!(place(&run, &envelope), Way::Acknowledged, "in flight it still arrives");
}

#[test]
fn a_right_that_is_used_up_by_an_envelope_does_not_go_with_it() {
    let mut run = Run::new();
    let (id, root) = (run.active(), run.root.clone());
    let lasting = run.right(&id, &root).unwrap();
    run.ok(&Run::lead(), "right.revoke", json!({ "right": lasting }));
    let once = json!({ "holder": id, "target": root, "once": true });
    let Reply::Right(right) = run.ok(&Run::lead(), "right.grant", once) else { panic!() };
    let args = json!({ "workspace": id, "to": root, "type": "query", "payload": payload(1),
        "rights": [right.right] });
    run.refused(&agent("w1"), "envelope.send", args, "W-PORT-06");
    run.send("w1", &id, &root, "query").unwrap();
}

#[test]
fn no_more_than_a_thousand_envelopes_wait_for_one_workspace() {
    let mut run = Run::new();
    let id = run.create(&Run::lead(), json!({ "agent": "w1" }));
    let root = run.root.clone();
    for _ in 1..althing_kernel::envelope::HELD_MAX {
        run.send("lead", &root, &id, "feedback").unwrap();
    }
    assert_eq!(run.send("lead", &root, &id, "feedback").unwrap_err().rule.id(), "A-USE-03");
    run.ok(&Run::lead(), "workspace.abort", json!({ "workspace": id }));
}

/// Shows W-ENV-04.
#[test]
fn a_payload_may_be_in_any_format_and_is_never_looked_into() {
    let mut run = Run::new();
    let (id, root) = (run.active(), run.root.clone());
    for format in ["markdown", "json", "yaml", "patch", "binary", "application/x-own"] {
        let mut payload = payload(1);
        payload["format"] = json!(format);
        let args = json!({ "workspace": id, "to": root, "type": "query", "payload": payload });
        run.ok(&agent("w1"), "envelope.send", args);
    }
    let mut payload = payload(1);
    payload["attachments"] = (0..65).map(|_| crate::run::blob(9)).collect();
    let args = json!({ "workspace": id, "to": root, "type": "query", "payload": payload });
    run.refused(&agent("w1"), "envelope.send", args, "W-ENV-09");
}
