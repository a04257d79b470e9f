//! Types of message fields, in a form that the schema and the validator share.

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

/// Type of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// Any text.
    Text,
    /// A text that is not empty.
    NonEmpty,
    /// A text, or null.
    TextOrNull,
    /// A list of texts.
    Texts,
    /// A list of whole numbers.
    Integers,
    /// One of these words.
    OneOf(&'static [&'static str]),
}

/// A field of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// Whether it is required.
    pub required: bool,
    /// Its type.
    pub sort: Sort,
}

/// A Rust type that a field can have.
pub trait Shape {
    /// The corresponding field type.
    const SORT: Sort;
}

impl Shape for String {
    const SORT: Sort = Sort::Text;
}

impl Shape for Vec<String> {
    const SORT: Sort = Sort::Texts;
}

impl Shape for Vec<Number> {
    const SORT: Sort = Sort::Integers;
}

/// A text that is not empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct NonEmpty(String);

impl NonEmpty {
    /// Takes a text unless it is empty.
    pub fn new(text: impl Into<String>) -> Option<Self> {
        let text = text.into();
        (!text.is_empty()).then_some(NonEmpty(text))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for NonEmpty {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        NonEmpty::new(text).ok_or("an empty text")
    }
}

impl From<NonEmpty> for String {
    fn from(text: NonEmpty) -> Self {
        text.0
    }
}

impl Shape for NonEmpty {
    const SORT: Sort = Sort::NonEmpty;
}

/// A text, or an explicit null.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nullable(pub Option<String>);

impl Shape for Nullable {
    const SORT: Sort = Sort::TextOrNull;
}

impl Sort {
    /// The schema of a field of this type.
    pub(super) fn schema(self) -> Value {
        use serde_json::json;
        match self {
            Sort::Text => json!({ "type": "string" }),
            Sort::NonEmpty => json!({ "type": "string", "minLength": 1 }),
            Sort::TextOrNull => json!({ "type": ["string", "null"] }),
            Sort::Texts => json!({ "type": "array", "items": { "type": "string" } }),
            Sort::Integers => json!({ "type": "array", "items": { "type": "integer" } }),
            Sort::OneOf(words) => json!({ "type": "string", "enum": words }),
        }
    }

    /// The fault of a value for this type, if any.
    pub(super) fn fault(self, value: &Value) -> Option<String> {
        let all =
            |fits: fn(&Value) -> bool| value.as_array().is_some_and(|all| all.iter().all(fits));
        let (fits, wanted) = match self {
            Sort::Text => (value.is_string(), "a string"),
            Sort::NonEmpty => {
                (value.as_str().is_some_and(|text| !text.is_empty()), "a non-empty string")
            }
            Sort::TextOrNull => (value.is_string() || value.is_null(), "a string or null"),
            Sort::Texts => (all(Value::is_string), "an array of strings"),
            Sort::Integers => (all(is_integer), "an array of integers"),
            Sort::OneOf(words) => {
                let known = value.as_str().is_some_and(|word| words.contains(&word));
                let list = serde_json::to_string(words).unwrap_or_default();
                return (!known).then(|| format!("not in enum {list}: {}", shown(value)));
            }
        };
        (!fits).then(|| format!("must be {wanted}"))
    }
}

/// Whether a number is whole. `1.0` counts, as in schemas of this draft.
fn is_integer(value: &Value) -> bool {
    value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0)
}

/// A value inside a sentence: texts as they are, everything else as JSON.
pub(super) fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
