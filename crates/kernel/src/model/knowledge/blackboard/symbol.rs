//! Symbols: short names that stand for longer text.

use imbl::OrdSet;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::knowledge::blackboard::Mark;
use crate::model::knowledge::blackboard::shelf::Shelf;
use crate::values::label::Label;
use crate::values::text::Text;

/// The most symbols in a project.
pub(crate) const SYMBOLS_MAX: usize = 20_000;

/// The text that a symbol stands for.
pub type Value = Text<1000>;

/// A symbol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Symbol {
    /// The text it stands for.
    pub value: Value,
    /// Who set it last, and when.
    pub set: Mark,
}

/// `symbol.set` and its event: defines a symbol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Set {
    /// The id of the symbol.
    pub id: Label,
    /// The text it stands for.
    pub value: Value,
}

/// The symbols, with an index by value.
#[derive(Clone, Debug, Default)]
pub(crate) struct Symbols {
    shelf: Shelf<Label, Symbol>,
    /// Values, each with the position of its symbol.
    values: OrdSet<(Value, u64)>,
}

impl Symbols {
    pub(crate) fn shelf(&self) -> &Shelf<Label, Symbol> {
        &self.shelf
    }

    /// The first symbol that stands for a value.
    pub(crate) fn reverse(&self, value: &Value) -> Option<(&Label, &Symbol)> {
        let (found, place) = self.values.range((value.clone(), 0)..).next()?;
        let id = self.shelf.at(*place).filter(|_| found == value)?;
        self.shelf.get(id).map(|symbol| (id, symbol))
    }

    pub(crate) fn put(&mut self, id: Label, symbol: Symbol) {
        let value = symbol.value.clone();
        let (place, before) = self.shelf.put(id, symbol);
        if let Some(before) = before {
            self.values.remove(&(before.value, place));
        }
        self.values.insert((value, place));
    }

    pub(crate) fn from_image(image: Vec<(u64, Label, Symbol)>) -> Self {
        let values = image.iter().map(|(place, _, own)| (own.value.clone(), *place)).collect();
        Symbols { shelf: Shelf::from_image(image), values }
    }
}
