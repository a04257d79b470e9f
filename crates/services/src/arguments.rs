//! Arguments of tools: schemas, and error messages for arguments that do not match them.

use althing_engine::screen::repeated;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use crate::error::Error;

/// The schema of a type, shortened to save tokens.
pub fn schema<A: JsonSchema>() -> Map<String, Value> {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<A>();
    let schema = schema.ensure_object();
    trim(schema, true);
    std::mem::take(schema)
}

/// Removes titles and formats, which repeat names and types, and the null alternative of optional
/// arguments.
fn trim(schema: &mut Map<String, Value>, outermost: bool) {
    for key in ["title", "format", "default"] {
        schema.remove(key);
    }
    // A minimum of 0 goes without saying: counts are unsigned.
    if schema.get("minimum").is_some_and(|least| *least == 0) {
        schema.remove("minimum");
    }
    if outermost {
        schema.remove("description");
        schema.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    }
    if let Some(Value::Array(types)) = schema.get("type")
        && let [first, Value::String(second)] = types.as_slice()
        && second == "null"
    {
        let first = first.clone();
        schema.insert("type".to_owned(), first);
    }
    // A choice of described words is shortened to a list of the words.
    if let Some(Value::Array(choices)) = schema.get("oneOf") {
        let words: Option<Vec<Value>> =
            choices.iter().map(|choice| choice.get("const").cloned()).collect();
        if let Some(words) = words {
            schema.remove("oneOf");
            schema.insert("type".to_owned(), "string".into());
            schema.insert("enum".to_owned(), words.into());
        }
    }
    let properties = match schema.get_mut("properties") {
        Some(Value::Object(properties)) => properties.values_mut().collect(),
        _ => Vec::new(),
    };
    for property in properties {
        if let Value::Object(property) = property {
            trim(property, false);
        }
    }
    if let Some(Value::Object(items)) = schema.get_mut("items") {
        trim(items, false);
    }
}

/// Checks arguments against a schema. The error names the argument and the accepted values.
pub fn check(
    tool: &str,
    schema: &Map<String, Value>,
    given: &Map<String, Value>,
) -> Result<(), Error> {
    let empty = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    let required = schema.get("required").and_then(Value::as_array);
    for name in required.into_iter().flatten().filter_map(Value::as_str) {
        let kind = kind(properties.get(name));
        if !given.get(name).is_some_and(|value| kind.fits(value)) {
            let words = kind.words();
            return Err(Error::usage(format!("{tool} requires a non-empty '{name}'{words}")));
        }
    }
    for (name, value) in given {
        let Some(property) = properties.get(name) else {
            let known: Vec<&str> = properties.keys().map(String::as_str).collect();
            let (name, known) = (repeated(name), known.join(", "));
            let message = format!("{tool} takes no argument '{name}', only {known}");
            return Err(Error::usage(message));
        };
        let kind = kind(Some(property));
        if !value.is_null() && !kind.fits(value) {
            return Err(Error::usage(format!("'{name}' must be {}", kind.one())));
        }
    }
    Ok(())
}

/// The sort of value an argument takes, as error messages tell them apart.
enum Kind {
    Text,
    Texts,
    Count,
    Switch,
    Any,
}

fn kind(property: Option<&Value>) -> Kind {
    match property.and_then(|property| property["type"].as_str()) {
        Some("string") => Kind::Text,
        Some("array") => Kind::Texts,
        Some("integer") => Kind::Count,
        Some("boolean") => Kind::Switch,
        _ => Kind::Any,
    }
}

impl Kind {
    fn fits(&self, value: &Value) -> bool {
        let is_text = |value: &Value| value.as_str().is_some_and(|text| !text.trim().is_empty());
        match self {
            Kind::Text => is_text(value),
            Kind::Texts => {
                value.as_array().is_some_and(|list| !list.is_empty() && list.iter().all(is_text))
            }
            Kind::Count => value.as_u64().is_some_and(|count| count > 0),
            Kind::Switch => value.is_boolean(),
            Kind::Any => true,
        }
    }

    fn words(&self) -> &'static str {
        match self {
            Kind::Text => " string",
            Kind::Texts => " string array",
            Kind::Count | Kind::Switch | Kind::Any => "",
        }
    }

    fn one(&self) -> &'static str {
        match self {
            Kind::Text => "a non-empty string",
            Kind::Texts => "a non-empty string array",
            Kind::Count => "a positive integer",
            Kind::Switch => "true or false",
            Kind::Any => "a value",
        }
    }
}
