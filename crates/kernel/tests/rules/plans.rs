//! A plan is a task: what one vocabulary did is seen and enforced in the other.

use crate::run::{Run, blob, workspace_of};
use crate::support::agent;
use althing_kernel::records::{Kind, RecordId};
use althing_kernel::{Event, Reply, Rule, TaskId, WorkspaceId};
use serde_json::{Value, json};

fn alice() -> althing_kernel::Caller {
    agent("w3")
}

/// A plan made through memory.
fn remembered(run: &mut Run, text: &str, fields: &Value) -> RecordId {
    let args = json!({ "kind": "plan", "text": text, "fields": fields });
    match run.ok(&alice(), "memory.create", args) {
        Reply::Memory(reply) => {
            let shown = serde_json::to_value(Reply::Memory(reply)).unwrap();
            serde_json::from_value(shown["id"].clone()).unwrap()
        }
        other => panic!("{other:?}"),
    }
}

/// A task planned in the run and approved.
pub(crate) fn planned(run: &mut Run, key: &str, depends_on: &[&str]) -> TaskId {
    let task = json!({ "key": key, "name": format!("do {key}"), "description": blob(1),
        "depends_on": depends_on });
    let Reply::Graph(graph) = run.ok(&Run::lead(), "task.graph", json!({ "tasks": [task] })) else {
        panic!("no graph")
    };
    run.ok(&Run::lead(), "task.approve", json!({ "graph": graph.graph }));
    graph.tasks[key].clone()
}

pub(crate) fn plan_of(run: &Run, id: &TaskId) -> RecordId {
    run.world.state.task_record(id).unwrap().id
}

fn task_of(run: &Run, id: RecordId) -> TaskId {
    run.world.state.memory().record(id).unwrap().task_id()
}

/// The state of a task in the words of both: runs, then memory.
fn words(run: &Run, id: &TaskId) -> (String, String) {
    let task = run.world.ask("task.get", &json!({ "task": id }).to_string());
    let plan = run.world.ask("memory.get", &json!({ "id": plan_of(run, id) }).to_string());
    let word = |shown: &Value| shown["status"].as_str().unwrap().to_owned();
    let (task, plan) = (word(&task), word(&plan));
    let found =
        run.world.ask("memory.find", &json!({ "kind": "plan", "status": plan }).to_string());
    let own = plan_of(run, id).to_string();
    let is_found = found["items"].as_array().unwrap().iter().any(|item| item["id"] == *own);
    assert!(is_found, "{own} is found by {plan}");
    (task, plan)
}

fn both(task: &str, plan: &str) -> (String, String) {
    (task.to_owned(), plan.to_owned())
}

fn listed(run: &Run, query: &str) -> Vec<String> {
    let list = run.world.ask(query, "{}");
    let ids = list.as_array().unwrap().iter();
    ids.map(|task| task["task"].as_str().unwrap().to_owned()).collect()
}

fn assign(run: &mut Run, task: &str, who: &str) -> WorkspaceId {
    let args = json!({ "task": task, "agent": who });
    workspace_of(run.ok(&Run::lead(), "task.assign", args)).workspace
}

#[test]
fn a_task_of_a_run_is_a_plan_through_its_whole_life() {
    let mut run = Run::new();
    let id = planned(&mut run, "a", &[]);
    let plan = plan_of(&run, &id);
    assert_eq!(plan, RecordId { kind: Kind::Plan, number: 1 });
    let shown = run.world.ask("memory.get", &json!({ "id": plan }).to_string());
    assert_eq!((&shown["text"], &shown["author"]), (&json!("do a"), &json!("agent:lead")));
    assert_eq!(words(&run, &id), both("pending", "open"));
    // The id of the plan will do wherever a task is named.
    let at = assign(&mut run, &plan.to_string(), "w1");
    assert_eq!(words(&run, &id), both("assigned", "in_progress"));
    run.signal("w1", &at, "started");
    assert_eq!(words(&run, &id), both("in_progress", "in_progress"));
    run.signal("w1", &at, "blocked");
    assert_eq!(words(&run, &id), both("in_progress", "blocked"));
    run.ok(&Run::lead(), "workspace.abort", json!({ "workspace": at }));
    assert_eq!(words(&run, &id), both("failed", "open"));
    run.ok(&Run::lead(), "task.retry", json!({ "task": plan.to_string() }));
    assert_eq!(words(&run, &id), both("pending", "open"));
    let at = assign(&mut run, id.as_str(), "w2");
    run.signal("w2", &at, "started");
    run.checkpoint("w2", &at, "artifact", &["a"]);
    run.signal("w2", &at, "complete");
    assert_eq!(words(&run, &id), both("completed", "in_progress"));
    run.ok(&Run::lead(), "integration.decide", json!({ "workspace": at, "decision": "accept" }));
    assert_eq!(words(&run, &id), both("integrated", "done"));
    run.sound();
}

#[test]
fn a_plan_made_through_memory_is_assigned_worked_on_and_integrated() {
    let mut run = Run::new();
    let plan = remembered(&mut run, "Write the parser\nwith care", &json!({ "priority": "low" }));
    let id = task_of(&run, plan);
    assert_eq!(id.as_str(), plan.to_string());
    let shown = run.world.ask("task.get", &json!({ "task": id }).to_string());
    assert_eq!(shown["name"], "Write the parser");
    assert_eq!(shown["text"], "Write the parser\nwith care");
    assert_eq!((&shown["graph"], &shown["priority"]), (&json!("plans"), &json!("low")));
    assert_eq!(shown["governed"], false);
    for query in ["task.list", "task.ready"] {
        assert_eq!(listed(&run, query), [id.as_str()]);
    }
    let graphs = run.world.ask("task.graphs", "{}");
    assert_eq!((&graphs[0]["graph"], &graphs[0]["tasks"]), (&json!("plans"), &json!([id])));
    // Open: anybody moves it.
    run.ok(&agent("w2"), "memory.move", json!({ "id": plan, "to": "in_progress" }));
    assert_eq!(words(&run, &id), both("in_progress", "in_progress"));
    let claim = json!({ "surfaces": ["src"], "task": plan.to_string() });
    run.ok(&agent("w1"), "lease.open", claim);
    // Taken: only its workspace and the coordinator do.
    let at = assign(&mut run, id.as_str(), "w1");
    assert_eq!(words(&run, &id), both("assigned", "in_progress"));
    assert_eq!(run.world.ask("task.get", &json!({ "task": id }).to_string())["governed"], true);
    run.signal("w1", &at, "started");
    run.checkpoint("w1", &at, "artifact", &["src/a.rs"]);
    run.signal("w1", &at, "complete");
    assert_eq!(run.world.state.leases().count(), 1);
    run.ok(&Run::lead(), "integration.decide", json!({ "workspace": at, "decision": "accept" }));
    assert_eq!(words(&run, &id), both("integrated", "done"));
    assert_eq!(run.world.state.leases().count(), 0, "what was claimed for it is given back");
    assert!(listed(&run, "task.list").is_empty(), "what is over is left out");
    run.sound();
}

#[test]
fn a_governed_task_is_left_alone_by_memory_and_says_who_moves_it() {
    let mut run = Run::new();
    let plan = remembered(&mut run, "p", &json!({ "steps": [{ "text": "one" }] }));
    let id = task_of(&run, plan);
    let at = assign(&mut run, id.as_str(), "w1");
    let governed = "A-TASK-01";
    for (name, args) in [
        ("memory.move", json!({ "id": plan, "to": "done" })),
        ("memory.move", json!({ "id": plan, "to": "cancelled" })),
        ("memory.step", json!({ "plan": plan, "step": "stp_1", "status": "done" })),
        ("memory.update", json!({ "id": plan, "fields": { "priority": "urgent" } })),
        ("memory.update", json!({ "id": plan, "clear": ["depends_on"] })),
        ("memory.archive", json!({ "id": plan })),
    ] {
        let refusal = run.refused(&alice(), name, args, governed);
        assert!(refusal.message.contains("w1") && refusal.message.contains("lead"), "{refusal:?}");
        assert!(refusal.message.contains(at.as_str()), "{refusal:?}");
    }
    // Its text and its tags are everybody's still.
    run.ok(&alice(), "memory.update", json!({ "id": plan, "text": "q", "tags": ["x"] }));
    assert_eq!(run.world.ask("task.get", &json!({ "task": id }).to_string())["name"], "q");
    // Nobody else gets it meanwhile.
    let offer = json!({ "lanes": [{ "fields": { "agent": "w2", "plan_id": plan }, "text": "t" }] });
    let refusal = run.refused(&alice(), "memory.offer", offer, Rule::PlanTaken.id());
    assert!(refusal.message.contains("w1"), "{refusal:?}");
    // A claim that is given back leaves it as it is, and says so.
    let claim = json!({ "surfaces": ["src"], "task": plan.to_string() });
    let Reply::Lease(lease) = run.ok(&agent("w1"), "lease.open", claim) else { panic!("no lease") };
    let finish = json!({ "lease": lease.lease, "plan_status": "done" });
    let done = serde_json::to_value(run.ok(&agent("w1"), "work.finish", finish)).unwrap();
    assert_eq!(done["side_effects"][0]["action"], "unchanged");
    assert_eq!(words(&run, &id), both("assigned", "in_progress"));
    // Once the run is over, everybody moves it again.
    run.ok(&Run::lead(), "workspace.abort", json!({ "workspace": at }));
    run.refused(&alice(), "memory.move", json!({ "id": plan, "to": "done" }), governed);
    run.ok(&crate::support::user("ada"), "run.end", json!({}));
    assert_eq!(words(&run, &id), both("failed", "open"));
    run.ok(&alice(), "memory.move", json!({ "id": plan, "to": "done" }));
    assert_eq!(words(&run, &id), both("completed", "done"));
    run.sound();
}

#[test]
fn a_task_that_an_agent_has_an_assignment_for_is_not_bound_to_a_workspace() {
    let mut run = Run::new();
    let plan = remembered(&mut run, "p", &json!({}));
    let id = task_of(&run, plan);
    let offer = json!({ "lanes": [{ "fields": { "agent": "w2", "plan_id": plan }, "text": "t" }] });
    run.ok(&alice(), "memory.offer", offer);
    assert!(listed(&run, "task.ready").is_empty());
    let args = json!({ "task": id, "agent": "w1" });
    let refusal = run.refused(&Run::lead(), "task.assign", args.clone(), Rule::PlanTaken.id());
    assert!(refusal.message.contains("w2"), "{refusal:?}");
    let work = run.world.state.memory().newest(Kind::Assignment, None).next().unwrap().id;
    run.ok(&alice(), "memory.move", json!({ "id": work, "to": "cancelled" }));
    run.ok(&Run::lead(), "task.assign", args);
    run.sound();
}

#[test]
fn plans_wait_for_tasks_and_tasks_for_plans() {
    let mut run = Run::new();
    let before = remembered(&mut run, "first", &json!({}));
    let id = planned(&mut run, "a", &[&before.label()]);
    let plan = plan_of(&run, &id);
    let after = remembered(&mut run, "last", &json!({ "depends_on": [plan] }));
    let after = task_of(&run, after);
    assert_eq!(listed(&run, "task.ready"), [task_of(&run, before).as_str()]);
    let args = json!({ "task": id, "agent": "w1" });
    let refusal = run.refused(&Run::lead(), "task.assign", args, Rule::TaskReady.id());
    assert!(refusal.message.contains(&before.to_string()), "{refusal:?}");
    run.ok(&alice(), "memory.move", json!({ "id": before, "to": "done" }));
    assert_eq!(listed(&run, "task.ready"), [id.as_str()]);
    let at = assign(&mut run, id.as_str(), "w1");
    run.signal("w1", &at, "started");
    run.checkpoint("w1", &at, "artifact", &["a"]);
    run.signal("w1", &at, "complete");
    assert_eq!(listed(&run, "task.ready"), [after.as_str()]);
    let waiting = json!({ "task": before.to_string(), "dependents": true, "all": true });
    let waiting = run.world.ask("task.deps", &waiting.to_string());
    let ids: Vec<&str> =
        waiting.as_array().unwrap().iter().map(|task| task["task"].as_str().unwrap()).collect();
    assert_eq!(ids, [id.as_str(), after.as_str()]);
    run.sound();
}

#[test]
fn steps_are_tasks_below_their_plan_and_tasks_below_are_steps() {
    let mut run = Run::new();
    let steps = json!({ "steps": [{ "text": "one" }, { "text": "two", "status": "in_progress" }] });
    let plan = remembered(&mut run, "p", &steps);
    let tasks = run.world.ask("task.list", "{}");
    let shown = |n: usize| {
        let task = &tasks[n];
        [&task["task"], &task["parent_task"], &task["name"], &task["status"]]
            .map(|value| value.as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(shown(0), [&*plan.to_string(), "", "p", "pending"]);
    let own = plan.to_string();
    assert_eq!(shown(1), [&*format!("{own}-stp_1"), &own, "one", "pending"]);
    assert_eq!(shown(2), [&*format!("{own}-stp_2"), &own, "two", "in_progress"]);
    let child = json!([
        { "key": "top", "name": "top", "description": blob(1) },
        { "key": "low", "name": "low", "description": blob(1), "parent": "top" },
    ]);
    let Reply::Graph(graph) = run.ok(&Run::lead(), "task.graph", json!({ "tasks": child })) else {
        panic!("no graph")
    };
    let (top, low) = (&graph.tasks["top"], &graph.tasks["low"]);
    let steps = |run: &Run| {
        let top = json!({ "id": plan_of(run, top) }).to_string();
        run.world.ask("memory.get", &top)["fields"]["steps"].clone()
    };
    let below = plan_of(&run, low);
    assert_eq!(steps(&run), json!([{ "plan": below, "status": "todo", "text": "low" }]));
    run.ok(&Run::lead(), "task.approve", json!({ "graph": graph.graph }));
    assign(&mut run, low.as_str(), "w1");
    assert_eq!(steps(&run)[0]["status"], "in_progress");
    run.sound();
}

#[test]
fn a_plan_is_retried_and_cancelled_by_the_coordinator() {
    let mut run = Run::new();
    let plan = remembered(&mut run, "p", &json!({}));
    let id = task_of(&run, plan);
    let at = assign(&mut run, id.as_str(), "w1");
    run.ok(&Run::lead(), "workspace.abort", json!({ "workspace": at }));
    run.ok(&Run::lead(), "task.retry", json!({ "task": id }));
    let at = assign(&mut run, id.as_str(), "w2");
    run.ok(&Run::lead(), "task.cancel", json!({ "task": id }));
    assert_eq!(words(&run, &id), both("cancelled", "cancelled"));
    assert!(run.status(&at).is_terminal());
    let task = run.world.state.task(&id).unwrap();
    assert_eq!(task.history.len(), 2);
    // One that nobody tried is the coordinator's to drop as well.
    let other = remembered(&mut run, "q", &json!({}));
    let coordinator = Rule::CoordinatorOnly.id();
    run.refused(&agent("w1"), "task.cancel", json!({ "task": other.to_string() }), coordinator);
    run.ok(&Run::lead(), "task.cancel", json!({ "task": other.to_string() }));
    assert_eq!(words(&run, &task_of(&run, other)), both("cancelled", "cancelled"));
    run.sound();
}

#[test]
fn tasks_of_older_trails_get_numbers_that_no_record_ever_has() {
    let mut run = Run::new();
    planned(&mut run, "a", &[]);
    let mut state = althing_kernel::state::State::default();
    for entry in &run.world.entries {
        let mut entry = entry.clone();
        if let Event::TaskCreated(body) = &mut entry.draft.event {
            body.plan = None;
        }
        state.apply(&entry).unwrap();
    }
    let task = state.tasks().next().unwrap();
    let record = state.task_record(&task.id).unwrap();
    assert!(record.id.number > 1 << 40, "{}", record.id);
    assert_eq!(task.status.as_str(), "pending");
    run.world.state = state;
    assert_eq!(remembered(&mut run, "p", &json!({})).number, 1);
}
