//! A plan is a task: what the command line planned, hosts see, and the other way round.

use super::{agent, create, find, get, refused, transition};
use crate::support::Sandbox;
use serde_json::{Value, json};

const PLAN: &str = r#"
[[tasks]]
key = "grammar"
description = "Write the grammar."

[[tasks]]
key = "parser"
depends_on = ["grammar"]
priority = "urgent"
description = "Write the parser."
"#;

fn status_of(project: &Sandbox, task: &str) -> Value {
    project.json(&["task", "show", task])["status"].clone()
}

#[test]
fn what_a_run_planned_is_a_plan_for_hosts_of_the_memory_dialect() {
    let (project, _) = Sandbox::with_run();
    project.write("plan.toml", PLAN);
    let planned = project.json(&["task", "plan", "plan.toml", "--as", "alice"]);
    let task = planned["tasks"]["grammar"].as_str().unwrap();
    project.ok(&[
        "task",
        "approve",
        "--graph",
        planned["graph"].as_str().unwrap(),
        "--as",
        "alice",
    ]);
    let mut dora = agent(&project, "dora");
    assert_eq!(find(&mut dora, "plan", json!({ "status": "open" })), ["pln#2", "pln#1"]);
    // Either id will do, on both sides.
    let plan = get(&mut dora, "plan", task);
    assert_eq!((&plan["short_label"], &plan["text"]), (&json!("pln#1"), &json!("grammar")));
    assert_eq!(plan["task_id"], task);
    assert_eq!(project.json(&["task", "show", "pln#1"])["task"], task);
    let after = get(&mut dora, "plan", "pln#2");
    assert_eq!(
        (&after["priority"], &after["depends_on"]),
        (&json!("urgent"), &json!([plan["id"]]))
    );

    project.ok(&["task", "assign", "pln#1", "--agent", "bob", "--as", "alice"]);
    let board = dora.done("bclaw_context", json!({ "kind": "board" }));
    let shown = board["active_plans"].as_array().unwrap();
    let own = shown.iter().find(|own| own["short_label"] == "pln#1").unwrap();
    assert_eq!(own["status"], "in_progress", "{own}");
    project.ok(&["inbox", "--take", "--as", "bob"]);
    project.ok(&["signal", "started", "--as", "bob"]);
    project.ok(&["signal", "blocked", "--reason", "r", "--as", "bob"]);
    assert_eq!(find(&mut dora, "plan", json!({ "status": "blocked" })), ["pln#1"]);

    // A run moves what it has taken, and says who that is.
    let done = json!({ "entity": "plan", "id": task, "to": "done" });
    refused(&mut dora, "bclaw_transition", done, "ownership_error", &["bob", "alice"]);
    let give = json!({ "intent": "assign", "planId": "pln#1", "targetAgents": ["dora"],
        "task": "t", "allow_dirty": true });
    let refusal = dora.failed("bclaw_coordinate", give).1;
    assert!(refusal["message"].as_str().unwrap().contains("bob"), "{refusal}");

    project.ok(&["signal", "started", "--as", "bob"]);
    project.write("src/lib.rs", "x\n");
    let args = ["--intent", "i", "--final", "--file", "src/lib.rs", "--as", "bob"];
    project.ok(&[&["checkpoint", "create"], &args[..]].concat());
    project.ok(&["signal", "complete", "--as", "bob"]);
    assert_eq!(get(&mut dora, "plan", "pln#1")["status"], "in_progress");
    project.ok(&["integrate", "agent:bob", "accept", "--as", "alice"]);
    assert_eq!(get(&mut dora, "plan", "pln#1")["status"], "done");
    project.ok(&["trail", "verify"]);
}

#[test]
fn what_a_host_remembered_is_assigned_worked_on_and_integrated() {
    let (project, _) = Sandbox::with_run();
    let mut dora = agent(&project, "dora");
    let data = json!({ "text": "Write the lexer\nfor all of it", "priority": "high",
        "steps": [{ "text": "tokens" }] });
    let plan = create(&mut dora, "plan", data);
    let waits = create(&mut dora, "plan", json!({ "text": "then", "depends_on": [plan] }));
    let list = project.json(&["task", "list"]);
    let names: Vec<&str> =
        list.as_array().unwrap().iter().map(|task| task["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["Write the lexer", "tokens", "then"]);
    assert_eq!(list[1]["parent_task"], list[0]["task"]);
    let shown = project.ok(&["task", "list"]).out;
    assert!(shown.contains("pln#1") && shown.contains("elevated"), "{shown}");
    let drawn = project.ok(&["task", "graph"]).out;
    assert!(drawn.contains("pln#2") && drawn.contains("<- pln#1"), "{drawn}");
    let ready = project.json(&["task", "ready"]);
    assert_eq!((ready.as_array().unwrap().len(), &ready[0]["task"]), (1, &json!(plan)));
    assert!(project.ok(&["task", "show", "pln#1"]).out.contains("for all of it"));

    project.ok(&["task", "assign", "pln#1", "--agent", "bob", "--as", "alice"]);
    let mail = project.ok(&["inbox", "--take", "--as", "bob"]).out;
    assert!(mail.contains("Write the lexer") && mail.contains("for all of it"), "{mail}");
    project.ok(&["signal", "started", "--as", "bob"]);
    assert_eq!(get(&mut dora, "plan", &plan)["status"], "in_progress");
    let step = json!({ "planId": plan, "stepId": "stp_1" });
    refused(&mut dora, "bclaw_complete_step", step, "ownership_error", &["bob"]);
    project.write("src/lib.rs", "x\n");
    let args = ["--intent", "i", "--final", "--file", "src/lib.rs", "--as", "bob"];
    project.ok(&[&["checkpoint", "create"], &args[..]].concat());
    project.ok(&["signal", "complete", "--as", "bob"]);
    project.ok(&["integrate", "agent:bob", "accept", "--as", "alice"]);
    assert_eq!(status_of(&project, "pln#1"), "integrated");
    assert_eq!(get(&mut dora, "plan", &plan)["status"], "done");
    assert_eq!(project.json(&["task", "ready"])[0]["task"], waits);

    // What nobody governs, everybody moves.
    transition(&mut dora, "plan", &waits, "done");
    assert_eq!(status_of(&project, "pln#2"), "completed");
    project.ok(&["trail", "verify"]);
}
