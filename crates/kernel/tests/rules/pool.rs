//! The pool of a run: who gets which task, and what holds it back.

use crate::run::{Run, blob, workspace_of};
use crate::support::{World, agent, user};
use althing_kernel::workspace::Status;
use althing_kernel::{Caller, Reply, TaskId, WorkspaceId};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A run that gives out its tasks, without gates.
fn pool() -> Run {
    pool_with(&json!({ "gates": [] }))
}

fn pool_with(highway: &Value) -> Run {
    let mut world = World::new();
    for name in ["lead", "w1", "w2", "w3"] {
        world.run(&agent(name), "agent.register", "{}").unwrap();
    }
    let start = json!({ "agent": "lead", "pool": true, "highway": highway });
    let reply = world.run(&user("ada"), "run.start", &start.to_string()).unwrap();
    Run { root: workspace_of(reply).workspace, world }
}

/// A task of a plan: its key, what it depends on, its terms.
fn task(key: &str, depends_on: &[&str], terms: Value) -> Value {
    let mut task =
        json!({ "key": key, "name": key, "description": blob(1), "depends_on": depends_on });
    task["terms"] = terms;
    task
}

fn plan(run: &mut Run, tasks: &[Value]) -> BTreeMap<String, TaskId> {
    let Reply::Graph(graph) = run.ok(&Run::lead(), "task.graph", json!({ "tasks": tasks })) else {
        panic!("no graph")
    };
    run.ok(&Run::lead(), "task.approve", json!({ "graph": graph.graph }));
    graph.tasks
}

fn next(run: &mut Run, who: &Caller, args: Value) -> Value {
    serde_json::to_value(run.ok(who, "work.next", args)).unwrap()
}

/// The key of the task that an agent gets, and its workspace.
fn taken(run: &mut Run, who: &str, args: Value) -> (String, WorkspaceId) {
    let reply = next(run, &agent(who), args);
    let id: WorkspaceId = serde_json::from_value(reply["workspace"].clone()).unwrap();
    let task = run.view(&id).task.unwrap();
    (run.world.state.task(&task).unwrap().name.to_string(), id)
}

/// Hands in the work of a workspace and has it merged.
fn merge(run: &mut Run, who: &str, id: &WorkspaceId, file: &str) {
    run.checkpoint(who, id, "artifact", &[file]);
    run.signal(who, id, "complete");
    run.ok(&Run::lead(), "integration.decide", json!({ "workspace": id, "decision": "accept" }));
}

#[test]
fn a_worker_gets_task_workspace_and_lease_in_one_commit_and_the_same_again() {
    let mut run = pool();
    plan(&mut run, &[task("a", &[], json!({ "touches": ["src"] }))]);
    let reply = next(&mut run, &agent("w1"), json!({}));
    assert_eq!((&reply["taken"], &reply["claim"]["surfaces"]), (&json!(true), &json!(["src"])));
    let id: WorkspaceId = serde_json::from_value(reply["workspace"].clone()).unwrap();
    let view = run.view(&id);
    assert_eq!((view.status, view.agent.unwrap().as_str()), (Status::Active, "w1"));
    let task = run.world.ask("task.list", "{}")[0].clone();
    assert_eq!(task["status"], "in_progress");
    let before = run.count();
    let again = next(&mut run, &agent("w1"), json!({}));
    assert_eq!((&again["taken"], &again["workspace"]), (&json!(false), &reply["workspace"]));
    assert_eq!(run.count(), before, "asked again, nothing is recorded");
    run.refused(&agent("w2"), "work.next", json!({}), "A-WORK-01");
    run.sound();
}

#[test]
fn urgent_tasks_come_first_then_those_that_most_others_wait_for() {
    let mut run = pool();
    let mut urgent = task("urgent", &[], json!({}));
    urgent["priority"] = json!("urgent");
    plan(
        &mut run,
        &[
            task("alone", &[], json!({})),
            task("first", &[], json!({})),
            task("second", &["first"], json!({})),
            task("third", &["second"], json!({})),
            urgent,
        ],
    );
    assert_eq!(taken(&mut run, "w1", json!({})).0, "urgent");
    assert_eq!(taken(&mut run, "w2", json!({})).0, "first", "two wait for it");
    assert_eq!(taken(&mut run, "w3", json!({})).0, "alone");
    run.sound();
}

#[test]
fn a_task_waits_until_what_it_depends_on_is_merged() {
    let mut run = pool();
    plan(&mut run, &[task("a", &[], json!({})), task("b", &["a"], json!({}))]);
    let (_, id) = taken(&mut run, "w1", json!({}));
    run.refused(&agent("w2"), "work.next", json!({}), "A-WORK-01");
    run.checkpoint("w1", &id, "artifact", &["x"]);
    run.signal("w1", &id, "complete");
    run.refused(&agent("w2"), "work.next", json!({}), "A-WORK-01");
    run.ok(&Run::lead(), "integration.decide", json!({ "workspace": id, "decision": "accept" }));
    assert_eq!(taken(&mut run, "w2", json!({})).0, "b");
    run.sound();
}

#[test]
fn tasks_whose_files_overlap_are_worked_on_one_after_the_other() {
    let mut run = pool();
    let tasks = vec![
        task("wide", &[], json!({ "touches": ["src/**"] })),
        task("narrow", &[], json!({ "touches": ["src/a.rs"] })),
        task("docs", &[], json!({ "touches": ["docs"] })),
    ];
    plan(&mut run, &tasks);
    let (first, id) = taken(&mut run, "w1", json!({}));
    assert_eq!(first, "wide");
    assert_eq!(taken(&mut run, "w2", json!({})).0, "docs", "what is free");
    let refusal = run.refused(&agent("w3"), "work.next", json!({}), "A-WORK-01");
    assert!(refusal.message.contains("w1"), "{refusal:?}");
    merge(&mut run, "w1", &id, "src/x");
    assert_eq!(taken(&mut run, "w3", json!({})).0, "narrow");
    run.sound();
}

#[test]
fn a_worker_gets_only_what_fits_its_program_its_role_and_its_skills() {
    let mut run = pool();
    let tasks = vec![
        task("program", &[], json!({ "agent": "claude" })),
        task("skilled", &[], json!({ "skills": ["rust", "sql"] })),
    ];
    let ids = plan(&mut run, &tasks);
    run.refused(&agent("w1"), "work.next", json!({ "program": "codex" }), "A-WORK-01");
    let skills = json!({ "program": "codex", "skills": ["sql", "rust", "css"] });
    assert_eq!(taken(&mut run, "w1", skills).0, "skilled");
    assert_eq!(taken(&mut run, "w2", json!({ "program": "claude" })).0, "program");
    // Somebody who asks for it by name is not asked what they are.
    let extra = plan(&mut run, &[task("other", &[], json!({ "agent": "claude" }))]);
    let record = run.world.state.task_record(&extra["other"]).unwrap().id;
    assert_eq!(taken(&mut run, "w3", json!({ "task": record })).0, "other");
    assert_eq!(ids.len(), 2);
    run.sound();
}

#[test]
fn a_run_on_hold_gives_out_nothing() {
    let mut run = pool();
    plan(&mut run, &[task("a", &[], json!({})), task("b", &[], json!({}))]);
    taken(&mut run, "w1", json!({}));
    run.refused(&agent("w1"), "run.hold", json!({ "hold": "drain" }), "W-ROLE-04");
    run.ok(&Run::lead(), "run.hold", json!({ "hold": "drain" }));
    run.refused(&agent("w2"), "work.next", json!({}), "A-RUN-02");
    let again = next(&mut run, &agent("w1"), json!({}));
    assert_eq!(again["taken"], false, "what was begun goes on");
    run.ok(&Run::lead(), "run.hold", json!({ "hold": "none" }));
    taken(&mut run, "w2", json!({}));
    run.sound();
}

#[test]
fn a_workspace_that_needs_approval_is_asked_about_once() {
    let mut run = pool_with(&json!({ "gates": ["workspace_create"] }));
    plan(&mut run, &[task("a", &[], json!({}))]);
    let gate = next(&mut run, &agent("w1"), json!({}));
    let gates = run.world.state.gates().count();
    assert_eq!(next(&mut run, &agent("w1"), json!({}))["gate"], gate["gate"]);
    assert_eq!(run.world.state.gates().count(), gates, "no second gate");
    run.ok(&user("ada"), "gate.resolve", json!({ "gate": gate["gate"], "action": "approve" }));
    let reply = next(&mut run, &agent("w1"), json!({}));
    assert!(reply["workspace"].is_string(), "{reply}");
    run.sound();
}

#[test]
fn terms_are_checked_when_a_task_is_planned() {
    let mut run = pool();
    for terms in [json!({ "attempts": 0 }), json!({ "attempts": 21 })] {
        let tasks = json!({ "tasks": [task("a", &[], terms)] });
        run.refused(&Run::lead(), "task.graph", tasks, "W-TASK-03");
    }
}

#[test]
fn a_task_can_ask_for_a_person_before_its_merge() {
    let mut run = pool();
    plan(&mut run, &[task("a", &[], json!({ "gate": "integration" }))]);
    let (_, id) = taken(&mut run, "w1", json!({}));
    run.checkpoint("w1", &id, "artifact", &["x"]);
    run.signal("w1", &id, "complete");
    let accept = json!({ "workspace": id, "decision": "accept" });
    let reply = run.ok(&Run::lead(), "integration.decide", accept);
    let gate = serde_json::to_value(reply).unwrap();
    assert_eq!(run.status(&id), Status::Integrating, "nothing is merged yet");
    run.ok(&user("ada"), "gate.resolve", json!({ "gate": gate["gate"], "action": "approve" }));
    assert_eq!(run.status(&id), Status::Closed);
    run.sound();
}
