//! Capsules: context for whoever continues the work, in at most ten lines.
//!
//! A capsule names the ones it depends on. Cycles are refused, so there is always an order in which
//! each comes after its dependencies.

use std::sync::Arc;

use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::knowledge::blackboard::view::{CapsuleView, CommonsReply};
use crate::model::knowledge::blackboard::{Commons, Mark};
use crate::protocol::event::{Event, Stamped};
use crate::protocol::refusal::Refusal;
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::registry::rule::Rule;
use crate::rules::knowledge::blackboard::{record, room, said};
use crate::rules::runs::task::graph::once_each;
use crate::values::principal::Caller;

pub use crate::model::knowledge::blackboard::capsule::*;

pub(crate) fn decide_write(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    args: &Write,
) -> Result<Reply, DecisionError> {
    let args = Write { depends: once_each(&args.depends), ..args.clone() };
    check(&tx.state().commons, &args)?;
    let id = args.id.clone();
    record(tx, caller, Event::CapsuleWritten(args))?;
    let capsule = tx.state().commons.capsules.get(&id);
    let capsule = capsule.ok_or(ApplyError::Unknown("the capsule"))?;
    Ok(CommonsReply::Capsule(Box::new(CapsuleView::of(&id, capsule))).into())
}

/// Checks whether a capsule may be written. If refused, an existing one stays as it was.
pub(crate) fn check(commons: &Commons, args: &Write) -> Result<(), Refusal> {
    said(args.what.is_blank(), "what changed")?;
    let (id, lines) = (&args.id, args.lines());
    if lines > LINES_MAX {
        let message = format!("capsule {id} would be {lines} lines (>{LINES_MAX}); compact harder");
        return Err(Refusal::denied(Rule::CapsuleLines, message));
    }
    if args.depends.len() > DEPENDS_MAX {
        let count = args.depends.len();
        let message = format!("capsule {id} would depend on {count} others, over {DEPENDS_MAX}");
        return Err(Refusal::denied(Rule::CapsuleLines, message));
    }
    if let Some(way) = commons.leads_back(id, &args.depends) {
        let message = format!("capsule {id} would depend on itself, by way of {way}");
        return Err(Refusal::denied(Rule::CapsuleCycle, message));
    }
    if !commons.capsules.contains_key(id) {
        let way_out = "overwrite one that is no longer needed";
        room(commons.capsules.len(), CAPSULES_MAX, "capsules", way_out)?;
    }
    Ok(())
}

pub(crate) fn apply_written(
    state: &mut State,
    entry: &Stamped,
    body: &Write,
) -> Result<(), ApplyError> {
    let capsule = Capsule {
        what: body.what.clone(),
        place: body.place.clone(),
        decision: body.decision.clone(),
        gotcha: body.gotcha.clone(),
        depends: body.depends.clone(),
        written: Mark::of(entry)?,
    };
    state.commons.capsules.insert(body.id.clone(), Arc::new(capsule));
    Ok(())
}
