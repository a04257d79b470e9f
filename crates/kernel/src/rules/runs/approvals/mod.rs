//! Human approvals (the "highway"): how people watch, approve, interrupt and answer while work goes
//! on.
//!
//! Actions that need approval wait at a gate ([`gate`]); questions an agent cannot decide arrive as
//! escalations ([`escalation`]); people send messages as injected envelopes ([`inject`]). The
//! settings of a run say which gates exist, how long each waits and its fallback. Watching needs no
//! settings: it is reading the trail.

pub mod escalation;
pub mod gate;
pub mod inject;
pub mod request;
pub mod resolve;
pub mod view;

use std::sync::Arc;

use crate::machine::coordinator;
use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::runs::task::Task;
use crate::protocol::event::Event;
use crate::protocol::refusal::Refusal;
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::registry::rule::Rule;
use crate::rules::runs::task;
use crate::values::id::TaskId;
use crate::values::principal::Caller;
use crate::values::time::Timestamp;

pub use crate::model::runs::approvals::*;

pub(crate) fn decide_configure(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    wish: &Wish,
) -> Result<Reply, DecisionError> {
    let root = coordinator::root(tx.state())?.clone();
    may_configure(tx.state(), caller)?;
    let highway = Highway::clone(&tx.state().highway).with(wish);
    let event = Event::HighwayConfigured(Configured { highway, workspace_id: root.clone() });
    tx.note(Some(&root), caller.principal.clone().into(), event)?;
    for draft in unasked(tx.state()) {
        gate::on_planned(tx, &draft)?;
    }
    Ok(Reply::Highway(Box::new(view::HighwayView::of(tx.state()))))
}

/// Draft tasks of this run for which no gate was opened yet.
fn unasked(state: &State) -> Vec<TaskId> {
    let unasked = |task: &Task| {
        let subject = (&task.id).into();
        task.status == task::Status::Draft
            && task::is_of_this_run(state, task)
            && state.open_gate(GateType::TaskApproval, &subject).is_none()
            && gate::closed_by_fallback(state, GateType::TaskApproval, &subject).is_none()
    };
    let drafts = state.tasks().filter(unasked);
    let mut drafts: Vec<(Timestamp, TaskId)> = drafts.map(|task| (task.at, task.id)).collect();
    drafts.sort();
    drafts.into_iter().map(|(_, id)| id).collect()
}

/// Checks whether a caller may change the approval settings: people with the permission, or the
/// coordinator if there are no users.
pub(crate) fn may_configure(state: &State, caller: &Caller) -> Result<(), Refusal> {
    use crate::capability::{Permission, may};
    match &caller.principal {
        crate::values::principal::Principal::User(user) => {
            may(state, user, Permission::CreateWorkspace, None)
        }
        principal if state.users.is_empty() && coordinator::is_coordinator(state, principal) => {
            Ok(())
        }
        principal => {
            let message = format!("{principal} may not change the highway's settings");
            Err(Refusal::denied(Rule::PersonDecides, message))
        }
    }
}

pub(crate) fn apply_configured(
    state: &mut State,
    configured: &Configured,
) -> Result<(), ApplyError> {
    if state.root.as_ref() != Some(&configured.workspace_id) {
        return Err(ApplyError::Mismatch("the root of the run"));
    }
    state.highway = Arc::new(configured.highway.clone());
    Ok(())
}

/// Closes gates whose subject is gone and escalations of ended workspaces. It runs after every
/// command and every deadline, so that no way of ending something is missed.
pub(crate) fn sweep(tx: &mut Transaction<'_>) -> Result<(), ApplyError> {
    if !tx.state().gates.is_empty() {
        gate::sweep(tx)?;
    }
    if !tx.state().escalations.is_empty() {
        escalation::sweep(tx)?;
    }
    Ok(())
}
