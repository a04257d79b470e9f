//! Types of `message`: state, arguments of commands and bodies of events.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::values::label::Label;
use crate::values::text::Text;

/// The most errors that are noted of one message.
pub const ERRORS_MAX: usize = 64;

/// What was decided about a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It is well formed.
    Accept,
    /// It is not.
    Reject,
    /// It is not, and the next one is the second try.
    Retry,
    /// Tries are used up; somebody else has to look.
    Escalate,
}

impl Outcome {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Accept => "accept",
            Outcome::Reject => "reject",
            Outcome::Retry => "retry",
            Outcome::Escalate => "escalate",
        }
    }
}

/// `message.note`, and `message.noted`: notes what was decided about a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Note {
    /// How many tries there were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// What is wrong with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub errors: Vec<Text<500>>,
    /// Which message, if it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub msg_id: Option<Label>,
    /// What was decided.
    pub outcome: Outcome,
}
