//! Capsules: context for whoever continues the work, in at most ten lines.
//!
//! A capsule names the ones it depends on. Cycles are refused, so there is always an order in which
//! each comes after its dependencies.

use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::knowledge::blackboard::view::BlackboardReply;
use crate::model::knowledge::records::field::Few;
use crate::model::knowledge::records::{Fields, Kind};
use crate::protocol::event::{Event, Stamped};
use crate::protocol::refusal::Refusal;
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::registry::rule::Rule;
use crate::rules::knowledge::blackboard::{not_blank, record, room};
use crate::rules::knowledge::records::keyed;
use crate::rules::runs::task::graph::once_each;
use crate::values::label::Label;
use crate::values::principal::Caller;
use crate::values::text::Text;

pub use crate::model::knowledge::blackboard::capsule::*;

pub(crate) fn decide_write(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    args: &Write,
) -> Result<Reply, DecisionError> {
    let args = Write { depends: once_each(&args.depends), ..args.clone() };
    check(tx.state(), &args)?;
    let id = args.id.clone();
    record(tx, caller, Event::CapsuleWritten(args))?;
    let capsule = tx.state().blackboard().capsule(&id).ok_or(ApplyError::Unknown("the capsule"))?;
    Ok(BlackboardReply::Capsule(Box::new(capsule)).into())
}

/// Checks whether a capsule may be written. If refused, an existing one stays as it was.
fn check(state: &State, args: &Write) -> Result<(), Refusal> {
    not_blank(args.what.is_blank(), "what changed")?;
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
    if let Some(way) = state.blackboard().leads_back(id, &args.depends) {
        let message = format!("capsule {id} would depend on itself, by way of {way}");
        return Err(Refusal::denied(Rule::CapsuleCycle, message));
    }
    if state.blackboard().capsule_record(id).is_some() {
        return Ok(());
    }
    let way_out = "overwrite one that is no longer needed";
    room(state.memory.count(Kind::Capsule, None), CAPSULES_MAX, "capsules", way_out)?;
    state.memory.room()
}

pub(crate) fn apply_written(
    state: &mut State,
    entry: &Stamped,
    body: &Write,
) -> Result<(), ApplyError> {
    let key = Label::new(body.id.as_str()).map_err(|_| ApplyError::Mismatch("its id"))?;
    let depends = Few::new(body.depends.clone());
    let fields = Fields {
        decision: body.decision.clone(),
        depends: depends.map_err(|_| ApplyError::Mismatch("its dependencies"))?,
        gotcha: body.gotcha.clone(),
        place: body.place.clone(),
        ..Fields::default()
    };
    keyed::write(state, entry, Kind::Capsule, key, Text::lossy(body.what.as_str()), fields)
}
