//! The arguments of the verbs. Schemas and parsers are made from these types. Other spellings are
//! accepted, for callers who know other implementations of the protocol.

use althing_dialects::memory::entity;
use althing_dialects::memory::form;
use althing_dialects::memory::input::object;
use althing_engine::screen::repeated;
use althing_kernel::blackboard::Label;
use althing_kernel::records::Kind;
use althing_kernel::records::field::{Artifact, Few};
use althing_kernel::records::transition::PlanStatus;
use althing_kernel::text::Text;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::Verb;
pub(super) use super::ignored_arguments::ignored;
use super::ignored_arguments::without_effect;
use super::names::names;
use crate::error::Error;

/// The purpose of a `work` call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Intent {
    Execute,
    Consult,
    Resume,
    Review,
}

/// The view that `context` returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Sight {
    Memory,
    Execution,
    Board,
    BoardSummary,
    Delta,
}

/// The caller and the project, as arguments name them. The channel decides both; these are only
/// checked against it.
pub(super) struct CallerArguments {
    pub(super) project: Option<String>,
    pub(super) agent: Option<String>,
    pub(super) agent_id: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct Work {
    pub(super) intent: Intent,
    /// Paths or globs with commas between.
    pub(super) scope: Option<String>,
    #[serde(rename = "planId", alias = "plan_id")]
    pub(super) plan: Option<String>,
    /// The task at hand.
    pub(super) task: Option<String>,
    /// Go on despite a conflict, without a claim.
    #[serde(default)]
    pub(super) advisory: bool,
    /// false: longer lists.
    pub(super) compact: Option<bool>,
    #[serde(alias = "client_request_id")]
    pub(super) request_id: Option<String>,
    pub(super) budget_tokens: Option<u64>,
    /// How long to claim it: seconds, 30m, 4h.
    #[schemars(with = "Option<String>")]
    pub(super) ttl: Option<Value>,
    /// The message you act on.
    #[serde(rename = "messageId", alias = "message_id")]
    pub(super) message: Option<String>,
    /// The path at hand, if not the scope.
    #[serde(rename = "contextTarget")]
    pub(super) target: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct Context {
    pub(super) kind: Sight,
    /// For delta: 2h, an ISO time, a session id or a trail number.
    #[serde(default, deserialize_with = "text_or_number")]
    #[schemars(with = "Option<String>")]
    pub(super) since: Option<String>,
    /// For memory: the path at hand.
    pub(super) path: Option<String>,
    /// For memory: the task at hand, in words.
    #[serde(alias = "task")]
    pub(super) query: Option<String>,
    #[serde(rename = "maxItems")]
    #[schemars(range(min = 1, max = 500))]
    pub(super) items_max: Option<usize>,
    pub(super) budget_tokens: Option<u64>,
    #[serde(rename = "maxChars")]
    pub(super) chars_max: Option<usize>,
    /// For memory: nothing unrelated.
    #[serde(default)]
    pub(super) matching: bool,
    /// For memory: candidates too.
    #[serde(rename = "includePending", default)]
    pub(super) pending: bool,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct Find {
    #[serde(deserialize_with = "kind")]
    pub(super) entity: Kind,
    #[serde(default, deserialize_with = "filter")]
    #[schemars(
        with = "Option<Map<String, Value>>",
        description = "Keys: status, tag, tags (any of), author, plan_id, source, auto_generated, \
                       limit, offset, includeLegacy, minAutoReflectConfidence; where it fits agent, \
                       to, assignee, scope. me is you."
    )]
    pub(super) filter: Map<String, Value>,
    #[schemars(with = "Option<u64>")]
    pub(super) limit: Option<Value>,
    #[schemars(with = "Option<u64>")]
    pub(super) offset: Option<Value>,
    /// Only these fields of each.
    #[serde(default)]
    #[schemars(with = "Option<Vec<String>>")]
    pub(super) fields: Vec<String>,
    pub(super) budget_tokens: Option<u64>,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct Get {
    #[serde(deserialize_with = "kind")]
    pub(super) entity: Kind,
    #[schemars(description = "Such as pln_0000002a or pln#42.")]
    pub(super) id: String,
    pub(super) budget_tokens: Option<u64>,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct Create {
    #[serde(deserialize_with = "kind")]
    pub(super) entity: Kind,
    #[serde(deserialize_with = "data")]
    #[schemars(
        with = "Map<String, Value>",
        description = "text (required), tags, related_paths, plan_id, and what the kind has: \
                       plan: priority, assignee, depends_on, steps, estimated_effort; constraint: \
                       category, expires_at; trap: severity, visibility; handoff: to, narrative, \
                       contract; claim: scope, ttl."
    )]
    pub(super) data: Map<String, Value>,
    /// Makes retries safe.
    #[serde(alias = "client_request_id")]
    pub(super) request_id: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct Update {
    #[serde(deserialize_with = "kind")]
    pub(super) entity: Kind,
    pub(super) id: String,
    /// Fields to set; null clears one.
    #[serde(deserialize_with = "patch")]
    #[schemars(with = "Map<String, Value>")]
    pub(super) patch: Map<String, Value>,
    pub(super) expected_version: Option<u32>,
    #[serde(alias = "client_request_id")]
    pub(super) request_id: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct Transition {
    #[serde(deserialize_with = "kind")]
    pub(super) entity: Kind,
    pub(super) id: String,
    /// Required, here or as status: the state to enter. progress tells how an assignment goes.
    pub(super) to: Option<String>,
    pub(super) status: Option<String>,
    pub(super) reason: Option<String>,
    /// With an assignment or claim: the new state of its plan, done or blocked.
    #[serde(rename = "planStatus", alias = "plan_status", default, deserialize_with = "plan_end")]
    #[schemars(with = "Option<String>")]
    pub(super) plan_status: Option<PlanStatus>,
    /// For a merged candidate.
    pub(super) merged_into: Option<String>,
    /// End somebody else's claim, as a person.
    #[serde(default)]
    pub(super) coordinator_override: bool,
    pub(super) expected_version: Option<u32>,
    /// Who gets an assignment that is rerouted.
    pub(super) to_agent: Option<String>,
    /// With progress: what came of it so far, each with type and ref.
    #[serde(default)]
    #[schemars(with = "Option<Vec<Map<String, Value>>>")]
    pub(super) artifacts: Few<Artifact, 64>,
    /// Force a step that the lifecycle lacks, if you may.
    #[serde(default)]
    pub(super) forced: bool,
    #[serde(alias = "client_request_id")]
    pub(super) request_id: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct CompleteStep {
    #[serde(rename = "planId", alias = "plan_id")]
    pub(super) plan: String,
    #[schemars(description = "Such as stp_1.")]
    #[serde(rename = "stepId", alias = "step_id")]
    pub(super) step: String,
    #[serde(alias = "client_request_id")]
    pub(super) request_id: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct Remove {
    #[serde(deserialize_with = "kind")]
    pub(super) entity: Kind,
    pub(super) id: String,
    pub(super) reason: Option<String>,
    /// Refused: nothing is purged.
    pub(super) purge: Option<bool>,
    #[serde(alias = "client_request_id")]
    pub(super) request_id: Option<String>,
}

fn kind<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Kind, D::Error> {
    entity::named(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
}

/// Reads the state that a plan goes to.
fn plan_end<'de, D: Deserializer<'de>>(reader: D) -> Result<Option<PlanStatus>, D::Error> {
    match Option::<String>::deserialize(reader)?.as_deref() {
        None => Ok(None),
        Some("done") => Ok(Some(PlanStatus::Done)),
        Some("blocked") => Ok(Some(PlanStatus::Blocked)),
        Some(other) => {
            let message = format!("'planStatus' is done or blocked, not {:?}", repeated(other));
            Err(serde::de::Error::custom(message))
        }
    }
}

macro_rules! objects {
    ($($name:ident)*) => {$(
        fn $name<'de, D: Deserializer<'de>>(reader: D) -> Result<Map<String, Value>, D::Error> {
            object(stringify!($name), &Value::deserialize(reader)?).map_err(serde::de::Error::custom)
        }
    )*};
}

objects! { filter data patch }

/// The accepted forms of `since`.
pub(super) const FORMS: &str = "write how long ago (30m, 2h, 1d), a time (2026-06-11T12:07Z), the id \
                                of a session (ws_…) or the number of an entry of the trail (120)";

fn text_or_number<'de, D: Deserializer<'de>>(reader: D) -> Result<Option<String>, D::Error> {
    match Value::deserialize(reader)? {
        Value::Null => Ok(None),
        Value::String(text) if !text.trim().is_empty() => Ok(Some(text)),
        Value::Number(number) if number.is_u64() => Ok(Some(number.to_string())),
        _ => Err(serde::de::Error::custom(format!("'since': {FORMS}"))),
    }
}

/// Arguments that every verb accepts but no schema lists: the channel decides caller and project,
/// and a request id has no effect on verbs that only read.
const BESIDES: [&str; 5] = ["project", "agent", "agentId", "client_request_id", "request_id"];

/// Reads a text that was given under this name.
pub(super) fn text<const MAX: usize>(name: &str, given: &str) -> Result<Text<MAX>, Error> {
    Text::new(given).map_err(|error| Error::unreadable(format!("'{name}': {error}")))
}

/// Reads a label that was given under this name.
pub(super) fn label(name: &str, given: &str) -> Result<Label, Error> {
    Label::new(given).map_err(|error| Error::unreadable(format!("'{name}': {error}")))
}

/// Checks that a number is between 1 and a maximum.
pub(super) fn within(
    name: &str,
    asked: Option<usize>,
    most: usize,
) -> Result<Option<usize>, Error> {
    match asked {
        Some(number) if !(1..=most).contains(&number) => {
            Err(Error::usage(format!("'{name}' must be a whole number from 1 to {most}")))
        }
        asked => Ok(asked),
    }
}

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
    let wanted = error.rsplit("expected ").next().unwrap_or_default();
    let choices: Vec<&str> = wanted.split('`').skip(1).step_by(2).collect();
    if !choices.is_empty() {
        return one_of(&choices).trim_start().to_owned();
    }
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
    use crate::memory::{coordinate, dispatch, harvest, loops, sweep};
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
            Verb::Coordinate => names::<coordinate::Coordinate>(),
            Verb::Dispatch => names::<dispatch::Dispatch>(),
            Verb::Loop => names::<loops::Loop>(),
            Verb::Sweep => names::<sweep::Sweep>(),
            Verb::Harvest => names::<harvest::Harvest>(),
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
