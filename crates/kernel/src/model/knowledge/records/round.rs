//! Types of `round`: state, arguments of commands and bodies of events.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::knowledge::records::effect::Effect;
use crate::model::knowledge::records::kind::RecordId;
use crate::values::idempotency::Mark;
use crate::values::label::Label;
use crate::values::text::Text;

/// `memory.turn`: says what came of a turn in a loop (the slot's agent, or the loop's author).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TakeTurn {
    /// The version the loop is expected to be at; refused if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<u32>,
    /// Which loop.
    #[serde(rename = "loop")]
    pub of: RecordId,
    /// What came of it.
    pub outcome: Text<4000>,
    /// What the caller calls this request; asked again within a day, it is done once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Label>,
    /// Which place.
    pub slot: Label,
}

/// `memory.turned`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turned {
    /// What followed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<Effect>,
    /// Which loop.
    pub id: RecordId,
    /// What came of it.
    pub outcome: Text<4000>,
    /// The request that led to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Mark>,
    /// Which place.
    pub slot: Label,
}
