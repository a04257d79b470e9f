//! The native vocabulary: the default tools, and the same words on the command line.

use super::agent::{Presence, shown};
use super::attempt::{self, Stage};
use super::scene::having;
use super::task::{State, Task};
use super::{Dialect, Scene, Words, agent, claim, message, record, task};
use serde_json::{Value, json};

const NAME: &str = "native";

pub(super) const DIALECT: Dialect = Dialect {
    name: NAME,
    door: "mcp_native",
    claim: Words {
        act: Ok(claim::Act {
            hold: |scene, who, path| {
                scene.call(NAME, who, "claim", json!({ "paths": [path] }));
            },
        }),
        see: Ok(claim::See { holders, refused: claim_refused }),
    },
    task: Words {
        act: Ok(task::Act { plan, take, finish }),
        see: Ok(task::See { shows: task_shows, refused: task_refused }),
    },
    attempt: Words {
        act: Ok(attempt::Act { begin: take, shows: attempt_shows }),
        see: Ok(attempt::See { shows: attempt_shows, refused: task_refused, block }),
    },
    message: Words {
        act: Ok(message::Act {
            send: |scene, who, to, words| {
                let to = format!("agent:{to}");
                scene.call(NAME, who, "send", json!({ "to": to, "text": words }));
            },
        }),
        see: Ok(message::See {
            waiting: |scene, who| {
                scene.call(NAME, who, "inbox", json!({ "peek": true })).to_string()
            },
            take: |scene, who| scene.call(NAME, who, "inbox", json!({})).to_string(),
        }),
    },
    record: Words {
        act: Ok(record::Act { decide, set, fact }),
        see: Ok(record::See { decision, fact, set, forget }),
    },
    agent: Words {
        act: Ok(agent::Act { join: |host, place| host.call("claim", json!({ "paths": [place] })) }),
        see: Ok(agent::See {
            presence,
            join: |host, place| host.call("claim", json!({ "paths": [place] })),
        }),
    },
};

fn holders(scene: &mut Scene, who: &str, path: &str) -> Vec<String> {
    let status = scene.call(NAME, who, "status", json!({}));
    let others = status["others"].as_array().unwrap().iter().filter_map(Value::as_str);
    let held = others.filter_map(|line| line.split_once(": "));
    held.filter(|(_, files)| *files == path).map(|(name, _)| name.to_owned()).collect()
}

fn claim_refused(scene: &mut Scene, who: &str, path: &str) -> String {
    let error = scene.refused(NAME, who, "claim", json!({ "paths": [path] }));
    assert_eq!(error["rule"], "A-LEASE-01", "{error}");
    error["message"].to_string()
}

fn plan(scene: &mut Scene, who: &str, path: &str) -> String {
    let made = json!({ "text": format!("Do {path}"), "kind": "plan", "paths": [path] });
    let made = scene.call(NAME, who, "remember", made);
    made["tasks"][0]["id"].as_str().unwrap().to_owned()
}

fn take(scene: &mut Scene, who: &str, task: &Task) {
    let taken = scene.call(NAME, who, "next", json!({ "task": task.plan }));
    assert!(taken["what"].as_str().unwrap().contains(&task.path), "{taken}");
}

fn finish(scene: &mut Scene, who: &str, _: &Task) {
    let done = scene.call(NAME, who, "done", json!({}));
    assert_eq!(done["status"], "done", "{done}");
}

/// The line of a task on the board, which lists what is not done.
fn on_board(scene: &Scene, who: &str, task: &Task) -> Option<Value> {
    let board = scene.project.json(&["board", "--as", who]);
    having(&board["active_plans"], "id", &task.plan).pop()
}

fn task_shows(scene: &mut Scene, who: &str, task: &Task, state: State) {
    let status = on_board(scene, who, task).map(|line| line["status"].clone());
    let expected = match state {
        State::Open => Some("open"),
        State::Taken => Some("in_progress"),
        State::Done => None,
    };
    assert_eq!(status, expected.map(Value::from));
}

fn task_refused(scene: &mut Scene, who: &str, task: &Task, holder: &str) {
    let error = scene.refused(NAME, who, "next", json!({ "task": task.plan }));
    assert!(error["message"].as_str().unwrap().contains(holder), "{error}");
}

fn attempt_shows(scene: &mut Scene, who: &str, task: &Task, of: &str, stage: Stage) {
    let line = on_board(scene, who, task);
    let line = line.unwrap_or_else(|| panic!("{} is not on the board", task.plan));
    let expected = match stage {
        Stage::Working => "in_progress",
        Stage::Blocked => "blocked",
    };
    assert_eq!(line["status"], expected, "{line}");
    assert!(line["assignee"] == of || line["by"].to_string().contains(of), "{line}");
}

fn block(scene: &mut Scene, of: &str, _: &Task) {
    scene.call(NAME, of, "blocked", json!({ "reason": "Which one?" }));
}

fn decide(scene: &mut Scene, who: &str, words: &str) {
    scene.call(NAME, who, "remember", json!({ "text": words, "kind": "decision" }));
}

fn decision(scene: &mut Scene, who: &str, words: &str, _: &str) -> bool {
    let found = scene.call(NAME, who, "ask", json!({ "question": words }));
    found["text"].as_str().unwrap().contains(words)
}

fn set(scene: &mut Scene, who: &str, key: &str, value: &str) {
    scene.project.ok(&["fact", "set", key, value, "--as", who]);
}

fn fact(scene: &mut Scene, who: &str, key: &str) -> Option<String> {
    let ran = scene.project.run(&["fact", "get", key, "--as", who]);
    (ran.code == Some(0)).then(|| ran.out.trim_end().to_owned())
}

fn forget(scene: &mut Scene, who: &str, key: &str) {
    scene.project.ok(&["fact", "delete", key, "--as", who]);
}

fn presence(scene: &mut Scene, who: &str, agent: &str) -> Option<Presence> {
    let board = scene.project.json(&["board", "--as", who]);
    let line = having(&board["other_agents"], "agent", &shown(agent)).pop()?;
    Some(if line["host"] == "gone" { Presence::Gone } else { Presence::Here })
}
