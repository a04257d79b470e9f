//! Tasks: planned in graphs, bound to workspaces, following them, tried again.

use crate::run::{Run, blob, workspace_of};
use crate::support::{agent, user};
use althing_kernel::task::view::TaskView;
use althing_kernel::task::{STEPS, Status};
use althing_kernel::workspace::{self, Trigger};
use althing_kernel::{Event, GraphId, Kind, Reply, TaskId, WorkspaceId};
use serde_json::{Value, json};
use std::collections::BTreeMap;

fn task(key: &str, depends_on: &[&str]) -> Value {
    json!({ "key": key, "name": format!("do {key}"), "description": blob(1),
        "depends_on": depends_on })
}

type Planned = (GraphId, BTreeMap<String, TaskId>);

fn plan(run: &mut Run, tasks: &[Value]) -> Planned {
    match run.ok(&Run::lead(), "task.graph", json!({ "tasks": tasks })) {
        Reply::Graph(graph) => (graph.graph, graph.tasks),
        other => panic!("{other:?}"),
    }
}

fn planned_and_approved(run: &mut Run, tasks: &[Value]) -> Planned {
    let planned = plan(run, tasks);
    run.ok(&Run::lead(), "task.approve", json!({ "graph": planned.0 }));
    planned
}

fn view(run: &Run, id: &TaskId) -> TaskView {
    use althing_kernel::query::{Answer, Query, answer};
    let query = Query::read("task.get", &json!({ "task": id }).to_string()).unwrap().unwrap();
    match answer(&run.world.state, run.world.now, &query) {
        Answer::Task(view) => *view,
        other => panic!("{other:?}"),
    }
}

fn ready(run: &Run) -> Vec<TaskId> {
    let list = run.world.ask("task.ready", "{}");
    let ids = list.as_array().unwrap().iter().map(|task| task["task"].as_str().unwrap());
    ids.map(|id| TaskId::new(id).unwrap()).collect()
}

fn assign(run: &mut Run, id: &TaskId, who: &str) -> WorkspaceId {
    let args = json!({ "task": id, "agent": who });
    workspace_of(run.ok(&Run::lead(), "task.assign", args)).workspace
}

/// A workspace that works on a task until it says it is done.
fn complete(run: &mut Run, id: &TaskId, who: &str) -> WorkspaceId {
    let at = assign(run, id, who);
    run.signal(who, &at, "started");
    run.checkpoint(who, &at, "artifact", &["a"]);
    run.signal(who, &at, "complete");
    at
}

fn integrate(run: &mut Run, at: &WorkspaceId, decision: &str) {
    run.ok(&Run::lead(), "integration.decide", json!({ "workspace": at, "decision": decision }));
}

/// Shows W-TASK-01, W-TASK-02, W-TASK-04.
#[test]
fn a_plan_becomes_a_graph_of_drafts() {
    let mut run = Run::new();
    let before = run.count();
    let mut second = task("b", &["a"]);
    second["priority"] = json!("urgent");
    second["parent"] = json!("a");
    second["estimate"] = json!({ "tokens": 1, "wall_time_s": 60, "cost": 0 });
    let (graph, ids) = plan(&mut run, &[second, task("a", &[]), task("alone", &[])]);
    let kinds = run.kinds_since(before);
    assert_eq!(kinds[0], Kind::GraphCreated);
    assert!(kinds[1..].iter().all(|kind| *kind == Kind::TaskCreated) && kinds.len() == 4);
    let b = view(&run, &ids["b"]);
    assert_eq!((b.status, b.graph.clone(), b.ready), (Status::Draft, graph.clone(), false));
    assert_eq!((b.depends_on, b.parent_task), (vec![ids["a"].clone()], Some(ids["a"].clone())));
    let graphs = run.world.ask("task.graphs", "{}");
    assert_eq!(graphs[0]["root_task"], json!(ids["b"]), "the first one given");
    let more = json!({ "graph": graph, "name": "late", "description": blob(2),
        "depends_on": [ids["b"], ids["b"]] });
    let Reply::Task(late) = run.ok(&Run::lead(), "task.add", more) else { panic!() };
    assert_eq!(late.depends_on, [ids["b"].clone()], "to wait twice is to wait once");
    assert_eq!(run.world.ask("task.graphs", "{}")[0]["tasks"].as_array().unwrap().len(), 4);
}

/// Shows W-TASK-03, W-TASK-15.
#[test]
fn a_plan_without_sense_is_refused_as_a_whole() {
    let mut run = Run::new();
    let lead = Run::lead();
    let mut timeless = task("a", &[]);
    timeless["estimate"] = json!({ "tokens": 0, "wall_time_s": 0, "cost": 0 });
    let mut part_of_itself = task("a", &[]);
    part_of_itself["parent"] = json!("a");
    for (tasks, part) in [
        (vec![task("a", &["a"])], "a"),
        (vec![task("a", &["b"]), task("b", &["c"]), task("c", &["a"])], "a, b, c"),
        (vec![task("a", &["ghost"])], "ghost"),
        (vec![task("a", &[]), task("a", &[])], "twice"),
        (vec![], "1 to"),
        (vec![timeless], "above 0 seconds"),
        (vec![part_of_itself], "wait for each other"),
    ] {
        let refusal = run.refused(&lead, "task.graph", json!({ "tasks": tasks }), "W-TASK-03");
        assert!(refusal.message.contains(part), "{}", refusal.message);
    }
    assert_eq!(run.world.state.tasks().count(), 0, "nothing half-done");
    let (one, ids) = plan(&mut run, &[task("a", &[])]);
    let (_, others) = plan(&mut run, &[task("x", &[])]);
    let add = |deps: Value| json!({ "graph": one, "name": "n", "description": blob(1), "depends_on": deps });
    run.refused(&lead, "task.add", add(json!([others["x"]])), "W-TASK-03");
    run.refused(&lead, "task.add", add(json!(["ghost"])), "W-ID-07");
    run.refused(&agent("w1"), "task.add", add(json!([ids["a"]])), "W-ROLE-04");
    run.refused(&agent("w1"), "task.graph", json!({ "tasks": [task("a", &[])] }), "W-ROLE-04");
}

/// Shows W-TASK-05, W-TASK-06, W-TASK-07, W-TASK-08, W-TASK-09, W-TASK-16, W-SIG-12.
#[test]
fn a_task_follows_its_workspace_from_draft_to_integrated() {
    let mut run = Run::new();
    let tasks = [task("a", &[]), task("b", &["a"]), task("c", &["a", "b"])];
    let (_, ids) = plan(&mut run, &tasks);
    let (a, b) = (&ids["a"], &ids["b"]);
    let lead = Run::lead();
    run.refused(&lead, "task.assign", json!({ "task": a, "agent": "w1" }), "W-TASK-05");
    run.ok(&lead, "task.approve", json!({ "tasks": [a, b] }));
    assert_eq!(ready(&run), std::slice::from_ref(a));
    let refusal =
        run.refused(&lead, "task.assign", json!({ "task": b, "agent": "w1" }), "W-TASK-07");
    assert!(refusal.message.contains(a.as_str()), "it says what it waits for");
    let at = assign(&mut run, a, "w1");
    assert_eq!(view(&run, a).status, Status::Assigned);
    run.refused(&lead, "task.assign", json!({ "task": a, "agent": "w2" }), "W-TASK-05");
    run.signal("w1", &at, "started");
    assert_eq!(view(&run, a).status, Status::InProgress);
    run.ok(&lead, "workspace.suspend", json!({ "workspace": at }));
    assert_eq!(view(&run, a).status, Status::InProgress, "a pause is the workspace's affair");
    run.ok(&lead, "workspace.resume", json!({ "workspace": at }));
    run.signal("w1", &at, "blocked");
    assert_eq!(view(&run, a).status, Status::InProgress);
    run.signal("w1", &at, "started");
    run.checkpoint("w1", &at, "artifact", &["a"]);
    run.signal("w1", &at, "complete");
    let done = view(&run, a);
    assert_eq!(done.status, Status::Completed);
    assert_eq!(done.checkpoint, run.view(&at).latest_final, "what it ended in");
    assert_eq!(ready(&run), std::slice::from_ref(b), "what depends on it may begin");
    integrate(&mut run, &at, "accept");
    assert_eq!(view(&run, a).status, Status::Integrated);
    assert_eq!(ready(&run), std::slice::from_ref(b));
}

/// Shows W-CP-13, W-TASK-05.
#[test]
fn done_without_having_said_started_counts_as_both() {
    let mut run = Run::new();
    let (_, ids) = planned_and_approved(&mut run, &[task("a", &[])]);
    let at = assign(&mut run, &ids["a"], "w1");
    run.signal("w1", &at, "ready");
    let before = run.count();
    run.signal("w1", &at, "complete");
    let steps: Vec<_> = run.world.entries[before..]
        .iter()
        .filter_map(|entry| match &entry.draft.event {
            Event::TaskStatusChanged(body) => Some((body.from_status, body.to_status)),
            _ => None,
        })
        .collect();
    let expected =
        [(Status::Assigned, Status::InProgress), (Status::InProgress, Status::Completed)];
    assert_eq!(steps, expected);
    assert_eq!(view(&run, &ids["a"]).checkpoint, None);
}

/// Shows W-TASK-10, W-TASK-11, W-TASK-12, W-TASK-17, W-INT-12.
#[test]
fn a_failed_attempt_is_kept_and_the_task_can_be_tried_again() {
    let mut run = Run::new();
    let (_, ids) = planned_and_approved(&mut run, &[task("a", &[])]);
    let a = &ids["a"];
    let lead = Run::lead();
    run.refused(&lead, "task.retry", json!({ "task": a }), "W-TASK-05");
    let mut attempts = Vec::new();
    for (number, end) in ["abort", "failed", "revise", "reject"].into_iter().enumerate() {
        let at = match end {
            "revise" | "reject" => {
                let at = complete(&mut run, a, "w1");
                integrate(&mut run, &at, end);
                at
            }
            "failed" => {
                let at = assign(&mut run, a, "w1");
                run.signal("w1", &at, "failed");
                at
            }
            _ => {
                let at = assign(&mut run, a, "w1");
                run.ok(&lead, "workspace.abort", json!({ "workspace": at }));
                at
            }
        };
        let failed = view(&run, a);
        assert_eq!(
            (failed.status, failed.workspace.as_ref()),
            (Status::Failed, Some(&at)),
            "{end}"
        );
        attempts.push(at);
        assert_eq!(failed.history, attempts, "in order");
        let shown = run.world.entries.iter().rev().find_map(|entry| match &entry.draft.event {
            Event::TaskFailed(body) => Some((body.attempt_number, body.failure_reason)),
            _ => None,
        });
        assert_eq!(shown.unwrap().0, u32::try_from(number).unwrap() + 1);
        run.ok(&lead, "task.retry", json!({ "task": a }));
        let again = view(&run, a);
        assert_eq!((again.status, again.workspace), (Status::Pending, None));
    }
    let at = complete(&mut run, a, "w2");
    integrate(&mut run, &at, "accept");
    assert_eq!(view(&run, a).history.len(), 5);
    run.refused(&lead, "task.retry", json!({ "task": a }), "W-TASK-05");
}

/// Shows W-TASK-13, W-TASK-07.
#[test]
fn a_cancelled_task_ends_its_workspace_and_leaves_what_depends_on_it_alone() {
    let mut run = Run::new();
    let (_, ids) = planned_and_approved(&mut run, &[task("a", &[]), task("b", &["a"])]);
    let at = assign(&mut run, &ids["a"], "w1");
    run.ok(&user("ada"), "task.cancel", json!({ "task": ids["a"], "reason": "r" }));
    assert_eq!(view(&run, &ids["a"]).status, Status::Cancelled);
    assert_eq!(run.view(&at).ended, Some(Trigger::AbortedByHuman));
    assert_eq!(view(&run, &ids["b"]).status, Status::Pending, "nobody cancels it by itself");
    assert!(ready(&run).is_empty(), "but it can never begin");
    run.refused(&Run::lead(), "task.cancel", json!({ "task": ids["a"] }), "W-TASK-05");
    // Giving up what was done takes back that others may begin.
    let (_, ids) = planned_and_approved(&mut run, &[task("a", &[]), task("b", &["a"])]);
    complete(&mut run, &ids["a"], "w1");
    assert_eq!(ready(&run), [ids["b"].clone()]);
    run.ok(&Run::lead(), "task.cancel", json!({ "task": ids["a"] }));
    assert!(ready(&run).is_empty());
}

/// Shows W-TASK-05.
#[test]
fn a_task_takes_the_steps_of_its_table_and_no_others() {
    use Status as S;
    use althing_kernel::task::follow::StatusChanged;
    let allowed = [
        (S::Draft, S::Pending),
        (S::Draft, S::Cancelled),
        (S::Pending, S::Assigned),
        (S::Pending, S::Cancelled),
        (S::Assigned, S::InProgress),
        (S::Assigned, S::Failed),
        (S::Assigned, S::Cancelled),
        (S::InProgress, S::Completed),
        (S::InProgress, S::Failed),
        (S::InProgress, S::Cancelled),
        (S::Completed, S::Integrated),
        (S::Completed, S::Failed),
        (S::Completed, S::Cancelled),
        (S::Failed, S::Pending),
        (S::Failed, S::Cancelled),
    ];
    assert_eq!((Status::ALL.len(), STEPS.len()), (8, allowed.len()));
    for from in Status::ALL {
        let mut run = Run::new();
        let (_, ids) = plan(&mut run, &[task("a", &[])]);
        let a = ids["a"].clone();
        bring(&mut run, &a, *from);
        for to in Status::ALL {
            let mut entry = run.world.last().clone();
            entry.at = run.world.now.after(althing_kernel::Span::from_secs(1));
            entry.draft.event = Event::TaskStatusChanged(StatusChanged {
                from_status: *from,
                task_id: a.clone(),
                to_status: *to,
                workspace_id: None,
            });
            let applied = run.world.state.clone().apply(&entry).is_ok();
            assert_eq!(applied, allowed.contains(&(*from, *to)), "{from} -> {to}");
        }
    }
}

/// Brings a draft into a state.
fn bring(run: &mut Run, id: &TaskId, to: Status) {
    let lead = Run::lead();
    if matches!(to, Status::Draft | Status::Cancelled) {
        if to == Status::Cancelled {
            run.ok(&lead, "task.cancel", json!({ "task": id }));
        }
        return;
    }
    run.ok(&lead, "task.approve", json!({ "tasks": [id] }));
    match to {
        Status::Pending | Status::Draft | Status::Cancelled => {}
        Status::Assigned => drop(assign(run, id, "w1")),
        Status::InProgress => {
            let at = assign(run, id, "w1");
            run.signal("w1", &at, "started");
        }
        Status::Completed => drop(complete(run, id, "w1")),
        Status::Failed => {
            let at = assign(run, id, "w1");
            run.signal("w1", &at, "failed");
        }
        Status::Integrated => {
            let at = complete(run, id, "w1");
            integrate(run, &at, "accept");
        }
    }
    assert_eq!(view(run, id).status, to);
}

/// Shows W-SIG-12, W-TASK-05, W-WS-05.
#[test]
fn a_task_starts_with_the_first_started_even_after_a_block() {
    let mut run = Run::new();
    let (_, ids) = planned_and_approved(&mut run, &[task("a", &[])]);
    let at = assign(&mut run, &ids["a"], "w1");
    let directive = run.view(&at).directive.unwrap();
    let envelope = run.world.state.envelope(&directive).unwrap();
    assert_eq!(envelope.payload.content, view(&run, &ids["a"]).description, "the description");
    assert_eq!(envelope.task.as_ref(), Some(&ids["a"]));
    run.signal("w1", &at, "ready");
    run.signal("w1", &at, "blocked");
    assert_eq!(view(&run, &ids["a"]).status, Status::Assigned);
    run.signal("w1", &at, "started");
    assert_eq!(view(&run, &ids["a"]).status, Status::InProgress);
}

#[test]
fn nothing_becomes_of_the_tasks_of_a_run_that_is_over() {
    let mut run = Run::new();
    let (graph, ids) = planned_and_approved(&mut run, &[task("a", &[]), task("b", &[])]);
    let at = assign(&mut run, &ids["b"], "w1");
    run.signal("w1", &at, "failed");
    run.ok(&user("ada"), "run.end", json!({ "force": true }));
    run.ok(&user("ada"), "run.start", json!({ "agent": "lead" }));
    assert!(ready(&run).is_empty());
    assert_eq!(run.world.ask("task.list", "{}"), json!([]), "the list is of the newest run");
    assert_eq!(run.world.ask("task.list", r#"{"all":true}"#).as_array().unwrap().len(), 2);
    let lead = Run::lead();
    run.refused(&lead, "task.retry", json!({ "task": ids["b"] }), "W-TASK-05");
    run.refused(&lead, "task.cancel", json!({ "task": ids["a"] }), "W-TASK-05");
    run.refused(&lead, "task.assign", json!({ "task": ids["a"], "agent": "w1" }), "W-TASK-05");
    let late = json!({ "graph": graph, "name": "n", "description": blob(1) });
    run.refused(&lead, "task.add", late, "W-TASK-03");
}

#[test]
fn urgent_tasks_come_first_and_pass_their_urgency_on() {
    let mut run = Run::new();
    let mut urgent = task("u", &[]);
    urgent["priority"] = json!("urgent");
    let (_, ids) = planned_and_approved(&mut run, &[task("n", &[]), urgent]);
    assert_eq!(ready(&run), [ids["u"].clone(), ids["n"].clone()]);
    let at = assign(&mut run, &ids["u"], "w1");
    assert_eq!(run.view(&at).priority, workspace::Priority::Critical);
    assert_eq!(run.view(&at).task, Some(ids["u"].clone()));
}

/// Shows W-TASK-14, W-TASK-03.
#[test]
fn parts_of_a_task_are_tasks_of_their_own_in_the_same_graph() {
    let mut run = Run::new();
    let lead = Run::lead();
    let (graph, tasks) = planned_and_approved(&mut run, &[task("whole", &[]), task("else", &[])]);
    let (whole, other) = (tasks["whole"].clone(), tasks["else"].clone());
    let (elsewhere, _) = plan(&mut run, &[task("x", &[])]);
    let add = |run: &mut Run, graph: &GraphId, parent: &TaskId, depends_on: &[&TaskId]| {
        let args = json!({ "graph": graph, "name": "part", "description": blob(1),
            "parent_task": parent, "depends_on": depends_on });
        run.do_(&Run::lead(), "task.add", args).map(|reply| match reply {
            Reply::Task(view) => view.task,
            other => panic!("{other:?}"),
        })
    };
    assert_eq!(add(&mut run, &elsewhere, &whole, &[]).unwrap_err().rule.id(), "W-TASK-03");
    // As deep as one likes, and whatever it depends on.
    let mut above = whole.clone();
    let mut parts = Vec::new();
    for _ in 0..40 {
        let part = add(&mut run, &graph, &above, &[]).unwrap();
        assert_eq!(view(&run, &part).parent_task.as_ref(), Some(&above));
        assert_eq!(view(&run, &part).graph, graph);
        above = part.clone();
        parts.push(part);
    }
    let dependent = add(&mut run, &graph, &whole, &[&other]).unwrap();
    assert!(view(&run, &whole).depends_on.is_empty(), "a part is nothing one depends on");
    // Each begins as a draft and is approved by itself.
    assert!(parts.iter().all(|part| view(&run, part).status == Status::Draft));
    run.ok(&lead, "task.approve", json!({ "tasks": [parts[0], dependent] }));
    assert_eq!(view(&run, &parts[0]).status, Status::Pending);
    assert_eq!(view(&run, &parts[1]).status, Status::Draft, "this one was not meant");
    assert!(ready(&run).contains(&parts[0]) && !ready(&run).contains(&dependent));
    // A part that is done completes nothing but itself.
    let at = complete(&mut run, &parts[0], "w1");
    run.ok(&lead, "integration.decide", json!({ "workspace": at, "decision": "accept" }));
    assert_eq!(view(&run, &parts[0]).status, Status::Integrated);
    assert_eq!(view(&run, &whole).status, Status::Pending);
    run.ok(&lead, "task.cancel", json!({ "task": whole }));
    assert_eq!(view(&run, &parts[1]).status, Status::Draft, "nor does it end with the whole");
}
