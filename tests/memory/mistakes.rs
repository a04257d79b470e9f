//! Errors about arguments name the argument or the field in plain words, never a type of this program.
//! Every verb gets wrong values of every sort.

use super::{agent, create, refused};
use crate::mcp::Host;
use crate::support::Sandbox;
use serde_json::{Value, json};

/// Words that only those know who know how this program is made.
const LEAKS: &str = "expected struct|expected one of|struct|enum|variant|invalid type|u32|u64|usize|\
                     column|a sequence,|untagged|missing field|something else";

const FIELDS: &str = "text tags steps priority severity visibility category type contract review slots \
                      items artifacts agent to assignee plan_id claim_id depends_on expires_at \
                      estimated_effort related_paths supersedes provenance status requires_ack \
                      max_retries scope ttl diff nonsense";

/// Arguments that are understood without standing in the schemas.
const UNLISTED: &str = "project agent agentId request_id client_request_id ttl messageId contextTarget \
                        maxChars matching includePending status to_agent forced purge";

fn odd() -> [Value; 7] {
    let [inner, outer] = [json!({ "x": [1] }), json!([{ "y": 1 }])];
    [json!(7), json!(-1.5), json!(true), inner, outer, json!("\u{0}"), json!([[]])]
}

/// Somebody who makes mistakes, and what was said of them that should not be.
struct Clumsy {
    host: Host,
    tried: usize,
    wrong: Vec<String>,
}

impl Clumsy {
    fn new(project: &Sandbox) -> Self {
        let mut host = agent(project, "alice");
        create(&mut host, "plan", json!({ "text": "t", "steps": ["one"] }));
        create(&mut host, "trap", json!({ "text": "t" }));
        create(&mut host, "handoff", json!({ "text": "t" }));
        Clumsy { host, tried: 0, wrong: Vec::new() }
    }

    fn call(&mut self, tool: &str, args: &Value) {
        let result = self.host.call(tool, args.clone());
        self.tried += 1;
        let error = &result["structuredContent"]["error"];
        let Some(message) = error["message"].as_str() else { return };
        if LEAKS.split('|').any(|leak| message.contains(leak)) {
            self.wrong.push(format!("{tool} {args}: {message}"));
        }
    }
}

#[test]
fn fields_of_a_wrong_sort_are_told_in_plain_words() {
    let project = Sandbox::new();
    let mut clumsy = Clumsy::new(&project);
    let kinds = "plan trap constraint handoff candidate assignment sequence loop message decision claim fact \
         symbol capsule";
    for (kind, name) in kinds.split(' ').flat_map(|kind| FIELDS.split(' ').map(move |n| (kind, n)))
    {
        for value in odd() {
            let mut data = json!({ "text": "t" });
            data[name] = value;
            clumsy.call("bclaw_create", &json!({ "entity": kind, "data": data }));
        }
    }
    for (kind, id) in [("plan", "pln#1"), ("trap", "trp#1"), ("handoff", "hnd#1")] {
        for name in FIELDS.split(' ') {
            for value in odd().into_iter().chain([json!("x".repeat(70_000))]) {
                let patch = json!({ name: value });
                clumsy.call("bclaw_update", &json!({ "entity": kind, "id": id, "patch": patch }));
            }
        }
    }
    assert!(clumsy.tried > 2_000, "{}", clumsy.tried);
    assert_eq!(clumsy.wrong, Vec::<String>::new());
    for (data, words) in [
        (json!({ "steps": [{ "text": "a", "state": "done" }] }), ["'steps'", "'state'"]),
        (json!({ "steps": [{ "status": "done" }] }), ["'steps'", "'text' is missing"]),
        (json!({ "priority": "huge" }), ["'priority'", "low, medium, high, urgent"]),
        (json!({ "assignee": { "name": "x" } }), ["'assignee'", "a text"]),
    ] {
        let mut data = data;
        data["text"] = "t".into();
        let args = json!({ "entity": "plan", "data": data });
        refused(&mut clumsy.host, "bclaw_create", args, "validation_error", &words);
    }
}

#[test]
fn arguments_of_a_wrong_sort_are_told_in_plain_words() {
    let project = Sandbox::new();
    let mut clumsy = Clumsy::new(&project);
    let given = json!({
        "entity": "plan", "id": "pln#1", "data": { "text": "t" }, "patch": { "text": "t" },
        "to": "nowhere", "intent": "list", "kind": "delta", "since": "1", "planId": "pln#1",
        "stepId": "stp_9",
    });
    let tools = clumsy.host.ask("tools/list", json!({}))["result"]["tools"].clone();
    for tool in tools.as_array().unwrap() {
        let properties = tool["inputSchema"]["properties"].as_object().unwrap();
        let known = given.as_object().unwrap().iter().filter(|own| properties.contains_key(own.0));
        let args: serde_json::Map<String, Value> =
            known.map(|(name, value)| (name.clone(), value.clone())).collect();
        for name in properties.keys().map(String::as_str).chain(UNLISTED.split(' ')) {
            for value in odd() {
                let mut args = Value::Object(args.clone());
                args[name] = value;
                clumsy.call(tool["name"].as_str().unwrap(), &args);
            }
        }
    }
    assert!(clumsy.tried > 700, "{}", clumsy.tried);
    assert_eq!(clumsy.wrong, Vec::<String>::new());
    let host = &mut clumsy.host;
    let part = json!({ "intent": "exec" });
    refused(host, "bclaw_work", part, "validation_error", &["execute, consult"]);
    let number = json!({ "intent": "consult", "messageId": 7 });
    refused(host, "bclaw_work", number, "validation_error", &["'messageId'", "a text"]);
    let list = json!({ "intent": "consult", "task": "t", "targetAgents": "bob" });
    refused(
        host,
        "bclaw_coordinate",
        list,
        "validation_error",
        &["'targetAgents'", "list of texts"],
    );
    host.done("bclaw_work", json!({ "intent": "execute", "scope": "src", "advisory": "true" }));
}
