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
use crate::protocol::command::BlackboardCommand;
use crate::protocol::event::{BlackboardEvent, Event, Stamped};
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
    command: BlackboardCommand<'_>,
) -> Result<Reply, DecisionError> {
    match command {
        BlackboardCommand::SymbolSet(args) => symbol::decide_set(tx, caller, args),
        BlackboardCommand::FactSet(args) => fact::decide_set(tx, caller, args),
        BlackboardCommand::FactDelete(args) => fact::decide_delete(tx, caller, args),
        BlackboardCommand::CapsuleWrite(args) => capsule::decide_write(tx, caller, args),
        BlackboardCommand::DecisionAppend(args) => decision::decide_append(tx, caller, args),
        BlackboardCommand::DisputeRaise(args) => dispute::decide_raise(tx, caller, args),
        BlackboardCommand::LedgerLog(args) => ledger::decide_log(tx, caller, args),
        BlackboardCommand::LedgerBaseline(args) => ledger::decide_baseline(tx, caller, args),
        BlackboardCommand::MessageNote(args) => message::decide_note(tx, caller, args),
    }
}

/// Applies a blackboard event.
pub(crate) fn apply(
    state: &mut State,
    entry: &Stamped,
    event: BlackboardEvent<'_>,
) -> Result<(), ApplyError> {
    match event {
        BlackboardEvent::SymbolSet(body) => symbol::apply_set(state, entry, body)?,
        BlackboardEvent::FactSet(body) => fact::apply_set(state, entry, body)?,
        BlackboardEvent::FactDeleted(body) => fact::apply_deleted(state, body)?,
        BlackboardEvent::CapsuleWritten(body) => capsule::apply_written(state, entry, body)?,
        BlackboardEvent::DecisionAppended(body) => decision::apply_appended(state, entry, body)?,
        BlackboardEvent::DisputeRaised(body) => dispute::apply_raised(state, entry, body)?,
        BlackboardEvent::LedgerLogged(body) => ledger::apply_logged(state, entry, body),
        BlackboardEvent::LedgerBaselined(body) => ledger::apply_baselined(state, body),
        // Kept only in the trail.
        BlackboardEvent::MessageNoted(_) => {}
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
fn not_blank(is_blank: bool, what: &str) -> Result<(), Refusal> {
    if is_blank {
        return Err(Refusal::denied(Rule::SaySomething, format!("{what} is empty")));
    }
    Ok(())
}

/// Read access for projections and callers.
impl State {
    /// The blackboard.
    pub fn blackboard(&self) -> Blackboard<'_> {
        Blackboard { state: &self.blackboard, memory: &self.memory }
    }
}
