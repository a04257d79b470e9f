//! Fields of an entry by name, and tests on them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Longest path of a field, in bytes.
const FIELD_BYTES_MAX: usize = 200;

/// A field of an entry: `to_state` or `resource_usage.cost` in its body, or a JSON pointer from
/// the entry itself, as in `/body/to_state`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Field {
    pointer: String,
}

impl Field {
    /// The value in an entry.
    pub fn of<'v>(&self, entry: &'v Value) -> Option<&'v Value> {
        entry.pointer(&self.pointer).filter(|value| !value.is_null())
    }
}

impl std::fmt::Display for Field {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.pointer.strip_prefix("/body/") {
            Some(name) if !name.contains(['.', '~']) => f.pad(&name.replace('/', ".")),
            _ => f.pad(&self.pointer),
        }
    }
}

/// Error for text that names no field.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} names no field: write `to_state`, `resource_usage.cost` or `/body/to_state`")]
pub struct FieldError(String);

impl std::str::FromStr for Field {
    type Err = FieldError;

    fn from_str(text: &str) -> Result<Self, FieldError> {
        let sound = !text.is_empty()
            && text.len() <= FIELD_BYTES_MAX
            && !text.chars().any(|c| c.is_control() || c.is_whitespace());
        let (pointer, whole) = if let Some(parts) = text.strip_prefix('/') {
            (text.to_owned(), parts.split('/').all(|part| !part.is_empty()))
        } else {
            let plain = |part: &str| !part.is_empty() && !part.contains(['/', '~']);
            (format!("/body/{}", text.replace('.', "/")), text.split('.').all(plain))
        };
        if sound && whole {
            Ok(Field { pointer })
        } else {
            Err(FieldError(text.chars().take(80).collect()))
        }
    }
}

impl Serialize for Field {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Field {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Field {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Field".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "maxLength": FIELD_BYTES_MAX })
    }
}

/// Condition on a field. Without a value or a bound the field must exist.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FieldTest {
    /// The field: `to_state`, `resource_usage.cost`, or a pointer such as `/body/to_state`.
    pub field: Field,
    /// Equal to this value; for a list, one of its items.
    #[serde(default)]
    pub is: Option<Value>,
    /// A number of at least this.
    #[serde(default)]
    pub at_least: Option<i64>,
    /// A number of at most this.
    #[serde(default)]
    pub at_most: Option<i64>,
}

impl FieldTest {
    /// Whether an entry meets the condition.
    pub fn holds(&self, entry: &Value) -> bool {
        let Some(found) = self.field.of(entry) else { return false };
        let same = |wanted: &Value| match found {
            Value::Array(items) if !wanted.is_array() => items.contains(wanted),
            other => other == wanted,
        };
        let bounded = match (self.at_least, self.at_most) {
            (None, None) => true,
            (least, most) => found.as_i64().is_some_and(|number| {
                least.is_none_or(|least| number >= least) && most.is_none_or(|most| number <= most)
            }),
        };
        bounded && self.is.as_ref().is_none_or(same)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn test(value: Value) -> FieldTest {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_field_is_named_in_two_ways() {
        for (text, shown) in
            [("to_state", "to_state"), ("a.b", "a.b"), ("/body/a/b", "a.b"), ("/seq", "/seq")]
        {
            assert_eq!(text.parse::<Field>().unwrap().to_string(), shown);
        }
        for bad in ["", "a b", "a..b", ".a", "a/b", "/", "//", "/a//b", "a\n"] {
            assert!(bad.parse::<Field>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_field_is_tested_by_value_by_range_and_by_being_there() {
        let entry = json!({ "seq": 7, "body": { "n": 5, "s": "5", "l": ["a", 2], "x": null } });
        for (asked, holds) in [
            (json!({ "field": "n", "is": 5 }), true),
            (json!({ "field": "s", "is": 5 }), false),
            (json!({ "field": "l", "is": "a" }), true),
            (json!({ "field": "l", "is": "b" }), false),
            (json!({ "field": "l", "is": ["a", 2] }), true),
            (json!({ "field": "n", "at_least": 5, "at_most": 5 }), true),
            (json!({ "field": "n", "at_least": 6 }), false),
            (json!({ "field": "s", "at_least": 0 }), false),
            (json!({ "field": "/seq", "at_most": 7 }), true),
            (json!({ "field": "n" }), true),
            (json!({ "field": "x" }), false),
            (json!({ "field": "y.z" }), false),
        ] {
            assert_eq!(test(asked.clone()).holds(&entry), holds, "{asked}");
        }
    }
}
