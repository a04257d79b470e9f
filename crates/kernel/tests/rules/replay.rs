//! Replay and audit of runs: what was decided is allowed and leads to the same state again, and
//! what was not decided is noticed.

use crate::run::{Run, blob, payload, second_person, workspace_of};
use crate::support::{Request, agent, user};
use althing_kernel::audit::Breach;
use althing_kernel::principal::{Actor, Principal};
use althing_kernel::signal::SignalType;
use althing_kernel::workspace::{Status, Trigger};
use althing_kernel::{Caller, Command, Event, Kind, Reply, Stamped};
use serde_json::json;

/// A run with a bit of everything in it.
fn history() -> Run {
    let mut run = Run::new();
    second_person(&mut run.world, "bob");
    let lead = Run::lead();
    let root = run.root.clone();
    for status in Status::ALL.iter().filter(|status| **status != Status::Conflicted) {
        run.in_state(*status, json!({ "agent": "w1", "owner": "ada" }));
    }
    let top = run.in_state(Status::Active, json!({ "agent": "w2", "delegate": true }));
    let child = run.create(&agent("w2"), json!({ "agent": "watcher", "authority": ["src"] }));
    run.signal("watcher", &child, "started");
    run.send("watcher", &child, &top, "query").unwrap();
    run.send("w2", &top, &child, "feedback").unwrap();
    run.send("watcher", &child, &root, "query").unwrap_err();
    run.ok(&agent("watcher"), "inbox.take", json!({ "workspace": child }));
    run.ok(&lead, "inbox.take", json!({}));
    let plan = json!({ "tasks": [{ "key": "a", "name": "a", "description": blob(1) }] });
    let Reply::Graph(graph) = run.ok(&user("ada"), "task.graph", plan) else { panic!() };
    run.ok(&user("bob"), "task.approve", json!({ "graph": graph.graph }));
    let args = json!({ "task": graph.tasks["a"], "agent": "w1", "timeout_s": 100 });
    let at = workspace_of(run.ok(&lead, "task.assign", args)).workspace;
    run.signal("w1", &at, "started");
    run.world.pass(200);
    run.world.tick();
    run.ok(&lead, "task.retry", json!({ "task": graph.tasks["a"] }));
    run.ok(&lead, "workspace.grant_visibility", json!({ "workspace": top, "target": root }));
    let slow = run.in_state(Status::Active, json!({ "agent": "w1" }));
    run.checkpoint("w1", &slow, "artifact", &["a"]);
    run.ok(&lead, "workspace.terminate", json!({ "workspace": slow, "grace_s": 5 }));
    run.world.pass(6);
    run.world.tick();
    run.ok(&lead, "integration.salvage", json!({ "workspace": slow, "merged": [] }));
    run.ok(&user("bob"), "workspace.abort", json!({ "workspace": top, "reason": "r" }));
    run
}

/// Shows W-TRAIL-03, W-TRAIL-10, W-REC-01.
#[test]
fn replaying_the_entries_gives_the_same_state_and_every_one_is_allowed() {
    let run = history();
    run.world.is_sound();
}

/// Shows W-TRAIL-07, W-TRAIL-08, W-CLK-02, W-CONC-04.
#[test]
fn a_local_trail_is_what_bears_the_workspaces_id_in_strict_order() {
    let run = history();
    for (id, _) in run.world.state.workspaces() {
        let local: Vec<&Stamped> = run
            .world
            .entries
            .iter()
            .filter(|entry| entry.draft.workspace.as_ref() == Some(id))
            .collect();
        assert_eq!(local[0].draft.event.kind(), Kind::WorkspaceCreated, "its first entry");
        assert!(local.windows(2).all(|pair| pair[0].at < pair[1].at));
    }
}

/// The entries of one command are in one commit and name their cause.
/// Shows W-TRAIL-02.
#[test]
fn what_follows_from_a_command_names_the_entry_it_follows_from() {
    let mut run = Run::new();
    let (id, root) = (run.active(), run.root.clone());
    let before = run.count();
    run.send("w1", &id, &root, "query").unwrap();
    let entries = &run.world.entries[before..];
    assert_eq!(entries[0].draft.actor, Actor::from(agent("w1").principal));
    for entry in &entries[1..] {
        assert_eq!(entry.draft.causation.as_ref(), Some(&entries[0].id), "{entry:?}");
        assert_eq!(entry.draft.actor, Actor::Protocol);
    }
}

/// Rewriting an entry and resealing everything after it is detected.
/// Shows W-SEC-01.
#[test]
fn entries_that_were_never_decided_do_not_pass_the_audit() {
    let run = history();
    let mut caught = 0;
    for (place, entry) in run.world.entries.iter().enumerate() {
        for forged in forgeries(entry) {
            assert!(run.world.with(place, forged.clone()).is_err(), "{forged:?}");
            caught += 1;
        }
    }
    assert!(caught > 200, "{caught}");
}

/// Forged variants of an entry that no command could have caused.
fn forgeries(entry: &Stamped) -> Vec<Stamped> {
    let with = |change: &dyn Fn(&mut Stamped)| {
        let mut forged = entry.clone();
        change(&mut forged);
        forged
    };
    let stranger = Actor::Principal(agent("w3").principal);
    let by_stranger = with(&|forged| forged.draft.actor = stranger.clone());
    let mut all = Vec::new();
    match &entry.draft.event {
        Event::WorkspaceCreated(body) if body.parent.is_some() => {
            if !matches!(&entry.draft.actor, Actor::Principal(Principal::Agent(_))) {
                all.push(by_stranger);
            }
            all.push(with(&|forged| {
                let Event::WorkspaceCreated(body) = &mut forged.draft.event else { return };
                body.role = althing_kernel::token::RoleName::coordinator();
            }));
        }
        Event::WorkspaceStateChanged(body) => {
            all.push(with(&|forged| {
                let Event::WorkspaceStateChanged(body) = &mut forged.draft.event else { return };
                body.to_state = Status::Idle;
            }));
            if body.trigger != Trigger::Timeout {
                all.push(with(&|forged| {
                    let Event::WorkspaceStateChanged(body) = &mut forged.draft.event else {
                        return;
                    };
                    body.to_state = Status::Failed;
                    body.trigger = Trigger::Timeout;
                    body.initiator = althing_kernel::workspace::Initiator::Runtime;
                }));
            }
        }
        Event::EnvelopeCreated(_) => {
            // In the name of somebody who is not the sender.
            all.push(with(&|forged| {
                forged.draft.actor = Actor::Principal(agent("w3").principal);
            }));
            all.push(with(&|forged| {
                let Event::EnvelopeCreated(body) = &mut forged.draft.event else { return };
                std::mem::swap(&mut body.from, &mut body.to);
            }));
        }
        Event::SignalEmitted(body) if entry.draft.actor != Actor::Protocol => {
            all.push(with(&|forged| {
                let Event::SignalEmitted(body) = &mut forged.draft.event else { return };
                body.signal = SignalType::Integrate;
            }));
            if body.to.is_some() {
                all.push(with(&|forged| {
                    let Event::SignalEmitted(body) = &mut forged.draft.event else { return };
                    body.to = Some(body.from.clone());
                }));
            }
        }
        Event::CheckpointCreated(_)
        | Event::InboxTaken(_)
        | Event::GraphCreated(_)
        | Event::VisibilityGranted(_)
        | Event::GracefulTerminationInitiated(_)
        | Event::GracefulTerminationExpired(_)
        | Event::IntegrationStarted(_) => {
            all.push(with(&|forged| {
                forged.draft.actor = Actor::Principal(agent("w3").principal);
            }));
        }
        Event::TaskStatusChanged(_) => all.push(with(&|forged| {
            let Event::TaskStatusChanged(body) = &mut forged.draft.event else { return };
            body.to_status = althing_kernel::task::Status::Integrated;
        })),
        Event::PortRightCreated(_) => all.push(with(&|forged| {
            let Event::PortRightCreated(body) = &mut forged.draft.event else { return };
            body.right_type = althing_kernel::right::RightType::SendOnce;
        })),
        Event::EnvelopeDelivered(_) | Event::SignalDelivered(_) => all.push(by_stranger),
        _ => {}
    }
    all.push(with(&|forged| forged.at = althing_kernel::Timestamp::default()));
    all
}

/// Entries of the runtime with no cause or a wrong cause are detected.
/// Shows W-SEC-01, W-TRAIL-07.
#[test]
fn the_runtimes_entries_follow_from_what_can_lead_to_them() {
    let mut run = Run::new();
    let id = run.active();
    let plan = json!({ "tasks": [{ "key": "a", "name": "a", "description": blob(1) }] });
    let Reply::Graph(graph) = run.ok(&user("ada"), "task.graph", plan) else { panic!() };
    run.ok(&user("ada"), "inbox.take", json!({}));
    let last = run.world.last();
    assert_eq!(last.draft.event.kind(), Kind::InboxTaken, "what ada did last");
    let root = run.root.clone();
    let forged = |event: Event, home: &althing_kernel::WorkspaceId, caused: bool| {
        let mut entry = last.clone();
        entry.at = run.world.now.after(althing_kernel::Span::from_secs(1));
        entry.draft.actor = Actor::Protocol;
        entry.draft.workspace = Some(home.clone());
        entry.draft.causation = caused.then(|| last.id.clone());
        entry.draft.event = event;
        entry
    };
    let read = |kind: &str, body: serde_json::Value| {
        Event::read(kind.parse().unwrap(), &body.to_string()).unwrap()
    };
    let step = |to: &str, trigger: &str, by: &str| {
        read(
            "workspace_state_changed",
            json!({ "from_state": "active", "initiator": by,
            "to_state": to, "trigger": trigger, "workspace_id": id }),
        )
    };
    let task = &graph.tasks["a"];
    let approved = json!({ "approval_source": "human", "task_id": task });
    let pending = json!({ "from_status": "draft", "task_id": task, "to_status": "pending" });
    for caused in [false, true] {
        for (event, home) in [
            (step("failed", "aborted_by_human", "human"), &id),
            (step("suspended", "suspend", "human"), &id),
            (step("integrating", "complete", "agent"), &id),
            (read("task_approved", approved.clone()), &root),
            (read("task_status_changed", pending.clone()), &root),
        ] {
            let entry = forged(event, home, caused);
            let asked = run.world.requests.values().last().cloned();
            assert!(run.world.with_next(&entry, asked).is_err(), "{entry:?}");
            assert_eq!(run.world.with_next(&entry, None), Err(Breach::Unasked), "{entry:?}");
        }
    }
    // What is true, but filed where its readers will not find it.
    let history = history().world;
    let at = history.entries.iter().position(|entry| {
        entry.draft.event.kind() == Kind::CheckpointCreated && entry.draft.workspace.is_some()
    });
    let at = at.unwrap();
    let mut elsewhere = history.entries[at].clone();
    assert_eq!(history.with(at, elsewhere.clone()), Ok(()));
    elsewhere.draft.workspace = None;
    assert!(history.with(at, elsewhere).is_err());
}

/// Who asks for an entry, with which command.
type Asked = Option<(Caller, &'static str, serde_json::Value)>;

/// Forged budget, liveness and abort entries are detected.
/// Shows W-SEC-01.
#[test]
fn made_up_use_and_orders_do_not_pass_the_audit() {
    let mut run = Run::new();
    let args = json!({ "agent": "w1", "group": "g", "liveness_interval_s": 60,
        "budget": { "token_limit": 100 } });
    let id = run.in_state(Status::Active, args);
    run.ok(&agent("w1"), "meter.report", json!({ "tokens": 50 }));
    let (last, root) = (run.world.last().clone(), run.root.clone());
    // The entry with the request that would have to lead to it, and without any.
    let audited = |actor: &Actor, kind: &str, body: &serde_json::Value, asked: Asked| {
        let mut entry = last.clone();
        entry.at = run.world.now.after(althing_kernel::Span::from_secs(1));
        let home = if kind.starts_with("batch") { &root } else { &id };
        entry.draft.workspace = Some(home.clone());
        entry.draft.stream = althing_kernel::Stream::workspace(home);
        entry.draft.causation = (*actor == Actor::Protocol).then(|| last.id.clone());
        entry.draft.actor = actor.clone();
        entry.draft.event = Event::read(kind.parse().unwrap(), &body.to_string()).unwrap();
        assert_eq!(run.world.with_next(&entry, None), Err(Breach::Unasked), "{kind}");
        let asked = asked.map(|(caller, name, args)| {
            let command = Command::read(name, &args.to_string()).unwrap().unwrap();
            Request::of(&caller, &command)
        });
        run.world.with_next(&entry, asked)
    };
    let (w2, lead) = (Actor::from(agent("w2").principal), Actor::from(Run::lead().principal));
    let limit = |consumed: u64| {
        json!({ "budget_dimension": "token_limit", "consumed": consumed, "limit": 100,
            "workspace_id": id })
    };
    let mut warning = limit(80);
    warning["threshold_percent"] = 80.into();
    let silence = json!({ "interval": 60_000_000, "silent_intervals": 1, "workspace_id": id,
        "last_activity_timestamp": last.at });
    let failed = json!({ "from_state": "active", "initiator": "runtime", "reason": "token_limit",
        "to_state": "failed", "trigger": "budget_exceeded", "workspace_id": id });
    let priority =
        json!({ "new_priority": "critical", "old_priority": "normal", "workspace_id": id });
    let raised = |old: u64| {
        json!({ "budget_dimension": "token_limit", "new_limit": 900, "old_limit": old,
            "workspace_id": id })
    };
    let reported = json!({ "cost": 0, "tokens": 5, "workspace_id": id });
    let abort = json!({ "affected_workspaces": [id], "group_id": "g", "skipped_workspaces": [] });
    let differs = json!({ "agent_value": 1, "checkpoint_id": "c", "field": "cost",
        "runtime_value": 2, "workspace": id });
    let by = |caller: &Caller, name: &'static str, args: serde_json::Value| -> Asked {
        Some((caller.clone(), name, args))
    };
    let set_priority = json!({ "workspace": id, "priority": "critical" });
    let more = json!({ "workspace": id, "limits": { "token_limit": 900 } });
    let report = json!({ "workspace": id, "tokens": 5 });
    let orders = [
        ("priority_changed", &priority, "workspace.set_priority", &set_priority),
        ("budget_modified", &raised(100), "workspace.modify_budget", &more),
        ("meter.reported", &reported, "meter.report", &report),
    ];
    for (kind, body, name, args) in orders {
        let asked = |caller: &Caller| by(caller, name, args.clone());
        assert_eq!(audited(&lead, kind, body, asked(&Run::lead())), Ok(()), "{kind} by the leader");
        let found = audited(&w2, kind, body, asked(&agent("w2")));
        assert!(matches!(found, Err(Breach::Refused { .. })), "{kind} by w2: {found:?}");
        let found = audited(&Actor::Protocol, kind, body, asked(&Run::lead()));
        assert!(found.is_err(), "{kind} by the runtime");
    }
    let asked = by(&agent("w2"), "workspace.batch_abort", json!({ "group": "g" }));
    let found = audited(&w2, "batch_abort", &abort, asked);
    assert!(matches!(found, Err(Breach::Refused { .. })), "{found:?}");
    let asked = by(&Run::lead(), "workspace.modify_budget", more.clone());
    let found = audited(&lead, "budget_modified", &raised(99), asked);
    assert!(matches!(found, Err(Breach::Differs { .. })), "{found:?}");
    for (kind, body) in [
        ("budget_warning", warning),
        ("budget_exceeded", limit(100)),
        ("liveness_warning", silence),
        ("workspace_state_changed", failed),
        ("resource_discrepancy", differs),
    ] {
        let asked = by(&agent("w1"), "meter.report", json!({ "tokens": 1 }));
        let found = audited(&Actor::Protocol, kind, &body, asked);
        assert!(found.is_err(), "{kind} out of nothing");
    }
}

/// Content that was not stored is never cited, whatever the command.
#[test]
fn content_that_is_not_stored_is_refused_everywhere() {
    let mut run = Run::new();
    let (lead, w1, id) = (Run::lead(), agent("w1"), run.active());
    let root = run.root.clone();
    let text = json!({ "text": "x" });
    let cases = [
        (
            &lead,
            "task.graph",
            json!({ "tasks": [{ "key": "a", "name": "n", "description": text }] }),
        ),
        (
            &lead,
            "workspace.create",
            json!({ "agent": "w2", "role": "worker",
            "directive": payload(1), "context": text }),
        ),
        (&w1, "workspace.write", json!({ "workspace": id, "path": "a", "content": text })),
        (
            &w1,
            "envelope.send",
            json!({ "workspace": id, "to": root, "type": "query",
            "payload": { "content": blob(1), "attachments": [text] } }),
        ),
        (
            &w1,
            "checkpoint.create",
            json!({ "workspace": id, "type": "artifact",
            "status": "final", "intent": "i", "files_changed": [{ "path": "a", "content": text }] }),
        ),
    ];
    for (who, name, args) in cases {
        let refusal = run.do_(who, name, args).unwrap_err();
        assert!(refusal.message.contains("stored"), "{name}: {refusal:?}");
    }
}
