//! Queries along the tree, visibility, rights, causes and dependencies, each independent of the
//! others.

use crate::run::{Run, blob, payload, second_person, workspace_of};
use crate::support::user;
use althing_kernel::query::{Answer, Query, answer_to};
use althing_kernel::{AgentName, Principal, Reply, WorkspaceId};
use serde_json::{Value, json};

impl Run {
    /// The values of one field of what a question finds.
    fn found(&self, question: &str, args: &Value, field: &str) -> Vec<String> {
        let list = self.world.ask(question, &args.to_string());
        let list = list.as_array().unwrap_or_else(|| panic!("{question} {args}: {list}"));
        list.iter().map(|item| item[field].as_str().unwrap().to_owned()).collect()
    }

    fn workspaces(&self, args: &Value) -> Vec<String> {
        self.found("workspace.list", args, "workspace")
    }
}

fn ids(list: &[&WorkspaceId]) -> Vec<String> {
    list.iter().map(ToString::to_string).collect()
}

/// A delegate with two workers below it, and a worker beside it that another person caused.
fn family() -> (Run, [WorkspaceId; 4]) {
    let mut run = Run::new();
    let bob = second_person(&mut run.world, "bob");
    let top = json!({ "agent": "w1", "delegate": true, "owner": "ada" });
    let top = run.create(&Run::lead(), top);
    let left = run.create(&Run::lead(), json!({ "agent": "w2", "parent": top }));
    let right = json!({ "agent": "w3", "parent": top, "owner": "bob" });
    let right = run.create(&Run::lead(), right);
    let args = json!({ "agent": "w2", "role": "worker", "directive": payload(1) });
    let own = workspace_of(run.ok(&bob, "workspace.create", args)).workspace;
    (run, [top, left, right, own])
}

/// Shows W-TREE-11, W-TOPO-02.
#[test]
fn the_tree_is_walked_up_down_sideways_and_by_who_is_behind_it() {
    let (run, [top, left, right, own]) = family();
    let root = run.root.clone();
    assert_eq!(run.workspaces(&json!({ "above": left })), ids(&[&root, &top]), "up to the root");
    assert_eq!(run.workspaces(&json!({ "above": root })), ids(&[]));
    assert_eq!(run.workspaces(&json!({ "below": top })), ids(&[&left, &right]));
    let leaves = json!({ "below": root, "leaves": true });
    assert_eq!(run.workspaces(&leaves), ids(&[&left, &right, &own]), "down to the leaves");
    assert_eq!(run.workspaces(&json!({ "beside": left })), ids(&[&right]));
    assert_eq!(run.workspaces(&json!({ "beside": top })), ids(&[&own]));
    assert_eq!(run.workspaces(&json!({ "beside": root })), ids(&[]), "nothing is beside a root");
    assert_eq!(run.workspaces(&json!({ "originator": "bob" })), ids(&[&own]), "what bob caused");
    assert_eq!(run.workspaces(&json!({ "originator": "system" })).len(), 4);
    assert_eq!(
        run.workspaces(&json!({ "owner": "ada", "below": root })),
        ids(&[&top, &left, &own]),
        "inherited"
    );
    assert_eq!(run.workspaces(&json!({ "owner": "bob", "below": top })), ids(&[&right]));
    assert_eq!(run.workspaces(&json!({ "role": "coordinator" })), ids(&[&root]));
}

/// Shows W-VIS-05, W-TOPO-02.
#[test]
fn one_can_ask_what_is_seen_and_by_whom_and_nobody_is_told() {
    let (mut run, [top, left, right, own]) = family();
    let shown = json!({ "agent": "watcher", "role": "observer", "visibility": [left] });
    let watch = run.create(&Run::lead(), shown);
    let before = run.count();
    let sight = |run: &Run, question: &str, id: &WorkspaceId| {
        let list = run.world.ask(question, &json!({ "workspace": id }).to_string());
        let list = list.as_array().unwrap().clone();
        let pair = |item: &Value| (item["workspace"].clone(), item["because"].clone());
        list.iter().map(pair).collect::<Vec<_>>()
    };
    let text = |list: &[(&WorkspaceId, &str)]| -> Vec<(Value, Value)> {
        list.iter().map(|(id, why)| (json!(id), json!(why))).collect()
    };
    let root = run.root.clone();
    assert_eq!(
        sight(&run, "workspace.sees", &top),
        text(&[(&top, "itself"), (&left, "below"), (&right, "below")])
    );
    assert_eq!(
        sight(&run, "workspace.sees", &watch),
        text(&[(&left, "shown"), (&watch, "itself")])
    );
    assert_eq!(
        sight(&run, "workspace.seen_by", &left),
        text(&[(&root, "below"), (&top, "below"), (&left, "itself"), (&watch, "shown")])
    );
    assert_eq!(sight(&run, "workspace.seen_by", &own), text(&[(&root, "below"), (&own, "itself")]));
    assert_eq!(run.count(), before, "asking leaves nothing behind");
    // An agent that asks by name finds its own, and not who watches it.
    let w3 = Principal::Agent(AgentName::new("w3").unwrap());
    let ask = |question: &str, id: &WorkspaceId| {
        let args = json!({ "workspace": id }).to_string();
        let query = Query::read(question, &args).unwrap().unwrap();
        answer_to(&run.world.state, run.world.now, &query, Some(&w3))
    };
    let Answer::Sight(found) = ask("workspace.seen_by", &right) else { panic!() };
    assert_eq!(found.len(), 1);
    assert!(matches!(ask("workspace.sees", &left), Answer::Missing(_)));
}

/// Shows W-PORT-10, W-TOPO-02.
#[test]
fn rights_lead_out_and_in_and_may_go_in_circles() {
    let (mut run, [top, left, right, own]) = family();
    // A circle that has nothing to do with the tree.
    for (holder, target) in [(&left, &right), (&right, &own), (&own, &left)] {
        run.ok(&Run::lead(), "right.grant", json!({ "holder": holder, "target": target }));
    }
    let ends = |run: &Run, args: Value, end: &str| {
        let mut list = run.found("right.list", &args, end);
        list.sort();
        list
    };
    let sorted = |list: &[&WorkspaceId]| {
        let mut list = ids(list);
        list.sort();
        list
    };
    assert_eq!(ends(&run, json!({ "from": left }), "target"), sorted(&[&left, &top, &right]));
    assert_eq!(ends(&run, json!({ "to": left }), "holder"), sorted(&[&left, &top, &own]));
    assert_eq!(ends(&run, json!({ "from": own, "to": left }), "target"), sorted(&[&left]));
    assert_eq!(ends(&run, json!({ "from": left, "to": own }), "target"), sorted(&[]));
    let both = run.found("right.list", &json!({ "workspace": left }), "right");
    assert_eq!(both.len(), 5, "its inbox, two out, two in");
    let all = run.found("right.list", &json!({}), "right");
    assert_eq!(all.len(), run.world.state.rights().count());
}

/// Shows W-TOPO-01.
#[test]
fn tree_tasks_sight_rights_and_causes_do_not_follow_from_each_other() {
    let (mut run, [_, left, right, own]) = family();
    // Sight without a right to write, and a right to write without sight.
    let shown = json!({ "agent": "watcher", "role": "worker", "visibility": [own] });
    let watch = run.create(&Run::lead(), shown);
    assert!(run.found("workspace.sees", &json!({ "workspace": watch }), "workspace").len() == 2);
    assert!(run.right(&watch, &own).is_none());
    run.ok(&Run::lead(), "right.grant", json!({ "holder": left, "target": own }));
    let seen = run.found("workspace.sees", &json!({ "workspace": left }), "workspace");
    assert_eq!(seen, ids(&[&left]), "whoever may write to it does not see it");
    // Another person's cause is no wall: bob caused one of the two, nobody the other.
    assert_ne!(run.view(&left).originator, run.view(&own).originator);
    // A task that waits for another is worked on beside it, or above it, or anywhere.
    let task = |key: &str, on: &[&str]| json!({ "key": key, "name": key, "description": blob(1), "depends_on": on });
    let plan = json!({ "tasks": [task("a", &[]), task("b", &["a"])] });
    let Reply::Graph(graph) = run.ok(&Run::lead(), "task.graph", plan) else { panic!() };
    run.ok(&Run::lead(), "task.approve", json!({ "graph": graph.graph }));
    let below = json!({ "task": graph.tasks["a"], "agent": "w1", "parent": right });
    let first = workspace_of(run.ok(&Run::lead(), "task.assign", below)).workspace;
    run.signal("w1", &first, "started");
    run.checkpoint("w1", &first, "artifact", &["a"]);
    run.signal("w1", &first, "complete");
    let decide = json!({ "workspace": first, "decision": "accept" });
    run.ok(&Run::lead(), "integration.decide", decide);
    let beside = json!({ "task": graph.tasks["b"], "agent": "w2" });
    let second = workspace_of(run.ok(&Run::lead(), "task.assign", beside)).workspace;
    assert_eq!(run.view(&second).parent.as_ref(), Some(&run.root));
    assert_eq!(run.view(&first).parent.as_ref(), Some(&right));
    let seen = run.found("workspace.sees", &json!({ "workspace": second }), "workspace");
    assert_eq!(seen, ids(&[&second]), "to need something is not to see it");
}

/// Shows W-TOPO-02.
#[test]
fn what_a_task_needs_is_followed_to_the_end_both_ways() {
    let mut run = Run::new();
    let task = |key: &str, on: &[&str]| json!({ "key": key, "name": key, "description": blob(1), "depends_on": on });
    // A diamond, planned back to front, and something that has nothing to do with it.
    let plan = json!({ "tasks": [task("d", &["b", "c"]), task("c", &["a"]), task("b", &["a"]),
        task("a", &[]), task("e", &["d"]), task("x", &[])] });
    let Reply::Graph(graph) = run.ok(&Run::lead(), "task.graph", plan) else { panic!() };
    let names = |key: &str, all: bool, dependents: bool| {
        let args = json!({ "task": graph.tasks[key], "all": all, "dependents": dependents });
        run.found("task.deps", &args, "name")
    };
    assert_eq!(names("e", false, false), ["d"]);
    assert_eq!(names("e", true, false), ["a", "c", "b", "d"], "what comes first, first");
    assert_eq!(names("a", false, true), ["c", "b"]);
    assert_eq!(names("a", true, true), ["c", "b", "d", "e"]);
    assert!(names("a", true, false).is_empty() && names("x", true, true).is_empty());
}

/// Shows W-TASK-18.
#[test]
fn the_coordinator_may_hand_results_on_and_the_runtime_does_not() {
    let mut run = Run::new();
    let task = |key: &str| json!({ "key": key, "name": key, "description": blob(1) });
    let plan = json!({ "tasks": [task("a"), task("b")] });
    let Reply::Graph(graph) = run.ok(&Run::lead(), "task.graph", plan) else { panic!() };
    run.ok(&Run::lead(), "task.approve", json!({ "graph": graph.graph }));
    let assign = |key: &str| json!({ "task": graph.tasks[key], "agent": "w1" });
    let bare = workspace_of(run.ok(&Run::lead(), "task.assign", assign("a")));
    assert_eq!(bare.context, None, "nothing that was not given");
    let mut with = assign("b");
    with["context"] = blob(9);
    let given = workspace_of(run.ok(&user("ada"), "task.assign", with));
    assert_eq!(json!({ "blob": given.context }), blob(9));
}
