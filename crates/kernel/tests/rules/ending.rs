//! Graceful termination, granted visibility, and workspaces that lose their parent.

use crate::run::{Run, second_person};
use crate::support::{agent, user};
use althing_kernel::access::reads;
use althing_kernel::audit::Breach;
use althing_kernel::content::Blob;
use althing_kernel::envelope::Envelope;
use althing_kernel::principal::Actor;
use althing_kernel::workspace::{Status, Trigger};
use althing_kernel::{AgentName, Event, Kind, Principal, Span, Stamped, WorkspaceId};
use serde_json::{Value, json};

fn terminate(run: &mut Run, id: &WorkspaceId, grace_s: u64) {
    let args = json!({ "workspace": id, "grace_s": grace_s, "reason": "\"enough\"\n" });
    run.ok(&Run::lead(), "workspace.terminate", args);
}

/// The newest envelope to a workspace.
fn newest<'r>(run: &'r Run, to: &WorkspaceId) -> &'r Envelope {
    let mail = run.world.state.envelopes().map(|(_, sent)| sent).filter(|sent| sent.to == *to);
    mail.max_by_key(|sent| sent.created_at).unwrap()
}

/// Checks that every recorded entry passes the audit and replays to the same state.
fn replays(run: &Run) {
    run.world.is_sound();
}

/// Shows W-GT-01.
#[test]
fn whoever_is_asked_to_finish_is_told_how_long_it_has() {
    let mut run = Run::new();
    let id = run.active();
    let before = run.count();
    terminate(&mut run, &id, 600);
    let expected = [
        Kind::GracefulTerminationInitiated,
        Kind::EnvelopeCreated,
        Kind::EnvelopeDelivered,
        Kind::SignalEmitted,
        Kind::SignalDelivered,
    ];
    assert_eq!(run.kinds_since(before), expected, "recorded, sent, received");
    let shown = newest(&run, &id);
    assert_eq!((shown.kind.as_str(), &shown.from), ("feedback", &run.root));
    assert_eq!(shown.payload.format.as_str(), "json");
    // What stands in the message is known, so that its hash can be held against it.
    let text = "{\"grace_period_s\":600,\"intent\":\"graceful_termination\",\
        \"reason\":\"\\\"enough\\\"\\n\",\"request\":\"Make a final checkpoint and say `complete` \
        before this time is over.\"}";
    let words: Value = serde_json::from_str(text).unwrap();
    assert_eq!(words["reason"], "\"enough\"\n");
    assert_eq!(shown.payload.content, Blob::of(text.as_bytes()));
    assert_eq!(run.status(&id), Status::Active, "it goes on for now");
    assert!(run.view(&id).grace_ends.is_some_and(|ends| run.view(&id).deadline == Some(ends)));
    let again = json!({ "workspace": id, "grace_s": 5 });
    run.refused(&Run::lead(), "workspace.terminate", again, "W-GT-01");
    replays(&run);
}

/// Shows W-GT-02.
#[test]
fn done_in_time_is_done_and_otherwise_what_there_is_stays() {
    let mut run = Run::new();
    let id = run.active();
    terminate(&mut run, &id, 60);
    run.world.pass(59);
    run.checkpoint("w1", &id, "artifact", &["a"]);
    assert!(run.signal("w1", &id, "complete"));
    run.world.pass(1_000);
    run.world.tick();
    assert_eq!(run.status(&id), Status::Integrating, "the timer is cancelled");

    for from in [Status::Active, Status::Blocked] {
        let mut run = Run::new();
        let id = run.active();
        run.checkpoint("w1", &id, "artifact", &["a"]);
        let head = run.view(&id).head;
        if from == Status::Blocked {
            run.signal("w1", &id, "blocked");
        }
        terminate(&mut run, &id, 60);
        // A pause does not count.
        run.world.pass(40);
        run.ok(&Run::lead(), "workspace.suspend", json!({ "workspace": id }));
        run.world.pass(10_000);
        run.world.tick();
        run.ok(&Run::lead(), "workspace.resume", json!({ "workspace": id }));
        run.world.pass(19);
        run.world.tick();
        assert_eq!(run.status(&id), from);
        run.world.pass(2);
        let before = run.count();
        run.world.tick();
        let expired = &run.world.entries[before].draft.event;
        let Event::GracefulTerminationExpired(expired) = expired else { panic!("{expired:?}") };
        assert!(head.is_some() && expired.partial_checkpoint == head);
        assert_eq!(expired.grace_period, Span::from_secs(60));
        assert_eq!(run.view(&id).ended, Some(Trigger::GracefulTerminationExpired));
        assert_eq!(run.view(&id).head, head, "its register stays");
        assert!(!run.signal("w1", &id, "complete"), "too late");
        replays(&run);
    }
    // The time it had from the start may be over first.
    let mut run = Run::new();
    let id = run.in_state(Status::Active, json!({ "agent": "w1", "timeout_s": 30 }));
    terminate(&mut run, &id, 60);
    run.world.pass(31);
    run.world.tick();
    assert_eq!(run.view(&id).ended, Some(Trigger::Timeout));
}

/// Shows W-GT-01, W-GT-02, W-SEC-01.
#[test]
fn nobody_records_an_end_before_its_time_or_another_message() {
    let mut run = Run::new();
    let id = run.active();
    let before = run.count();
    terminate(&mut run, &id, 60);
    let (asked, sent) = (&run.world.entries[before], &run.world.entries[before + 1]);
    let mut state = run.world.fork().state;
    let forged = |entry: &Stamped, change: &dyn Fn(&mut Stamped)| {
        let mut forged = entry.clone();
        forged.at = run.world.now.after(Span::from_secs(1));
        change(&mut forged);
        forged
    };
    // Another message in the same breath.
    let mut other = sent.clone();
    let Event::EnvelopeCreated(body) = &mut other.draft.event else { panic!() };
    body.payload.content = Blob::of(b"something else");
    assert_eq!(run.world.with(before + 1, sent.clone()), Ok(()));
    assert!(run.world.with(before + 1, other).is_err());
    // By somebody who leads nobody.
    let mut by = asked.clone();
    by.draft.actor = agent("w2").principal.into();
    assert_eq!(run.world.with(before, asked.clone()), Ok(()));
    assert!(run.world.with(before, by).is_err());
    // Over before it is over, and failed without having been over.
    let over = |kind: &str, body: &Value| {
        forged(sent, &|forged| {
            forged.draft.actor = Actor::Protocol;
            forged.draft.workspace = Some(id.clone());
            forged.draft.stream = althing_kernel::Stream::workspace(&id);
            (forged.draft.causation, forged.draft.correlation) = (None, None);
            forged.draft.event = Event::read(kind.parse().unwrap(), &body.to_string()).unwrap();
        })
    };
    let expired = json!({ "grace_period": 60_000_000, "partial_checkpoint": null,
        "workspace_id": id });
    let failed = json!({ "from_state": "active", "initiator": "runtime", "to_state": "failed",
        "trigger": "graceful_termination_expired", "workspace_id": id });
    let early = over("graceful_termination_expired", &expired);
    assert_eq!(run.world.with_next(&early, None), Err(Breach::Unasked));
    let mut due = early;
    due.at = run.world.now.after(Span::from_secs(61));
    let expected = Kind::WorkspaceStateChanged;
    let found = run.world.with_next(&due, None);
    assert_eq!(found, Err(Breach::Missing { expected }), "in time it is allowed, with the end");
    let mut alone = over("workspace_state_changed", &failed);
    alone.at = due.at;
    let expected = Kind::GracefulTerminationExpired;
    let found = run.world.with_next(&alone, None);
    assert_eq!(found, Err(Breach::Differs { expected }), "the end follows from the time");
    let mut other = due.clone();
    let Event::GracefulTerminationExpired(body) = &mut other.draft.event else { panic!() };
    body.grace_period = Span::from_secs(1);
    assert!(state.apply(&other).is_err());
}

fn may_read(run: &Run, who: &str, target: &WorkspaceId) -> bool {
    let who = Principal::Agent(AgentName::new(who).unwrap());
    reads(&run.world.state, Some(&who), target)
}

/// Shows W-VIS-01, W-VIS-02, W-VIS-05, W-TRAIL-30.
#[test]
fn what_is_shown_is_seen_at_once_and_for_good_and_the_watched_is_not_told() {
    for status in Status::ALL {
        let works = matches!(status, Status::Active | Status::Blocked);
        let mut run = Run::new();
        let target = run.in_state(Status::Failed, json!({ "agent": "w3" }));
        let id = run.in_state(*status, json!({ "agent": "w1" }));
        let grant = json!({ "workspace": id, "target": target, "reason": "r" });
        let local = |run: &Run| {
            let own = |entry: &&Stamped| entry.draft.workspace.as_ref() == Some(&target);
            run.world.entries.iter().filter(own).count()
        };
        let before = local(&run);
        let done = run.do_(&Run::lead(), "workspace.grant_visibility", grant.clone());
        assert_eq!(done.is_ok(), works, "{status}: {done:?}");
        assert_eq!(may_read(&run, "w1", &target), works, "{status}");
        if !works {
            continue;
        }
        assert_eq!(run.world.last_event().kind(), Kind::VisibilityGranted);
        assert_eq!(run.world.last().draft.workspace.as_ref(), Some(&id), "in its own trail");
        assert_eq!(local(&run), before, "and in no other");
        assert_eq!(run.view(&id).visibility, [target]);
        run.refused(&Run::lead(), "workspace.grant_visibility", grant, "W-VIS-02");
        replays(&run);
    }
}

/// Shows W-VIS-03, W-ROLE-04, W-DEL-03, W-TREE-10.
#[test]
fn nobody_shows_what_it_does_not_see_nor_what_the_parent_does_not() {
    let mut run = Run::new();
    let boss = run.in_state(Status::Active, json!({ "agent": "w1", "delegate": true }));
    let below = run.in_state(Status::Active, json!({ "agent": "w2", "parent": boss }));
    let other = run.in_state(Status::Active, json!({ "agent": "w3" }));
    let show =
        |to: &WorkspaceId, target: &WorkspaceId| json!({ "workspace": to, "target": target });
    let name = "workspace.grant_visibility";
    run.refused(&agent("w1"), name, show(&below, &other), "W-VIS-03");
    run.refused(&Run::lead(), name, show(&below, &other), "W-VIS-03");
    run.refused(&agent("w3"), name, show(&below, &boss), "W-ROLE-04");
    run.refused(&agent("w1"), name, show(&other, &boss), "W-ROLE-04");
    run.refused(&agent("w1"), name, show(&boss, &below), "W-ROLE-04");
    let nowhere = WorkspaceId::new("nowhere").unwrap();
    run.refused(&Run::lead(), name, show(&below, &nowhere), "W-ID-07");
    // Once the one above sees it, it may go on.
    run.ok(&Run::lead(), name, show(&boss, &other));
    assert!(!may_read(&run, "w2", &other), "what a parent sees its children do not");
    run.ok(&agent("w1"), name, show(&below, &other));
    assert!(may_read(&run, "w2", &other));
    replays(&run);
    // Recorded by somebody who may not, it is noticed.
    let mut entry = run.world.last().clone();
    entry.draft.actor = agent("w3").principal.into();
    assert!(run.world.with(run.count() - 1, entry).is_err());
}

/// A workspace of bob's whose parent failed, with that parent.
fn orphan(run: &mut Run) -> (WorkspaceId, WorkspaceId) {
    second_person(&mut run.world, "bob");
    let top = run.in_state(Status::Active, json!({ "agent": "w1", "owner": "ada" }));
    let child =
        run.in_state(Status::Active, json!({ "agent": "w3", "parent": top, "owner": "bob" }));
    run.ok(&user("ada"), "workspace.abort", json!({ "workspace": top }));
    (child, top)
}

/// Shows W-TREE-06, W-TREE-08.
#[test]
fn the_root_hears_of_a_workspace_that_lost_its_parent_and_so_can_its_owner() {
    let mut run = Run::new();
    let (child, top) = orphan(&mut run);
    assert_eq!(run.view(&child).parent, Some(run.root.clone()));
    assert_eq!((run.status(&child), run.status(&top)), (Status::Active, Status::Failed));
    assert_eq!(run.view(&child).owner.to_string(), "bob");
    let mail = run.world.ask("inbox.list", &json!({ "workspace": run.root }).to_string());
    let heard = mail["signals"].as_array().unwrap().iter().find(|heard| {
        heard["from"] == json!(child) && heard["reason"] == "parent_aborted_cross_ownership"
    });
    assert_eq!(heard.unwrap()["ref"], json!(top), "{mail}");
    let lost = run.world.ask("workspace.list", r#"{"orphans":true}"#);
    assert_eq!(lost.as_array().unwrap().len(), 1);
    assert_eq!((&lost[0]["workspace"], &lost[0]["owner"]), (&json!(child), &json!("bob")));
    assert_eq!(lost[0]["orphan_of"], json!(top));
    replays(&run);
}

/// Shows W-TREE-02, W-TREE-08.
#[test]
fn a_workspace_that_lost_its_parent_is_given_another_once() {
    let mut run = Run::new();
    let lead = Run::lead();
    let settled = run.in_state(Status::Active, json!({ "agent": "w2", "authority": ["src"] }));
    let (child, _) = orphan(&mut run);
    let below = run.in_state(Status::Active, json!({ "agent": "w3", "parent": child }));
    let new = run.in_state(Status::Active, json!({ "agent": "w2" }));
    let ended = run.in_state(Status::Closed, json!({ "agent": "w2" }));
    let to = |id: &WorkspaceId, parent: &WorkspaceId| json!({ "workspace": id, "parent": parent });
    let name = "workspace.reparent";
    run.refused(&lead, name, to(&settled, &new), "W-TREE-08");
    run.refused(&lead, name, to(&child, &below), "W-TREE-08");
    run.refused(&lead, name, to(&child, &child), "W-TREE-08");
    run.refused(&lead, name, to(&child, &run.root.clone()), "W-TREE-08");
    run.refused(&lead, name, to(&child, &ended), "W-TREE-08");
    run.refused(&lead, name, to(&child, &settled), "W-TREE-10");
    run.refused(&agent("w2"), name, to(&child, &new), "W-ROLE-04");
    run.ok(&lead, name, to(&child, &new));
    assert_eq!(run.view(&child).parent.as_ref(), Some(&new));
    assert_eq!(run.view(&child).owner.to_string(), "bob", "nothing else changed");
    assert!(run.right(&new, &child).is_some() && run.right(&child, &new).is_some());
    assert!(may_read(&run, "w2", &child), "whoever is above sees it");
    assert_eq!(run.world.ask("workspace.list", r#"{"orphans":true}"#), json!([]));
    let another = run.in_state(Status::Active, json!({ "agent": "w1" }));
    run.refused(&lead, name, to(&child, &another), "W-TREE-08");
    replays(&run);
    // If that one ends too, it is an orphan again.
    run.ok(&lead, "workspace.abort", json!({ "workspace": new }));
    assert_eq!(run.view(&child).orphan_of, Some(new));
    run.ok(&lead, name, to(&child, &another));
    replays(&run);
}

/// Shows W-MIG-01, W-MIG-02, W-MIG-03, W-SUS-02.
#[test]
fn whoever_takes_over_finds_everything_as_it_was() {
    let mut run = Run::new();
    let root = run.root.clone();
    let seen = run.in_state(Status::Active, json!({ "agent": "w3" }));
    let args = json!({ "agent": "w1", "authority": ["src"], "visibility": [seen],
        "timeout_s": 1_000, "delegate": true });
    let id = run.in_state(Status::Active, args);
    run.ok(&agent("w1"), "inbox.take", json!({ "workspace": id }));
    run.checkpoint("w1", &id, "artifact", &["src/a.rs"]);
    run.world.pass(100);
    let before = run.view(&id);
    for (old, new) in [("w1", "w2"), ("w2", "w1")] {
        let start = run.count();
        let order = json!({ "workspace": id, "agent": new, "reason": "r" });
        run.ok(&Run::lead(), "workspace.migrate", order);
        let held = run.send("lead", &root, &id, "feedback").unwrap();
        let stands = |run: &Run| run.world.state.envelope(&held).unwrap().delivered_at.is_some();
        assert!(!stands(&run), "mail waits");
        run.world.pass(50);
        assert!(run.signal(new, &id, "ready"));
        assert!(stands(&run));
        let kinds = run.kinds_since(start);
        let place = |kind: Kind| kinds.iter().position(|own| *own == kind).unwrap();
        assert_eq!(place(Kind::MigrationStarted), 0, "first of all");
        assert!(place(Kind::MigrationCompleted) < place(Kind::EnvelopeDelivered));
        let Event::MigrationStarted(started) = &run.world.entries[start].draft.event else {
            panic!()
        };
        assert_eq!((started.old_agent.as_str(), started.new_agent.as_str()), (old, new));
        let after = run.view(&id);
        assert_eq!((after.status, after.role), (Status::Active, before.role.clone()));
        assert_eq!((after.visibility, after.authority, after.head), {
            let before = before.clone();
            (before.visibility, before.authority, before.head)
        });
        assert!(after.worked < Span::from_secs(101), "the move does not count: {:?}", after.worked);
        assert!(after.worked >= Span::from_secs(100), "the clock goes on where it was");
        assert_eq!((after.delegate, after.task, after.parent), (true, None, Some(root.clone())));
    }
    run.world.pass(900);
    run.world.tick();
    assert_eq!(run.view(&id).ended, Some(Trigger::Timeout), "its time is not begun anew");
    replays(&run);
}
