//! Turns of agents in a loop.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::knowledge::records::effect::Effect;
use crate::registry::record_id::RecordId;
use crate::values::idempotency::Mark;
use crate::values::label::Label;
use crate::values::text::Text;

/// `memory.turn`: records the outcome of a turn in a loop (the slot's agent, or the loop's author).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TakeTurn {
    /// The expected version of the loop; the command is refused if it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<u32>,
    /// The loop.
    #[serde(rename = "loop")]
    pub of: RecordId,
    /// The outcome.
    pub outcome: Text<4000>,
    /// Idempotency key: a repeat within a day returns the first answer and changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Label>,
    /// The slot.
    pub slot: Label,
}

/// `memory.turned`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turned {
    /// The side effects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<Effect>,
    /// The loop.
    pub id: RecordId,
    /// The outcome.
    pub outcome: Text<4000>,
    /// The idempotency mark of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Mark>,
    /// The slot.
    pub slot: Label,
}
