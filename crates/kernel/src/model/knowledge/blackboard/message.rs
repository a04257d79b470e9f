//! Verdicts about protocol messages.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::values::label::Label;
use crate::values::text::Text;

/// The most errors recorded for one message.
pub const ERRORS_MAX: usize = 64;

/// The verdict about a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The message is well formed.
    Accept,
    /// The message is malformed.
    Reject,
    /// The message is malformed; one retry is allowed.
    Retry,
    /// Retries are exhausted; somebody else has to look.
    Escalate,
}

impl Outcome {
    /// The name.
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Accept => "accept",
            Outcome::Reject => "reject",
            Outcome::Retry => "retry",
            Outcome::Escalate => "escalate",
        }
    }
}

/// `message.note` and `message.noted`: records the verdict about a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Note {
    /// The number of attempts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// The errors found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub errors: Vec<Text<500>>,
    /// The id of the message, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub msg_id: Option<Label>,
    /// The verdict.
    pub outcome: Outcome,
}
