//! Symbols: short names for long things, so that nobody has to say them twice.

use imbl::OrdSet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::view::{CommonsReply, SymbolView};
use super::{Commons, Label, Mark, Shelf, record, room};
use crate::event::{Event, Stamped};
use crate::principal::Caller;
use crate::refusal::Refusal;
use crate::state::{ApplyError, State};
use crate::text::Text;
use crate::turn::{Halt, Reply, Turn};

/// The most symbols of a project.
pub const SYMBOLS_MAX: usize = 20_000;

/// What a symbol stands for.
pub type Value = Text<1000>;

/// A symbol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Symbol {
    /// What it stands for.
    pub value: Value,
    /// Who set it last, and when.
    pub set: Mark,
}

/// `symbol.set`, and what it leaves: says what a symbol stands for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Set {
    /// The symbol.
    pub id: Label,
    /// What it stands for.
    pub value: Value,
}

/// The symbols, and which stands for what.
#[derive(Clone, Debug, Default)]
pub(crate) struct Symbols {
    shelf: Shelf<Label, Symbol>,
    /// Values with the places of their symbols.
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

    fn put(&mut self, id: Label, symbol: Symbol) {
        let value = symbol.value.clone();
        let (place, before) = self.shelf.put(id, symbol);
        if let Some(before) = before {
            self.values.remove(&(before.value, place));
        }
        self.values.insert((value, place));
    }

    pub(super) fn from_image(image: Vec<(u64, Label, Symbol)>) -> Self {
        let values = image.iter().map(|(place, _, own)| (own.value.clone(), *place)).collect();
        Symbols { shelf: Shelf::from_image(image), values }
    }
}

pub(super) fn decide_set(turn: &mut Turn<'_>, caller: &Caller, args: &Set) -> Result<Reply, Halt> {
    check(&turn.state().commons, args)?;
    record(turn, caller, Event::SymbolSet(args.clone()))?;
    let symbol = turn.state().commons.symbols.shelf().get(&args.id);
    let symbol = symbol.ok_or(ApplyError::Unknown("the symbol"))?;
    Ok(CommonsReply::Symbol(SymbolView::of(&args.id, symbol)).into())
}

/// Whether there is room for it.
pub(crate) fn check(commons: &Commons, args: &Set) -> Result<(), Refusal> {
    let symbols = commons.symbols.shelf();
    if symbols.get(&args.id).is_some() {
        return Ok(());
    }
    room(symbols.len(), SYMBOLS_MAX, "symbols", "give one that is no longer needed a new value")
}

pub(super) fn apply_set(state: &mut State, entry: &Stamped, set: &Set) -> Result<(), ApplyError> {
    let symbol = Symbol { value: set.value.clone(), set: Mark::of(entry)? };
    state.commons.symbols.put(set.id.clone(), symbol);
    Ok(())
}
