//! Types of `fact`: state, arguments of commands and bodies of events.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::knowledge::blackboard::Mark;
use crate::values::label::Label;
use crate::values::text::Text;

/// The most facts of a project.
pub const FACTS_MAX: usize = 10_000;

/// What a fact says.
pub type Value = Text<4000>;

/// A fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// What it says.
    pub value: Value,
    /// Who set it last, and when.
    pub set: Mark,
}

/// `fact.set`, and what it leaves: writes a fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Set {
    /// What it is about.
    pub key: Label,
    /// What it says.
    pub value: Value,
}

/// `fact.delete`, and `fact.deleted`: wipes a fact off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Delete {
    /// Which one.
    pub key: Label,
}
