//! One vocabulary, from planning a task to handing it in: on the command line and over MCP.

use crate::mcp::Host;
use crate::support::Sandbox;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::process::Stdio;

/// A host with the default tools, acting as an agent of this name.
pub(crate) fn native(project: &Sandbox, name: &str) -> Host {
    let mut host = Host::silent(project, &["--dialect", "native", "--as", name]);
    host.introduce(name, "2025-11-25");
    host
}

/// Calls a tool, which works. Returns its words and the whole answer.
#[track_caller]
pub(crate) fn answer_of(host: &mut Host, tool: &str, arguments: Value) -> (String, Value) {
    let result = host.call(tool, arguments);
    assert_eq!(result["isError"], false, "{result}");
    let text = result["content"][0]["text"].as_str().unwrap().to_owned();
    (text, result["structuredContent"].clone())
}

#[track_caller]
fn refused(host: &mut Host, tool: &str, arguments: Value) -> (String, Value) {
    let result = host.call(tool, arguments);
    assert_eq!(result["isError"], true, "{result}");
    let text = result["content"][0]["text"].as_str().unwrap().to_owned();
    (text, result["structuredContent"]["error"].clone())
}

#[test]
fn the_default_server_is_small_and_says_what_its_tools_change() {
    use althing_dialects::frugal::tokens::count;
    let project = Sandbox::new();
    let mut host = Host::started(project.command().arg("mcp"));
    let answer = host.introduce("cursor", "2025-11-25")["result"].clone();
    assert_eq!(answer["serverInfo"]["name"], "althing");
    let listed = host.ask("tools/list", json!({}))["result"]["tools"].clone();
    let listed = listed.as_array().unwrap();
    let names: Vec<&str> = listed.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    let expected = [
        "status",
        "next",
        "claim",
        "release",
        "inbox",
        "send",
        "remember",
        "ask",
        "checkpoint",
        "done",
        "blocked",
    ];
    assert_eq!(names, expected);
    for tool in listed {
        let reads = ["status", "ask"].contains(&tool["name"].as_str().unwrap());
        assert_eq!(tool["annotations"]["readOnlyHint"], reads, "{tool}");
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{tool}");
    }
    let instructions = answer["instructions"].as_str().unwrap();
    let tokens = count(&Value::from(listed.as_slice()).to_string()) + count(instructions);
    assert!(tokens <= 1_200, "{tokens}");
}

#[test]
fn a_task_is_taken_and_handed_in_over_mcp() {
    let project = Sandbox::new();
    let mut host = native(&project, "alice");
    let (_, none) = refused(&mut host, "next", json!({}));
    assert_eq!(none["rule"], "A-WORK-01");
    let made = json!({ "text": "Write the parser", "kind": "plan", "paths": ["src/parser.rs"] });
    answer_of(&mut host, "remember", made);
    answer_of(
        &mut host,
        "remember",
        json!({ "text": "No unsafe in the parser", "paths": ["src"] }),
    );
    let (text, brief) = answer_of(&mut host, "next", json!({}));
    assert_eq!((&brief["task"], &brief["taken"]), (&json!("pln#1"), &json!(true)), "{brief}");
    assert_eq!(brief["files"], json!(["src/parser.rs"]));
    assert!(text.contains("Write the parser") && text.contains("No unsafe"), "{text}");
    // Asking again gives the same task, and changes nothing.
    let before = project.entries().len();
    let (_, again) = answer_of(&mut host, "next", json!({}));
    assert_eq!((&again["task"], &again["taken"]), (&json!("pln#1"), &json!(false)));
    assert_eq!(project.entries().len(), before);
    answer_of(&mut host, "claim", json!({ "paths": ["tests/parser.rs"] }));
    answer_of(&mut host, "checkpoint", json!({ "text": "grammar done" }));
    let (status, _) = answer_of(&mut host, "status", json!({}));
    assert!(status.contains("pln#1") && status.contains("tests/parser.rs"), "{status}");
    let (_, done) = answer_of(&mut host, "done", json!({ "text": "parses everything" }));
    assert_eq!((&done["status"], &done["released"]), (&json!("done"), &json!(2)), "{done}");
    assert_eq!(project.json(&["claims"]), json!([]));
    let (text, error) = refused(&mut host, "done", json!({}));
    assert!(text.contains("next") && error["way_out"].is_string(), "{text}");
    host.end();
    project.ok(&["trail", "verify", "--signatures"]);
}

#[test]
fn a_blocked_task_goes_back_and_is_taken_up_again_where_it_was_left() {
    let project = Sandbox::new();
    project.ok(&["plan", "Write the parser @src/parser.rs"]);
    project.ok(&["next", "--as", "alice"]);
    project.ok(&["checkpoint", "tokens are read", "--as", "alice"]);
    let out = project.ok(&["blocked", "Which grammar?", "--as", "alice"]).out;
    assert!(out.contains("pln#1 is blocked") && out.contains("released"), "{out}");
    let ran = project.run(&["next", "--as", "bob"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("pln#1 is blocked: Which grammar?"), "{ran:?}");
    let brief = project.json(&["next", "pln#1", "--as", "alice"]);
    assert_eq!(brief["checkpoint"], "tokens are read", "{brief}");
    assert_eq!(brief["files"], json!(["src/parser.rs"]));
    project.ok(&["done", "--as", "alice"]);
    project.ok(&["trail", "verify"]);
}

/// Each gets another task, and each task goes to one: the kernel chooses in the commit that takes.
#[test]
fn of_many_who_take_at_once_nobody_gets_the_same_task() {
    const RACERS: usize = 8;
    let project = Sandbox::new();
    let texts: Vec<String> = (0..RACERS).map(|n| format!("Task {n} @f{n}")).collect();
    let mut plan = vec!["plan"];
    plan.extend(texts.iter().map(String::as_str));
    project.ok(&plan);
    let racers: Vec<_> = (0..RACERS)
        .map(|n| {
            let name = format!("r{n}");
            let mut command = project.command();
            command.args(["next", "--json", "--as", &name]).stdin(Stdio::null());
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    let taken: Vec<String> = racers
        .into_iter()
        .map(|racer| {
            let output = racer.wait_with_output().unwrap();
            assert!(output.status.success(), "{output:?}");
            let brief: Value = serde_json::from_slice(&output.stdout).unwrap();
            brief["task"].as_str().unwrap().to_owned()
        })
        .collect();
    let each: BTreeSet<&String> = taken.iter().collect();
    assert_eq!(each.len(), RACERS, "{taken:?}");
    assert_eq!(project.json(&["claims"]).as_array().unwrap().len(), RACERS);
    let ran = project.run(&["next", "--as", "late"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("is worked on by"), "{ran:?}");
    project.ok(&["trail", "verify", "--signatures"]);
}

#[test]
fn a_task_waits_for_what_it_depends_on_and_for_its_files() {
    let project = Sandbox::new();
    project.ok(&["plan", "First @src"]);
    project.ok(&["plan", "Second @docs", "--after", "pln#1", "--priority", "urgent"]);
    project.ok(&["plan", "Third @src/a.rs"]);
    assert_eq!(project.json(&["next", "--as", "alice"])["task"], "pln#1");
    let ran = project.run(&["next", "--as", "bob"]);
    for part in ["pln#2 waits for pln#1 (in_progress, alice)", "pln#3 needs src/a.rs"] {
        assert!(ran.err.contains(part), "{part}: {ran:?}");
    }
    assert_eq!(project.run(&["next", "pln#3", "--as", "bob"]).code, Some(3));
    project.ok(&["done", "--as", "alice"]);
    assert_eq!(project.json(&["next", "--as", "bob"])["task"], "pln#2", "the urgent one");
    assert_eq!(project.json(&["next", "--as", "alice"])["task"], "pln#3");
}

/// A task of the memory dialect is taken with the native word, and the other way round.
#[test]
fn tasks_of_other_dialects_are_the_same_tasks() {
    let project = Sandbox::new();
    let mut memory = crate::memory::agent(&project, "carol");
    let data = json!({ "text": "Write the guide", "scope": "docs", "priority": "high" });
    memory.done("bclaw_create", json!({ "entity": "plan", "data": data }));
    let mut host = native(&project, "alice");
    assert_eq!(answer_of(&mut host, "next", json!({})).1["task"], "pln#1");
    let plan = memory.done("bclaw_get", json!({ "entity": "plan", "id": "pln#1" }));
    let plan = &plan["item"];
    assert_eq!((&plan["status"], &plan["assignee"]), (&json!("in_progress"), &json!("alice")));
    memory.done(
        "bclaw_coordinate",
        json!({ "intent": "assign", "task": "Test it", "targetAgents": ["alice"], "scope": "tests" }),
    );
    answer_of(&mut host, "done", json!({}));
    project.ok(&["trail", "verify"]);
}

/// Inside a run the same words move the workspace that the coordinator assigned.
#[test]
fn the_work_of_a_workspace_is_taken_and_handed_in_with_the_same_words() {
    let project = Sandbox::new();
    project.ok(&["coordinator", "start", "--as", "lead"]);
    let graph = r#"{"tasks":[{"key":"parser","name":"parser","description":{"text":"Write the parser."}}]}"#;
    project.ok(&["do", "task.graph", graph, "--as", "lead"]);
    project.ok(&["task", "approve", "parser", "--as", "lead"]);
    project.ok(&[
        "task",
        "assign",
        "parser",
        "--agent",
        "bob",
        "--authority",
        "src",
        "--as",
        "lead",
    ]);
    let mut host = native(&project, "bob");
    let (text, brief) = answer_of(&mut host, "next", json!({}));
    assert!(text.contains("Write the parser.") && brief["workspace"].is_string(), "{text}");
    assert_eq!(brief["files"], json!(["src"]));
    answer_of(&mut host, "blocked", json!({ "reason": "Which grammar?" }));
    assert!(project.ok(&["status"]).out.contains("bob is blocked: Which grammar?"));
    project.ok(&["send", "agent:bob", "The small one.", "--as", "lead", "--type", "feedback"]);
    let (text, _) = answer_of(&mut host, "inbox", json!({}));
    assert!(text.contains("The small one."), "{text}");
    project.ok(&["signal", "started", "--as", "bob"]);
    std::fs::create_dir(project.path().join("src")).unwrap();
    std::fs::write(project.path().join("src/parser.rs"), "fn parse() {}\n").unwrap();
    let (text, _) = refused(&mut host, "done", json!({}));
    assert!(text.contains("no final checkpoint") && text.contains("--final"), "{text}");
    let made = json!({ "text": "the parser", "files": ["src/parser.rs"], "final": true });
    answer_of(&mut host, "checkpoint", made);
    let (_, done) = answer_of(&mut host, "done", json!({}));
    assert_eq!(done["status"], "integrating", "{done}");
    project.ok(&["integrate", "agent:bob", "accept", "--as", "lead"]);
    project.ok(&["trail", "verify"]);
}

/// The nouns of WACP are reachable over MCP: a whole task, both sides.
#[test]
fn a_run_is_led_and_worked_over_mcp() {
    let project = Sandbox::new();
    let started = |name: &str| {
        let mut host = Host::silent(&project, &["--dialect", "wacp", "--as", name]);
        host.introduce(name, "2025-11-25");
        host
    };
    let (mut lead, mut bob) = (started("lead"), started("bob"));
    lead.done("wacp_run_start", json!({}));
    bob.done("wacp_task_list", json!({}));
    project.ok(&["agents", "register", "--as", "bob"]);
    let task = json!({ "key": "a", "name": "a", "description": { "text": "Do it." } });
    let graph = lead.done("wacp_task_graph", json!({ "tasks": [task] }));
    let id = graph["tasks"]["a"].as_str().unwrap().to_owned();
    lead.done("wacp_task_approve", json!({ "tasks": [id] }));
    let ready = lead.done("wacp_task_ready", json!({}));
    assert_eq!(ready["items"][0]["task"], id.as_str(), "{ready}");
    let made =
        lead.done("wacp_task_assign", json!({ "task": id, "agent": "bob", "authority": ["src"] }));
    let workspace = made["workspace"].as_str().unwrap().to_owned();
    let mail = bob.done("wacp_inbox_take", json!({}));
    assert_eq!(mail["envelopes"][0]["text"], "Do it.", "{mail}");
    bob.done("wacp_signal", json!({ "type": "started" }));
    bob.done(
        "wacp_checkpoint_create",
        json!({
            "intent": "it", "status": "final", "type": "artifact",
            "files_changed": [{ "path": "src/a.rs", "content": { "text": "fn a() {}\n" } }],
        }),
    );
    bob.done("wacp_signal", json!({ "type": "complete" }));
    let done = lead.done(
        "wacp_integrate",
        json!({ "workspace": workspace, "decision": "accept", "strategy": "direct" }),
    );
    assert!(done.is_object(), "{done}");
    let task = lead.done("wacp_task_get", json!({ "task": id }));
    assert_eq!(
        (&task["status"], &task["text"]),
        (&json!("integrated"), &json!("Do it.")),
        "{task}"
    );
    let (_, error) = bob.failed("wacp_task_cancel", json!({ "task": id }));
    assert_eq!(error["kind"], "refused", "{error}");
    project.ok(&["trail", "verify"]);
}

#[test]
fn planning_makes_a_folder_a_project_once() {
    let project = Sandbox::without_project();
    let ran = project.ok(&["plan", "Write it @src", "--as", "alice"]);
    assert!(ran.err.contains("is set up") && ran.out.contains("pln#1"), "{ran:?}");
    let ran = project.ok(&["plan", "Test it", "--as", "alice"]);
    assert!(!ran.err.contains("is set up"), "{ran:?}");
}

/// Among the commands that people see, each of these words is there once.
#[test]
fn plan_assign_and_decision_are_each_one_command() {
    let project = Sandbox::new();
    let mut words: Vec<String> = Vec::new();
    let listed = |args: &[&str]| {
        let help = project.ok(&[args, &["--help"]].concat()).out;
        let lines = help.lines().filter(|line| line.starts_with("  ")).map(str::trim);
        let names = lines.filter_map(|line| line.split_whitespace().next());
        names.map(str::to_owned).collect::<Vec<String>>()
    };
    let top = listed(&[]);
    for family in ["task", "memory", "workspace", "coordinator", "checkpoint"] {
        words.extend(listed(&[family]));
    }
    words.extend(top);
    for word in ["plan", "assign"] {
        assert_eq!(words.iter().filter(|own| *own == word).count(), 1, "{word}: {words:?}");
    }
    assert!(!words.iter().any(|own| own == "decision"), "{words:?}");
    // The old spelling works all the same.
    project.ok(&["coordinator", "start", "--as", "lead"]);
    std::fs::write(project.path().join("p.toml"), "[[tasks]]\nkey = 'a'\n").unwrap();
    project.ok(&["task", "plan", "p.toml", "--as", "lead"]);
    project.ok(&["plan", "--file", "p.toml", "--as", "lead"]);
}
