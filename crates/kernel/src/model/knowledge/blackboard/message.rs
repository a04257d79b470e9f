//! Verdicts about protocol messages.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::values::closed_set::closed_set;
use crate::values::label::Label;
use crate::values::text::Text;

/// The most errors recorded for one message.
pub const ERRORS_MAX: usize = 64;

closed_set! {
    /// The verdict about a message.
    Outcome {
        /// The message is well formed.
        Accept "accept",
        /// The message is malformed.
        Reject "reject",
        /// The message is malformed; one retry is allowed.
        Retry "retry",
        /// Retries are exhausted; somebody else has to look.
        Escalate "escalate",
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
