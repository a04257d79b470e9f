//! The decision log.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::knowledge::blackboard::Mark;
use crate::values::label::{Handle, Label};
use crate::values::principal::Principal;
use crate::values::text::Text;

/// The number of newest decisions kept in the state; the trail has all of them.
pub const DECISIONS_KEPT: usize = 1_000;

/// The title of a decision or a dispute.
pub type Title = Text<200>;

/// The decision and its rationale.
pub type Body = Text<8000>;

/// An entry of the decision log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// The title.
    pub title: Title,
    /// The decision and its rationale.
    pub body: Body,
    /// The dispute it reports, if it does.
    pub dispute: Option<Handle>,
    /// Who wrote it, and when.
    pub written: Mark,
}

/// `decision.append`: appends to the decision log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Append {
    /// The decision and its rationale.
    pub body: Body,
    /// The title.
    pub title: Title,
    /// The name of the server it came through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<Label>,
}

/// `decision.appended`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Appended {
    /// The decision and its rationale.
    pub body: Body,
    /// The author.
    pub by: Principal,
    /// The dispute it reports, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dispute: Option<Handle>,
    /// The title.
    pub title: Title,
    /// The name of the server it came through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<Label>,
}
