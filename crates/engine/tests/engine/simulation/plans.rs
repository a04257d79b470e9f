//! Planned and finished work: tasks, files, checkpoints and their merges.

use althing_kernel::task;
use althing_kernel::workspace::Status;
use serde_json::{Value, json};

use super::Harness;
use super::runs::{Asked, blob};
use super::scene::{AGENTS, Scene, agent};

pub(super) fn ask(harness: &mut Harness, scene: &Scene) -> Option<Asked> {
    if !scene.conflicts.is_empty() && harness.random.one_in(4) {
        return resolve(harness, scene);
    }
    match harness.random.below(30) {
        0 | 1 => write(harness, scene),
        2..=11 => checkpoint(harness, scene),
        12..=16 => decide(harness, scene),
        17..=20 => resolve(harness, scene),
        21 | 22 => Some(salvage(harness, scene)),
        _ => tasks(harness, scene),
    }
}

const PATHS: [&str; 5] = ["src/a", "src/b", "src/a", "lib/d", "docs/e"];

fn files(harness: &mut Harness) -> Value {
    let first = *harness.random.pick(&PATHS);
    let mut files = vec![json!({ "path": first, "content": blob(harness) })];
    if harness.random.one_in(4) {
        // Perhaps a duplicate path, which is refused.
        files.push(json!({ "path": *harness.random.pick(&PATHS) }));
    }
    files.into()
}

fn write(harness: &mut Harness, scene: &Scene) -> Option<Asked> {
    let seen = scene.one(harness, &[Status::Active])?;
    let mut args = json!({ "path": *harness.random.pick(&PATHS), "workspace": seen.id });
    if !harness.random.one_in(4) {
        args["content"] = blob(harness);
    }
    Some((seen.worker(), "workspace.write", args))
}

fn checkpoint(harness: &mut Harness, scene: &Scene) -> Option<Asked> {
    let states = if harness.random.one_in(12) { Status::ALL } else { &[Status::Active] };
    let seen = scene.one(harness, states)?;
    let kind = match seen.role.as_str() {
        _ if harness.random.one_in(10) => {
            *harness.random.pick(&["artifact", "observation", "review", "poem"])
        }
        "reviewer" => "review",
        "observer" | "auditor" => "observation",
        _ => "artifact",
    };
    let mut args = json!({
        "workspace": seen.id, "type": kind, "intent": "simulated", "content": blob(harness),
        "files_changed": files(harness),
    });
    args["status"] = if harness.random.one_in(3) { "provisional" } else { "final" }.into();
    if !harness.random.one_in(10) {
        args["parent"] = json!(seen.head);
    }
    if harness.random.one_in(4) {
        args["artifacts"] = json!([{ "name": "thing", "content": blob(harness) }]);
    }
    if harness.random.one_in(30) {
        args["intent"] = " ".into();
    }
    Some((seen.worker(), "checkpoint.create", args))
}

fn decide(harness: &mut Harness, scene: &Scene) -> Option<Asked> {
    let seen = scene.one(harness, &[Status::Integrating])?;
    let boss = seen.parent.as_ref().and_then(|above| scene.get(above));
    let boss = boss.filter(|above| above.delegate && above.agent.is_some());
    let caller = match (boss, harness.random.below(10)) {
        (Some(boss), 0..=3) => boss.worker(),
        (_, 4) => agent(harness.random.below(AGENTS)),
        _ => scene.coordinator(harness),
    };
    let decision = match harness.random.below(12) {
        0 => "revise",
        1 => "reject",
        _ => "accept",
    };
    let mut args = json!({ "workspace": seen.id, "decision": decision });
    match harness.random.below(6) {
        0 => args["strategy"] = "direct".into(),
        1 | 2 => {
            args["strategy"] = "evaluated".into();
            args["merged"] = files(harness);
            if harness.random.one_in(2) {
                let found = |kind: &str| json!({ "type": kind, "description": "simulated" });
                args["conflicts"] =
                    json!([found("semantic_contradiction"), found("constraint_breach")]);
            }
        }
        _ => args["strategy"] = "layered".into(),
    }
    Some((caller, "integration.decide", args))
}

/// Mostly salvage of a failed workspace, of any run; often there is nothing to salvage.
fn salvage(harness: &mut Harness, scene: &Scene) -> Asked {
    let workspace = match scene.wrecks.as_slice() {
        [] => scene.some_id(harness),
        _ if harness.random.one_in(6) => scene.some_id(harness),
        wrecks => harness.random.pick(wrecks).to_string(),
    };
    let mut args = json!({ "workspace": workspace, "merged": files(harness) });
    if harness.random.one_in(2) {
        let found = json!({ "type": "dependency_violation", "description": "simulated" });
        args["conflicts"] = json!([found]);
    }
    (scene.coordinator(harness), "integration.salvage", args)
}

fn resolve(harness: &mut Harness, scene: &Scene) -> Option<Asked> {
    if scene.conflicts.is_empty() {
        return decide(harness, scene);
    }
    let (workspace, conflict) = harness.random.pick(&scene.conflicts).clone();
    let again = harness.random.one_in(6);
    let strategy = match harness.random.below(4) {
        _ if again => "agent_rework",
        0 => "escalate",
        _ => "coordinator_resolve",
    };
    let mut args = json!({
        "workspace": workspace, "conflict": conflict, "strategy": strategy, "resolution": "so be it",
    });
    if harness.random.one_in(3) {
        args["merged"] = files(harness);
    }
    Some((scene.coordinator(harness), "conflict.resolve", args))
}

/// A task in one of these states; if there is none, any.
fn task_in(harness: &mut Harness, scene: &Scene, states: &[task::Status]) -> Option<String> {
    let fit: Vec<_> = scene.tasks.iter().filter(|(_, is, _)| states.contains(is)).collect();
    let any = || scene.tasks.first();
    let (id, ..) = if fit.is_empty() { any()? } else { *harness.random.pick(&fit) };
    Some(id.to_string())
}

/// Now and then a plan that somebody works on outside the run, which the run may take.
fn open_at_work(harness: &mut Harness, scene: &Scene) -> Option<String> {
    let standing = task::Graph::standing();
    let is_open =
        |is: task::Status, graph: &_| is == task::Status::InProgress && *graph == standing;
    let open: Vec<_> = scene.tasks.iter().filter(|(_, is, graph)| is_open(*is, graph)).collect();
    if open.is_empty() || harness.random.one_in(2) {
        return None;
    }
    Some(harness.random.pick(&open).0.to_string())
}

fn tasks(harness: &mut Harness, scene: &Scene) -> Option<Asked> {
    let caller = match harness.random.below(12) {
        0 => agent(harness.random.below(AGENTS)),
        _ => scene.coordinator(harness),
    };
    if harness.random.one_in(4) {
        return Some(remembered(harness, scene));
    }
    if scene.graphs.is_empty() || scene.tasks.len() < 25 && harness.random.one_in(10) {
        return Some((caller, "task.graph", plan(harness)));
    }
    let failed = scene.tasks.iter().any(|(_, is, _)| *is == task::Status::Failed);
    if failed && harness.random.one_in(3) {
        let task = task_in(harness, scene, &[task::Status::Failed])?;
        return Some((caller, "task.retry", json!({ "task": task })));
    }
    Some(match harness.random.below(20) {
        0 => (caller, "task.add", add(harness, scene)),
        1..=6 => {
            let args = match harness.random.below(3) {
                0 => json!({ "graph": harness.random.pick(&scene.graphs) }),
                _ => json!({ "tasks": [task_in(harness, scene, &[task::Status::Draft])?] }),
            };
            (caller, "task.approve", args)
        }
        7..=13 => {
            let task = match open_at_work(harness, scene) {
                Some(open) => open,
                None => task_in(harness, scene, &[task::Status::Pending])?,
            };
            let mut args =
                json!({ "task": task, "agent": format!("agent{}", harness.random.below(AGENTS)) });
            if harness.random.one_in(3) {
                args["owner"] = "bob".into();
            }
            if harness.random.one_in(4) {
                args["timeout_s"] = (1 + harness.random.below(200)).into();
            }
            (caller, "task.assign", args)
        }
        14..=17 => (
            caller,
            "task.retry",
            json!({ "task": task_in(harness, scene, &[task::Status::Failed])? }),
        ),
        _ => {
            let states = [*harness.random.pick(task::Status::ALL)];
            (caller, "task.cancel", json!({ "task": task_in(harness, scene, &states)? }))
        }
    })
}

/// A memory verb on the same tasks: governed ones are left alone.
fn remembered(harness: &mut Harness, scene: &Scene) -> Asked {
    let caller = agent(harness.random.below(AGENTS));
    let some = |harness: &mut Harness| *harness.random.pick(&scene.plans);
    if scene.plans.is_empty() || scene.plans.len() < 30 && harness.random.one_in(4) {
        let is_free = scene.plans.is_empty() || harness.random.one_in(2);
        let depends_on: Vec<_> = if is_free { Vec::new() } else { vec![some(harness)] };
        let fields = json!({ "depends_on": depends_on, "steps": [{ "text": "a" }] });
        return (caller, "memory.create", json!({ "kind": "plan", "text": "p", "fields": fields }));
    }
    let plan = some(harness);
    match harness.random.below(6) {
        0 => (caller, "memory.step", json!({ "plan": plan, "step": "stp_1", "status": "done" })),
        1 => (caller, "memory.update", json!({ "id": plan, "text": "q" })),
        _ => {
            let to = *harness.random.pick(&["in_progress", "blocked", "in_progress", "done"]);
            (caller, "memory.move", json!({ "id": plan, "to": to }))
        }
    }
}

/// Tasks that depend on earlier ones; now and then on later ones too, which is a circle.
fn plan(harness: &mut Harness) -> Value {
    let size = 1 + harness.random.below(8);
    let tasks: Vec<Value> = (0..size)
        .map(|number| {
            let reach = if harness.random.one_in(15) { size } else { number };
            let mut depends_on = Vec::new();
            for _ in 0..harness.random.below(3) {
                if harness.random.one_in(12) {
                    // Perhaps a plan that was made outside a run.
                    depends_on.push(format!("pln#{}", 1 + harness.random.below(9)));
                } else if reach > 0 {
                    depends_on.push(format!("t{}", harness.random.below(reach)));
                }
            }
            json!({
                "key": format!("t{number}"), "name": "task", "description": blob(harness),
                "depends_on": depends_on,
            })
        })
        .collect();
    json!({ "tasks": tasks })
}

fn add(harness: &mut Harness, scene: &Scene) -> Value {
    let graph = harness.random.pick(&scene.graphs).clone();
    let mut args = json!({ "graph": graph, "name": "more", "description": blob(harness) });
    if let Some((before, ..)) = scene.tasks.iter().find(|(_, _, of)| *of == graph) {
        args["parent_task"] = json!(before);
    }
    if !scene.tasks.is_empty() {
        // Perhaps of another graph, which is refused.
        args["depends_on"] = json!([harness.random.pick(&scene.tasks).0]);
    }
    args
}
