//! The blackboard: the words of the frugal dialect for shared knowledge.
//!
//! Symbols, facts, capsules and decisions are records like those of the memory, kept in the one
//! table of records; [`Blackboard`] shows them. Disputes and the token ledger are kept here.

pub(crate) mod capsule;
pub(crate) mod decision;
pub(crate) mod dispute;
pub(crate) mod earlier;
pub(crate) mod fact;
pub(crate) mod ledger;
pub(crate) mod message;
pub(crate) mod symbol;
pub(crate) mod view;

use imbl::OrdMap;
use serde::Deserialize;
use serde::Serialize;
use std::sync::Arc;

use crate::model::knowledge::blackboard::dispute::Dispute;
use crate::model::knowledge::blackboard::earlier::Earlier;
use crate::model::knowledge::blackboard::ledger::Ledger;
use crate::model::knowledge::records::Memory;
use crate::values::principal::Principal;
use crate::values::time::Timestamp;

pub use crate::values::label::Handle;
pub use crate::values::label::Label;
pub use crate::values::label::LabelError;

/// The part of the blackboard that is not kept as records.
#[derive(Clone, Debug, Default)]
pub struct BlackboardState {
    /// The number of decisions whose entries do not name their records.
    pub(crate) decided: u64,
    pub(crate) disputes: OrdMap<Handle, Arc<Dispute>>,
    pub(crate) ledger: Ledger,
}

/// Read access to the whole blackboard, records included.
#[derive(Clone, Copy, Debug)]
pub struct Blackboard<'a> {
    pub(crate) state: &'a BlackboardState,
    pub(crate) memory: &'a Memory,
}

/// The author and time of a write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// The time.
    pub at: Timestamp,
    /// The author.
    pub by: Principal,
}

/// The serialized form of the blackboard: plain lists. The first four are what earlier builds kept
/// beside the records; they are read and no longer written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlackboardImage {
    #[serde(default)]
    symbols: Vec<(u64, Label, earlier::Valued)>,
    #[serde(default)]
    facts: Vec<(u64, Label, earlier::Valued)>,
    #[serde(default)]
    capsules: Vec<(Handle, earlier::Capsule)>,
    #[serde(default)]
    decisions: Vec<(u64, earlier::Decision)>,
    decided: u64,
    disputes: Vec<(Handle, Dispute)>,
    ledger: Ledger,
}

impl BlackboardState {
    pub(crate) fn image(&self) -> BlackboardImage {
        fn list<K: Clone + Ord, V: Clone>(map: &OrdMap<K, Arc<V>>) -> Vec<(K, V)> {
            map.iter().map(|(key, value)| (key.clone(), V::clone(value))).collect()
        }
        BlackboardImage {
            decided: self.decided,
            disputes: list(&self.disputes),
            ledger: self.ledger.clone(),
            ..BlackboardImage::default()
        }
    }

    /// The blackboard of an image, and what earlier builds kept beside the records.
    pub(crate) fn from_image(image: BlackboardImage) -> (Self, Earlier) {
        fn map<K: Clone + Ord, V: Clone>(list: Vec<(K, V)>) -> OrdMap<K, Arc<V>> {
            list.into_iter().map(|(key, value)| (key, Arc::new(value))).collect()
        }
        let state = BlackboardState {
            decided: image.decided,
            disputes: map(image.disputes),
            ledger: image.ledger,
        };
        let BlackboardImage { symbols, facts, capsules, decisions, .. } = image;
        (state, Earlier { symbols, facts, capsules, decisions })
    }

    /// The number of items, for statistics.
    pub(crate) fn size(&self) -> usize {
        self.disputes.len() + self.ledger.size()
    }
}
