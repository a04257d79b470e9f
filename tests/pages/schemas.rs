//! The names of all commands and queries, and one schema file with shared definitions.

use super::Ask;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// A command or a query that can be called by name.
pub(crate) struct Door {
    pub(crate) name: String,
    pub(crate) sort: String,
    pub(crate) help: String,
    pub(crate) schema: Value,
}

/// All of them.
pub(crate) struct Doors(pub(crate) Vec<Door>);

impl Doors {
    /// Asks the program for its list and for each schema.
    pub(crate) fn read(ask: Ask<'_>) -> Self {
        let parse = |text: String| serde_json::from_str::<Value>(&text).unwrap();
        let listed = parse(ask(&["do", "--list", "--json"]));
        let doors = listed.as_array().unwrap().iter().map(|door| {
            let text = |field: &str| door[field].as_str().unwrap().to_owned();
            let schema = parse(ask(&["do", "--schema", &text("name"), "--json"]));
            Door { name: text("name"), sort: text("sort"), help: text("help"), schema }
        });
        Doors(doors.collect())
    }
}

/// The table of names.
pub(super) fn command_names(doors: &Doors) -> String {
    let mut text = String::from(
        "# Commands and queries by name\n\n`althing do NAME JSON` runs any of these; `althing do \
         --lines` runs many. A command changes something and becomes an entry of the trail. A query \
         only reads. The arguments of each are in [schemas.json](schemas.json) under the same name, \
         and `althing do --schema NAME` prints them.\n\nThis page is generated.\n\n| Name | Sort | \
         Does |\n|---|---|---|\n",
    );
    for Door { name, sort, help, .. } in &doors.0 {
        let sort = if sort == "question" { "query" } else { sort };
        writeln!(text, "| `{name}` | {sort} | {} |", help.replace('|', "\\|")).unwrap();
    }
    text
}

/// One JSON Schema document: the arguments of every name, and each shared definition once.
pub(crate) fn schema_file(doors: &Doors) -> String {
    let mut shared = Shared::default();
    let mut all = Map::new();
    for door in &doors.0 {
        all.insert(door.name.clone(), shared.take_in(&door.schema));
    }
    all.extend(shared.definitions.into_iter().map(|(name, (_, definition))| (name, definition)));
    let document = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$comment": "Arguments of `althing do NAME`, by name, and the definitions they share. \
                     Generated.",
        "$defs": all,
    });
    let mut text = String::new();
    print(&document, 0, &mut text);
    text.push('\n');
    text
}

/// Everything a definition leads to, itself included, as text: what tells two of one name apart.
type Meaning = BTreeMap<String, String>;

/// Definitions of all schemas, each once.
#[derive(Default)]
struct Shared {
    definitions: BTreeMap<String, (Meaning, Value)>,
}

impl Shared {
    /// Moves the definitions of a schema here, and returns the rest of it.
    fn take_in(&mut self, schema: &Value) -> Value {
        let mut schema = schema.clone();
        let object = schema.as_object_mut().unwrap();
        object.remove("$schema");
        let own = match object.remove("$defs") {
            Some(Value::Object(own)) => own,
            _ => Map::new(),
        };
        let renamed: BTreeMap<String, String> = own
            .keys()
            .map(|name| (name.clone(), self.name_for(name, &meaning(name, &own))))
            .collect();
        for (name, definition) in &own {
            let mut definition = definition.clone();
            rename(&mut definition, &renamed);
            self.definitions.insert(renamed[name].clone(), (meaning(name, &own), definition));
        }
        rename(&mut schema, &renamed);
        schema
    }

    /// The name itself, or with a number if it already means something else.
    fn name_for(&self, name: &str, wanted: &Meaning) -> String {
        let is_free = |candidate: &String| {
            self.definitions.get(candidate).is_none_or(|(meaning, _)| meaning == wanted)
        };
        let numbered = (2..).map(|number| format!("{name}{number}"));
        std::iter::once(name.to_owned()).chain(numbered).find(is_free).unwrap()
    }
}

fn meaning(name: &str, all: &Map<String, Value>) -> Meaning {
    let mut found = Meaning::new();
    let mut waiting = BTreeSet::from([name.to_owned()]);
    while let Some(name) = waiting.pop_first() {
        let definition = &all[&name];
        let mut definition = definition.clone();
        references(&mut definition, &mut |to| {
            if !found.contains_key(to.as_str()) && *to != name {
                waiting.insert(to.clone());
            }
        });
        found.insert(name, definition.to_string());
    }
    found
}

fn rename(value: &mut Value, names: &BTreeMap<String, String>) {
    references(value, &mut |name| name.clone_from(&names[name.as_str()]));
}

/// Visits every reference to a definition; what the visitor makes of its name is written back.
fn references(value: &mut Value, visit: &mut dyn FnMut(&mut String)) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                match (key.as_str(), &*value) {
                    ("$ref", Value::String(to)) => {
                        let mut name = to.strip_prefix("#/$defs/").unwrap().to_owned();
                        visit(&mut name);
                        *value = Value::String(format!("#/$defs/{name}"));
                    }
                    _ => references(value, visit),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| references(item, visit)),
        _ => {}
    }
}

/// The widest line that a value is written on without being broken up.
const COLUMNS: usize = 100;

/// Writes JSON for people: what fits on a line stays on it.
fn print(value: &Value, depth: usize, text: &mut String) {
    let whole = value.to_string();
    let (inner, outer) = ("  ".repeat(depth + 1), "  ".repeat(depth));
    let fits = depth > 1 && outer.len() + whole.len() <= COLUMNS;
    match value {
        Value::Object(object) if !fits && !object.is_empty() => {
            text.push('{');
            for (at, (key, value)) in object.iter().enumerate() {
                let comma = if at == 0 { "" } else { "," };
                write!(text, "{comma}\n{inner}{}: ", Value::from(key.as_str())).unwrap();
                print(value, depth + 1, text);
            }
            write!(text, "\n{outer}}}").unwrap();
        }
        Value::Array(items) if !fits && !items.is_empty() => {
            text.push('[');
            for (at, item) in items.iter().enumerate() {
                write!(text, "{}\n{inner}", if at == 0 { "" } else { "," }).unwrap();
                print(item, depth + 1, text);
            }
            write!(text, "\n{outer}]").unwrap();
        }
        _ => text.push_str(&whole),
    }
}
