//! WACP: runs, their tasks, workspaces and envelopes, as tools. The coordinator of the run plans and
//! assigns; the agents work in the workspaces they are given.

use super::agent::Presence;
use super::attempt::{self, Stage};
use super::scene::having;
use super::task::{State, Task};
use super::{Dialect, Scene, Words, agent, claim, message, task};
use serde_json::{Value, json};

const NAME: &str = "wacp";

pub(super) const DIALECT: Dialect = Dialect {
    name: NAME,
    door: "mcp_wacp",
    claim: Words {
        act: Ok(claim::Act { hold }),
        see: Ok(claim::See { holders, refused: claim_refused }),
    },
    task: Words {
        act: Ok(task::Act { plan, take, finish }),
        see: Ok(task::See { shows: task_shows, refused: task_refused }),
    },
    attempt: Words {
        act: Ok(attempt::Act { begin: take, shows: attempt_shows }),
        see: Ok(attempt::See { shows: attempt_shows, refused: attempt_refused, block }),
    },
    message: Words {
        act: Ok(message::Act { send }),
        see: Ok(message::See {
            waiting: |scene, who| scene.call(NAME, who, "wacp_inbox_list", json!({})).to_string(),
            take: |scene, who| scene.call(NAME, who, "wacp_inbox_take", json!({})).to_string(),
        }),
    },
    record: Words::none("WACP keeps no records: what a run knows is in its checkpoints"),
    agent: Words {
        act: Ok(agent::Act { join: |host, _| host.call("wacp_inbox_take", json!({})) }),
        see: Ok(agent::See { presence, join: |host, _| host.call("wacp_inbox_take", json!({})) }),
    },
};

/// The authority of a workspace is what its agent holds.
fn hold(scene: &mut Scene, who: &str, path: &str) {
    let task = Task { plan: plan(scene, who, path), path: path.to_owned() };
    take(scene, who, &task);
}

fn holders(scene: &mut Scene, who: &str, path: &str) -> Vec<String> {
    let listed = scene.call(NAME, who, "wacp_workspace_list", json!({ "live": true }));
    let items = listed["items"].as_array().unwrap().iter();
    let held = items.filter(|own| own["authority"].as_array().unwrap().contains(&json!(path)));
    let mut names: Vec<String> =
        held.map(|own| own["agent"].as_str().unwrap().to_owned()).collect();
    // An agent may be listed as a peer and with its workspace.
    names.dedup();
    names
}

fn claim_refused(scene: &mut Scene, who: &str, path: &str) -> String {
    let task = Task { plan: plan(scene, who, path), path: path.to_owned() };
    let assign = assigned(scene, &task, who);
    let error = scene.order_refused("wacp_task_assign", assign);
    error["message"].to_string()
}

fn plan(scene: &mut Scene, _: &str, path: &str) -> String {
    let task = json!({ "key": "t", "name": path, "description": { "text": "Do it." } });
    let graph = scene.order("wacp_task_graph", json!({ "tasks": [task] }));
    let approved = scene.order("wacp_task_approve", json!({ "tasks": [graph["tasks"]["t"]] }));
    approved["items"][0]["plan"].as_str().unwrap().to_owned()
}

/// A task, as the coordinator has it listed. Others see of a run what it shows them.
#[track_caller]
fn listed(scene: &mut Scene, task: &Task) -> Value {
    let all = scene.order("wacp_task_list", json!({ "all": true }));
    let found = having(&all["items"], "plan", &task.plan).pop();
    found.unwrap_or_else(|| panic!("{} is not listed: {all}", task.plan))
}

/// The arguments with which the coordinator assigns a task.
fn assigned(scene: &mut Scene, task: &Task, to: &str) -> Value {
    let id = listed(scene, task)["task"].clone();
    json!({ "task": id, "agent": to, "authority": [task.path] })
}

fn take(scene: &mut Scene, who: &str, task: &Task) {
    let assign = assigned(scene, task, who);
    let made = scene.order("wacp_task_assign", assign);
    scene.call(NAME, who, "wacp_inbox_take", json!({}));
    signal(scene, who, &made["workspace"], "started");
}

fn signal(scene: &mut Scene, who: &str, workspace: &Value, kind: &str) {
    let signal = json!({ "type": kind, "workspace": workspace, "reason": "So it is." });
    scene.call(NAME, who, "wacp_signal", signal);
}

fn finish(scene: &mut Scene, who: &str, task: &Task) {
    let workspace = listed(scene, task)["workspace"].clone();
    let file = json!({ "path": task.path, "content": { "text": "done\n" } });
    let made = json!({
        "workspace": workspace, "intent": "Do it.", "status": "final", "type": "artifact",
        "files_changed": [file],
    });
    scene.call(NAME, who, "wacp_checkpoint_create", made);
    signal(scene, who, &workspace, "complete");
    let accept = json!({ "workspace": workspace, "decision": "accept", "strategy": "direct" });
    scene.order("wacp_integrate", accept);
}

fn task_shows(scene: &mut Scene, _: &str, task: &Task, state: State) {
    let own = listed(scene, task);
    let status = match own["status"].as_str().unwrap() {
        "draft" | "pending" => State::Open,
        "assigned" | "in_progress" => State::Taken,
        "completed" | "integrated" => State::Done,
        other => panic!("{other}: {own}"),
    };
    assert_eq!(status, state, "{own}");
}

fn task_refused(scene: &mut Scene, who: &str, task: &Task, _: &str) {
    let assign = assigned(scene, task, who);
    let error = scene.order_refused("wacp_task_assign", assign);
    assert!(error["rule"].is_string() && error["kind"] != "usage", "{error}");
}

/// The workspace in which an agent tries a task.
#[track_caller]
fn workspace(scene: &mut Scene, task: &Task, of: &str) -> Value {
    let id = listed(scene, task)["task"].clone();
    let all = scene.order("wacp_workspace_list", json!({ "role": "worker" }));
    let mut own = having(&all["items"], "agent", of);
    own.retain(|own| own["task"] == id);
    own.pop().unwrap_or_else(|| panic!("no workspace of {of} for {id}: {all}"))
}

fn attempt_shows(scene: &mut Scene, _: &str, task: &Task, of: &str, stage: Stage) {
    let own = workspace(scene, task, of);
    let expected = match stage {
        Stage::Working => "active",
        Stage::Blocked => "blocked",
    };
    assert_eq!(own["status"], expected, "{own}");
}

fn attempt_refused(scene: &mut Scene, who: &str, task: &Task, of: &str) {
    let id = workspace(scene, task, of)["workspace"].clone();
    let end = json!({ "type": "failed", "workspace": id, "reason": "Not mine." });
    let error = scene.refused(NAME, who, "wacp_signal", end);
    assert_eq!(error["rule"], "W-WS-02", "{error}");
}

fn block(scene: &mut Scene, of: &str, task: &Task) {
    let id = workspace(scene, task, of)["workspace"].clone();
    signal(scene, of, &id, "blocked");
}

/// A connected agent is a workspace, so an envelope is sent there.
fn send(scene: &mut Scene, who: &str, to: &str, words: &str) {
    scene.call(NAME, to, "wacp_inbox_take", json!({}));
    let peers = scene.call(NAME, who, "wacp_workspace_list", json!({ "role": "peer" }));
    let peer = having(&peers["items"], "agent", to)[0]["workspace"].clone();
    let payload = json!({ "content": { "text": words } });
    let envelope = json!({ "to": peer, "type": "query", "payload": payload });
    scene.call(NAME, who, "wacp_send", envelope);
}

fn presence(scene: &mut Scene, who: &str, agent: &str) -> Option<Presence> {
    let list = json!({ "role": "peer" });
    let peers = scene.glance(NAME, who, "wacp_workspace_list", list);
    let own = having(&peers["items"], "agent", agent).pop()?;
    Some(if own["peer"]["state"] == "gone" { Presence::Gone } else { Presence::Here })
}
