//! Priorities and groups of workspaces, and whether a run has room for one more.

use crate::resources::{holds, report};
use crate::run::{Run, blob, payload, workspace_of};
use crate::support::{Around, agent, user};
use althing_kernel::workspace::{Priority, Status, Trigger};
use althing_kernel::{Event, Kind, Reply, WorkspaceId};
use serde_json::{Value, json};

/// Shows W-WS-15.
#[test]
fn a_priority_changes_while_there_is_work() {
    let mut run = Run::new();
    for status in Status::ALL {
        let id = run.in_state(*status, json!({ "agent": "w1", "priority": "background" }));
        let args = json!({ "workspace": id, "priority": "critical" });
        run.refused(&agent("w1"), "workspace.set_priority", args.clone(), "W-ROLE-04");
        if !matches!(status, Status::Active | Status::Blocked) {
            run.refused(&Run::lead(), "workspace.set_priority", args, "W-WS-15");
            assert_eq!(run.view(&id).priority, Priority::Background);
            let _ = run.do_(&Run::lead(), "workspace.abort", json!({ "workspace": id }));
            continue;
        }
        run.ok(&Run::lead(), "workspace.set_priority", args);
        assert_eq!(run.view(&id).priority, Priority::Critical);
        let Event::PriorityChanged(body) = run.world.last_event() else { panic!() };
        assert_eq!(
            (body.old_priority, body.new_priority),
            (Priority::Background, Priority::Critical)
        );
        assert_eq!(run.world.last().draft.workspace, Some(id));
    }
    holds(&run);
}

/// Three of a group, one of them below another, and one that has ended.
fn group(run: &mut Run) -> [WorkspaceId; 4] {
    let of = |more: Value| {
        let mut args = json!({ "agent": "w1", "group": "parsers" });
        for (key, value) in more.as_object().unwrap() {
            args[key] = value.clone();
        }
        args
    };
    let top = run.in_state(Status::Active, of(json!({ "delegate": true })));
    let below = run.in_state(Status::Blocked, of(json!({ "parent": top, "priority": "critical" })));
    let idle = run.in_state(Status::Idle, of(json!({})));
    let ended = run.in_state(Status::Closed, of(json!({})));
    [top, below, idle, ended]
}

/// Shows W-GRP-01, W-GRP-02, W-ID-14.
#[test]
fn a_group_is_given_up_at_once() {
    let mut run = Run::new();
    let [top, below, idle, ended] = group(&mut run);
    let other = run.in_state(Status::Active, json!({ "agent": "w2", "group": "parsers " }));
    let lead = Run::lead();
    run.refused(&agent("w1"), "workspace.batch_abort", json!({ "group": "parsers" }), "W-ROLE-04");
    run.refused(&lead, "workspace.batch_abort", json!({ "group": "nobody" }), "W-ID-07");
    let blank = json!({ "agent": "w1", "role": "worker", "directive": payload(1), "group": " " });
    run.refused(&lead, "workspace.create", blank, "W-WS-13");
    let before = run.count();
    let args = json!({ "group": "parsers", "reason": "wrong grammar" });
    let Reply::Batch(reply) = run.ok(&user("ada"), "workspace.batch_abort", args) else { panic!() };
    assert_eq!(reply.affected, [top.clone(), below.clone(), idle.clone()]);
    assert_eq!(reply.skipped, std::slice::from_ref(&ended));
    let entry = &run.world.entries[before];
    let Event::BatchAbort(body) = &entry.draft.event else { panic!("{entry:?}") };
    assert_eq!(
        (&body.affected_workspaces, &body.skipped_workspaces),
        (&reply.affected, &reply.skipped)
    );
    assert_eq!(entry.draft.workspace, Some(run.root.clone()), "the coordinator's local trail");
    for id in [&top, &below, &idle] {
        let view = run.view(id);
        assert_eq!((view.status, view.ended), (Status::Failed, Some(Trigger::BatchAbort)));
        assert_eq!(view.group.as_deref(), Some("parsers"));
    }
    assert_eq!(run.view(&ended).status, Status::Closed);
    assert_eq!(run.status(&other), Status::Active, "another name is another group");
    let Reply::Batch(again) = run.ok(&lead, "workspace.batch_abort", json!({ "group": "parsers" }))
    else {
        panic!()
    };
    assert_eq!((again.affected.len(), again.skipped.len()), (0, 4));

    // The same name in the next run is another group.
    run.ok(&user("ada"), "run.end", json!({ "force": true }));
    run.ok(&user("ada"), "run.start", json!({ "agent": "lead" }));
    run.refused(&lead, "workspace.batch_abort", json!({ "group": "parsers" }), "W-ID-07");
    let anew = run.in_state(Status::Active, json!({ "agent": "w1", "group": "parsers" }));
    let args = json!({ "group": "parsers" });
    let Reply::Batch(reply) = run.ok(&lead, "workspace.batch_abort", args) else { panic!() };
    assert_eq!((reply.affected, reply.skipped), (vec![anew], vec![]));
    holds(&run);
}

/// Shows W-GRP-03, W-GRP-04.
#[test]
fn a_group_is_hurried_and_its_use_is_added_up() {
    let mut run = Run::new();
    let [top, below, idle, ended] = group(&mut run);
    let other = run.in_state(Status::Active, json!({ "agent": "w2" }));
    let before = run.count();
    let args = json!({ "group": "parsers", "priority": "background" });
    let Reply::Batch(reply) = run.ok(&Run::lead(), "workspace.batch_priority", args) else {
        panic!()
    };
    assert_eq!(reply.affected, [top.clone(), below.clone()], "those at work");
    assert_eq!(reply.skipped, [idle.clone(), ended.clone()]);
    let kinds = run.kinds_since(before);
    assert_eq!(kinds, [Kind::BatchPriorityChanged, Kind::PriorityChanged, Kind::PriorityChanged]);
    let Event::BatchPriorityChanged(body) = &run.world.entries[before].draft.event else {
        panic!()
    };
    assert_eq!((body.old_priority, body.new_priority), (None, Priority::Background));
    for (id, priority) in [(&top, Priority::Background), (&idle, Priority::Normal)] {
        assert_eq!(run.view(id).priority, priority);
    }
    for (id, tokens) in [(&top, 5), (&below, 7), (&other, 100)] {
        report(&mut run, id, tokens);
    }
    let all = run.world.ask("meter.get", "{}");
    let of = |group: Value| {
        let found = all["groups"].as_array().unwrap().iter().find(|sum| sum["group"] == group);
        let sum = found.unwrap();
        (sum["workspaces"].clone(), sum["live"].clone(), sum["used"]["tokens"].clone())
    };
    assert_eq!(of(json!("parsers")), (json!(4), json!(3), json!(12)));
    assert_eq!(of(Value::Null), (json!(2), json!(2), json!(100)), "the root, and one without");
    assert_eq!(all["total"]["tokens"], 112);
    // What the trail says by itself comes to the same.
    let reported = run.world.entries.iter().filter_map(|entry| match &entry.draft.event {
        Event::MeterReported(body) => Some((body.workspace_id.clone(), body.tokens.get())),
        _ => None,
    });
    let members = [top, below, idle, ended];
    let summed: u64 = reported.filter(|(id, _)| members.contains(id)).map(|(_, n)| n).sum();
    assert_eq!(summed, 12);
    holds(&run);
}

/// A run with limits, in which content has a size.
fn narrow(limits: &Value) -> Run {
    let mut run = Run::new();
    run.ok(&user("ada"), "run.end", json!({ "force": true }));
    run.world.around = Around { bytes: 1, disk_free: Some(1_000) };
    let start = json!({ "agent": "lead", "limits": limits });
    let root = workspace_of(run.ok(&user("ada"), "run.start", start)).workspace;
    Run { root, ..run }
}

/// A workspace waits at a gate, and there is no room for it any more when it may be created: because
/// nobody answered, and because a person approved.
#[test]
fn room_that_is_gone_when_a_gate_opens_passes_the_audit() {
    for answered in [false, true] {
        let mut run = narrow(&json!({ "queued_bytes": 50, "disk_free_bytes": 500 }));
        let highway = json!({ "gates": ["workspace_create"],
            "gate_defaults": { "fallback": "approve", "timeout_s": 60 } });
        run.ok(&user("ada"), "highway.configure", highway);
        let create = |directive: u8| json!({ "agent": "w1", "role": "worker", "directive": payload(directive) });
        let gates = [create(40), create(30)].map(|args| {
            match run.ok(&Run::lead(), "workspace.create", args) {
                Reply::Gate(gate) => gate.gate,
                other => panic!("{other:?}"),
            }
        });
        let before = run.count();
        if answered {
            run.ok(&user("ada"), "gate.resolve", json!({ "gate": gates[0], "action": "approve" }));
            let second = json!({ "gate": gates[1], "action": "approve" });
            let refusal = run.do_(&user("ada"), "gate.resolve", second).unwrap_err();
            assert_eq!(refusal.rule.id(), "W-ADM-01", "{refusal:?}");
        } else {
            run.world.pass(61);
            run.ok(&Run::lead(), "agent.heartbeat", json!({}));
        }
        let created = run.kinds_since(before).into_iter();
        assert_eq!(created.filter(|kind| *kind == Kind::WorkspaceCreated).count(), 1);
        holds(&run);
    }
}

/// Shows W-ADM-01.
#[test]
fn there_is_room_in_four_ways_or_no_workspace() {
    let limits = json!({ "live_workspaces": 2, "context_bytes": 100, "queued_bytes": 50,
        "disk_free_bytes": 500 });
    let create = |directive: u8, context: u8| {
        json!({ "agent": "w1", "role": "worker", "directive": payload(directive),
            "context": blob(context) })
    };
    let short = |run: &mut Run, args: Value| {
        let refusal = run.refused(&Run::lead(), "workspace.create", args, "W-ADM-01");
        let Event::WorkspaceRejected(body) = run.world.last_event() else { panic!() };
        let reason = serde_json::to_value(body.reason).unwrap();
        assert_eq!(reason, "capacity_exhausted");
        let named = body.short.iter().map(|own| {
            assert!(refusal.message.contains(own.capacity.as_str()), "{}", refusal.message);
            (own.capacity.as_str(), own.measured.get(), own.limit.get())
        });
        named.collect::<Vec<_>>()
    };
    let mut run = narrow(&limits);
    assert_eq!(short(&mut run, create(1, 101)), [("memory", 101, 100)]);
    assert_eq!(short(&mut run, create(51, 1)), [("network", 51, 50)]);
    let first = run.create(&Run::lead(), create(40, 90));
    assert_eq!(short(&mut run, create(1, 11)), [("memory", 101, 100)], "with what is in use");
    assert_eq!(short(&mut run, create(11, 1)), [("network", 51, 50)], "mail waits for its agent");
    run.ok(&agent("w1"), "inbox.take", json!({ "workspace": first }));
    run.ok(
        &agent("w1"),
        "workspace.write",
        json!({ "workspace": first, "path": "a", "content": blob(5) }),
    );
    assert_eq!(short(&mut run, create(1, 6)), [("memory", 101, 100)], "memory is context too");
    run.create(&Run::lead(), create(50, 5));
    run.world.around.disk_free = Some(499);
    let all = short(&mut run, create(51, 101));
    let expected =
        [("compute", 3, 2), ("memory", 201, 100), ("network", 101, 50), ("storage", 499, 500)];
    assert_eq!(all, expected, "everything that is short is named");
    let shown = run.world.ask("run.get", "{}");
    assert_eq!(shown["limits"]["live_workspaces"], 2);
    assert_eq!(shown["room"][0]["measured"], 2);

    // What ends makes room.
    run.world.around.disk_free = Some(500);
    for id in run.world.state.workspaces().map(|(id, _)| id.clone()).collect::<Vec<_>>() {
        if run.view(&id).parent.is_some() && !run.status(&id).is_terminal() {
            run.ok(&Run::lead(), "workspace.abort", json!({ "workspace": id }));
        }
    }
    run.create(&Run::lead(), create(50, 100));
    holds(&run);
}

/// Shows W-ADM-02.
#[test]
fn what_is_critical_finds_a_little_room_past_the_limit() {
    for (limits, room) in [
        (json!({ "live_workspaces": 10 }), 1),
        (json!({ "live_workspaces": 10, "critical_headroom_percent": 30 }), 3),
        (json!({ "live_workspaces": 10, "critical_headroom_percent": 0 }), 0),
    ] {
        let mut run = narrow(&limits);
        let create = |priority: &str| {
            let directive = payload(1);
            json!({ "agent": "w1", "role": "worker", "directive": directive,
                "priority": priority })
        };
        for _ in 0..10 {
            run.create(&Run::lead(), create("normal"));
        }
        run.refused(&Run::lead(), "workspace.create", create("interactive"), "W-ADM-01");
        for _ in 0..room {
            run.create(&Run::lead(), create("critical"));
        }
        run.refused(&Run::lead(), "workspace.create", create("critical"), "W-ADM-01");
        holds(&run);
    }
    let mut run = narrow(&json!({ "disk_free_bytes": 1_000 }));
    run.world.around.disk_free = Some(900);
    let args = json!({ "agent": "w1", "role": "worker", "directive": payload(1) });
    run.refused(&Run::lead(), "workspace.create", args, "W-ADM-01");
    run.create(&Run::lead(), json!({ "agent": "w1", "priority": "critical" }));
}
