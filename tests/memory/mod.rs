//! The shared memory, through hosts and through the command line.

mod claims;
mod commits;
mod edges;
mod entry_points;
mod mistakes;
mod people;
mod private;
mod reading;
mod secrets;
mod steps;
mod tasks;
mod typed;
mod writing;

use crate::mcp::Host;
use crate::support::Sandbox;
use serde_json::{Value, json};

/// A host that speaks the memory dialect as an agent of this name.
pub(crate) fn agent(project: &Sandbox, name: &str) -> Host {
    let mut host = Host::silent(project, &["--dialect", "memory", "--as", name]);
    host.introduce("tests", "2025-11-25");
    host
}

/// Creates something and returns its id.
#[expect(clippy::needless_pass_by_value, reason = "callers write it down where they ask")]
#[track_caller]
fn create(host: &mut Host, entity: &str, data: Value) -> String {
    let made = host.done("bclaw_create", json!({ "entity": entity, "data": data }));
    made["id"].as_str().unwrap().to_owned()
}

#[track_caller]
fn get(host: &mut Host, entity: &str, id: &str) -> Value {
    host.done("bclaw_get", json!({ "entity": entity, "id": id }))["item"].clone()
}

#[expect(clippy::needless_pass_by_value, reason = "callers write it down where they ask")]
#[track_caller]
fn find(host: &mut Host, entity: &str, filter: Value) -> Vec<String> {
    let found = host.done("bclaw_find", json!({ "entity": entity, "filter": filter }));
    let label = |item: &Value| item["short_label"].as_str().unwrap().to_owned();
    found["items"].as_array().unwrap().iter().map(label).collect()
}

#[track_caller]
fn transition(host: &mut Host, entity: &str, id: &str, to: &str) -> Value {
    host.done("bclaw_transition", json!({ "entity": entity, "id": id, "to": to }))
}

/// Calls and expects a failure of a kind, whose message has these words.
#[track_caller]
fn refused(host: &mut Host, tool: &str, args: Value, kind: &str, words: &[&str]) -> Value {
    let shown = args.to_string();
    let (_, error) = host.failed(tool, args);
    assert_eq!(error["kind"], kind, "{shown}: {error}");
    let message = error["message"].as_str().unwrap();
    for word in words {
        assert!(message.contains(word), "{shown}: {message} has no {word}");
    }
    error
}

/// Does everything that an answer says can be done next.
#[track_caller]
fn follow(host: &mut Host, answer: &Value) -> usize {
    let next = answer["next_actions"].as_array().cloned().unwrap_or_default();
    assert!(next.len() <= 3, "{answer}");
    for step in &next {
        assert!(step["when"].is_string(), "{step}");
        let result = host.call(step["tool"].as_str().unwrap(), step["args"].clone());
        assert_eq!(result["isError"], false, "{step}: {result}");
    }
    next.len()
}
