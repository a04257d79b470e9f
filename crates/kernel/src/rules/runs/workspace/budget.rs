//! Budgets: limits on the resources of a workspace, and raising them.
//!
//! A budget limits any of seven dimensions independently. Whether a dimension is limited is fixed
//! when a workspace is created; a limit can only be raised. Enforcement is in [`super::enforce`],
//! drawing on the parent's budget in [`super::draw`].

use std::sync::Arc;

use crate::machine::coordinator;
use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::runs::workspace::meter::Amount;
use crate::model::runs::workspace::{Workspace, edges};
use crate::protocol::event::Event;
use crate::protocol::refusal::Refusal;
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::registry::rule::Rule;
use crate::rules::runs::workspace;
use crate::rules::runs::workspace::draw;
use crate::values::principal::{Actor, Caller};
use crate::values::time::{Span, Timestamp};

pub use crate::model::runs::workspace::budget::*;

pub(crate) fn decide_modify(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    modify: &Modify,
) -> Result<Reply, DecisionError> {
    let id = &modify.workspace;
    let (state, mut at) = (tx.state(), tx.stamp());
    coordinator::root(state)?;
    let workspace = workspace::get(state, id)?;
    if !workspace::commands(state, caller, id) {
        let message = format!("{} may not change the budget of {id}", caller.principal);
        return Err(Refusal::denied(Rule::CoordinatorOnly, message).into());
    }
    if !workspace.status.is_open() {
        let message = format!("workspace {id} is {}; its budget cannot change", workspace.status);
        let refusal = Refusal::denied(Rule::BudgetGrows, message);
        return Err(refusal.allowing(edges::transitions_from(workspace.status)).into());
    }
    if modify.limits.is_empty() {
        return Err(Refusal::denied(Rule::Usage, "there is no new limit").into());
    }
    let parent =
        workspace.parent.as_ref().map(|parent| workspace::get(state, parent)).transpose()?;
    let mut raised = Vec::new();
    for (dimension, new) in &modify.limits {
        let old = may_raise(workspace, *dimension, *new, at)?;
        if let Some(parent) = parent {
            draw::may_give(parent, *dimension, new.get() - old.get(), at)?;
        }
        // Each is a separate entry, one microsecond later.
        at = at.after(Span::from_micros(1));
        raised.push((*dimension, old, *new));
    }
    for (n, (budget_dimension, old_limit, new_limit)) in raised.into_iter().enumerate() {
        let workspace_id = id.clone();
        let body = BudgetModified { budget_dimension, new_limit, old_limit, workspace_id };
        // One entry is in the caller's name; the others follow from it.
        let actor = if n == 0 { caller.principal.clone().into() } else { Actor::Protocol };
        tx.note(Some(id), actor, Event::BudgetModified(body))?;
    }
    tx.meter_reply(id)
}

/// The current limit, or a refusal if it may not be raised to the new one.
pub(crate) fn may_raise(
    workspace: &Workspace,
    dimension: Dimension,
    new: Amount,
    now: Timestamp,
) -> Result<Amount, Refusal> {
    let denied = |message| Err(Refusal::denied(Rule::BudgetGrows, message));
    let Some(old) = workspace.budget.get(&dimension) else {
        return denied(format!("{dimension} is not limited, and no limit can be added"));
    };
    if new <= *old {
        return denied(format!("{dimension} is {} and can only be raised", old.get()));
    }
    let drawn = workspace.drawn(dimension, now);
    if new.get() < drawn {
        return denied(format!("{drawn} of {dimension} are in use already"));
    }
    Ok(*old)
}

pub(crate) fn apply_modified(
    state: &mut State,
    at: Timestamp,
    modified: &BudgetModified,
) -> Result<(), ApplyError> {
    let (id, dimension) = (&modified.workspace_id, modified.budget_dimension);
    let known = state.workspaces.get_mut(id).ok_or(ApplyError::Unknown("the workspace"))?;
    if !known.status.is_open() {
        return Err(ApplyError::Mismatch("the state its budget is changed in"));
    }
    if known.budget.get(&dimension) != Some(&modified.old_limit)
        || modified.new_limit <= modified.old_limit
    {
        return Err(ApplyError::Mismatch("the limit before"));
    }
    let workspace = Arc::make_mut(known);
    workspace.budget.insert(dimension, modified.new_limit);
    // Warn again before the new limit, unless its threshold is already passed.
    if workspace.drawn(dimension, at) < workspace.warn_at.of(modified.new_limit.get()) {
        workspace.warned.retain(|warned| *warned != dimension);
    }
    let parent = workspace.parent.clone();
    let more = i128::from(modified.new_limit.get()) - i128::from(modified.old_limit.get());
    if let Some(parent) = parent {
        draw::adjust(state, &parent, dimension, more);
    }
    Ok(())
}
