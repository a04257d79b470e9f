//! Drawing on the workspace above: what is left of a budget once others were given a part.
//!
//! A workspace with a limit gives every workspace below it a limit of its own, and that much is
//! set aside while the other goes on. Once it has ended, what it really used takes the place of
//! what was set aside. So what is left of a budget is its limit, less own use, less all of that,
//! and nobody below can use more than was there. A workspace below that runs out ends alone: its
//! use was set aside already.

use std::sync::Arc;

use crate::machine::state::State;
use crate::model::runs::workspace::Workspace;
use crate::model::runs::workspace::budget::{Budget, Dimension};
use crate::protocol::refusal::Refusal;
use crate::registry::rule::Rule;
use crate::values::id::{EnvelopeId, WorkspaceId};
use crate::values::time::Timestamp;

/// Whether a workspace has as much left as it is to give.
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

/// Whether a workspace below may have this budget: limited in everything that the one above is
/// limited in, within what is left there.
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

/// A workspace was created: what it may use is set aside above it.
pub(crate) fn on_created(state: &mut State, parent: &WorkspaceId, budget: &Budget) {
    for (dimension, limit) in budget {
        adjust(state, parent, *dimension, i128::from(limit.get()));
    }
}

/// A workspace draws on the one above no longer, because it ended or went elsewhere: what it used
/// takes the place of what was set aside.
pub(crate) fn on_left(state: &mut State, id: &WorkspaceId, parent: &WorkspaceId, at: Timestamp) {
    let Some(known) = state.workspaces.get(id).cloned() else { return };
    for (dimension, limit) in &known.budget {
        let used = i128::from(known.drawn(*dimension, at));
        adjust(state, parent, *dimension, used - i128::from(limit.get()));
    }
}

impl State {
    /// A workspace has ended: it uses nothing any more, and what it used is known.
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

/// Changes what was given away. Above a workspace that has ended its use counts, not its limit, so
/// the change goes on upwards.
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
