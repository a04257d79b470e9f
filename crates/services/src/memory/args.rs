//! The arguments of the verbs. Schemas and parsers are made from these types, and callers in this
//! process fill them in. A doc comment is what a model reads of an argument; where the name says
//! enough, the schema has no description.

use althing_dialects::memory::entity;
use althing_dialects::memory::input::object;
use althing_engine::screen::repeated;
use althing_kernel::blackboard::Label;
use althing_kernel::records::Kind;
use althing_kernel::records::field::{Artifact as Produced, Few};
use althing_kernel::records::transition::PlanStatus;
use althing_kernel::text::Text;
use schemars::JsonSchema;
use serde::de::value::Error as WordError;
use serde::de::{DeserializeOwned, IntoDeserializer};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::error::Error;

pub use super::coordinate::{Aim, Coordinate};
pub use super::dispatch::{Dispatch, DispatchIntent};
pub use super::harvest::Harvest;
pub use super::loops::{Act, Artifact, End, Loop, Place};
pub use super::sweep::Sweep;

/// The purpose of a `work` call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Intent {
    /// To change something.
    Execute,
    /// To look.
    Consult,
    /// To go on with earlier work.
    Resume,
    /// To review the work of others.
    Review,
}

/// The view that `context` returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sight {
    /// The records that matter most.
    Memory,
    /// The caller's environment.
    Execution,
    /// Who works on what.
    Board,
    /// The board in numbers.
    BoardSummary,
    /// The changes since a moment.
    Delta,
}

/// Arguments of `work`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Work {
    /// The purpose.
    #[schemars(description = "")]
    pub intent: Intent,
    /// Paths or globs with commas between.
    pub scope: Option<String>,
    /// The plan that the scope is claimed for.
    #[schemars(description = "")]
    #[serde(rename = "planId", alias = "plan_id")]
    pub plan: Option<String>,
    /// The task at hand.
    pub task: Option<String>,
    /// Go on despite a conflict, without a claim.
    #[serde(default)]
    pub advisory: bool,
    /// false: longer lists.
    pub compact: Option<bool>,
    /// The idempotency key.
    #[schemars(description = "")]
    #[serde(alias = "client_request_id")]
    pub request_id: Option<String>,
    /// The longest answer, in tokens.
    #[schemars(description = "")]
    pub budget_tokens: Option<u64>,
    /// How long to claim it: seconds, 30m, 4h.
    #[schemars(with = "Option<String>")]
    pub ttl: Option<Value>,
    /// The message you act on.
    #[serde(rename = "messageId", alias = "message_id")]
    pub message: Option<String>,
    /// The path at hand, if not the scope.
    #[serde(rename = "contextTarget")]
    pub target: Option<String>,
}

/// Arguments of `context`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Context {
    /// The view.
    #[schemars(description = "")]
    pub kind: Sight,
    /// For delta: 2h, an ISO time, a session id or a trail number.
    #[serde(default, deserialize_with = "text_or_number")]
    #[schemars(with = "Option<String>")]
    pub since: Option<String>,
    /// For memory: the path at hand.
    pub path: Option<String>,
    /// For memory: the task at hand, in words.
    #[serde(alias = "task")]
    pub query: Option<String>,
    /// For memory: the most records.
    #[serde(rename = "maxItems")]
    #[schemars(range(min = 1, max = 500), description = "")]
    pub items_max: Option<usize>,
    /// The longest answer, in tokens.
    #[schemars(description = "")]
    pub budget_tokens: Option<u64>,
    /// The longest answer, in characters.
    #[schemars(description = "")]
    #[serde(rename = "maxChars")]
    pub chars_max: Option<usize>,
    /// For memory: nothing unrelated.
    #[serde(default)]
    pub matching: bool,
    /// For memory: candidates too.
    #[serde(rename = "includePending", default)]
    pub pending: bool,
}

impl Context {
    /// A view with defaults for everything else.
    pub fn of(kind: Sight) -> Self {
        Context {
            kind,
            since: None,
            path: None,
            query: None,
            items_max: None,
            budget_tokens: None,
            chars_max: None,
            matching: false,
            pending: false,
        }
    }
}

/// Arguments of `find`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Find {
    /// The kind of record.
    #[schemars(description = "")]
    #[serde(deserialize_with = "kind")]
    pub entity: Kind,
    /// The conditions: those that hosts send, or [`Criteria`](althing_dialects::memory::filter::Criteria).
    #[serde(default, deserialize_with = "filter")]
    #[schemars(
        with = "Option<Map<String, Value>>",
        description = "Keys: status, tag, tags (any of), author, plan_id, source, auto_generated, \
                       limit, offset, includeLegacy, minAutoReflectConfidence; where it fits agent, \
                       to, assignee, scope. me is you."
    )]
    pub filter: Map<String, Value>,
    /// The most records; also a condition.
    #[schemars(with = "Option<u64>", description = "")]
    pub limit: Option<Value>,
    /// The number of records to skip; also a condition.
    #[schemars(with = "Option<u64>", description = "")]
    pub offset: Option<Value>,
    /// Only these fields of each.
    #[serde(default)]
    #[schemars(with = "Option<Vec<String>>")]
    pub fields: Vec<String>,
    /// The longest answer, in tokens.
    #[schemars(description = "")]
    pub budget_tokens: Option<u64>,
}

/// Arguments of `get`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Get {
    /// The kind of record.
    #[schemars(description = "")]
    #[serde(deserialize_with = "kind")]
    pub entity: Kind,
    /// The record.
    #[schemars(description = "Such as pln_0000002a or pln#42.")]
    pub id: String,
    /// The longest answer, in tokens.
    #[schemars(description = "")]
    pub budget_tokens: Option<u64>,
}

/// Arguments of `create`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Create {
    /// The kind of record.
    #[schemars(description = "")]
    #[serde(deserialize_with = "kind")]
    pub entity: Kind,
    /// The fields: those that hosts send, or [`Written`](althing_dialects::memory::data::Written) and more.
    #[serde(deserialize_with = "data")]
    #[schemars(
        with = "Map<String, Value>",
        description = "text (required), tags, related_paths, plan_id, and what the kind has: \
                       plan: priority, assignee, depends_on, steps, estimated_effort; constraint: \
                       category, expires_at; trap: severity, visibility; handoff: to, narrative, \
                       contract; claim: scope, ttl."
    )]
    pub data: Map<String, Value>,
    /// Makes retries safe.
    #[serde(alias = "client_request_id")]
    pub request_id: Option<String>,
}

/// Arguments of `update`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Update {
    /// The kind of record.
    #[schemars(description = "")]
    #[serde(deserialize_with = "kind")]
    pub entity: Kind,
    /// The record.
    #[schemars(description = "")]
    pub id: String,
    /// Fields to set; null clears one.
    #[serde(deserialize_with = "patch")]
    #[schemars(with = "Map<String, Value>")]
    pub patch: Map<String, Value>,
    /// The version it still has to have.
    #[schemars(description = "")]
    pub expected_version: Option<u32>,
    /// The idempotency key.
    #[schemars(description = "")]
    #[serde(alias = "client_request_id")]
    pub request_id: Option<String>,
}

/// Arguments of `transition`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Transition {
    /// The kind of record.
    #[schemars(description = "")]
    #[serde(deserialize_with = "kind")]
    pub entity: Kind,
    /// The record.
    #[schemars(description = "")]
    pub id: String,
    /// Required, here or as status: the state to enter. progress tells how an assignment goes.
    pub to: Option<String>,
    /// Another name for `to`.
    #[schemars(description = "")]
    pub status: Option<String>,
    /// The reason, in words.
    #[schemars(description = "")]
    pub reason: Option<String>,
    /// With an assignment or claim: the new state of its plan, done or blocked.
    #[serde(rename = "planStatus", alias = "plan_status", default, deserialize_with = "plan_end")]
    #[schemars(with = "Option<String>")]
    pub plan_status: Option<PlanStatus>,
    /// For a merged candidate.
    pub merged_into: Option<String>,
    /// End somebody else's claim, as a person.
    #[serde(default)]
    pub coordinator_override: bool,
    /// The version it still has to have.
    #[schemars(description = "")]
    pub expected_version: Option<u32>,
    /// Who gets an assignment that is rerouted.
    pub to_agent: Option<String>,
    /// With progress: what came of it so far, each with type and ref.
    #[serde(default)]
    #[schemars(with = "Option<Vec<Map<String, Value>>>")]
    pub artifacts: Few<Produced, 64>,
    /// Force a step that the lifecycle lacks, if you may.
    #[serde(default)]
    pub forced: bool,
    /// The idempotency key.
    #[schemars(description = "")]
    #[serde(alias = "client_request_id")]
    pub request_id: Option<String>,
}

/// Arguments of `complete_step`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CompleteStep {
    /// The plan.
    #[schemars(description = "")]
    #[serde(rename = "planId", alias = "plan_id")]
    pub plan: String,
    /// The step.
    #[schemars(description = "Such as stp_1.")]
    #[serde(rename = "stepId", alias = "step_id")]
    pub step: String,
    /// The idempotency key.
    #[schemars(description = "")]
    #[serde(alias = "client_request_id")]
    pub request_id: Option<String>,
}

/// Arguments of `remove`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Remove {
    /// The kind of record.
    #[schemars(description = "")]
    #[serde(deserialize_with = "kind")]
    pub entity: Kind,
    /// The record.
    #[schemars(description = "")]
    pub id: String,
    /// The reason, in words.
    #[schemars(description = "")]
    pub reason: Option<String>,
    /// Refused: nothing is purged.
    pub purge: Option<bool>,
    /// The idempotency key.
    #[schemars(description = "")]
    #[serde(alias = "client_request_id")]
    pub request_id: Option<String>,
}

/// Reads a word of a closed set that was given under this name, such as the kind of a loop. Dashes
/// may stand for underscores.
pub fn word<W: DeserializeOwned>(name: &str, text: &str) -> Result<W, Error> {
    let word = text.trim().replace('-', "_");
    W::deserialize(word.as_str().into_deserializer()).map_err(|error: WordError| {
        let listed = match choices(&error.to_string()).as_slice() {
            [one, other] => format!("{one} or {other}"),
            more => format!("one of {}", more.join(", ")),
        };
        Error::usage(format!("'{name}' is {listed}, not {:?}", repeated(text)))
    })
}

/// The words that the parser expected, by its error message.
pub(super) fn choices(error: &str) -> Vec<&str> {
    let expected = error.rsplit("expected ").next().unwrap_or_default();
    expected.split('`').skip(1).step_by(2).collect()
}

fn kind<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Kind, D::Error> {
    entity::named(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
}

/// Reads the state that a plan goes to.
fn plan_end<'de, D: Deserializer<'de>>(reader: D) -> Result<Option<PlanStatus>, D::Error> {
    let text = Option::<String>::deserialize(reader)?;
    let read = text.map(|text| word("planStatus", &text)).transpose();
    read.map_err(|error| serde::de::Error::custom(error.message()))
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
