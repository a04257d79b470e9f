//! What everybody shares: symbols, facts, capsules, decisions, disputes, and counts of tokens.
//!
//! It belongs to the project and to no workspace: whoever is registered writes it, and everybody
//! reads it. Nothing here grows without a limit. Symbols, facts, capsules, disputes and baselines
//! have a number that is not exceeded; of decisions the newest are at hand and the trail has all;
//! of tokens there are sums, and names beyond a number are added up under one.

pub mod capsule;
pub mod decision;
pub mod dispute;
pub mod fact;
mod label;
pub mod ledger;
pub mod message;
mod shelf;
pub mod symbol;
pub mod view;

pub use label::{HANDLE_BYTES_MAX, Handle, LABEL_BYTES_MAX, Label, LabelError};

use imbl::OrdMap;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

use crate::command::CommonsCommand;
use crate::event::{CommonsEvent, Event, Stamped};
use crate::principal::{Actor, Caller, Principal};
use crate::refusal::Refusal;
use crate::rule::Rule;
use crate::state::{ApplyError, State};
use crate::time::Timestamp;
use crate::turn::{Halt, Reply, Turn};
use capsule::Capsule;
use decision::Decision;
use dispute::Dispute;
use fact::Fact;
use ledger::Ledger;
use shelf::Shelf;
use symbol::{Symbol, Symbols};

/// Everything that is shared now.
#[derive(Clone, Debug, Default)]
pub struct Commons {
    pub(crate) symbols: Symbols,
    pub(crate) facts: Shelf<Label, Fact>,
    pub(crate) capsules: OrdMap<Handle, Arc<Capsule>>,
    /// The newest decisions, by number.
    pub(crate) decisions: OrdMap<u64, Arc<Decision>>,
    /// How many decisions there ever were.
    pub(crate) decided: u64,
    pub(crate) disputes: OrdMap<Handle, Arc<Dispute>>,
    pub(crate) ledger: Ledger,
}

/// Who wrote something, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// When.
    pub at: Timestamp,
    /// Who.
    pub by: Principal,
}

impl Mark {
    /// By whoever caused an entry.
    fn of(entry: &Stamped) -> Result<Self, ApplyError> {
        match &entry.draft.actor {
            Actor::Principal(by) => Ok(Mark { at: entry.at, by: by.clone() }),
            Actor::Protocol => Err(ApplyError::Mismatch("its author")),
        }
    }
}

/// What is shared, as plain lists.
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

    /// How many things these are.
    pub(crate) fn size(&self) -> usize {
        let written = self.symbols.shelf().len() + self.facts.len() + self.capsules.len();
        written + self.decisions.len() + self.disputes.len() + self.ledger.size()
    }
}

/// Carries out a command about what is shared.
pub(crate) fn carry_out(
    turn: &mut Turn<'_>,
    caller: &Caller,
    command: CommonsCommand<'_>,
) -> Result<Reply, Halt> {
    match command {
        CommonsCommand::SymbolSet(args) => symbol::decide_set(turn, caller, args),
        CommonsCommand::FactSet(args) => fact::decide_set(turn, caller, args),
        CommonsCommand::FactDelete(args) => fact::decide_delete(turn, caller, args),
        CommonsCommand::CapsuleWrite(args) => capsule::decide_write(turn, caller, args),
        CommonsCommand::DecisionAppend(args) => decision::decide_append(turn, caller, args),
        CommonsCommand::DisputeRaise(args) => dispute::decide_raise(turn, caller, args),
        CommonsCommand::LedgerLog(args) => ledger::decide_log(turn, caller, args),
        CommonsCommand::LedgerBaseline(args) => ledger::decide_baseline(turn, caller, args),
        CommonsCommand::MessageNote(args) => message::decide_note(turn, caller, args),
    }
}

/// Applies what happened to what is shared.
pub(crate) fn apply(
    state: &mut State,
    entry: &Stamped,
    event: CommonsEvent<'_>,
) -> Result<(), ApplyError> {
    match event {
        CommonsEvent::SymbolSet(body) => symbol::apply_set(state, entry, body)?,
        CommonsEvent::FactSet(body) => fact::apply_set(state, entry, body)?,
        CommonsEvent::FactDeleted(body) => fact::apply_deleted(state, body)?,
        CommonsEvent::CapsuleWritten(body) => capsule::apply_written(state, entry, body)?,
        CommonsEvent::DecisionAppended(body) => decision::apply_appended(state, entry, body),
        CommonsEvent::DisputeRaised(body) => dispute::apply_raised(state, entry, body)?,
        CommonsEvent::LedgerLogged(body) => ledger::apply_logged(state, entry, body),
        CommonsEvent::LedgerBaselined(body) => ledger::apply_baselined(state, body),
        // The trail alone remembers it.
        CommonsEvent::MessageNoted(_) => {}
    }
    Ok(())
}

/// Records a deed of the caller's in the project's own trail.
fn record(turn: &mut Turn<'_>, caller: &Caller, event: Event) -> Result<(), Halt> {
    turn.project()?;
    turn.note(None, caller.principal.clone().into(), event)?;
    Ok(())
}

/// Refuses one more of something there is enough of.
fn room(count: usize, most: usize, what: &str, way_out: &str) -> Result<(), Refusal> {
    if count < most {
        return Ok(());
    }
    let message = format!("there are {most} {what}, which is the most; {way_out}");
    Err(Refusal::denied(Rule::SharedRoom, message))
}

/// Refuses what says nothing.
fn said(is_blank: bool, what: &str) -> Result<(), Refusal> {
    if is_blank {
        return Err(Refusal::denied(Rule::SaySomething, format!("{what} is empty")));
    }
    Ok(())
}

/// What a reader finds here, for the projection and for doors.
impl State {
    /// What everybody shares.
    pub fn commons(&self) -> &Commons {
        &self.commons
    }
}
