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
use crate::protocol::event::{Event, Stamped};
use crate::protocol::refusal::Refusal;
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::registry::rule::Rule;
use crate::rules::runs::task;
use crate::values::id::{TaskId, WorkspaceId};
use crate::values::principal::{Actor, Caller, Principal};
use crate::values::time::Timestamp;

pub use crate::model::runs::approvals::*;

pub(crate) fn decide_configure(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    wish: &Wish,
) -> Result<Reply, DecisionError> {
    let root = coordinator::root(tx.state())?.clone();
    let settings = tx.state().approvals_in_force().with(wish);
    if wish.names_policies() {
        may_choose(tx.state(), &caller.principal, &settings)?;
    }
    may_configure(tx.state(), caller)?;
    configured(tx, &root, settings, caller.principal.clone().into())?;
    for draft in unasked(tx.state()) {
        gate::on_planned(tx, &draft)?;
    }
    Ok(Reply::Approvals(Box::new(view::ApprovalsView::of(tx.state()))))
}

fn configured(
    tx: &mut Transaction<'_>,
    root: &WorkspaceId,
    settings: ApprovalSettings,
    actor: Actor,
) -> Result<(), ApplyError> {
    let event =
        Event::HighwayConfigured(Configured { highway: settings, workspace_id: root.clone() });
    tx.note(Some(root), actor, event)
}

/// Has a run that began without people ask the first one who signs up, as a run with people does by
/// default.
pub(crate) fn on_first_person(tx: &mut Transaction<'_>) -> Result<(), DecisionError> {
    let Some(root) = tx.state().root.clone() else { return Ok(()) };
    let settings = ApprovalSettings::clone(&tx.state().approvals).asking_people();
    if settings == *tx.state().approvals {
        return Ok(());
    }
    configured(tx, &root, settings, Actor::Protocol)?;
    // However many drafts there are, nobody is kept from signing up.
    let free = gate::GATES_MAX.saturating_sub(tx.state().gates.len());
    for draft in unasked(tx.state()).iter().take(free) {
        gate::on_planned(tx, draft)?;
    }
    Ok(())
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

/// Checks whether a caller may choose settings that ask people less than the default ones do. Without
/// users there is nobody to ask.
pub(crate) fn may_choose(
    state: &State,
    principal: &Principal,
    settings: &ApprovalSettings,
) -> Result<(), Refusal> {
    let is_person = matches!(principal, Principal::User(_));
    if is_person || state.users.is_empty() || !settings.is_looser_than_default() {
        return Ok(());
    }
    let how = if settings.passes_people() {
        "let unanswered requests pass people"
    } else {
        "ask people less than by default"
    };
    let message = format!("{principal} may not choose settings that {how}");
    Err(Refusal::denied(Rule::PeopleChoose, message))
}

/// Checks whether a caller may change the approval settings: people with the permission, or the
/// coordinator if there are no users.
pub(crate) fn may_configure(state: &State, caller: &Caller) -> Result<(), Refusal> {
    use crate::rules::identity::capability::{Permission, may};
    match &caller.principal {
        Principal::User(user) => may(state, user, Permission::CreateWorkspace, None),
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
    entry: &Stamped,
    configured: &Configured,
) -> Result<(), ApplyError> {
    if state.root.as_ref() != Some(&configured.workspace_id) {
        return Err(ApplyError::Mismatch("the root of the run"));
    }
    let is_persons = matches!(state.approvals_by, Some(Principal::User(_)));
    if !is_persons || !configured.highway.has_policies_of(&state.approvals) {
        state.approvals_by = match &entry.draft.actor {
            Actor::Principal(principal) => Some(principal.clone()),
            Actor::Protocol => None,
        };
    }
    state.approvals = Arc::new(configured.highway.clone());
    Ok(())
}

impl State {
    /// The approval settings that apply. If there are users, a fallback passes people only if one of
    /// them chose it; a run of an earlier build, or one that began without users, may have others.
    pub(crate) fn approvals_in_force(&self) -> ApprovalSettings {
        let settings = ApprovalSettings::clone(&self.approvals);
        let is_persons = matches!(self.approvals_by, Some(Principal::User(_)));
        if is_persons || self.users.is_empty() { settings } else { settings.passing_nobody() }
    }
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
