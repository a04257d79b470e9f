//! The blackboard: symbols, facts, capsules, decisions, disputes and the token ledger.

pub(crate) mod capsule;
pub(crate) mod decision;
pub(crate) mod dispute;
pub(crate) mod fact;
pub(crate) mod ledger;
pub(crate) mod message;
pub(crate) mod shelf;
pub(crate) mod symbol;
pub(crate) mod view;

use imbl::OrdMap;
use serde::Deserialize;
use serde::Serialize;
use std::sync::Arc;

use crate::model::knowledge::blackboard::capsule::Capsule;
use crate::model::knowledge::blackboard::decision::Decision;
use crate::model::knowledge::blackboard::dispute::Dispute;
use crate::model::knowledge::blackboard::fact::Fact;
use crate::model::knowledge::blackboard::ledger::Ledger;
use crate::model::knowledge::blackboard::shelf::Shelf;
use crate::model::knowledge::blackboard::symbol::{Symbol, Symbols};
use crate::values::principal::Principal;
use crate::values::time::Timestamp;

pub use crate::values::label::Handle;
pub use crate::values::label::Label;
pub use crate::values::label::LabelError;

/// The current content of the blackboard.
#[derive(Clone, Debug, Default)]
pub struct Commons {
    pub(crate) symbols: Symbols,
    pub(crate) facts: Shelf<Label, Fact>,
    pub(crate) capsules: OrdMap<Handle, Arc<Capsule>>,
    /// The newest decisions, by number.
    pub(crate) decisions: OrdMap<u64, Arc<Decision>>,
    /// The number of decisions ever made.
    pub(crate) decided: u64,
    pub(crate) disputes: OrdMap<Handle, Arc<Dispute>>,
    pub(crate) ledger: Ledger,
}

/// The author and time of a write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// The time.
    pub at: Timestamp,
    /// The author.
    pub by: Principal,
}

/// The serialized form of the blackboard: plain lists.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommonsImage {
    symbols: Vec<(u64, Label, Symbol)>,
    facts: Vec<(u64, Label, Fact)>,
    capsules: Vec<(Handle, Capsule)>,
    decisions: Vec<(u64, Decision)>,
    decided: u64,
    disputes: Vec<(Handle, Dispute)>,
    ledger: Ledger,
}

impl Commons {
    pub(crate) fn image(&self) -> CommonsImage {
        fn list<K: Clone + Ord, V: Clone>(map: &OrdMap<K, Arc<V>>) -> Vec<(K, V)> {
            map.iter().map(|(key, value)| (key.clone(), V::clone(value))).collect()
        }
        CommonsImage {
            symbols: self.symbols.shelf().image(),
            facts: self.facts.image(),
            capsules: list(&self.capsules),
            decisions: list(&self.decisions),
            decided: self.decided,
            disputes: list(&self.disputes),
            ledger: self.ledger.clone(),
        }
    }

    pub(crate) fn from_image(image: CommonsImage) -> Self {
        fn map<K: Clone + Ord, V: Clone>(list: Vec<(K, V)>) -> OrdMap<K, Arc<V>> {
            list.into_iter().map(|(key, value)| (key, Arc::new(value))).collect()
        }
        Commons {
            symbols: Symbols::from_image(image.symbols),
            facts: Shelf::from_image(image.facts),
            capsules: map(image.capsules),
            decisions: map(image.decisions),
            decided: image.decided,
            disputes: map(image.disputes),
            ledger: image.ledger,
        }
    }

    /// The number of items, for statistics.
    pub(crate) fn size(&self) -> usize {
        let written = self.symbols.shelf().len() + self.facts.len() + self.capsules.len();
        written + self.decisions.len() + self.disputes.len() + self.ledger.size()
    }
}
