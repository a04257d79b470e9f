//! The whole permission space, cell by cell: every role, every action, every state, every right.
//!
//! What is expected stands here as tables written from the protocol, not computed by the code
//! that is tested.

use crate::run::{Run, blob, payload};
use crate::support::{agent, system, user};
use althing_kernel::envelope::{RejectReason, Status as Way};
use althing_kernel::signal::SignalType;
use althing_kernel::workspace::Status;
use althing_kernel::{Caller, Event, Kind, Reply, WorkspaceId};
use serde_json::{Value, json};

/// A taxonomy with a role of each sort and a type of its own.
fn taxonomy() -> Value {
    json!({ "id": "space", "version": "1", "protocol_version": "0.1",
        "roles": [
            { "name": "reviewer", "extends": "worker",
              "add": [{ "action": "send", "target": "report" }],
              "remove": [{ "action": "send", "target": "query" },
                         { "action": "create", "target": "artifact" }],
              "override": { "checkpoint_types": ["review"] } },
            { "name": "auditor", "extends": "observer" }],
        "envelope_types": [{ "name": "report", "description": "what was found",
            "permissions": [{ "sender_role": "reviewer", "receiver_role": "coordinator" },
                            { "sender_role": "worker", "receiver_role": "worker" }] }],
        "checkpoint_types": [{ "name": "review", "permitted_roles": ["reviewer"] }] })
}

const ROLES: [&str; 5] = ["coordinator", "worker", "reviewer", "observer", "auditor"];
const TYPES: [&str; 5] = ["directive", "feedback", "query", "report", "poem"];

/// The matrix: base rows hold for derived roles too, a removed capability for nobody.
fn in_matrix(sender: &str, kind: &str, receiver: &str) -> bool {
    matches!(
        (sender, kind, receiver),
        ("coordinator", "directive" | "feedback", "worker" | "reviewer")
            | ("worker", "query", "coordinator")
            | ("reviewer", "report", "coordinator" | "worker" | "reviewer")
            | ("worker", "report", "worker" | "reviewer")
    )
}

struct Cast {
    run: Run,
    sender: WorkspaceId,
    receiver: WorkspaceId,
}

/// A sender and a receiver in these roles and states; the root stands in for the coordinator.
fn cast(sender: (&str, Status), receiver: (&str, Status)) -> Option<Cast> {
    if (sender.0 == "coordinator" && sender.1 != Status::Active)
        || (receiver.0 == "coordinator" && receiver.1 != Status::Active)
        || (sender.0 == "coordinator" && receiver.0 == "coordinator")
    {
        return None;
    }
    let mut run = Run::with_taxonomy(Some(taxonomy()));
    // Two merges into one workspace would wait for each other, so each has a parent of its own.
    let home = run.in_state(Status::Active, json!({ "agent": "watcher" }));
    let root = run.root.clone();
    let mut made = |(role, status): (&str, Status), who: &str, parent: &WorkspaceId| {
        if role == "coordinator" {
            return root.clone();
        }
        bring(&mut run, role, status, who, parent)
    };
    let (sender, receiver) = (made(sender, "w1", &root), made(receiver, "w2", &home));
    Some(Cast { run, sender, receiver })
}

/// Like [`Run::in_state`], for any role.
fn bring(
    run: &mut Run,
    role: &str,
    status: Status,
    who: &str,
    parent: &WorkspaceId,
) -> WorkspaceId {
    let args = json!({ "agent": who, "role": role, "parent": parent });
    let resolving = matches!(status, Status::Integrating | Status::Conflicted | Status::Closed);
    if resolving {
        let id = run.in_state(Status::Active, args);
        let kind = match role {
            "reviewer" => "review",
            "observer" | "auditor" => "observation",
            _ => "artifact",
        };
        run.checkpoint(who, &id, kind, &["src/a.rs"]);
        run.signal(who, &id, "complete");
        let mut args = json!({ "workspace": id, "decision": "accept" });
        if status == Status::Conflicted {
            args["strategy"] = json!("evaluated");
            args["merged"] = json!([]);
            args["conflicts"] = json!([{ "type": "content_overlap", "description": "d" }]);
        }
        if status != Status::Integrating {
            run.ok(&Run::lead(), "integration.decide", args);
        }
        return id;
    }
    if status == Status::Blocked && matches!(role, "observer" | "auditor") {
        // Observers cannot block; the pause they can be in stands in for it.
        return run.in_state(Status::Suspended, args);
    }
    run.in_state(status, args)
}

/// Shows W-ROLE-01, W-ROLE-03, W-ROLE-05, W-ENV-09, W-ENV-10, W-ENV-19, W-PORT-02, W-TAX-06.
#[test]
fn every_envelope_between_every_two_roles_in_every_state_with_every_right() {
    let (mut accepted, mut rejected) = (0, 0);
    for from in ROLES {
        for to in ROLES {
            for own in Status::ALL {
                for theirs in Status::ALL {
                    let Some(cast) = cast((from, *own), (to, *theirs)) else { continue };
                    for right in ["none", "send", "send_once"] {
                        for kind in TYPES {
                            let taken = one_envelope(&cast, from, to, right, kind);
                            if taken { accepted += 1 } else { rejected += 1 }
                        }
                    }
                }
            }
        }
    }
    assert_eq!((accepted, rejected), (172, 20_348), "no cell is left out");
}

fn one_envelope(cast: &Cast, from: &str, to: &str, right: &str, kind: &str) -> bool {
    let mut run = Run { world: cast.run.world.fork(), root: cast.run.root.clone() };
    let (sender, receiver) = (&cast.sender, &cast.receiver);
    let (own, theirs) = (run.status(sender), run.status(receiver));
    let alive = !own.is_terminal() && !theirs.is_terminal();
    // Exactly the right this cell is about.
    while let Some(held) = run.right(sender, receiver) {
        run.ok(&Run::lead(), "right.revoke", json!({ "right": held }));
    }
    if right != "none" && alive {
        let once = right == "send_once";
        let args = json!({ "holder": sender, "target": receiver, "once": once });
        run.ok(&Run::lead(), "right.grant", args);
    }
    let holds = right != "none" && alive;
    let who = match (from, own) {
        ("coordinator", _) => "lead",
        (_, Status::Migrating) => "w3",
        _ => "w1",
    };
    let expected = if kind == "poem" {
        Err(RejectReason::InvalidType)
    } else if matches!(
        theirs,
        Status::Integrating | Status::Conflicted | Status::Closed | Status::Failed
    ) {
        Err(RejectReason::TargetTerminal)
    } else if !matches!(own, Status::Idle | Status::Active | Status::Blocked)
        || !in_matrix(from, kind, to)
    {
        Err(RejectReason::PermissionDenied)
    } else if !holds {
        Err(RejectReason::NoSendRight)
    } else {
        Ok(())
    };
    let cell = format!("{from} {own} -> {kind} -> {to} {theirs} with {right}");
    match run.send(who, sender, receiver, kind) {
        Ok(envelope) => {
            assert_eq!(expected, Ok(()), "{cell}");
            let known = run.world.state.envelopes().find(|(id, _)| **id == envelope).unwrap().1;
            let waits = matches!(theirs, Status::Idle | Status::Migrating | Status::Suspended);
            let way = if waits { Way::Validated } else { Way::Acknowledged };
            assert_eq!(known.status, way, "{cell}");
            let left = run.right(sender, receiver).is_some();
            assert_eq!(left, right == "send", "{cell}: one use for one envelope");
            true
        }
        Err(refusal) => {
            let Event::EnvelopeRejected(body) = run.world.last_event() else { panic!("{cell}") };
            assert_eq!(Err(body.reason), expected, "{cell}: {refusal:?}");
            false
        }
    }
}

/// Shows W-ROLE-01, W-SIG-01, W-SIG-03, W-SIG-10, W-WS-21, W-WS-23, W-WS-25.
#[test]
fn every_signal_of_every_role_in_every_state() {
    use SignalType as S;
    let emits = |role: &str, signal: SignalType| match role {
        "coordinator" => matches!(
            signal,
            S::Ready
                | S::Started
                | S::Failed
                | S::Integrate
                | S::Acknowledged
                | S::Suspend
                | S::Migrate
        ),
        "worker" | "reviewer" => matches!(
            signal,
            S::Ready
                | S::Started
                | S::Blocked
                | S::Checkpoint
                | S::Complete
                | S::Failed
                | S::Escalation
        ),
        _ => matches!(signal, S::Ready | S::Started | S::Complete | S::Failed | S::Escalation),
    };
    let after = |status: Status, signal: SignalType, root: bool| match (status, signal) {
        (Status::Idle, S::Ready | S::Started)
        | (Status::Blocked, S::Started)
        | (Status::Migrating, S::Ready) => Status::Active,
        (Status::Active, S::Blocked) => Status::Blocked,
        (Status::Active, S::Complete) if !root => Status::Integrating,
        (Status::Idle | Status::Active | Status::Blocked, S::Failed) => Status::Failed,
        (same, _) => same,
    };
    for role in ROLES {
        for status in Status::ALL {
            let Some(cast) = cast((role, *status), ("worker", Status::Idle)).or_else(|| {
                (role == "coordinator" && *status == Status::Active)
                    .then(|| cast(("coordinator", Status::Active), ("worker", Status::Idle)))
                    .flatten()
            }) else {
                continue;
            };
            for signal in SignalType::ALL {
                let mut run = Run { world: cast.run.world.fork(), root: cast.run.root.clone() };
                let status = run.status(&cast.sender);
                let who = match (role, status) {
                    ("coordinator", _) => "lead",
                    (_, Status::Migrating) => "w3",
                    _ => "w1",
                };
                let args = json!({ "workspace": cast.sender, "type": signal, "reason": "r" });
                let emitted = run.do_(&agent(who), "signal.emit", args);
                let arrives = status == Status::Migrating && *signal == S::Ready;
                let silent = matches!(status, Status::Migrating | Status::Suspended) && !arrives;
                let allowed = emits(role, *signal) && !silent;
                let cell = format!("{role} {status} {signal}: {emitted:?}");
                assert_eq!(emitted.is_ok(), allowed, "{cell}");
                let now = run.status(&cast.sender);
                let expected =
                    if allowed { after(status, *signal, role == "coordinator") } else { status };
                assert_eq!(now, expected, "{cell}");
                if let Ok(Reply::Signal(reply)) = &emitted {
                    assert!(reply.effect || now == status, "{cell}");
                } else {
                    assert_eq!(run.world.last_event().kind(), Kind::CommandRefused, "{cell}");
                }
            }
        }
    }
}

/// Shows W-ROLE-01, W-CP-05, W-CP-08, W-CP-09, W-TAX-06.
#[test]
fn every_checkpoint_type_of_every_role_in_every_state() {
    let creates = |role: &str, kind: &str| {
        matches!(
            (role, kind),
            ("worker", "artifact")
                | ("reviewer", "review")
                | ("observer" | "auditor", "observation")
        )
    };
    for role in ROLES {
        for status in Status::ALL {
            let Some(cast) = cast((role, *status), ("worker", Status::Idle)) else { continue };
            for kind in ["artifact", "observation", "review", "poem"] {
                let mut run = Run { world: cast.run.world.fork(), root: cast.run.root.clone() };
                let status = run.status(&cast.sender);
                let who = match (role, status) {
                    ("coordinator", _) => "lead",
                    (_, Status::Migrating) => "w3",
                    _ => "w1",
                };
                let head = run.view(&cast.sender).head;
                let args = json!({ "workspace": cast.sender, "type": kind, "status": "final",
                    "intent": "i", "parent": head });
                let made = run.do_(&agent(who), "checkpoint.create", args);
                let allowed = creates(role, kind) && status == Status::Active;
                assert_eq!(made.is_ok(), allowed, "{role} {status} {kind}: {made:?}");
                if !allowed {
                    assert_eq!(run.world.last_event().kind(), Kind::CheckpointRejected);
                }
            }
        }
    }
}

/// All possible callers, by their relation to a workspace `target` below a delegate.
const CALLERS: [&str; 9] = [
    "coordinator",
    "person",
    "system",
    "delegate above",
    "delegate elsewhere",
    "its agent",
    "another worker",
    "observer",
    "stranger",
];

fn caller(name: &str) -> Caller {
    match name {
        "coordinator" => agent("lead"),
        "person" => user("ada"),
        "system" => system(),
        "delegate above" => agent("w1"),
        "delegate elsewhere" => agent("w2"),
        "its agent" => agent("w3"),
        "another worker" => agent("other"),
        "observer" => agent("watcher"),
        _ => agent("stranger"),
    }
}

/// A target of `w3` below the delegate of `w1`, in a state, among others.
fn company(status: Status) -> (Run, WorkspaceId) {
    let mut run = Run::new();
    for name in ["other", "stranger", "fresh"] {
        run.ok(&agent(name), "agent.register", json!({}));
    }
    let above = run.in_state(Status::Active, json!({ "agent": "w1", "delegate": true }));
    run.in_state(Status::Active, json!({ "agent": "w2", "delegate": true }));
    run.in_state(Status::Active, json!({ "agent": "other" }));
    run.in_state(Status::Active, json!({ "agent": "watcher", "role": "observer" }));
    let target = if status == Status::Migrating {
        let id = run.in_state(Status::Active, json!({ "agent": "w3", "parent": above }));
        run.ok(&Run::lead(), "workspace.migrate", json!({ "workspace": id, "agent": "fresh" }));
        id
    } else {
        run.in_state(status, json!({ "agent": "w3", "parent": above }))
    };
    (run, target)
}

/// Shows W-ROLE-04, W-WS-10, W-WS-24, W-GT-01, W-VIS-01, W-SUS-01, W-MIG-01, W-INT-01, W-DEL-02, W-DEL-03.
/// Shows W-PORT-07, W-WS-21.
#[test]
fn every_order_of_everybody_to_a_workspace_in_every_state() {
    for status in Status::ALL {
        let (base, target) = company(*status);
        let live = !status.is_terminal();
        let works = matches!(status, Status::Active | Status::Blocked);
        let conflict = base.world.entries.iter().rev().find_map(|entry| match &entry.draft.event {
            Event::ConflictDetected(body) => Some(body.conflict_id.to_string()),
            _ => None,
        });
        let orders: [(&str, Value, bool); 13] = [
            ("workspace.abort", json!({ "workspace": target }), live),
            ("workspace.suspend", json!({ "workspace": target }), works),
            ("workspace.resume", json!({ "workspace": target }), *status == Status::Suspended),
            ("workspace.migrate", json!({ "workspace": target, "agent": "fresh" }), works),
            ("workspace.terminate", json!({ "workspace": target, "grace_s": 60 }), works),
            (
                "workspace.grant_visibility",
                json!({ "workspace": target, "target": base.view(&target).parent }),
                works,
            ),
            // It did not lose its parent.
            ("workspace.reparent", json!({ "workspace": target, "parent": base.root }), false),
            (
                "integration.decide",
                json!({ "workspace": target, "decision": "accept" }),
                *status == Status::Integrating,
            ),
            (
                "integration.decide",
                json!({ "workspace": target, "decision": "revise" }),
                *status == Status::Integrating,
            ),
            (
                "integration.decide",
                json!({ "workspace": target, "decision": "reject" }),
                *status == Status::Integrating,
            ),
            (
                "conflict.resolve",
                json!({ "workspace": target, "conflict": conflict.clone().unwrap_or("x".to_owned()),
                 "strategy": "coordinator_resolve", "resolution": "r" }),
                *status == Status::Conflicted,
            ),
            (
                "workspace.create",
                json!({ "agent": "fresh", "role": "worker", "directive": payload(1),
                 "parent": target }),
                matches!(status, Status::Idle | Status::Active | Status::Blocked),
            ),
            ("right.grant", json!({ "holder": target, "target": target }), live),
        ];
        for name in CALLERS {
            let leads = matches!(name, "coordinator" | "person" | "system");
            for (order, args, possible) in &orders {
                let delegated = name == "delegate above"
                    && !matches!(
                        *order,
                        "workspace.abort" | "workspace.suspend" | "workspace.resume"
                    );
                let mut run = Run { world: base.world.fork(), root: base.root.clone() };
                let before = run.status(&target);
                let done = run.do_(&caller(name), order, args.clone());
                let cell = format!("{name}: {order} {args} on {status}: {done:?}");
                assert_eq!(done.is_ok(), (leads || delegated) && *possible, "{cell}");
                if done.is_err() {
                    assert_eq!(run.status(&target), before, "{cell}");
                    let kind = run.world.last_event().kind();
                    let recorded = matches!(kind, Kind::CommandRefused | Kind::WorkspaceRejected);
                    assert!(recorded, "{cell}");
                }
            }
        }
    }
}

/// Shows W-ROLE-04.
#[test]
fn plans_and_the_post_are_the_coordinators_alone() {
    let (mut base, target) = company(Status::Active);
    let plan = json!({ "tasks": [{ "key": "a", "name": "n", "description": blob(1) },
        { "key": "b", "name": "n", "description": blob(1) }] });
    let Reply::Graph(graph) = base.ok(&Run::lead(), "task.graph", plan.clone()) else { panic!() };
    let (draft, pending) = (graph.tasks["a"].clone(), graph.tasks["b"].clone());
    base.ok(&Run::lead(), "task.approve", json!({ "tasks": [pending] }));
    let right = base.right(&base.root.clone(), &base.view(&target).parent.unwrap()).unwrap();
    let orders = [
        ("task.graph", plan),
        ("task.add", json!({ "graph": graph.graph, "name": "n", "description": blob(1) })),
        ("task.approve", json!({ "tasks": [draft] })),
        ("task.cancel", json!({ "task": draft })),
        ("right.revoke", json!({ "right": right })),
        ("run.hand_over", json!({ "agent": "fresh" })),
        ("run.end", json!({ "force": true })),
    ];
    for name in CALLERS {
        let leads = matches!(name, "coordinator" | "person" | "system");
        for (order, args) in &orders {
            let mut run = Run { world: base.world.fork(), root: base.root.clone() };
            let done = run.do_(&caller(name), order, args.clone());
            assert_eq!(done.is_ok(), leads, "{name}: {order}: {done:?}");
        }
        // A delegate may bind a task below itself; nobody else but the coordinator binds one.
        let mut run = Run { world: base.world.fork(), root: base.root.clone() };
        let args = json!({ "task": pending, "agent": "fresh" });
        let done = run.do_(&caller(name), "task.assign", args);
        assert_eq!(done.is_ok(), leads || name.starts_with("delegate"), "{name}: {done:?}");
    }
}
