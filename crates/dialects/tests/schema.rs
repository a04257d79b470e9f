//! The published schema and the validator agree on every message, and every valid message can be
//! read.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed step is a failed test")]

use althing_dialects::frugal::message::{SHAPES, check, read, schema};
use proptest::prelude::*;
use serde_json::{Value, json};

/// As much of a draft-07 validator as this schema needs. Panics on keywords it does not know, so
/// that none is ignored.
fn holds(schema: &Value, value: &Value) -> bool {
    schema.as_object().unwrap().iter().all(|(word, wanted)| match word.as_str() {
        "$schema" | "$id" | "title" | "then" => true,
        "type" => match wanted {
            Value::Array(any) => any.iter().any(|one| is_type(one.as_str().unwrap(), value)),
            one => is_type(one.as_str().unwrap(), value),
        },
        "enum" => wanted.as_array().unwrap().contains(value),
        "const" => wanted == value,
        "minLength" => value
            .as_str()
            .is_none_or(|text| text.chars().count() as u64 >= wanted.as_u64().unwrap()),
        "required" => value.as_object().is_none_or(|fields| {
            wanted
                .as_array()
                .unwrap()
                .iter()
                .all(|name| fields.contains_key(name.as_str().unwrap()))
        }),
        "properties" => value.as_object().is_none_or(|fields| {
            let own = wanted.as_object().unwrap();
            own.iter()
                .all(|(name, schema)| fields.get(name).is_none_or(|value| holds(schema, value)))
        }),
        "items" => value.as_array().is_none_or(|all| all.iter().all(|value| holds(wanted, value))),
        "allOf" => wanted.as_array().unwrap().iter().all(|schema| holds(schema, value)),
        "if" => !holds(wanted, value) || holds(&schema["then"], value),
        other => panic!("a word this test does not know: {other}"),
    })
}

fn is_type(name: &str, value: &Value) -> bool {
    match name {
        "object" => value.is_object(),
        "string" => value.is_string(),
        "null" => value.is_null(),
        "array" => value.is_array(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        other => panic!("a type this test does not know: {other}"),
    }
}

/// Values that are right for some field and wrong for most.
fn any_value() -> impl Strategy<Value = Value> {
    let words = ["", "x", "pass", "fail", "partial", "info", "blocked", "started", "task_claim"];
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-2.0..2.0f64).prop_map(Value::from),
        Just(json!(1.0)),
        prop::sample::select(words.to_vec()).prop_map(Value::from),
        prop::collection::vec(any::<u8>(), 0..3).prop_map(Value::from),
        Just(json!([1.0, 2])),
        Just(json!([1.5])),
        Just(json!(["a", "b"])),
        Just(json!(["a", 1])),
        Just(json!({ "a": 1 })),
    ]
}

fn any_message() -> impl Strategy<Value = Value> {
    let words: Vec<&str> = SHAPES.iter().map(|(word, _)| *word).chain(["other"]).collect();
    let mut names = vec!["type", "from", "msg_id", "reply_to", "ts", "unknown"];
    names.extend(SHAPES.iter().flat_map(|(_, fields)| fields.iter().map(|field| field.name)));
    let noise = prop::collection::btree_map(prop::sample::select(names), any_value(), 0..4);
    (prop::sample::select(words), 0..10u8, noise).prop_map(|(word, keep, noise)| {
        let mut message = good(word);
        let fields = message.as_object_mut().unwrap();
        if keep == 0 {
            fields.remove("msg_id");
        }
        if keep > 3 {
            fields.extend(noise.into_iter().map(|(name, value)| (name.to_owned(), value)));
        }
        message
    })
}

/// A good message of a type.
fn good(word: &str) -> Value {
    let body = match word {
        "task_claim" => json!({ "task": "3.2" }),
        "task_result" => json!({ "task": "3.2", "status": "pass", "criteria": [1, 2] }),
        "gate_report" => json!({ "gate_id": "g", "status": "fail", "wave": null }),
        "escalation" => json!({ "reason": "r", "severity": "info", "refs": ["F1"] }),
        "question" => json!({ "question": "why?" }),
        "checkpoint" => json!({ "wave": "w1", "state": "in_progress", "capsules": [] }),
        _ => json!({}),
    };
    let mut message = json!({ "type": word, "from": "coder", "msg_id": "m1" });
    message.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
    message
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    #[test]
    fn schema_and_validator_agree(message in any_message()) {
        let faults = check(&message);
        prop_assert_eq!(holds(&schema(), &message), faults.is_empty(), "{} {:?}", message, faults);
        let text = message.to_string();
        prop_assert_eq!(read(text.as_bytes()).is_ok(), faults.is_empty(), "{}", text);
    }

    #[test]
    fn they_agree_on_values_that_are_no_objects(value in any_value()) {
        prop_assert_eq!(holds(&schema(), &value), check(&value).is_empty());
    }
}

#[test]
fn every_type_has_a_valid_message_that_is_read_back() {
    for (word, _) in SHAPES {
        let message = good(word);
        assert_eq!(check(&message), Vec::<String>::new());
        let read = read(message.to_string().as_bytes()).unwrap();
        let mut again = serde_json::to_value(&read).unwrap();
        // Where null is allowed, it means the same as leaving the field out.
        if message.get("wave") == Some(&Value::Null) {
            again["wave"] = Value::Null;
        }
        assert_eq!(again, message);
    }
}

#[test]
fn faults_have_the_documented_texts_and_order() {
    for (message, expected) in [
        (
            json!({}),
            vec![
                "missing required field: type",
                "missing required field: from",
                "missing required field: msg_id",
            ],
        ),
        (
            json!({ "type": "nope", "from": "", "msg_id": 3 }),
            vec![
                "type not in enum: nope",
                "from must be a non-empty string",
                "msg_id must be a non-empty string",
            ],
        ),
        (json!({ "type": null, "from": "a", "msg_id": "m" }), vec!["type not in enum: null"]),
        (
            json!({ "type": "task_result", "from": "a", "msg_id": "m", "status": "done" }),
            vec![
                "task_result: missing required field: task",
                r#"task_result: status not in enum ["pass","fail","partial"]: done"#,
            ],
        ),
        (
            json!({ "type": "task_result", "from": "a", "msg_id": "m", "task": 3, "status": ["pass"],
                 "criteria": ["a"] }),
            vec![
                "task_result: task must be a string",
                r#"task_result: status not in enum ["pass","fail","partial"]: ["pass"]"#,
                "task_result: criteria must be an array of integers",
            ],
        ),
        (
            json!({ "type": "escalation", "from": "a", "msg_id": "m", "reason": "", "severity": "info" }),
            vec!["escalation: reason must be a non-empty string"],
        ),
        (
            json!({ "type": "gate_report", "from": "a", "msg_id": "m", "gate_id": "g",
                 "status": "pass", "wave": 3 }),
            vec!["gate_report: wave must be a string or null"],
        ),
        (json!([1]), vec!["message must be a JSON object"]),
    ] {
        assert_eq!(check(&message), expected, "{message}");
    }
    assert_eq!(read(b"{").unwrap_err(), ["unparseable JSON"]);
    assert_eq!(read(&[b' ', 0xff]).unwrap_err(), ["unparseable JSON"]);
    assert_eq!(read(b"").unwrap_err(), ["unparseable JSON"]);
}
