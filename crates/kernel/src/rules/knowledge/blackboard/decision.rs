//! The decision log.

use std::sync::Arc;

use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::knowledge::blackboard::Mark;
use crate::model::knowledge::blackboard::view::{CommonsReply, DecisionView};
use crate::protocol::event::{Event, Stamped};
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::rules::knowledge::blackboard::{record, said};
use crate::values::principal::Caller;

pub use crate::model::knowledge::blackboard::decision::*;

pub(crate) fn decide_append(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    args: &Append,
) -> Result<Reply, DecisionError> {
    said(args.title.is_blank(), "the title")?;
    said(args.body.is_blank(), "the decision")?;
    let event = Event::DecisionAppended(Appended {
        body: args.body.clone(),
        by: caller.principal.clone(),
        dispute: None,
        title: args.title.clone(),
        via: args.via.clone(),
    });
    record(tx, caller, event)?;
    let last = tx.state().commons.decisions.get_max();
    let (number, decision) = last.ok_or(ApplyError::Unknown("the decision"))?;
    Ok(CommonsReply::Decision(Box::new(DecisionView::of(*number, decision))).into())
}

pub(crate) fn apply_appended(state: &mut State, entry: &Stamped, body: &Appended) {
    let commons = &mut state.commons;
    commons.decided += 1;
    let decision = Decision {
        title: body.title.clone(),
        body: body.body.clone(),
        dispute: body.dispute.clone(),
        written: Mark { at: entry.at, by: body.by.clone() },
    };
    commons.decisions.insert(commons.decided, Arc::new(decision));
    if commons.decisions.len() > DECISIONS_KEPT {
        commons.decisions = commons.decisions.without(&(commons.decided - DECISIONS_KEPT as u64));
    }
}
