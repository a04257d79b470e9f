//! Facts: shared keys with values.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::values::label::Label;
use crate::values::text::Text;

/// The most facts in a project.
pub const FACTS_MAX: usize = 10_000;

/// The value of a fact.
pub type Value = Text<4000>;

/// `fact.set` and its event: sets a fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Set {
    /// The key.
    pub key: Label,
    /// The value.
    pub value: Value,
}

/// `fact.delete` and `fact.deleted`: deletes a fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Delete {
    /// The key.
    pub key: Label,
}
