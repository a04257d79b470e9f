//! Workspaces: creation, the state table, the tree, and who may do what to whom.

use crate::run::{Run, blob, payload, second_person, workspace_of};
use crate::support::{World, agent, user};
use althing_kernel::seconds::Secs;
use althing_kernel::workspace::budget::Dimension;
use althing_kernel::workspace::edges::{STEPS, is_step};
use althing_kernel::workspace::{Initiator, Party, Status, Trigger};
use althing_kernel::{Event, Kind, Reply, State, WorkspaceId};
use serde_json::json;

/// Shows W-SYS-01, W-SYS-02, W-TAX-08, W-WS-23.
#[test]
fn a_run_begins_with_its_root_and_nothing_else_can_come_first() {
    let mut world = World::new();
    let lead = agent("lead");
    world.run(&lead, "agent.register", "{}").unwrap();
    let early = json!({ "agent": "lead", "role": "worker", "directive": payload(1) });
    let refusal = world.run(&user("ada"), "workspace.create", &early.to_string()).unwrap_err();
    assert_eq!(refusal.rule.id(), "W-SYS-01");

    let before = world.entries.len();
    world.run(&user("ada"), "run.start", r#"{"agent":"lead"}"#).unwrap();
    let kinds: Vec<Kind> = world.entries[before..].iter().map(|e| e.draft.event.kind()).collect();
    let expected = [
        Kind::WorkspaceCreated,
        Kind::PortRightCreated,
        Kind::SignalEmitted,
        Kind::WorkspaceStateChanged,
    ];
    assert_eq!(kinds, expected, "root, its inbox, ready, active");
    let Event::WorkspaceCreated(root) = &world.entries[before].draft.event else { panic!() };
    assert_eq!((root.parent.as_ref(), root.role.as_str()), (None, "coordinator"));
    assert_eq!(root.run.as_ref().unwrap().algorithm.as_str(), "sha256");
    assert_eq!(root.originator, Party::System);
}

/// Shows W-SEC-05, W-ROLE-02.
#[test]
fn there_is_one_coordinator_and_people_give_the_post() {
    let mut run = Run::new();
    run.refused(&user("ada"), "run.start", json!({}), "W-SEC-05");
    run.refused(
        &Run::lead(),
        "workspace.create",
        json!({ "agent": "w1", "role": "coordinator", "directive": payload(1) }),
        "W-WS-13",
    );
    // Where people have signed up, no agent takes the post by itself.
    let mut world = World::new();
    let refusal = world.run(&agent("w1"), "run.start", "{}").unwrap_err();
    assert_eq!(refusal.rule.id(), "A-RUN-01");
    // Handing over moves the post with everything that goes with it.
    run.ok(&Run::lead(), "run.hand_over", json!({ "agent": "w3" }));
    run.refused(
        &Run::lead(),
        "workspace.create",
        json!({ "agent": "w1", "role": "worker", "directive": payload(1) }),
        "W-WS-10",
    );
    run.create(&agent("w3"), json!({ "agent": "w1" }));
}

/// Shows W-SYS-03, W-SYS-05.
#[test]
fn a_run_ends_well_when_everything_below_has_ended() {
    let mut run = Run::new();
    let id = run.active();
    let refusal = run.refused(&Run::lead(), "run.end", json!({}), "W-SYS-03");
    assert!(format!("{refusal:?}").contains(id.as_str()), "it names what still goes on");
    run.ok(&Run::lead(), "workspace.abort", json!({ "workspace": id }));
    run.ok(&Run::lead(), "run.end", json!({ "reason": "done" }));
    assert_eq!(run.status(&run.root.clone()), Status::Closed);
    let Event::WorkspaceStateChanged(last) = run.world.last_event() else { panic!() };
    assert_eq!((last.to_state, last.trigger), (Status::Closed, Trigger::RunComplete));
    // The trail goes on with another run.
    let again = run.ok(&user("ada"), "run.start", json!({ "agent": "lead" }));
    assert_ne!(workspace_of(again).workspace, run.root);
}

/// Shows W-SYS-04.
#[test]
fn a_forced_end_fails_everything_and_the_root_last() {
    let mut run = Run::new();
    let (a, _) = (run.active(), run.in_state(Status::Suspended, json!({ "agent": "w2" })));
    let child = run.in_state(Status::Blocked, json!({ "agent": "w2", "parent": a }));
    let before = run.count();
    run.ok(&user("ada"), "run.end", json!({ "force": true, "reason": "fire" }));
    let changes: Vec<_> = run.world.entries[before..]
        .iter()
        .filter_map(|entry| match &entry.draft.event {
            Event::WorkspaceStateChanged(change) => Some(change.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(changes.len(), 4);
    assert!(changes.iter().all(|change| change.trigger == Trigger::SystemShutdown));
    assert_eq!(changes.last().unwrap().workspace_id, run.root);
    assert_eq!(run.status(&child), Status::Failed);
    let degraded = run.world.entries[before..].iter().position(|entry| {
        matches!(&entry.draft.event, Event::SystemDegraded(body)
            if body.reason.as_str() == "forced_shutdown")
    });
    assert_eq!(degraded, Some(1), "right after the order, before anything ends");
}

/// Shows W-WS-01, W-WS-03, W-WS-05, W-WS-11, W-WS-12, W-WS-16, W-PORT-03, W-PORT-04, W-ENV-27.
#[test]
fn a_new_workspace_has_its_nine_components_and_waits_for_its_agent() {
    let mut run = Run::new();
    let before = run.count();
    let id = run.create(
        &Run::lead(),
        json!({ "agent": "w1", "authority": ["src"], "context": blob(3), "mounts": ["shell"],
            "priority": "critical", "timeout_s": 60, "group": "parsers",
            "budget": { "token_limit": 9000 }, "liveness_interval_s": 30 }),
    );
    let kinds = run.kinds_since(before);
    let expected = [
        Kind::WorkspaceCreated,
        Kind::PortRightCreated,
        Kind::PortRightCreated,
        Kind::PortRightCreated,
        Kind::LeaseOpened,
        Kind::EnvelopeCreated,
    ];
    let what = "itself, its inbox, both ways to its parent, its authority, its directive";
    assert_eq!(kinds, expected, "{what}");
    let view = run.view(&id);
    assert_eq!(view.status, Status::Idle);
    assert_eq!((view.inbox, view.memory, view.merged, view.head.clone()), (0, 0, 0, None));
    assert_eq!(view.worked.micros(), 0);
    assert!(view.directive.is_some() && view.context.is_some());
    assert_eq!(view.agent.as_ref().unwrap().as_str(), "w1");
    assert_eq!((view.owner.to_string().as_str(), view.originator.clone()), ("ada", Party::System));
    assert_eq!(view.mounts, ["shell"]);
    assert_eq!(view.group.as_deref(), Some("parsers"));
    assert_eq!(view.liveness_interval_s.map(Secs::secs), Some(30));
    let budget: Vec<_> = view.budget.iter().map(|(what, limit)| (*what, limit.get())).collect();
    assert_eq!(budget, [(Dimension::TokenLimit, 9000)]);
    let meter = run.world.ask("meter.get", &json!({ "workspace": id }).to_string());
    assert_eq!(meter["total"]["tokens"], 0, "nothing is used yet");
    let root = run.root.clone();
    assert!(run.right(&root, &id).is_some() && run.right(&id, &root).is_some());
    assert!(run.right(&id, &id).is_some(), "its own inbox");
    let Event::WorkspaceCreated(created) = &run.world.entries[before].draft.event else { panic!() };
    assert_eq!(created.agent.as_ref().unwrap().as_str(), "w1", "whose key was seen before");
    run.refused(
        &Run::lead(),
        "workspace.create",
        json!({ "agent": "nobody", "role": "worker", "directive": payload(1) }),
        "W-WS-16",
    );
}

/// Shows W-WS-13, W-WS-10, W-ROLE-04, W-TREE-10, W-VIS-04.
#[test]
fn creation_is_whole_or_not_at_all() {
    let mut run = Run::new();
    let lead = Run::lead();
    let parent =
        run.create(&lead, json!({ "agent": "w1", "authority": ["src"], "delegate": true }));
    let other = run.create(&lead, json!({ "agent": "w2" }));
    let ended = run.in_state(Status::Failed, json!({ "agent": "w2" }));
    let workspaces = run.world.state.workspaces().count();
    let base = |more: serde_json::Value| {
        let mut args = json!({ "agent": "w3", "role": "worker", "directive": payload(1) });
        for (key, value) in more.as_object().unwrap() {
            args[key] = value.clone();
        }
        args
    };
    for (args, rule) in [
        (base(json!({ "role": "wizard" })), "W-WS-13"),
        (base(json!({ "parent": "nowhere" })), "W-ID-07"),
        (base(json!({ "parent": ended })), "W-WS-13"),
        (base(json!({ "parent": parent, "visibility": [other] })), "W-TREE-10"),
        (base(json!({ "parent": parent, "authority": ["docs"] })), "W-TREE-10"),
        (base(json!({ "parent": parent, "authority": ["**"] })), "W-TREE-10"),
        (base(json!({ "owner": "nobody" })), "W-ID-07"),
        (base(json!({ "visibility": ["nowhere"] })), "W-ID-07"),
        (base(json!({ "task": "nothing" })), "W-ID-07"),
        (json!({ "agent": "w3", "role": "worker" }), "W-WS-13"),
        (base(json!({ "directive": { "content": { "text": "not stored" } } })), "W-WS-13"),
    ] {
        run.refused(&lead, "workspace.create", args, rule);
        assert_eq!(run.world.last_event().kind(), Kind::WorkspaceRejected);
    }
    assert_eq!(run.world.state.workspaces().count(), workspaces, "a rejected one never existed");
    let refusal = run.refused(&agent("w2"), "workspace.create", base(json!({})), "W-WS-10");
    assert!(!refusal.message.is_empty());
    assert_eq!(run.world.last_event().kind(), Kind::WorkspaceRejected);
}

/// Shows W-WS-10, W-WS-14, W-DEL-01, W-DEL-02, W-DEL-03, W-DEL-04, W-DEL-05.
#[test]
fn a_delegate_is_a_coordinator_for_what_is_below_it_and_no_more() {
    let mut run = Run::new();
    let delegate = run.in_state(Status::Active, json!({ "agent": "w1", "delegate": true }));
    let sibling = run.active_of("w2");
    let w1 = agent("w1");
    let child = run.create(&w1, json!({ "agent": "w3" }));
    assert_eq!(run.view(&child).parent.as_ref(), Some(&delegate));
    assert!(
        run.right(&child, &run.root.clone()).is_none(),
        "its children write to it, not past it"
    );
    run.signal("w3", &child, "started");
    run.send("w1", &delegate, &child, "feedback").unwrap();
    run.send("w3", &child, &delegate, "query").unwrap();
    run.refused(
        &w1,
        "workspace.create",
        json!({ "agent": "w3", "role": "worker", "directive": payload(1), "parent": sibling }),
        "W-WS-10",
    );
    run.refused(
        &w1,
        "workspace.create",
        json!({ "agent": "w3", "role": "worker", "directive": payload(1), "delegate": true }),
        "W-WS-10",
    );
    run.refused(&w1, "workspace.abort", json!({ "workspace": sibling }), "W-ROLE-04");
    // Nor does it show others what it cannot see, name an owner, or bind those who work elsewhere.
    for more in [
        json!({ "role": "observer", "global_trail": true }),
        json!({ "owner": "ada" }),
        json!({ "agent": "lead" }),
        json!({ "agent": "w2" }),
    ] {
        let mut args = json!({ "agent": "w3", "role": "worker", "directive": payload(1) });
        for (key, value) in more.as_object().unwrap() {
            args[key] = value.clone();
        }
        run.refused(&w1, "workspace.create", args, "W-WS-10");
    }
    run.checkpoint("w3", &child, "artifact", &["a"]);
    run.signal("w3", &child, "complete");
    run.ok(&w1, "integration.decide", json!({ "workspace": child, "decision": "accept" }));
    assert_eq!(run.view(&delegate).merged, 1, "its children's work ends up in it");
    run.refused(
        &w1,
        "integration.decide",
        json!({ "workspace": sibling, "decision": "reject" }),
        "W-INT-01",
    );
}

impl Run {
    fn active_of(&mut self, who: &str) -> WorkspaceId {
        self.in_state(Status::Active, json!({ "agent": who }))
    }
}

/// Shows W-WS-20, W-WS-21, W-WS-22, W-CONF-05, W-CONF-06.
#[test]
fn the_table_has_these_steps_and_no_others() {
    use Status as S;
    // Written out from the protocol's table, so that a change of ours shows.
    let allowed = [
        (S::Idle, S::Active),
        (S::Idle, S::Failed),
        (S::Active, S::Blocked),
        (S::Active, S::Migrating),
        (S::Active, S::Suspended),
        (S::Active, S::Integrating),
        (S::Active, S::Failed),
        (S::Blocked, S::Active),
        (S::Blocked, S::Migrating),
        (S::Blocked, S::Suspended),
        (S::Blocked, S::Failed),
        (S::Migrating, S::Active),
        (S::Migrating, S::Blocked),
        (S::Migrating, S::Failed),
        (S::Suspended, S::Active),
        (S::Suspended, S::Blocked),
        (S::Suspended, S::Failed),
        (S::Integrating, S::Closed),
        (S::Integrating, S::Conflicted),
        (S::Integrating, S::Failed),
        (S::Conflicted, S::Closed),
        (S::Conflicted, S::Failed),
    ];
    assert_eq!(Status::ALL.len(), 9);
    for from in Status::ALL {
        for to in Status::ALL {
            let listed = STEPS.iter().any(|step| step.from == *from && step.to == *to);
            assert_eq!(listed, allowed.contains(&(*from, *to)), "{from} -> {to}");
        }
    }
}

/// The allowed initiators and triggers of each transition, from the protocol's table.
/// Shows W-WS-21.
#[test]
fn every_step_has_its_reasons_and_its_initiators_and_no_others() {
    use Initiator as I;
    use Status as S;
    use Trigger as T;
    let own = |from: S, to: S, trigger: T, initiator: I| match (from, to, trigger, initiator) {
        // What ends anything that has not ended.
        (_, S::Failed, T::AbortedByCoordinator, I::Coordinator)
        | (_, S::Failed, T::AbortedByHuman, I::Human)
        | (_, S::Failed, T::BatchAbort, I::Coordinator | I::Human)
        | (_, S::Failed, T::ParentFailed | T::SystemShutdown | T::EscalationTimeout, I::Runtime) => {
            !from.is_terminal()
        }
        (S::Idle, S::Active, T::FirstEnvelope | T::WorkflowLoaded, I::Runtime)
        | (S::Idle | S::Active | S::Blocked, S::Failed, T::Timeout, I::Runtime)
        | (
            S::Active | S::Blocked,
            S::Failed,
            T::GracefulTerminationExpired | T::BudgetExceeded,
            I::Runtime,
        )
        | (S::Idle | S::Active | S::Blocked, S::Failed, T::Failed, I::Agent)
        | (S::Active, S::Blocked, T::Blocked, I::Agent)
        | (S::Blocked, S::Active, T::Started, I::Agent)
        | (S::Active, S::Integrating, T::Complete, I::Agent)
        | (S::Migrating, S::Active | S::Blocked, T::Migrated, I::Runtime)
        | (S::Migrating, S::Failed, T::MigrationError, I::Runtime)
        | (S::Conflicted, S::Failed, T::ConflictTimeout, I::Runtime) => true,
        (S::Active | S::Blocked, S::Migrating, T::Migrate, by)
        | (S::Active | S::Blocked, S::Suspended, T::Suspend, by)
        | (S::Suspended, S::Active | S::Blocked, T::Resume, by)
        | (S::Active, S::Integrating, T::RunComplete, by)
        | (S::Integrating, S::Closed, T::Merged | T::RunComplete, by)
        | (S::Integrating, S::Conflicted, T::ConflictFound, by)
        | (S::Integrating, S::Failed, T::RevisionRequired | T::Rejected, by)
        | (S::Conflicted, S::Closed, T::ConflictsResolved, by)
        | (S::Conflicted, S::Failed, T::AgentRework, by) => {
            matches!(by, I::Coordinator | I::Human)
        }
        (S::Integrating | S::Conflicted, S::Failed, T::GateRejectedByHuman, by) => {
            matches!(by, I::Human | I::Runtime)
        }
        _ => false,
    };
    let triggers: std::collections::BTreeSet<T> =
        STEPS.iter().flat_map(|step| step.causes).map(|(trigger, _)| *trigger).collect();
    for from in S::ALL {
        for to in S::ALL {
            for trigger in &triggers {
                for by in [I::Agent, I::Coordinator, I::Human, I::Runtime] {
                    let listed = is_step(*from, *to, *trigger, by);
                    assert_eq!(
                        listed,
                        own(*from, *to, *trigger, by),
                        "{from} {to} {trigger:?} {by:?}"
                    );
                }
            }
        }
    }
}

/// Every entry that would take a step the table does not have is refused by `apply` itself.
/// Shows W-WS-21, W-WS-25.
#[test]
fn a_step_that_is_not_in_the_table_is_not_taken_whoever_records_it() {
    use althing_kernel::workspace::change::StateChanged;
    let triggers: Vec<Trigger> =
        STEPS.iter().flat_map(|step| step.causes).map(|(trigger, _)| *trigger).collect();
    let initiators =
        [Initiator::Agent, Initiator::Coordinator, Initiator::Human, Initiator::Runtime];
    let (mut taken, mut refused) = (0, 0);
    for from in Status::ALL {
        let mut run = Run::new();
        let id = run.in_state(*from, json!({ "agent": "w1" }));
        for to in Status::ALL {
            for trigger in &triggers {
                for initiator in initiators {
                    let mut entry = run.world.last().clone();
                    entry.at = run.world.now.after(althing_kernel::Span::from_secs(1));
                    entry.draft.event = Event::WorkspaceStateChanged(StateChanged {
                        from_state: *from,
                        initiator,
                        reason: None,
                        to_state: *to,
                        trigger: *trigger,
                        workspace_id: id.clone(),
                    });
                    let mut state: State = run.world.state.clone();
                    let applied = state.apply(&entry).is_ok();
                    let returns = !matches!(from, Status::Migrating | Status::Suspended)
                        || *to != Status::Blocked;
                    let legal = is_step(*from, *to, *trigger, initiator) && returns;
                    assert_eq!(applied, legal, "{from} -> {to} {trigger:?} {initiator:?}");
                    if applied { taken += 1 } else { refused += 1 }
                }
            }
        }
    }
    assert!(taken > 50 && refused > 5_000, "{taken} {refused}");
}

/// Shows W-WS-24, W-CONC-02.
#[test]
fn the_coordinator_aborts_whatever_has_not_ended() {
    for from in Status::ALL.iter().filter(|status| !status.is_terminal()) {
        let mut run = Run::new();
        let id = run.in_state(*from, json!({ "agent": "w1" }));
        let before = run.count();
        run.ok(&Run::lead(), "workspace.abort", json!({ "workspace": id, "reason": "r" }));
        assert_eq!(run.status(&id), Status::Failed, "{from}");
        let recorded = run.world.entries[before..].iter().any(|entry| {
            matches!(&entry.draft.event, Event::SignalEmitted(signal)
                if signal.from == id && signal.signal.as_str() == "failed"
                    && signal.reason.as_ref().unwrap().as_str() == "aborted_by_coordinator")
        });
        assert!(recorded, "a failed signal is recorded: {from}");
        run.refused(&Run::lead(), "workspace.abort", json!({ "workspace": id }), "W-WS-25");
        let who = if *from == Status::Migrating { "w3" } else { "w1" };
        assert!(!run.signal(who, &id, "complete"), "a late signal is recorded without effect");
        assert_eq!(run.status(&id), Status::Failed);
        run.send("lead", &run.root.clone(), &id, "feedback").unwrap_err();
    }
    let mut run = Run::new();
    let id = run.active();
    run.ok(&user("ada"), "workspace.abort", json!({ "workspace": id }));
    assert_eq!(run.view(&id).ended, Some(Trigger::AbortedByHuman));
    run.refused(&agent("w2"), "workspace.abort", json!({ "workspace": id }), "W-ROLE-04");
}

/// Shows W-TREE-01, W-TREE-02, W-TREE-03, W-TREE-05, W-TREE-06, W-TREE-07, W-TREE-12, W-TOPO-03.
#[test]
fn a_failure_takes_what_is_below_it_as_far_as_the_owner_goes() {
    let mut run = Run::new();
    second_person(&mut run.world, "bob");
    let lead = Run::lead();
    let top = run.in_state(Status::Active, json!({ "agent": "w1", "owner": "ada" }));
    let same = run.in_state(Status::Blocked, json!({ "agent": "w2", "parent": top }));
    let deep = run.in_state(Status::Suspended, json!({ "agent": "w2", "parent": same }));
    let foreign =
        run.in_state(Status::Active, json!({ "agent": "w3", "parent": same, "owner": "bob" }));
    let below = run.in_state(Status::Active, json!({ "agent": "w3", "parent": foreign }));
    let before = run.count();
    run.ok(&lead, "workspace.abort", json!({ "workspace": top }));
    assert_eq!(run.view(&top).ended, Some(Trigger::AbortedByCoordinator));
    assert_eq!(run.view(&same).ended, Some(Trigger::ParentFailed));
    assert_eq!(run.view(&deep).ended, Some(Trigger::ParentFailed));
    assert_eq!(run.status(&foreign), Status::Active, "it belongs to somebody else");
    assert_eq!(run.view(&foreign).parent, Some(run.root.clone()));
    assert_eq!(run.view(&below).parent, Some(foreign.clone()), "what is below it stays there");
    assert_eq!(run.view(&foreign).owner.to_string(), "bob", "only its parent changed");
    let reparented = run.kinds_since(before);
    assert_eq!(reparented.iter().filter(|k| **k == Kind::WorkspaceReparented).count(), 1);
    // Its signals go to the root from now on, and the two can write to each other.
    run.signal("w3", &foreign, "started");
    run.send("w3", &foreign, &run.root.clone(), "query").unwrap();
    run.send("lead", &run.root.clone(), &foreign, "feedback").unwrap();
}

/// Shows W-TREE-04.
#[test]
fn if_the_root_fails_everything_does_whoever_owns_it() {
    let mut run = Run::new();
    second_person(&mut run.world, "bob");
    let ids = [
        run.in_state(Status::Active, json!({ "agent": "w1", "owner": "ada" })),
        run.in_state(Status::Idle, json!({ "agent": "w2", "owner": "bob" })),
        run.in_state(Status::Integrating, json!({ "agent": "w2" })),
    ];
    let root = run.root.clone();
    assert!(run.signal("lead", &root, "failed"));
    for id in &ids {
        assert_eq!(run.view(id).ended, Some(Trigger::ParentFailed));
    }
    assert_eq!(run.world.state.root(), None);
}

/// Shows W-CONC-01, W-CONC-05, W-RES-01.
#[test]
fn time_runs_while_there_is_work_and_whoever_is_first_counts() {
    let mut run = Run::new();
    let id = run.in_state(Status::Active, json!({ "agent": "w1", "timeout_s": 100 }));
    run.world.pass(40);
    run.signal("w1", &id, "blocked");
    run.world.pass(40);
    run.ok(&Run::lead(), "workspace.suspend", json!({ "workspace": id }));
    run.world.pass(10_000);
    run.ok(&Run::lead(), "workspace.resume", json!({ "workspace": id }));
    assert_eq!(run.status(&id), Status::Blocked, "it goes back to where it was interrupted");
    run.world.pass(19);
    run.signal("w1", &id, "started");
    assert_eq!(run.status(&id), Status::Active, "a pause does not count");
    run.world.pass(2);
    assert!(!run.signal("w1", &id, "complete"), "the timeout was first");
    assert_eq!(run.view(&id).ended, Some(Trigger::Timeout));

    let mut run = Run::new();
    let id = run.in_state(Status::Active, json!({ "agent": "w1", "timeout_s": 100 }));
    run.world.pass(99);
    assert!(run.signal("w1", &id, "complete"));
    run.world.pass(1_000);
    run.world.tick();
    assert_eq!(run.status(&id), Status::Integrating, "done is done, the timeout is cancelled");
}

/// Shows W-WS-21, W-RES-01, W-INT-09.
#[test]
fn an_agent_that_never_comes_and_a_conflict_nobody_settles_run_out_too() {
    let mut run = Run::new();
    let idle = run.create(&Run::lead(), json!({ "agent": "w1", "idle_timeout_s": 10 }));
    let conflicted = run.in_state(Status::Conflicted, json!({ "agent": "w2", "timeout_s": 50 }));
    run.world.pass(11);
    run.world.tick();
    assert_eq!(run.view(&idle).ended, Some(Trigger::Timeout));
    run.world.pass(60);
    run.world.tick();
    assert_eq!(run.view(&conflicted).ended, Some(Trigger::ConflictTimeout));
    let settled = run.world.entries.iter().any(|entry| {
        matches!(&entry.draft.event, Event::ConflictResolved(body)
            if body.workspace_id == conflicted
                && body.resolution_strategy == althing_kernel::integration::conflict::Settled::Timeout)
    });
    assert!(settled, "each conflict that was found is also closed");
}

/// Shows W-SUS-01, W-MIG-01, W-MIG-02, W-MIG-03.
#[test]
fn pausing_and_moving_need_work_in_progress_and_go_back_exactly() {
    for from in Status::ALL {
        let works = matches!(from, Status::Active | Status::Blocked);
        let lead = Run::lead();
        let mut run = Run::new();
        let id = run.in_state(*from, json!({ "agent": "w1" }));
        let suspended = run.do_(&lead, "workspace.suspend", json!({ "workspace": id }));
        assert_eq!(suspended.is_ok(), works, "{from}");
        if works {
            run.ok(&lead, "workspace.resume", json!({ "workspace": id }));
            assert_eq!(run.status(&id), *from);
            run.ok(&lead, "workspace.migrate", json!({ "workspace": id, "agent": "w2" }));
            assert_eq!(run.status(&id), Status::Migrating);
            run.refused(
                &agent("w1"),
                "signal.emit",
                json!({ "workspace": id, "type": "started" }),
                "W-WS-02",
            );
            assert!(run.signal("w2", &id, "ready"), "the new agent is there");
            assert_eq!(run.status(&id), *from);
        } else {
            let refused =
                run.do_(&lead, "workspace.migrate", json!({ "workspace": id, "agent": "w2" }));
            refused.unwrap_err();
            if *from != Status::Suspended {
                run.do_(&lead, "workspace.resume", json!({ "workspace": id })).unwrap_err();
            }
        }
    }
    let mut run = Run::new();
    let id = run.in_state(Status::Migrating, json!({ "agent": "w1" }));
    run.world.pass(3_601);
    run.world.tick();
    assert_eq!(run.view(&id).ended, Some(Trigger::MigrationError));
    assert!(run.world.kinds().contains(&Kind::MigrationFailed));
}

/// Shows W-WS-02, W-SIG-14, W-SEC-04.
#[test]
fn nobody_acts_in_the_workspace_of_another() {
    let mut run = Run::new();
    let id = run.active();
    let root = run.root.clone();
    let of = |name: &str| agent(name);
    for (name, args) in [
        ("signal.emit", json!({ "workspace": id, "type": "complete" })),
        ("inbox.take", json!({ "workspace": id })),
        ("workspace.write", json!({ "workspace": id, "path": "a", "content": blob(1) })),
        (
            "envelope.send",
            json!({ "workspace": id, "to": root, "type": "query", "payload": payload(1) }),
        ),
        (
            "checkpoint.create",
            json!({ "workspace": id, "type": "artifact", "status": "final", "intent": "i" }),
        ),
    ] {
        run.refused(&of("w2"), name, args.clone(), "W-WS-02");
        run.refused(&user("ada"), name, args, "W-WS-02");
    }
    run.refused(&of("w2"), "signal.emit", json!({ "type": "ready" }), "W-WS-02");
    // With two workspaces an agent says which.
    run.create(&Run::lead(), json!({ "agent": "w1" }));
    let refusal = run.refused(&of("w1"), "signal.emit", json!({ "type": "started" }), "W-WS-02");
    assert!(format!("{:?}", refusal.details).contains(id.as_str()));
}

/// Shows W-WS-03, W-WS-06, W-VIS-04.
#[test]
fn working_memory_is_the_agents_own_while_it_works() {
    let mut run = Run::new();
    let id = run.in_state(Status::Active, json!({ "agent": "w1", "authority": ["src"] }));
    let write = |path: &str| json!({ "workspace": id, "path": path, "content": blob(4) });
    run.ok(&agent("w1"), "workspace.write", write("src/a.rs"));
    assert_eq!(run.view(&id).memory, 1);
    let refusal = run.refused(&agent("w1"), "workspace.write", write("docs/x"), "W-VIS-04");
    assert!(format!("{:?}", refusal.details).contains("src"), "it says what is allowed");
    run.ok(&agent("w1"), "workspace.write", json!({ "workspace": id, "path": "src/a.rs" }));
    assert_eq!(run.view(&id).memory, 0);
    for status in Status::ALL.iter().filter(|status| **status != Status::Active) {
        let mut run = Run::new();
        let id = run.in_state(*status, json!({ "agent": "w1" }));
        let who = if *status == Status::Migrating { "w3" } else { "w1" };
        let args = json!({ "workspace": id, "path": "a", "content": blob(4) });
        run.refused(&agent(who), "workspace.write", args, "W-WS-21");
    }
}

/// Shows W-TREE-09, W-VIS-02, W-VIS-06, W-WS-04, W-ID-10, W-TRAIL-30.
#[test]
fn one_sees_what_is_below_and_what_one_was_shown() {
    use althing_kernel::access::{reads, reads_everything};
    let mut run = Run::new();
    let a = run.active();
    let child = run.create(&Run::lead(), json!({ "agent": "w2", "parent": a }));
    let sibling = run.create(&Run::lead(), json!({ "agent": "w3" }));
    let shown = run.create(
        &Run::lead(),
        json!({ "agent": "watcher", "role": "observer", "visibility": [sibling] }),
    );
    let name = |name: &str| agent(name).principal;
    let (w1, w2, w3, watcher, lead) =
        (name("w1"), name("w2"), name("w3"), name("watcher"), name("lead"));
    let state = &run.world.state;
    assert!(reads(state, Some(&w1), &a) && reads(state, Some(&w1), &child), "downwards");
    assert!(!reads(state, Some(&w2), &a), "not upwards");
    assert!(!reads(state, Some(&w3), &a) && !reads(state, Some(&w1), &sibling), "not sideways");
    assert!(reads(state, Some(&watcher), &sibling) && !reads(state, Some(&watcher), &a));
    assert!(reads(state, Some(&watcher), &shown), "oneself");
    assert!(reads(state, Some(&lead), &a) && reads_everything(state, Some(&lead)));
    assert!(!reads_everything(state, Some(&w1)) && !reads_everything(state, Some(&watcher)));
    let watching = run.create(
        &Run::lead(),
        json!({ "agent": "watcher", "role": "observer", "global_trail": true }),
    );
    assert!(reads_everything(&run.world.state, Some(&watcher)), "{watching} was created to");
}

#[test]
fn replies_show_the_workspace() {
    let mut run = Run::new();
    let id = run.active();
    let reply = run.ok(&Run::lead(), "workspace.suspend", json!({ "workspace": id }));
    assert!(matches!(&reply, Reply::Workspace(view) if view.status == Status::Suspended));
}
