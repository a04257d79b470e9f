//! Drawing on the parent's budget.
//!
//! A workspace with a limit gives every child a limit of its own, and that amount is reserved while
//! the child lives. Once the child has ended, its actual use replaces the reservation. The rest of
//! a budget is its limit, less the own use, less all of that, so no descendant can use more than
//! there was. A child that runs out ends alone: its use was already reserved.

use std::sync::Arc;

use crate::machine::state::State;
use crate::model::runs::workspace::Workspace;
use crate::model::runs::workspace::budget::{Budget, Dimension};
use crate::protocol::refusal::Refusal;
use crate::registry::rule::Rule;
use crate::values::id::{EnvelopeId, WorkspaceId};
use crate::values::time::Timestamp;

/// Refuses to give more than a workspace has left.
pub(crate) fn may_give(
    parent: &Workspace,
    dimension: Dimension,
    more: u64,
    now: Timestamp,
) -> Result<(), Refusal> {
    match parent.left(dimension, now) {
        Some(left) if more > left => {
            let message =
                format!("the workspace above has {left} of {dimension} left, {more} are needed");
            let refusal = Refusal::denied(Rule::BudgetDrawn, message);
            Err(refusal.allowing([format!("{dimension} up to {left}")]))
        }
        _ => Ok(()),
    }
}

/// Checks the budget of a new child: limited in every dimension that the parent is limited in,
/// within what is left there.
pub(crate) fn may_have(parent: &Workspace, wanted: &Budget, now: Timestamp) -> Result<(), Refusal> {
    for dimension in parent.budget.keys() {
        let Some(limit) = wanted.get(dimension) else {
            let message =
                format!("the workspace above is limited in {dimension}, so this one has to be");
            let left = parent.left(*dimension, now).unwrap_or_default();
            let refusal = Refusal::denied(Rule::BudgetDrawn, message);
            return Err(refusal.allowing([format!("{dimension} up to {left}")]));
        };
        may_give(parent, *dimension, limit.get(), now)?;
    }
    Ok(())
}

/// Reserves the budget of a new workspace from its parent.
pub(crate) fn on_created(state: &mut State, parent: &WorkspaceId, budget: &Budget) {
    for (dimension, limit) in budget {
        adjust(state, parent, *dimension, i128::from(limit.get()));
    }
}

/// Replaces a reservation by the actual use, when a workspace ends or moves to another parent.
pub(crate) fn on_left(state: &mut State, id: &WorkspaceId, parent: &WorkspaceId, at: Timestamp) {
    let Some(known) = state.workspaces.get(id).cloned() else { return };
    for (dimension, limit) in &known.budget {
        let used = i128::from(known.drawn(*dimension, at));
        adjust(state, parent, *dimension, used - i128::from(limit.get()));
    }
}

impl State {
    /// Removes an ended workspace from the resource counts and settles its use with its parent.
    pub(crate) fn forget_use(&mut self, id: &WorkspaceId, at: Timestamp) {
        let Some(known) = self.workspaces.get(id).cloned() else { return };
        self.limited -= usize::from(!known.budget.is_empty());
        self.context = self.context.saturating_sub(known.meter.context);
        self.quiet.remove(id);
        let unread: Vec<EnvelopeId> = self.inbox_of(id).cloned().collect();
        for envelope in unread {
            self.unqueue(&envelope);
        }
        if let Some(parent) = &known.parent {
            on_left(self, id, parent, at);
        }
        self.retime(id);
    }
}

/// Changes the amount given away. An ended ancestor counts with its use, not its limit, so the
/// change propagates upwards.
pub(crate) fn adjust(state: &mut State, id: &WorkspaceId, dimension: Dimension, by: i128) {
    let mut at = Some(id.clone());
    while let Some(id) = at {
        let Some(known) = state.workspaces.get_mut(&id) else { return };
        if !known.budget.contains_key(&dimension) {
            return;
        }
        let workspace = Arc::make_mut(known);
        let given = workspace.given.entry(dimension).or_default();
        let sum = i128::from(*given).saturating_add(by).max(0);
        *given = u64::try_from(sum).unwrap_or(u64::MAX);
        at = workspace.parent.clone().filter(|_| workspace.status.is_terminal());
        state.retime(&id);
    }
}
