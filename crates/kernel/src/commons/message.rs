//! Messages that were checked on receipt: what was decided about them. The trail remembers it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Label, record};
use crate::event::Event;
use crate::principal::Caller;
use crate::refusal::Refusal;
use crate::rule::Rule;
use crate::text::Text;
use crate::turn::{Halt, Reply, Turn};

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

pub(super) fn decide_note(
    turn: &mut Turn<'_>,
    caller: &Caller,
    args: &Note,
) -> Result<Reply, Halt> {
    if args.errors.len() > ERRORS_MAX {
        let message = format!("{} errors are noted, over {ERRORS_MAX}", args.errors.len());
        return Err(Refusal::denied(Rule::Limits, message).into());
    }
    record(turn, caller, Event::MessageNoted(args.clone()))?;
    Ok(Reply::Done)
}
