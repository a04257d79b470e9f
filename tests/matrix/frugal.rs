//! The frugal dialect: its six tools, and its programs for messages, facts and names.

use super::agent::{Presence, shown};
use super::scene::having;
use super::task::{State, Task};
use super::{Dialect, Scene, Words, agent, claim, message, record, task};
use serde_json::{Value, json};

const NAME: &str = "frugal";

pub(super) const DIALECT: Dialect = Dialect {
    name: NAME,
    door: "mcp_frugal",
    claim: Words {
        act: Ok(claim::Act {
            hold: |scene, who, path| {
                scene.call(NAME, who, "make_claim", json!({ "surfaces": [path], "task": "T" }));
            },
        }),
        see: Ok(claim::See { holders, refused: claim_refused }),
    },
    task: Words {
        act: Err("the frugal protocol plans no tasks: it names them in claims and briefs"),
        see: Ok(task::See { shows: task_shows, refused: task_refused }),
    },
    attempt: Words::none(
        "the frugal protocol moves no work: its messages about tasks are checked and passed on",
    ),
    message: Words { act: Ok(message::Act { send }), see: Ok(message::See { waiting, take }) },
    record: Words {
        act: Ok(record::Act { decide, set, fact }),
        see: Ok(record::See { decision, fact, set, forget }),
    },
    agent: Words {
        act: Ok(agent::Act {
            join: |host, place| {
                host.call("make_claim", json!({ "surfaces": [place], "task": "T" }))
            },
        }),
        see: Ok(agent::See {
            presence,
            join: |host, place| {
                host.call("make_claim", json!({ "surfaces": [place], "task": "T" }))
            },
        }),
    },
};

fn claims(scene: &mut Scene, who: &str) -> Vec<Value> {
    let read = scene.call(NAME, who, "read_claims", json!({}));
    read["active_claims"].as_array().unwrap().clone()
}

fn holders(scene: &mut Scene, who: &str, path: &str) -> Vec<String> {
    let mut held = claims(scene, who);
    held.retain(|own| own["claimed_surfaces"] == json!([path]));
    held.iter().map(|own| own["haid"].as_str().unwrap().to_owned()).collect()
}

fn claim_refused(scene: &mut Scene, who: &str, path: &str) -> String {
    let claim = json!({ "surfaces": [path], "task": "T" });
    let error = scene.refused(NAME, who, "make_claim", claim);
    assert_eq!(error["kind"], "collision", "{error}");
    error["message"].to_string()
}

/// A task that is worked on is listed with the claim on its files; one that is not is not named.
fn task_shows(scene: &mut Scene, who: &str, task: &Task, state: State) {
    let held = claims(scene, who);
    let is_named = |own: &Value| {
        let of = own["task_ref"].as_str().unwrap();
        of.split(' ').next() == Some(&task.plan)
    };
    assert_eq!(held.iter().any(is_named), state == State::Taken, "{state:?}: {held:?}");
}

fn task_refused(scene: &mut Scene, who: &str, task: &Task, holder: &str) {
    let claim = json!({ "surfaces": [task.path], "task": task.plan });
    let error = scene.refused(NAME, who, "make_claim", claim);
    assert!(error["message"].as_str().unwrap().contains(holder), "{error}");
}

fn send(scene: &mut Scene, who: &str, to: &str, words: &str) {
    let asked = json!({ "type": "question", "from": who, "msg_id": "q1", "question": words });
    let text = scene.heimdall_ok(who, "heimdall-validate", &["--to", to], &asked.to_string());
    assert!(text.contains("is in the inbox of"), "{text}");
}

/// Hosts are told of mail with any answer, each connection once.
fn waiting(scene: &mut Scene, who: &str) -> String {
    scene.glance(NAME, who, "read_claims", json!({}))["mail"].to_string()
}

/// The dialect has no word for taking a message out of an inbox. Its hosts do it in the shell.
fn take(scene: &mut Scene, who: &str) -> String {
    scene.project.ok(&["inbox", "--take", "--as", who]).out
}

fn decide(scene: &mut Scene, who: &str, words: &str) {
    let decision = json!({ "title": words, "body": "For everybody." });
    scene.call(NAME, who, "append_decision", decision);
}

fn decision(scene: &mut Scene, who: &str, words: &str, _: &str) -> bool {
    let read = scene.call(NAME, who, "read_capsules", json!({}));
    let decided = having(&read["records"], "source", "decision");
    decided.iter().any(|own| own["body"].as_str().unwrap().contains(words))
}

fn set(scene: &mut Scene, who: &str, key: &str, value: &str) {
    scene.heimdall_ok(who, "heimdall-blackboard", &["set", key, value], "");
}

fn fact(scene: &mut Scene, who: &str, key: &str) -> Option<String> {
    let ran = scene.heimdall(who, "heimdall-blackboard", &["get", key], "");
    (ran.code == Some(0)).then(|| ran.out.trim_end().to_owned())
}

fn forget(scene: &mut Scene, who: &str, key: &str) {
    scene.heimdall_ok(who, "heimdall-blackboard", &["del", key], "");
}

fn presence(scene: &mut Scene, who: &str, agent: &str) -> Option<Presence> {
    let listed = scene.heimdall_ok(who, "heimdall-haid", &["list", "--json"], "");
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let own = listed.get(shown(agent))?;
    Some(if own["status"] == "stale" { Presence::Gone } else { Presence::Here })
}
