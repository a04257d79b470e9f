//! The memory dialect: its verbs, as tools.

use super::agent::{Presence, shown};
use super::attempt::{self, Stage};
use super::scene::having;
use super::task::{State, Task};
use super::{Dialect, Scene, Words, agent, claim, message, record, task};
use serde_json::{Value, json};

const NAME: &str = "memory";

pub(super) const DIALECT: Dialect = Dialect {
    name: NAME,
    door: "mcp_memory",
    claim: Words {
        act: Ok(claim::Act {
            hold: |scene, who, path| {
                let claim = json!({ "entity": "claim", "data": { "scope": path } });
                scene.call(NAME, who, "bclaw_create", claim);
            },
        }),
        see: Ok(claim::See { holders, refused: claim_refused }),
    },
    task: Words {
        act: Ok(task::Act { plan, take, finish }),
        see: Ok(task::See { shows: task_shows, refused: task_refused }),
    },
    attempt: Words {
        act: Ok(attempt::Act { begin, shows: attempt_shows }),
        see: Ok(attempt::See { shows: attempt_shows, refused: attempt_refused, block }),
    },
    message: Words {
        act: Ok(message::Act {
            send: |scene, who, to, words| {
                let message = json!({ "entity": "message", "data": { "to": to, "text": words } });
                scene.call(NAME, who, "bclaw_create", message);
            },
        }),
        see: Ok(message::See {
            waiting: |scene, who| json!(unread(scene, who)).to_string(),
            take: read,
        }),
    },
    record: Words {
        act: Ok(record::Act { decide, set, fact }),
        see: Ok(record::See { decision, fact, set, forget }),
    },
    agent: Words {
        act: Ok(agent::Act {
            join: |host, _| host.call("bclaw_work", json!({ "intent": "consult" })),
        }),
        see: Ok(agent::See {
            presence,
            join: |host, _| host.call("bclaw_work", json!({ "intent": "consult" })),
        }),
    },
};

/// The records of a kind, newest first.
fn find(scene: &mut Scene, who: &str, entity: &str) -> Value {
    scene.call(NAME, who, "bclaw_find", json!({ "entity": entity }))["items"].clone()
}

/// Moves a record.
fn transition(scene: &mut Scene, who: &str, entity: &str, id: &Value, to: &str) {
    let args = json!({ "entity": entity, "id": id, "to": to, "reason": "So it is." });
    scene.call(NAME, who, "bclaw_transition", args);
}

fn holders(scene: &mut Scene, who: &str, path: &str) -> Vec<String> {
    let claims = find(scene, who, "claim");
    let held = having(&claims, "scope", path);
    held.iter().map(|claim| claim["agent"].as_str().unwrap().to_owned()).collect()
}

fn claim_refused(scene: &mut Scene, who: &str, path: &str) -> String {
    let claim = json!({ "entity": "claim", "data": { "scope": path } });
    let error = scene.refused(NAME, who, "bclaw_create", claim);
    assert_eq!(error["kind"], "claim_conflict", "{error}");
    error["message"].to_string()
}

fn plan(scene: &mut Scene, who: &str, path: &str) -> String {
    let data = json!({ "text": format!("Do {path}"), "scope": path });
    let made = scene.call(NAME, who, "bclaw_create", json!({ "entity": "plan", "data": data }));
    made["id"].as_str().unwrap().to_owned()
}

fn take(scene: &mut Scene, who: &str, task: &Task) {
    let work = json!({ "intent": "execute", "planId": task.plan, "scope": task.path });
    let work = scene.call(NAME, who, "bclaw_work", work);
    assert_eq!(work["claim_status"], "created", "{work}");
    transition(scene, who, "plan", &json!(task.plan), "in_progress");
}

fn finish(scene: &mut Scene, who: &str, task: &Task) {
    transition(scene, who, "plan", &json!(task.plan), "done");
}

fn task_shows(scene: &mut Scene, who: &str, task: &Task, state: State) {
    let plan = json!({ "entity": "plan", "id": task.plan });
    let plan = scene.call(NAME, who, "bclaw_get", plan);
    let expected = match state {
        State::Open => "open",
        State::Taken => "in_progress",
        State::Done => "done",
    };
    assert_eq!(plan["item"]["status"], expected, "{plan}");
}

/// Asks for work on a plan for oneself.
fn assign(task: &Task, to: &str) -> Value {
    json!({
        "intent": "assign", "planId": task.plan, "scope": task.path, "targetAgents": [to],
        "task": "Do it.", "allow_dirty": true,
    })
}

fn task_refused(scene: &mut Scene, who: &str, task: &Task, holder: &str) {
    let error = scene.refused(NAME, who, "bclaw_coordinate", assign(task, who));
    assert!(error.to_string().contains(holder), "{error}");
}

fn begin(scene: &mut Scene, who: &str, task: &Task) {
    let offer = scene.call(NAME, "planner", "bclaw_coordinate", assign(task, who));
    let id = offer["result"]["delivery_plan"][0]["assignment_id"].clone();
    transition(scene, who, "assignment", &id, "accepted");
    transition(scene, who, "assignment", &id, "started");
}

/// The assignment of an agent to a task.
#[track_caller]
fn assignment(scene: &mut Scene, who: &str, task: &Task, of: &str) -> Value {
    let all = find(scene, who, "assignment");
    let mut own = having(&all, "plan_id", &task.plan);
    own.retain(|own| own["agent"] == of);
    own.pop().unwrap_or_else(|| panic!("no assignment of {of} to {}: {all}", task.plan))
}

fn attempt_shows(scene: &mut Scene, who: &str, task: &Task, of: &str, stage: Stage) {
    let own = assignment(scene, who, task, of);
    let expected = match stage {
        Stage::Working => "started",
        Stage::Blocked => "blocked",
    };
    assert_eq!(own["status"], expected, "{own}");
}

fn attempt_refused(scene: &mut Scene, who: &str, task: &Task, of: &str) {
    let id = assignment(scene, who, task, of)["id"].clone();
    let end = json!({ "entity": "assignment", "id": id, "to": "completed" });
    let error = scene.refused(NAME, who, "bclaw_transition", end);
    assert_eq!(error["kind"], "ownership_error", "{error}");
}

fn block(scene: &mut Scene, of: &str, task: &Task) {
    let id = assignment(scene, of, task, of)["id"].clone();
    transition(scene, of, "assignment", &id, "blocked");
}

/// The messages to an agent that it has not read.
fn unread(scene: &mut Scene, who: &str) -> Vec<Value> {
    let mut open = having(&find(scene, who, "message"), "status", "open");
    open.retain(|own| own["to"] == who);
    open
}

fn read(scene: &mut Scene, who: &str) -> String {
    let open = unread(scene, who);
    for own in &open {
        transition(scene, who, "message", &own["id"], "acknowledged");
    }
    json!(open).to_string()
}

fn decide(scene: &mut Scene, who: &str, words: &str) {
    let decision = json!({ "entity": "decision", "data": { "text": words } });
    scene.call(NAME, who, "bclaw_create", decision);
}

fn decision(scene: &mut Scene, who: &str, words: &str, door: &str) -> bool {
    let found = find(scene, who, "decision");
    let is_meant = |own: &Value| {
        let is_said = own["text"].as_str().is_some_and(|text| text.contains(words));
        is_said && own["provenance"]["door"] == door
    };
    found.as_array().unwrap().iter().any(is_meant)
}

fn set(scene: &mut Scene, who: &str, key: &str, value: &str) {
    let fact = json!({ "entity": "fact", "data": { "key": key, "text": value } });
    scene.call(NAME, who, "bclaw_create", fact);
}

fn fact(scene: &mut Scene, who: &str, key: &str) -> Option<String> {
    let found = having(&find(scene, who, "fact"), "key", key);
    assert!(found.len() <= 1, "a key has one fact: {found:?}");
    found.first().map(|own| own["text"].as_str().unwrap().to_owned())
}

fn forget(scene: &mut Scene, who: &str, key: &str) {
    let found = having(&find(scene, who, "fact"), "key", key);
    let remove = json!({ "entity": "fact", "id": found[0]["id"] });
    scene.call(NAME, who, "bclaw_remove", remove);
}

fn presence(scene: &mut Scene, who: &str, agent: &str) -> Option<Presence> {
    let board = scene.glance(NAME, who, "bclaw_context", json!({ "kind": "board" }));
    let line = having(&board["other_agents"], "agent", &shown(agent)).pop()?;
    Some(if line["host"] == "gone" { Presence::Gone } else { Presence::Here })
}
