//! The steps that records take, through the door, against a table that is written down here: it says
//! what the protocol says, not what the kernel does.

use super::writing::least;
use super::{agent, create, get, refused};
use crate::mcp::Host;
use crate::support::Sandbox;
use althing_kernel::records::Kind;
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};

/// Each kind with its states, the first of which it begins in, and where each leads to.
type Steps = &'static [(&'static str, &'static str)];

const TABLE: &[(&str, Steps)] = &[
    ("constraint", &[("active", "resolved expired"), ("resolved", ""), ("expired", "")]),
    ("trap", &[("active", "resolved expired"), ("resolved", ""), ("expired", "")]),
    (
        "decision",
        &[
            ("pending", "approved rejected deferred"),
            ("deferred", "approved rejected"),
            ("approved", ""),
            ("rejected", ""),
        ],
    ),
    (
        "plan",
        &[
            ("open", "in_progress blocked done cancelled"),
            ("in_progress", "blocked done cancelled"),
            ("blocked", "in_progress cancelled"),
            ("done", ""),
            ("cancelled", ""),
        ],
    ),
    ("handoff", &[("open", "accepted closed"), ("accepted", "closed"), ("closed", "")]),
    (
        "candidate",
        &[
            ("proposed", "accepted rejected merged"),
            ("accepted", ""),
            ("rejected", ""),
            ("merged", ""),
        ],
    ),
    (
        "assignment",
        &[
            ("offered", "accepted failed expired rerouted cancelled"),
            ("created", "offered rerouted cancelled"),
            ("accepted", "started timed_out rerouted cancelled"),
            ("started", "completed failed blocked timed_out rerouted cancelled"),
            ("blocked", "started failed rerouted cancelled"),
            ("failed", "retrying rerouted cancelled"),
            ("timed_out", "retrying rerouted cancelled"),
            ("retrying", "offered rerouted cancelled"),
            ("expired", "completed"),
            ("completed", ""),
            ("rerouted", ""),
            ("cancelled", ""),
        ],
    ),
    ("message", &[("open", "acknowledged closed"), ("acknowledged", "closed"), ("closed", "")]),
    (
        "sequence",
        &[
            ("active", "paused done cancelled"),
            ("paused", "active cancelled"),
            ("done", ""),
            ("cancelled", ""),
        ],
    ),
    (
        "loop",
        &[
            ("open", "paused blocked completed cancelled"),
            ("paused", "open blocked completed cancelled"),
            ("blocked", "open completed cancelled"),
            ("completed", ""),
            ("cancelled", ""),
        ],
    ),
];

/// The shortest way from where a record begins to each state.
fn transitions(steps: Steps) -> BTreeMap<&'static str, Vec<&'static str>> {
    let first = steps[0].0;
    let mut known = BTreeMap::from([(first, Vec::new())]);
    let mut queue = VecDeque::from([first]);
    while let Some(at) = queue.pop_front() {
        let (_, next) = steps.iter().find(|(from, _)| *from == at).unwrap();
        for to in next.split(' ').filter(|to| !to.is_empty()) {
            if !known.contains_key(to) {
                known.insert(to, [known[at].clone(), vec![to]].concat());
                queue.push_back(to);
            }
        }
    }
    known
}

fn step(kind: &str, id: &str, to: &str) -> Value {
    let mut args = json!({ "entity": kind, "id": id, "to": to });
    if to == "merged" {
        args["merged_into"] = "trp#1".into();
    }
    if to == "rerouted" {
        args["to_agent"] = "alice".into();
    }
    args
}

/// A new record that was led to a state. An assignment may begin as created, where nothing leads.
fn led(host: &mut Host, kind: &str, state: &str, transition: Option<&Vec<&str>>) -> String {
    let own = Kind::ALL.iter().find(|own| own.as_str() == kind).unwrap();
    let mut data = least(*own);
    if transition.is_none() {
        data["status"] = state.into();
    }
    let id = create(host, kind, data);
    for to in transition.into_iter().flatten() {
        host.done("bclaw_transition", step(kind, &id, to));
    }
    id
}

/// Case 42. Case 43. Case 44. Every pair of states of every kind: what the table has is done and told,
/// what it has not is refused and changes nothing.
#[test]
fn records_take_the_steps_of_the_table_and_no_others() {
    let project = Sandbox::new();
    let mut host = agent(&project, "alice");
    create(&mut host, "trap", json!({ "text": "to merge into" }));
    create(&mut host, "plan", json!({ "text": "for the sequence" }));
    let stored: Vec<&str> = Kind::ALL
        .iter()
        .filter(|kind| kind.written_with().is_none())
        .map(|kind| kind.as_str())
        .collect();
    assert_eq!(stored.len(), TABLE.len());
    for (kind, steps) in TABLE {
        assert!(stored.contains(kind), "{kind}");
        let transitions = transitions(steps);
        for (from, allowed) in *steps {
            let allowed: Vec<&str> = allowed.split(' ').filter(|to| !to.is_empty()).collect();
            let transition = transitions.get(from);
            let id = led(&mut host, kind, from, transition);
            let before = get(&mut host, kind, &id);
            assert_eq!(before["status"], *from, "{before}");
            for (to, _) in steps.iter().filter(|(to, _)| !allowed.contains(to)) {
                if *kind == "assignment" && to == from {
                    // SignalContent it again is a sign of life, and no step.
                    let same = json!({ "entity": kind, "id": id, "to": to });
                    let same = host.done("bclaw_transition", same);
                    assert_eq!((&same["from"], &same["to"]), (&json!(from), &json!(to)));
                    assert_eq!(same["changed"], false, "{same}");
                    continue;
                }
                let (_, error) = host.failed("bclaw_transition", step(kind, &id, to));
                assert_eq!(error["kind"], "operation_error", "{kind} {from} {to}: {error}");
                let message = error["message"].as_str().unwrap();
                assert!(message.contains(from) && message.contains(to), "{message}");
                let shown: Vec<&str> = error["details"]["allowed"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(Value::as_str)
                    .collect();
                assert_eq!(shown.len(), allowed.len(), "{kind} {from}: {error}");
                assert!(shown.iter().all(|to| allowed.contains(to)), "{kind} {from}: {error}");
            }
            let mut after = get(&mut host, kind, &id);
            if let Some(heard) = before.get("last_heartbeat_at") {
                after["last_heartbeat_at"] = heard.clone();
            }
            assert_eq!(after, before, "{kind} {from}");
            for to in &allowed {
                let id = led(&mut host, kind, from, transition);
                let moved = host.done("bclaw_transition", step(kind, &id, to));
                assert_eq!(moved["from"], *from, "{kind} {to}: {moved}");
                assert_eq!(
                    (&moved["to"], &moved["changed"]),
                    (&json!(to), &json!(true)),
                    "{moved}"
                );
                assert!(moved["side_effects"].is_array(), "{moved}");
                assert_eq!(get(&mut host, kind, &id)["status"], *to, "{kind} {from}");
            }
        }
    }
    let both = json!({ "entity": "plan", "id": "pln#1", "to": "done", "status": "open" });
    refused(&mut host, "bclaw_transition", both, "validation_error", &["'to'", "'status'"]);
    let none = json!({ "entity": "plan", "id": "pln#1" });
    refused(&mut host, "bclaw_transition", none, "validation_error", &["in_progress", "done"]);
    project.ok(&["trail", "verify"]);
}

/// Case 42. Case 43. Case 44, of claims: they are given back, and end by time alone otherwise.
#[test]
fn claims_are_given_back_once_and_expire_by_themselves() {
    let project = Sandbox::new();
    let mut host = agent(&project, "alice");
    let claim = |scope: &str, ttl: &str| json!({ "scope": scope, "ttl": ttl });
    let open = create(&mut host, "claim", claim("a", "1h"));
    let over = create(&mut host, "claim", claim("b", "1s"));
    for to in ["expired", "open"] {
        let args = json!({ "entity": "claim", "id": open, "to": to });
        let result = host.call("bclaw_transition", args);
        let error = &result["structuredContent"];
        let unchanged = to == "open" && error["changed"] == false;
        assert!(unchanged || result["isError"] == true, "{to}: {result}");
        assert_eq!(get(&mut host, "claim", &open)["status"], "open");
    }
    let given = host.done("bclaw_transition", step("claim", &open, "released"));
    assert_eq!((&given["from"], &given["to"]), (&json!("open"), &json!("released")));
    std::thread::sleep(std::time::Duration::from_millis(1_200));
    for (id, state) in [(&open, "released"), (&over, "expired")] {
        assert_eq!(get(&mut host, "claim", id)["status"], state);
        let (_, error) = host.failed("bclaw_transition", step("claim", id, "open"));
        assert!(error["message"].as_str().unwrap().contains(state), "{error}");
        let again = host.done("bclaw_transition", step("claim", id, "released"));
        assert_eq!(again["changed"], false, "giving back what is over is no mistake: {again}");
        assert_eq!(get(&mut host, "claim", id)["status"], state);
    }
    let (_, error) = host.failed("bclaw_transition", step("claim", &open, "expired"));
    assert_eq!(error["kind"], "operation_error", "{error}");
}
