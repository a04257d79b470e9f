//! Gates: what waits for a person, who answers, and what happens when nobody does.

use crate::run::{Run, blob, payload, second_person, workspace_of};
use crate::support::{agent, system, user};
use althing_kernel::approvals::gate::Triggered;
use althing_kernel::approvals::view::GateView;
use althing_kernel::task::orders::ApprovalSource;
use althing_kernel::workspace::Status;
use althing_kernel::{Caller, Event, Kind, Reply, Stamped, TaskId, WorkspaceId};
use serde_json::{Value, json};

pub(crate) fn gate_of(reply: Reply) -> GateView {
    match reply {
        Reply::Gate(gate) => *gate,
        other => panic!("nothing waits: {other:?}"),
    }
}

/// A run in which some gates stand, each for a minute.
pub(crate) fn gated(gates: &[&str], fallback: &str) -> Run {
    let defaults = json!({ "fallback": fallback, "timeout_s": 60 });
    Run::with_approvals(json!({ "gates": gates, "gate_defaults": defaults }))
}

fn plan(run: &mut Run, who: &Caller, count: usize) -> Vec<TaskId> {
    let tasks: Vec<Value> = (0..count)
        .map(|n| json!({ "key": format!("k{n}"), "name": format!("n{n}"), "description": blob(1) }))
        .collect();
    match run.ok(who, "task.graph", json!({ "tasks": tasks })) {
        Reply::Graph(graph) => graph.tasks.into_values().collect(),
        other => panic!("{other:?}"),
    }
}

pub(crate) fn queue(run: &Run) -> Vec<Value> {
    run.world.ask("gate.list", "{}").as_array().unwrap().clone()
}

fn task_status(run: &Run, task: &TaskId) -> String {
    let task = run.world.ask("task.get", &json!({ "task": task }).to_string());
    task["status"].as_str().unwrap().to_owned()
}

pub(crate) fn answer(run: &mut Run, gate: &Value, action: &str) -> GateView {
    gate_of(run.ok(&user("ada"), "gate.resolve", json!({ "gate": gate, "action": action })))
}

/// Lets the gates' timeout of a minute pass.
pub(crate) fn wait(run: &mut Run) {
    run.world.pass(61);
    run.world.tick();
}

/// Shows W-HH-09, W-HH-02, W-HH-03, W-HH-04, W-HH-05, W-TASK-14, W-EVT-02.
#[test]
fn every_task_has_a_gate_of_its_own_in_the_order_they_were_planned() {
    let mut run = gated(&["task_approval"], "reject");
    let tasks = plan(&mut run, &Run::lead(), 3);
    let part = json!({ "graph": graph_of(&run), "name": "part", "description": blob(2),
        "parent_task": tasks[0] });
    run.ok(&Run::lead(), "task.add", part);
    let open = queue(&run);
    let places: Vec<u64> = open.iter().map(|gate| gate["position"].as_u64().unwrap()).collect();
    assert_eq!(places, [1, 2, 3, 4]);
    assert_eq!(open[3]["task"]["name"], "part", "a part that comes up later waits, too");
    assert_eq!(open[0]["task"]["name"], "n0", "the plan is shown in full");
    assert_eq!(open[0]["owner"], run.world.ask("workspace.get", &at(&run.root))["owner"]);
    let due = open[0]["due"].as_u64().unwrap() - open[0]["since"].as_u64().unwrap();
    assert_eq!(due, 60_000_000);
    let triggered: Vec<&Triggered> = run.world.entries.iter().filter_map(triggered).collect();
    let places: Vec<u32> = triggered.iter().map(|gate| gate.queue_position).collect();
    assert_eq!(places, [1, 2, 3, 4], "as the trail has it");
    assert_eq!(triggered[0].workspace, None, "a plan is of no workspace yet");
    assert_eq!(json!(triggered[0].graph_ref), graph_of(&run));
    assert_eq!(triggered[0].task_ref.as_ref(), Some(&tasks[0]));
    run.refused(&Run::lead(), "task.approve", json!({ "tasks": [tasks[0]] }), "W-HH-09");
    let before = run.count();
    answer(&mut run, &open[0]["gate"], "approve");
    let approved = [Kind::GateResolved, Kind::TaskApproved, Kind::TaskStatusChanged];
    assert_eq!(run.kinds_since(before), approved);
    assert_eq!(source_of(&run), Some(ApprovalSource::Human));
    assert_eq!(run.world.entries[before].draft.actor, user("ada").principal.into());
    let before = run.count();
    answer(&mut run, &open[1]["gate"], "reject");
    assert_eq!(run.kinds_since(before), [Kind::GateResolved, Kind::TaskStatusChanged]);
    assert_eq!(
        [task_status(&run, &tasks[0]), task_status(&run, &tasks[1])],
        ["pending", "cancelled"]
    );
    assert_eq!(queue(&run)[0]["position"], 1, "who is behind moves up");
    run.refused(
        &user("ada"),
        "gate.resolve",
        json!({ "gate": open[0]["gate"], "action": "reject" }),
        "W-HH-06",
    );
    run.sound();
}

fn triggered(entry: &Stamped) -> Option<&Triggered> {
    match &entry.draft.event {
        Event::GateTriggered(body) => Some(body),
        _ => None,
    }
}

/// Shows W-HH-03.
#[test]
fn a_gate_without_a_time_waits_for_ever() {
    let mut run = Run::with_approvals(json!({ "preset": "gated" }));
    let task = plan(&mut run, &Run::lead(), 1).remove(0);
    run.world.pass(400 * 24 * 60 * 60);
    run.world.tick();
    assert_eq!(task_status(&run, &task), "draft");
    assert_eq!(queue(&run)[0]["due"], json!(null));
    let last = run.world.entries.iter().rev().find_map(triggered).unwrap();
    assert_eq!(last.timeout, None);
    run.sound();
}

fn graph_of(run: &Run) -> Value {
    run.world.ask("task.graphs", "{}")[0]["graph"].clone()
}

fn at(id: &WorkspaceId) -> String {
    json!({ "workspace": id }).to_string()
}

/// Shows W-HH-35, W-USER-01.
#[test]
fn no_agent_answers_at_a_gate_and_the_attempt_is_on_record() {
    let mut run = gated(&["task_approval"], "reject");
    plan(&mut run, &Run::lead(), 1);
    let gate = queue(&run)[0]["gate"].clone();
    for who in [Run::lead(), agent("w1"), system()] {
        let args = json!({ "gate": gate, "action": "approve" });
        run.refused(&who, "gate.resolve", args, "W-HH-35");
        assert_eq!(run.world.last().draft.actor, who.principal.into());
    }
    let thief = Caller { key: agent("w1").key, ..user("ada") };
    let args = json!({ "gate": gate, "action": "approve" });
    run.refused(&thief, "gate.resolve", args, "A-ID-02");
    assert_eq!(run.world.last_event().kind(), Kind::AuthenticationFailed);
    assert_eq!(queue(&run).len(), 1);
}

/// Shows W-HH-06, W-HH-08, W-TASK-05, W-TASK-17, W-CLK-08, W-CLK-09.
#[test]
fn when_nobody_answers_the_fallback_does_to_the_second() {
    for (fallback, status) in
        [("approve", "pending"), ("reject", "draft"), ("escalate_to_coordinator", "draft")]
    {
        let mut run = gated(&["task_approval"], fallback);
        let task = plan(&mut run, &Run::lead(), 1).remove(0);
        let since = run.world.state.clock();
        run.world.pass(59);
        run.world.tick();
        assert_eq!(task_status(&run, &task), "draft");
        let before = run.count();
        run.world.pass(1);
        run.world.tick();
        assert_eq!(task_status(&run, &task), status, "{fallback}");
        let kinds = run.kinds_since(before);
        assert_eq!(kinds[..2], [Kind::GateTimeout, Kind::GateResolved]);
        let late = run.world.entries[before].at.since(since).micros();
        assert!((60_000_000..60_000_100).contains(&late), "{late}");
        let ended = run.world.ask("gate.list", r#"{"all":true}"#);
        assert_eq!(ended[0]["ended"]["by"], "fallback");
        if fallback == "escalate_to_coordinator" {
            // Left to the coordinator, it is not asked about again.
            let before = run.count();
            run.ok(&Run::lead(), "task.approve", json!({ "tasks": [task] }));
            let kinds = run.kinds_since(before);
            assert!(kinds.contains(&Kind::GateReentryBlocked), "{kinds:?}");
            assert_eq!(task_status(&run, &task), "pending");
        }
        let source = match fallback {
            "approve" => Some(ApprovalSource::Timeout),
            "reject" => None,
            _ => Some(ApprovalSource::Coordinator),
        };
        assert_eq!(source_of(&run), source, "{fallback}");
        run.sound();
    }
}

/// The approval source of the last task.
fn source_of(run: &Run) -> Option<ApprovalSource> {
    run.world.entries.iter().rev().find_map(|entry| match &entry.draft.event {
        Event::TaskApproved(body) => Some(body.approval_source),
        _ => None,
    })
}

/// Shows W-HH-05.
#[test]
fn a_gate_runs_out_where_it_stands_in_the_queue() {
    let mut run = gated(&["task_approval"], "approve");
    let overrides = json!({ "task_approval": { "fallback": "reject", "timeout_s": 5 } });
    let first = plan(&mut run, &Run::lead(), 1).remove(0);
    run.ok(&user("ada"), "highway.configure", json!({ "gate_overrides": overrides }));
    let second = plan(&mut run, &Run::lead(), 1).remove(0);
    run.world.pass(6);
    run.world.tick();
    let ended = run.world.ask("gate.list", r#"{"all":true}"#);
    let ended = ended.as_array().unwrap().iter().find(|gate| gate["task"]["task"] == json!(second));
    assert_eq!(ended.unwrap()["ended"]["action"], "reject", "it is behind, and its time is over");
    assert_eq!(task_status(&run, &first), "draft", "what was triggered before goes on as it was");
    wait(&mut run);
    assert_eq!(task_status(&run, &first), "pending");
    run.sound();
}

/// Shows W-HH-04.
#[test]
fn a_person_changes_what_the_gate_allows_and_nothing_else() {
    let mut run = gated(&["task_approval", "workspace_create", "envelope_delivery"], "reject");
    let task = plan(&mut run, &Run::lead(), 1).remove(0);
    let gate = queue(&run)[0]["gate"].clone();
    let args = json!({ "gate": gate, "action": "modify",
        "modifications": { "payload": payload(1) } });
    let refusal = run.refused(&user("ada"), "gate.resolve", args, "W-HH-04");
    assert!(format!("{:?}", refusal.details).contains("description"));
    let args = json!({ "gate": gate, "action": "modify" });
    run.refused(&user("ada"), "gate.resolve", args, "W-HH-04");
    let args = json!({ "gate": gate, "action": "approve", "modifications": { "name": "x" } });
    run.refused(&user("ada"), "gate.resolve", args, "W-HH-04");
    for field in ["depends_on", "graph", "id", "timestamp"] {
        let args =
            format!(r#"{{"gate":{gate},"action":"modify","modifications":{{"{field}":1}}}}"#);
        assert!(althing_kernel::Command::read("gate.resolve", &args).unwrap().is_err());
    }
    let changed = json!({ "name": "better", "description": blob(9), "priority": "urgent",
        "estimate": { "cost": 1, "tokens": 1, "wall_time_s": 1 } });
    let args = json!({ "gate": gate, "action": "modify", "modifications": changed });
    run.ok(&user("ada"), "gate.resolve", args);
    let view = run.world.ask("task.get", &json!({ "task": task }).to_string());
    assert_eq!(view["name"], "better");
    assert_eq!(view["priority"], "urgent");
    assert_eq!(view["status"], "pending");
    assert_eq!(view["description"], blob(9)["blob"]);
    // A workspace: how urgent it is and what it sees.
    let args = json!({ "agent": "w1", "role": "worker", "directive": payload(1) });
    let gate = gate_of(run.ok(&Run::lead(), "workspace.create", args));
    let changed = json!({ "workspace_priority": "critical", "visibility": [run.root] });
    let args = json!({ "gate": gate.gate, "action": "modify", "modifications": changed });
    run.ok(&user("ada"), "gate.resolve", args);
    let id = WorkspaceId::new(gate.subject.as_str()).unwrap();
    let view = run.world.ask("workspace.get", &at(&id));
    assert_eq!(view["priority"], "critical");
    assert_eq!(view["visibility"], json!([run.root]));
    // An envelope: what is in it. Both hashes are on record.
    run.signal("w1", &id, "ready");
    let root = run.root.clone();
    let sent = run.send("lead", &root, &id, "feedback").unwrap();
    let gate = queue(&run)[0]["gate"].clone();
    let args =
        json!({ "gate": gate, "action": "modify", "modifications": { "payload": payload(8) } });
    run.ok(&user("ada"), "gate.resolve", args);
    let mail = run.world.ask("envelope.get", &json!({ "envelope": sent }).to_string());
    assert_eq!(mail["payload"]["content"], blob(8)["blob"]);
    assert_eq!(mail["status"], "acknowledged");
    run.sound();
}

/// Shows W-HH-02.
#[test]
fn a_creation_waits_and_is_made_as_it_was_ordered_or_never() {
    let mut run = gated(&["workspace_create"], "reject");
    let order = json!({ "agent": "w1", "role": "worker", "directive": payload(1) });
    let before = run.count();
    let gate = gate_of(run.ok(&Run::lead(), "workspace.create", order.clone()));
    assert_eq!(run.kinds_since(before), [Kind::GateTriggered], "nothing else happened");
    let id = WorkspaceId::new(gate.subject.as_str()).unwrap();
    assert!(run.world.state.workspaces().all(|(own, _)| *own != id));
    answer(&mut run, &json!(gate.gate), "approve");
    assert_eq!(run.status(&id), Status::Idle);
    assert_eq!(run.view(&id).originator.to_string(), "system", "on the account of who ordered it");
    let gate = gate_of(run.ok(&Run::lead(), "workspace.create", order.clone()));
    answer(&mut run, &json!(gate.gate), "reject");
    let id = WorkspaceId::new(gate.subject.as_str()).unwrap();
    assert!(run.world.state.workspaces().all(|(own, _)| *own != id), "it never existed");
    // A person who may answer does not have to ask.
    let own = workspace_of(run.ok(&user("ada"), "workspace.create", order.clone()));
    assert_eq!(own.originator.to_string(), "ada");
    // What cannot be done any more is not done because somebody agrees to it.
    let top = run.ok(
        &user("ada"),
        "workspace.create",
        json!({ "agent": "w2", "role": "worker", "directive": payload(1), "delegate": true }),
    );
    let top = workspace_of(top).workspace;
    run.signal("w2", &top, "started");
    let below = json!({ "agent": "w3", "role": "worker", "directive": payload(1), "parent": top });
    let gate = gate_of(run.ok(&agent("w2"), "workspace.create", below));
    run.ok(&user("ada"), "workspace.abort", json!({ "workspace": top }));
    let view = run.world.ask("gate.get", &json!({ "gate": gate.gate }).to_string());
    assert_eq!(view["ended"]["by"], "protocol");
    run.sound();
}

/// Shows W-HH-02, W-ENV-07, W-ENV-10.
#[test]
fn an_envelope_waits_before_the_inbox_and_keeps_its_place() {
    let mut run = gated(&["envelope_delivery"], "reject");
    let id = run.active();
    let root = run.root.clone();
    let first = run.send("lead", &root, &id, "feedback").unwrap();
    let second = run.send("lead", &root, &id, "feedback").unwrap();
    let status = |run: &Run, id| {
        run.world.ask("envelope.get", &json!({ "envelope": id }).to_string())["status"].clone()
    };
    let open = queue(&run);
    answer(&mut run, &open[1]["gate"], "approve");
    assert_eq!(status(&run, &second), "validated", "the one before it has not arrived");
    let before = run.count();
    answer(&mut run, &open[0]["gate"], "reject");
    assert_eq!(status(&run, &first), "rejected");
    assert_eq!(status(&run, &second), "acknowledged", "nothing is in its way now");
    assert!(run.kinds_since(before).contains(&Kind::EnvelopeRejected));
    let shown = run.world.ask("inbox.list", &at(&root)).to_string();
    assert!(shown.contains("gate_rejected_by_human"), "{shown}");
    // The receiver ends: there is nothing left to decide about.
    run.send("lead", &root, &id, "feedback").unwrap();
    run.ok(&Run::lead(), "workspace.abort", json!({ "workspace": id }));
    assert!(queue(&run).is_empty());
    run.sound();
}

/// Shows W-HH-02, W-HH-07, W-INT-02.
#[test]
fn a_merge_and_an_abort_wait_and_can_be_turned_down() {
    let mut run = gated(&["integration", "workspace_abort"], "reject");
    let work = run.in_state(Status::Integrating, json!({ "agent": "w1" }));
    let accept = json!({ "workspace": work, "decision": "accept" });
    let gate = gate_of(run.ok(&Run::lead(), "integration.decide", accept.clone()));
    run.refused(&Run::lead(), "integration.decide", accept, "W-HH-02");
    answer(&mut run, &json!(gate.gate), "approve");
    assert_eq!(run.status(&work), Status::Closed);
    let work = run.in_state(Status::Integrating, json!({ "agent": "w1" }));
    let accept = json!({ "workspace": work, "decision": "accept" });
    let gate = gate_of(run.ok(&Run::lead(), "integration.decide", accept));
    answer(&mut run, &json!(gate.gate), "reject");
    assert_eq!(run.status(&work), Status::Failed);
    assert_eq!(run.view(&work).ended.unwrap().as_str(), "gate_rejected_by_human");
    let other = run.in_state(Status::Active, json!({ "agent": "w2" }));
    let abort = json!({ "workspace": other, "reason": "r" });
    let gate = gate_of(run.ok(&Run::lead(), "workspace.abort", abort.clone()));
    answer(&mut run, &json!(gate.gate), "reject");
    assert_eq!(run.status(&other), Status::Active, "it goes on");
    let gate = gate_of(run.ok(&Run::lead(), "workspace.abort", abort.clone()));
    answer(&mut run, &json!(gate.gate), "approve");
    assert_eq!(run.status(&other), Status::Failed);
    assert_eq!(run.view(&other).ended.unwrap().as_str(), "aborted_by_coordinator");
    // A workspace that fails while its abort waits closes the gate.
    let third = run.in_state(Status::Active, json!({ "agent": "w2" }));
    let gate = gate_of(run.ok(&Run::lead(), "workspace.abort", json!({ "workspace": third })));
    run.signal("w2", &third, "failed");
    let view = run.world.ask("gate.get", &json!({ "gate": gate.gate }).to_string());
    assert_eq!(view["ended"]["by"], "protocol");
    let resolved = run.world.entries.iter().rev();
    let mut resolved = resolved.filter(|e| e.draft.event.kind() == Kind::GateResolved);
    assert!(format!("{:?}", resolved.next().unwrap()).contains("subject_invalidated"));
    run.sound();
}

/// Shows W-HH-08, W-HH-12.
#[test]
fn what_is_left_to_the_coordinator_waits_for_it() {
    let mut run = gated(&["workspace_create", "envelope_delivery"], "escalate_to_coordinator");
    let order = json!({ "agent": "w1", "role": "worker", "directive": payload(1) });
    let gate = gate_of(run.ok(&Run::lead(), "workspace.create", order));
    wait(&mut run);
    let id = WorkspaceId::new(gate.subject.as_str()).unwrap();
    assert!(run.world.state.workspaces().all(|(own, _)| *own != id));
    let args = json!({ "gate": gate.gate, "action": "approve" });
    run.refused(&agent("w1"), "gate.resolve", args.clone(), "W-ROLE-04");
    run.ok(&Run::lead(), "gate.resolve", args);
    assert_eq!(run.status(&id), Status::Idle);
    run.sound();
}

fn conflicted(run: &mut Run, agent: &str) -> (WorkspaceId, Value) {
    let id = run.in_state(Status::Conflicted, json!({ "agent": agent }));
    let conflict = run.world.state.integrations().find(|(of, _)| **of == id).unwrap().1;
    let conflict = json!(conflict.conflicts[0].id);
    (id, conflict)
}

/// Shows W-INT-08, W-INT-10, W-HH-02.
#[test]
fn a_conflict_is_handed_to_a_person_who_settles_it_or_fails_the_work() {
    let mut run = Run::new();
    for (action, status) in
        [("approve", Status::Closed), ("modify", Status::Closed), ("reject", Status::Failed)]
    {
        let (id, conflict) = conflicted(&mut run, "w1");
        let args = json!({ "workspace": id, "conflict": conflict, "strategy": "escalate",
            "resolution": "please look" });
        let gate = gate_of(run.ok(&Run::lead(), "conflict.resolve", args));
        assert_eq!(run.status(&id), Status::Conflicted);
        let mut args = json!({ "gate": gate.gate, "action": action });
        if action == "modify" {
            args["modifications"] =
                json!({ "merged": [{ "path": "src/a.rs", "content": blob(5) }] });
        }
        run.ok(&user("ada"), "gate.resolve", args);
        assert_eq!(run.status(&id), status, "{action}");
        run.sound();
    }
    let files = run.world.ask("workspace.files", &at(&run.root)).to_string();
    assert!(files.contains(blob(5)["blob"].as_str().unwrap()), "{files}");
    let mut run = gated(&["conflict_resolution"], "reject");
    let (id, conflict) = conflicted(&mut run, "w1");
    let args = json!({ "workspace": id, "conflict": conflict, "strategy": "agent_rework",
        "resolution": "again" });
    let gate = gate_of(run.ok(&Run::lead(), "conflict.resolve", args));
    answer(&mut run, &json!(gate.gate), "reject");
    assert_eq!(run.status(&id), Status::Conflicted, "another way is to be found");
    let args = json!({ "workspace": id, "conflict": conflict, "resolution": "so",
        "strategy": "coordinator_resolve" });
    let gate = gate_of(run.ok(&Run::lead(), "conflict.resolve", args));
    answer(&mut run, &json!(gate.gate), "approve");
    assert_eq!(run.status(&id), Status::Closed);
    run.sound();
}

/// Shows W-HH-05, W-HH-38.
#[test]
fn each_owner_has_a_queue_of_their_own() {
    let mut run = gated(&["workspace_abort"], "reject");
    second_person(&mut run.world, "bob");
    let mut ids = Vec::new();
    for (agent, owner) in [("w1", "ada"), ("w2", "bob"), ("w3", "ada")] {
        ids.push(run.in_state(Status::Active, json!({ "agent": agent, "owner": owner })));
    }
    for id in &ids {
        gate_of(run.ok(&Run::lead(), "workspace.abort", json!({ "workspace": id })));
    }
    let places: Vec<(String, u64)> = queue(&run)
        .iter()
        .map(|gate| {
            (gate["owner"].as_str().unwrap().to_owned(), gate["position"].as_u64().unwrap())
        })
        .collect();
    assert_eq!(places, [("ada".to_owned(), 1), ("ada".to_owned(), 2), ("bob".to_owned(), 1)]);
    let own = run.world.ask("gate.list", r#"{"owner":"bob"}"#);
    assert_eq!(own.as_array().unwrap().len(), 1);
    run.sound();
}

/// Shows W-HH-10, W-HH-11, W-HH-12.
#[test]
fn presets_are_starting_points_and_any_mix_is_a_setting() {
    let table = [
        (
            "autonomous",
            vec!["task_approval"],
            json!(30_000_000),
            "approve",
            json!(30),
            "delegate_to_coordinator",
        ),
        (
            "supervised",
            vec!["integration", "task_approval"],
            json!(900_000_000),
            "escalate_to_coordinator",
            json!(900),
            "reject",
        ),
        (
            "gated",
            vec![
                "conflict_resolution",
                "envelope_delivery",
                "integration",
                "task_approval",
                "workspace_abort",
                "workspace_create",
            ],
            json!(null),
            "reject",
            json!(null),
            "reject",
        ),
    ];
    let mut run = Run::with_approvals(json!({}));
    let unset = run.world.ask("highway.get", "{}");
    assert_eq!(unset["gates"], json!(["task_approval"]));
    assert_eq!(unset["escalation"]["enabled"], true);
    assert_eq!(unset["injection"], true);
    assert_eq!(unset["preset"], json!(null), "what nobody set is none of the presets");
    for (name, gates, timeout, fallback, escalation, escalated) in table {
        run.ok(&user("ada"), "highway.configure", json!({ "preset": name }));
        let set = run.world.ask("highway.get", "{}");
        assert_eq!(set["preset"], name);
        assert_eq!(set["gates"], json!(gates));
        for gate in set["effective"].as_array().unwrap() {
            assert_eq!((&gate["timeout"], &gate["fallback"]), (&timeout, &json!(fallback)));
        }
        assert_eq!(set["escalation"]["timeout_s"], escalation);
        assert_eq!(set["escalation"]["fallback"], escalated);
    }
    let mix = json!({ "preset": "supervised", "gates": ["workspace_abort", "integration"],
        "gate_overrides": { "integration": { "fallback": "approve", "timeout_s": 7 } } });
    run.ok(&user("ada"), "highway.configure", mix);
    let set = run.world.ask("highway.get", "{}");
    assert_eq!(set["effective"][0]["timeout"], 7_000_000);
    assert_eq!(set["effective"][1]["timeout"], 900_000_000);
    assert_eq!(set["preset"], json!(null));
    run.refused(&Run::lead(), "highway.configure", json!({ "gates": [] }), "W-HH-35");
    run.sound();
}

#[test]
fn plans_that_were_there_before_wait_once_people_want_to_be_asked() {
    let mut run = Run::new();
    let task = plan(&mut run, &Run::lead(), 1).remove(0);
    run.ok(&user("ada"), "highway.configure", json!({ "gates": ["task_approval"] }));
    assert_eq!(queue(&run)[0]["task"]["task"], json!(task));
    run.ok(&user("ada"), "task.approve", json!({ "tasks": [task] }));
    assert!(queue(&run).is_empty(), "to approve the task is to answer at its gate");
    run.ok(&user("ada"), "run.end", json!({}));
    run.sound();
}

#[test]
fn gates_end_with_their_run() {
    let mut run = gated(&["task_approval", "workspace_abort"], "reject");
    plan(&mut run, &Run::lead(), 2);
    let id = run.active();
    gate_of(run.ok(&Run::lead(), "workspace.abort", json!({ "workspace": id })));
    run.ok(&user("ada"), "run.end", json!({ "force": true }));
    assert!(queue(&run).is_empty());
    run.ok(&user("ada"), "run.start", json!({}));
    assert_eq!(run.world.ask("gate.list", r#"{"all":true}"#), json!([]));
    run.sound();
}

/// Shows W-HH-07, W-INT-20.
#[test]
fn what_is_to_be_saved_of_an_earlier_run_is_asked_about_in_this_one_alone() {
    let mut run = gated(&["integration"], "reject");
    let work = run.in_state(Status::Integrating, json!({ "agent": "w1" }));
    run.ok(&user("ada"), "workspace.abort", json!({ "workspace": work }));
    let salvage = json!({ "workspace": work, "merged": [] });
    let next_run = |run: &mut Run| {
        run.ok(&user("ada"), "run.end", json!({ "force": true }));
        assert!(queue(run).is_empty(), "gates end with their run");
        let highway = json!({ "preset": "gated" });
        run.ok(&user("ada"), "run.start", json!({ "agent": "lead", "highway": highway }));
    };
    next_run(&mut run);
    gate_of(run.ok(&Run::lead(), "integration.salvage", salvage.clone()));
    next_run(&mut run);
    gate_of(run.ok(&Run::lead(), "integration.salvage", salvage));
    assert_eq!(queue(&run).len(), 1);
    run.sound();
}
