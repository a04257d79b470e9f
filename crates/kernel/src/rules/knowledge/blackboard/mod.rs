//! The blackboard: symbols, facts, capsules, decisions, disputes, and token sums.
//!
//! It belongs to the project and to no workspace: every registered principal can write, and
//! everybody can read. Symbols, facts, capsules and decisions are records: their events change the
//! table of records, and nothing else keeps them. Nothing here grows without a limit. Symbols,
//! facts, capsules, disputes and baselines have a maximum number, and so have all records; tokens
//! are summed, and names beyond a maximum number are summed under one.

pub mod capsule;
pub mod decision;
pub mod dispute;
pub(crate) mod earlier;
pub mod fact;
pub mod ledger;
pub mod message;
pub mod symbol;
pub mod view;

use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::protocol::command::CommonsCommand;
use crate::protocol::event::{CommonsEvent, Event, Stamped};
use crate::protocol::refusal::Refusal;
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::registry::rule::Rule;
use crate::values::principal::{Actor, Caller};

pub use crate::model::knowledge::blackboard::*;

impl Mark {
    /// The author and time of an entry.
    fn of(entry: &Stamped) -> Result<Self, ApplyError> {
        match &entry.draft.actor {
            Actor::Principal(by) => Ok(Mark { at: entry.at, by: by.clone() }),
            Actor::Protocol => Err(ApplyError::Mismatch("its author")),
        }
    }
}

/// Carries out a blackboard command.
pub(crate) fn carry_out(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    command: CommonsCommand<'_>,
) -> Result<Reply, DecisionError> {
    match command {
        CommonsCommand::SymbolSet(args) => symbol::decide_set(tx, caller, args),
        CommonsCommand::FactSet(args) => fact::decide_set(tx, caller, args),
        CommonsCommand::FactDelete(args) => fact::decide_delete(tx, caller, args),
        CommonsCommand::CapsuleWrite(args) => capsule::decide_write(tx, caller, args),
        CommonsCommand::DecisionAppend(args) => decision::decide_append(tx, caller, args),
        CommonsCommand::DisputeRaise(args) => dispute::decide_raise(tx, caller, args),
        CommonsCommand::LedgerLog(args) => ledger::decide_log(tx, caller, args),
        CommonsCommand::LedgerBaseline(args) => ledger::decide_baseline(tx, caller, args),
        CommonsCommand::MessageNote(args) => message::decide_note(tx, caller, args),
    }
}

/// Applies a blackboard event.
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
        CommonsEvent::DecisionAppended(body) => decision::apply_appended(state, entry, body)?,
        CommonsEvent::DisputeRaised(body) => dispute::apply_raised(state, entry, body)?,
        CommonsEvent::LedgerLogged(body) => ledger::apply_logged(state, entry, body),
        CommonsEvent::LedgerBaselined(body) => ledger::apply_baselined(state, body),
        // Kept only in the trail.
        CommonsEvent::MessageNoted(_) => {}
    }
    Ok(())
}

/// Records a blackboard event caused by the caller in the project's own trail.
fn record(tx: &mut Transaction<'_>, caller: &Caller, event: Event) -> Result<(), DecisionError> {
    tx.project()?;
    tx.note(None, caller.principal.clone().into(), event)?;
    Ok(())
}

/// Refuses one more item once the limit is reached.
fn room(count: usize, most: usize, what: &str, way_out: &str) -> Result<(), Refusal> {
    if count < most {
        return Ok(());
    }
    let message = format!("there are {most} {what}, which is the most; {way_out}");
    Err(Refusal::denied(Rule::SharedRoom, message))
}

/// Refuses blank text.
fn said(is_blank: bool, what: &str) -> Result<(), Refusal> {
    if is_blank {
        return Err(Refusal::denied(Rule::SaySomething, format!("{what} is empty")));
    }
    Ok(())
}

/// Read access for projections and callers.
impl State {
    /// The blackboard.
    pub fn commons(&self) -> Blackboard<'_> {
        Blackboard { commons: &self.commons, memory: &self.memory }
    }
}
