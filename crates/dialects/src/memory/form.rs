//! Descriptions of accepted values, for error messages that callers can act on. They are made from
//! the schema, so they match what is accepted.

use althing_engine::screen::repeated;
use serde_json::Value;

/// The accepted values in words.
pub fn words(schema: &Value) -> String {
    let choices = choices(schema);
    if !choices.is_empty() {
        return format!("one of {}", choices.join(", "));
    }
    let schema = given(schema);
    match sort(schema) {
        "string" => "a text".to_owned(),
        "boolean" => "true or false".to_owned(),
        "integer" => match (schema["minimum"].as_u64(), schema["maximum"].as_u64()) {
            (Some(least), Some(most)) => format!("a whole number from {least} to {most}"),
            (Some(least @ 1..), None) => format!("a whole number from {least} on"),
            _ => "a whole number".to_owned(),
        },
        "number" => "a number".to_owned(),
        "array" => match sort(given(&schema["items"])) {
            "string" if choices_of(&schema["items"]).is_empty() => "a list of texts".to_owned(),
            "" if choices_of(&schema["items"]).is_empty() => "a list".to_owned(),
            _ => format!("a list, each {}", words(&schema["items"])),
        },
        "object" => object(schema),
        _ => "something else".to_owned(),
    }
}

/// Whether a value is of the accepted type, as far as the schema says. Some callers send booleans
/// as strings.
pub fn fits(schema: &Value, value: &Value) -> bool {
    let choices = choices(schema);
    if !choices.is_empty() {
        return value.as_str().is_some_and(|word| choices.contains(&word));
    }
    let schema = given(schema);
    match sort(schema) {
        "string" => value.is_string(),
        "boolean" => value.is_boolean() || matches!(value.as_str(), Some("true" | "false")),
        "integer" => value.as_u64().is_some_and(|own| {
            schema["minimum"].as_u64().is_none_or(|least| least <= own)
                && schema["maximum"].as_u64().is_none_or(|most| own <= most)
        }),
        "number" => value.is_number(),
        "array" => {
            let each = |list: &Vec<Value>| list.iter().all(|one| fits(&schema["items"], one));
            value.as_array().is_some_and(each)
        }
        "object" => match &schema["additionalProperties"] {
            each @ Value::Object(_) => {
                value.as_object().is_some_and(|own| own.values().all(|one| fits(each, one)))
            }
            _ => value.is_object(),
        },
        _ => true,
    }
}

/// The words of a closed set; empty for other schemas.
pub fn choices(schema: &Value) -> Vec<&str> {
    choices_of(given(schema))
}

fn choices_of(schema: &Value) -> Vec<&str> {
    if let Some(list) = schema["enum"].as_array() {
        return list.iter().filter_map(Value::as_str).collect();
    }
    let each = schema["oneOf"].as_array();
    let each = each.into_iter().flatten();
    each.flat_map(|one| match one["const"].as_str() {
        Some(word) => vec![word],
        None => choices_of(one),
    })
    .collect()
}

/// The schema of a value without its null alternative.
fn given(schema: &Value) -> &Value {
    let each = schema["anyOf"].as_array();
    each.and_then(|each| each.iter().find(|one| one["type"] != "null")).unwrap_or(schema)
}

fn sort(schema: &Value) -> &str {
    match &schema["type"] {
        Value::String(sort) => sort,
        Value::Array(sorts) => {
            sorts.iter().filter_map(Value::as_str).find(|sort| *sort != "null").unwrap_or_default()
        }
        _ => "",
    }
}

fn object(schema: &Value) -> String {
    let properties = schema["properties"].as_object();
    let say = |(name, own): (&String, &Value)| match choices(own).as_slice() {
        [] => name.clone(),
        words => format!("{name} ({})", words.join(", ")),
    };
    let names: Vec<String> = properties.into_iter().flatten().map(say).collect();
    match &schema["additionalProperties"] {
        each @ Value::Object(_) => format!("an object, each value {}", words(each)),
        _ if names.is_empty() => "an object".to_owned(),
        _ => format!("an object with {}", names.join(", ")),
    }
}

/// A parse error. The JSON parser names Rust types, which mean nothing to a caller, so only the
/// offending word is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// A message of Althing itself, to be shown as it is.
    Ours(String),
    /// An unknown, missing or repeated word.
    Word(&'static str, String),
    /// A value of another type.
    Sort,
}

impl ParseError {
    /// Classifies an error message of the JSON parser.
    pub fn read(error: &str) -> Self {
        let error = error.split(" at line ").next().unwrap_or(error);
        let quoted = || error.split('`').nth(1).unwrap_or_default().to_owned();
        for (begins, what) in [
            ("unknown variant", "is not one of them"),
            ("unknown field", "is not one of them"),
            ("missing field", "is missing"),
            ("duplicate field", "is given twice"),
        ] {
            if error.starts_with(begins) {
                return ParseError::Word(what, quoted());
            }
        }
        let is_theirs = ["invalid type", "invalid value", "invalid length", "data did not match"]
            .iter()
            .any(|begins| error.starts_with(begins));
        if is_theirs { ParseError::Sort } else { ParseError::Ours(error.to_owned()) }
    }

    /// A sentence about an argument with this name and these accepted values.
    pub fn about(&self, name: &str, takes: &str) -> String {
        match self {
            ParseError::Ours(message) => format!("'{name}': {message}"),
            ParseError::Word(what, word) => {
                format!("'{name}' must be {takes}; '{}' {what}", repeated(word))
            }
            ParseError::Sort => format!("'{name}' must be {takes}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn accepted_values_are_described() {
        let word = json!({ "oneOf": [{ "const": "low" }, { "const": "high" }] });
        for (schema, message) in [
            (json!({ "type": "string" }), "a text"),
            (json!({ "type": ["boolean", "null"] }), "true or false"),
            (json!({ "anyOf": [{ "type": "integer" }, { "type": "null" }] }), "a whole number"),
            (json!({ "type": "string", "enum": ["a", "b"] }), "one of a, b"),
            (json!({ "anyOf": [word, { "type": "null" }] }), "one of low, high"),
            (json!({ "type": "array", "items": { "type": "string" } }), "a list of texts"),
            (
                json!({ "type": "array", "items": { "type": "object", "properties": { "a": word } } }),
                "a list, each an object with a (low, high)",
            ),
            (json!({ "type": "object" }), "an object"),
        ] {
            assert_eq!(words(&schema), message, "{schema}");
        }
    }

    #[test]
    fn values_match_the_schema_or_not() {
        let texts = json!({ "type": "array", "items": { "type": "string" } });
        assert!(fits(&texts, &json!(["a"])) && !fits(&texts, &json!(["a", 1])));
        assert!(!fits(&texts, &json!("a")));
        let word = json!({ "enum": ["execute", "consult"] });
        assert!(fits(&word, &json!("execute")) && !fits(&word, &json!("exec")));
        let whole = json!({ "type": "integer" });
        assert!(fits(&whole, &json!(1)) && !fits(&whole, &json!(-1)) && !fits(&whole, &json!(1.5)));
        let few = json!({ "type": "integer", "minimum": 1, "maximum": 500 });
        assert!(fits(&few, &json!(500)) && !fits(&few, &json!(0)) && !fits(&few, &json!(501)));
        assert_eq!(words(&few), "a whole number from 1 to 500");
        assert!(fits(&json!({}), &json!({ "anything": 1 })));
    }

    #[test]
    fn rust_types_are_left_out_of_errors() {
        for (error, message) in [
            ("invalid type: integer `5`, expected struct Place", "'x' must be a text"),
            (
                "unknown variant `huge`, expected `low`",
                "'x' must be a text; 'huge' is not one of them",
            ),
            ("missing field `text` at line 1 column 2", "'x' must be a text; 'text' is missing"),
            ("a name has no blanks", "'x': a name has no blanks"),
        ] {
            assert_eq!(ParseError::read(error).about("x", "a text"), message);
        }
    }
}
