//! Symbols: short names that stand for longer text.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::values::label::Label;
use crate::values::text::Text;

/// The most symbols in a project.
pub(crate) const SYMBOLS_MAX: usize = 20_000;

/// The text that a symbol stands for.
pub type Value = Text<1000>;

/// `symbol.set` and its event: defines a symbol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Set {
    /// The id of the symbol.
    pub id: Label,
    /// The text it stands for.
    pub value: Value,
}
