//! Types of `decision`: state, arguments of commands and bodies of events.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::knowledge::blackboard::Mark;
use crate::values::label::{Handle, Label};
use crate::values::principal::Principal;
use crate::values::text::Text;

/// How many decisions are at hand; the trail has all of them.
pub const DECISIONS_KEPT: usize = 1_000;

/// What a decision is called.
pub type Title = Text<200>;

/// What was decided, and why.
pub type Body = Text<8000>;

/// A decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// What it is called.
    pub title: Title,
    /// What was decided, and why.
    pub body: Body,
    /// The dispute it tells of, if it does.
    pub dispute: Option<Handle>,
    /// Who wrote it, and when.
    pub written: Mark,
}

/// `decision.append`: writes a decision down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Append {
    /// What was decided, and why.
    pub body: Body,
    /// What it is called.
    pub title: Title,
    /// What it came through: the name of a server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<Label>,
}

/// `decision.appended`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Appended {
    /// What was decided, and why.
    pub body: Body,
    /// Whose words they are.
    pub by: Principal,
    /// The dispute it tells of, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dispute: Option<Handle>,
    /// What it is called.
    pub title: Title,
    /// What it came through: the name of a server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<Label>,
}
