//! The published contract: a JSON Schema (draft 07) made from the table of shapes.

use serde_json::{Map, Value, json};

use super::shape::Field;
use super::{COMMON, SHAPES};

/// The name of the contract.
pub const SCHEMA_ID: &str = "https://heimdall/protocol/message-schema-2.0.0.json";

/// The schema.
pub fn schema() -> Value {
    let words: Vec<&str> = SHAPES.iter().map(|(word, _)| *word).collect();
    let mut properties = properties(COMMON);
    properties.insert("type".to_owned(), json!({ "type": "string", "enum": words }));
    let required: Vec<&str> = std::iter::once("type").chain(required(COMMON)).collect();
    let blocks: Vec<Value> = SHAPES.iter().map(|(word, fields)| block(word, fields)).collect();
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": SCHEMA_ID,
        "title": "Messages of the frugal dialect",
        "type": "object",
        "required": required,
        "properties": properties,
        "allOf": blocks,
    })
}

/// The conditions for one type of message.
fn block(word: &str, fields: &[Field]) -> Value {
    json!({
        "if": { "properties": { "type": { "const": word } }, "required": ["type"] },
        "then": {
            "required": required(fields).collect::<Vec<_>>(),
            "properties": properties(fields),
        },
    })
}

fn required(fields: &[Field]) -> impl Iterator<Item = &'static str> {
    fields.iter().filter(|field| field.required).map(|field| field.name)
}

fn properties(fields: &[Field]) -> Map<String, Value> {
    fields.iter().map(|field| (field.name.to_owned(), field.sort.schema())).collect()
}
