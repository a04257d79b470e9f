//! Reading the arguments of verbs that hosts send. Other spellings are accepted, for callers who know
//! other implementations of the protocol.

use althing_dialects::memory::form;
use althing_engine::screen::repeated;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::Verb;
use super::args::choices;
use super::ignored_arguments::without_effect;
use super::names::names;
use crate::error::Error;

/// The caller and the project, as arguments name them. The channel decides both; these are only
/// checked against it.
pub(super) struct CallerArguments {
    pub(super) project: Option<String>,
    pub(super) agent: Option<String>,
    pub(super) agent_id: Option<String>,
}

/// Arguments that every verb accepts but no schema lists: the channel decides caller and project,
/// and a request id has no effect on verbs that only read.
const BESIDES: [&str; 5] = ["project", "agent", "agentId", "client_request_id", "request_id"];

/// Reads the arguments that name the caller and the project.
pub(super) fn caller_arguments(verb: Verb, given: &Value) -> Result<CallerArguments, Error> {
    let one = |name: &str| match &given[name] {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text.clone())),
        _ => Err(Error::usage(format!("{}: '{name}' must be a text", verb.tool()))),
    };
    Ok(CallerArguments {
        project: one("project")?,
        agent: one("agent")?,
        agent_id: one("agentId")?,
    })
}

/// Renames `request_id` to `client_request_id`; both are in use.
pub(super) fn with_request_id(given: &Value) -> Result<Value, Error> {
    let mut given = given.clone();
    let Some(own) = given.as_object_mut() else { return Ok(given) };
    let Some(id) = own.remove("request_id").filter(|id| !id.is_null()) else { return Ok(given) };
    let known = own.entry("client_request_id").or_insert(Value::Null);
    if !known.is_null() && *known != id {
        let message = "'request_id' and 'client_request_id' mean the same; give one";
        return Err(Error::usage(message));
    }
    *known = id;
    Ok(given)
}

/// Reads arguments. Errors name the argument and the accepted values.
pub(super) fn read<A: DeserializeOwned>(verb: Verb, given: &Value) -> Result<A, Error> {
    let (tool, schema) = (verb.tool(), verb.schema());
    let wrong = |message: String| Error::usage(format!("{tool}: {message}"));
    let Value::Object(given) = given else {
        return Err(wrong("arguments must be an object".to_owned()));
    };
    let empty = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    let given: Map<String, Value> = given
        .iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(name, value)| (name.clone(), spelt(properties.get(name), value)))
        .collect();
    let known = |name: &str| {
        [names::<A>(), &BESIDES, without_effect(verb)].iter().any(|names| names.contains(&name))
    };
    if let Some(name) = given.keys().find(|name| !known(name)) {
        let names: Vec<&str> = properties.keys().map(String::as_str).collect();
        let (name, names) = (repeated(name), names.join(", "));
        let message = format!("{tool} takes no argument '{name}', only {names}");
        return Err(Error::usage(message));
    }
    let required = schema.get("required").and_then(Value::as_array);
    for name in required.into_iter().flatten().filter_map(Value::as_str) {
        if !given.contains_key(name) && !given.contains_key(&snake(name)) {
            let choices = properties.get(name).map(form::choices).unwrap_or_default();
            let choices = if choices.is_empty() { String::new() } else { one_of(&choices) };
            return Err(Error::usage(format!("{tool} requires '{name}'{choices}")));
        }
    }
    for (name, value) in given.iter().filter(|(name, _)| !READS_ITSELF.contains(&name.as_str())) {
        let Some(property) = properties.get(name).filter(|own| !form::fits(own, value)) else {
            continue;
        };
        let choices = form::choices(property);
        return Err(wrong(if choices.is_empty() {
            format!("'{name}' must be {}", form::words(property))
        } else {
            format!("'{name}' is {}, not{}", repeated(&value.to_string()), one_of(&choices))
        }));
    }
    serde_json::from_value(Value::Object(given.clone())).map_err(|error| {
        let error = error.to_string();
        match (form::ParseError::read(&error), culprit::<A>(&given)) {
            (form::ParseError::Ours(message), _) => wrong(message),
            (message, Some(name)) => wrong(message.about(name, &expected(&error))),
            (_, None) => wrong("these arguments cannot be combined".to_owned()),
        }
    })
}

/// Arguments whose own reader reports errors.
const READS_ITSELF: [&str; 6] = ["data", "entity", "filter", "patch", "since", "ttl"];

fn one_of(choices: &[&str]) -> String {
    format!(" one of {}", choices.join(", "))
}

/// Normalizes a value: some callers send booleans as strings, and the command line writes words
/// with dashes.
fn spelt(property: Option<&Value>, value: &Value) -> Value {
    let (Some(property), Some(text)) = (property, value.as_str()) else { return value.clone() };
    let word = text.trim().replace('-', "_");
    match text {
        "true" | "false" if property["type"] == "boolean" => (text == "true").into(),
        _ if form::choices(property).contains(&word.as_str()) => word.into(),
        _ => value.clone(),
    }
}

/// The argument that cannot be read: the others can be without it.
fn culprit<A: DeserializeOwned>(given: &Map<String, Value>) -> Option<&str> {
    let is_culprit = |name: &&String| {
        let mut rest = given.clone();
        rest.remove(name.as_str());
        serde_json::from_value::<A>(Value::Object(rest)).is_ok()
    };
    given.keys().find(is_culprit).map(String::as_str)
}

/// The values the parser expected, in plain words.
fn expected(error: &str) -> String {
    let choices = choices(error);
    if !choices.is_empty() {
        return one_of(&choices).trim_start().to_owned();
    }
    let wanted = error.rsplit("expected ").next().unwrap_or_default();
    let words = match wanted.trim_start_matches("a ") {
        "string" => "a text",
        "boolean" => "true or false",
        "sequence" => "a list",
        "u8" | "u32" | "u64" | "usize" => "a whole number",
        _ => "something else",
    };
    words.to_owned()
}

fn snake(name: &str) -> String {
    name.replace("Id", "_id")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::args::{
        CompleteStep, Context, Coordinate, Create, Dispatch, Find, Get, Harvest, Loop, Remove,
        Sweep, Transition, Update, Work,
    };
    use std::collections::BTreeSet;

    /// Accepted spellings, with the name in the schema.
    const SPELLINGS: [(&str, &str); 18] = [
        ("allow_outside", "allowOutside"),
        ("assignment_id", "assignmentId"),
        ("client_request_id", "request_id"),
        ("dry_run", "dryRun"),
        ("handoff_id", "handoffId"),
        ("loop_id", "loopId"),
        ("loop_kind", "kind"),
        ("message_id", "messageId"),
        ("open_loop", "openLoop"),
        ("plan_id", "planId"),
        ("plan_status", "planStatus"),
        ("sequence_id", "sequenceId"),
        ("slotId", "slot"),
        ("slot_id", "slot"),
        ("step_id", "stepId"),
        ("target_agents", "targetAgents"),
        ("task", "query"),
        ("thread_id", "threadId"),
    ];

    /// The names that the parser of a verb accepts.
    fn taken(verb: Verb) -> &'static [&'static str] {
        match verb {
            Verb::Work => names::<Work>(),
            Verb::Context => names::<Context>(),
            Verb::Find => names::<Find>(),
            Verb::Get => names::<Get>(),
            Verb::Create => names::<Create>(),
            Verb::Update => names::<Update>(),
            Verb::Transition => names::<Transition>(),
            Verb::CompleteStep => names::<CompleteStep>(),
            Verb::Remove => names::<Remove>(),
            Verb::Coordinate => names::<Coordinate>(),
            Verb::Dispatch => names::<Dispatch>(),
            Verb::Loop => names::<Loop>(),
            Verb::Sweep => names::<Sweep>(),
            Verb::Harvest => names::<Harvest>(),
        }
    }

    #[test]
    fn every_argument_that_is_taken_stands_in_the_schema_or_is_another_spelling() {
        let mut used: BTreeSet<&(&str, &str)> = BTreeSet::new();
        for verb in Verb::ALL.into_iter().chain([Verb::Sweep, Verb::Harvest]) {
            let schema = verb.schema();
            let listed: BTreeSet<&str> =
                schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
            let taken = taken(verb);
            assert!(!taken.is_empty(), "{}", verb.tool());
            for name in &listed {
                assert!(taken.contains(name), "{} lists {name} and takes none", verb.tool());
            }
            for name in taken.iter().filter(|name| !listed.contains(*name)) {
                let own =
                    SPELLINGS.iter().find(|(other, own)| other == name && listed.contains(own));
                used.extend(own);
                assert!(own.is_some(), "{} takes {name} and does not say so", verb.tool());
            }
            for name in without_effect(verb) {
                assert!(!taken.contains(name), "{} takes {name} and ignores it", verb.tool());
            }
        }
        let unused: Vec<_> = SPELLINGS.iter().filter(|own| !used.contains(own)).collect();
        assert_eq!(unused, Vec::<&(&str, &str)>::new());
    }
}
