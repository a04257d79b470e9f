//! Enforcement of budgets.
//!
//! After every command and every deadline, each workspace that used something is checked. A warning
//! is recorded before the end, even if one command passed both thresholds. The command is carried
//! out; then the workspace fails, in the same commit. Active time runs by itself and has a
//! deadline. Only its own use ends a workspace: one whose budget its descendants used up lives on
//! until it uses something itself.

use std::sync::Arc;

use crate::machine::state::State;
use crate::machine::transaction::Transaction;
use crate::model::runs::workspace::budget::{Dimension, is_enforced};
use crate::model::runs::workspace::meter::Amount;
use crate::model::runs::workspace::{Status, Trigger, Workspace};
use crate::protocol::event::Event;
use crate::registry::apply_error::ApplyError;
use crate::rules::runs::workspace::change;
use crate::rules::runs::workspace::change::Change;
use crate::values::id::WorkspaceId;
use crate::values::principal::Actor;
use crate::values::text::Text;
use crate::values::time::Timestamp;

pub use crate::model::runs::workspace::enforce::*;

/// The next action that a budget requires.
enum Next {
    Warn(Dimension),
    End(Dimension),
}

/// Warns about and ends the workspaces that used something in the entries from `first` on. `before`
/// is the state before those entries. Returns whether there was anything to do.
pub(crate) fn settle(
    tx: &mut Transaction<'_>,
    before: &State,
    first: usize,
) -> Result<bool, ApplyError> {
    let (mut at, mut any) = (first, false);
    // Entries recorded here are checked in their turn.
    while let Some(entry) = tx.entries().get(at) {
        if let Some(id) = entry.draft.workspace.clone() {
            while let Some(next) = next(tx, before, &id) {
                any = true;
                match next {
                    Next::Warn(dimension) => warn(tx, &id, dimension)?,
                    Next::End(dimension) => end(tx, &id, dimension)?,
                }
            }
        }
        at += 1;
    }
    Ok(any)
}

fn next(tx: &Transaction<'_>, before: &State, id: &WorkspaceId) -> Option<Next> {
    let (known, now) = (tx.state().workspaces.get(id)?, tx.now());
    // Active time has its own deadline and is not checked here.
    let mut counted = known.budget.keys().filter(|own| **own != Dimension::ComputeTimeout);
    counted.find_map(|dimension| {
        if known.is_to_be_warned(*dimension, now) {
            return Some(Next::Warn(*dimension));
        }
        let over =
            known.is_used_up(*dimension, now) && used_more(before, id, known, *dimension, now);
        over.then_some(Next::End(*dimension))
    })
}

/// Whether a workspace itself used something since a state, or came under enforcement since.
fn used_more(
    before: &State,
    id: &WorkspaceId,
    known: &Workspace,
    dimension: Dimension,
    now: Timestamp,
) -> bool {
    before.workspaces.get(id).is_none_or(|before| {
        !is_enforced(before.status) || known.used(dimension, now) > before.used(dimension, now)
    })
}

fn warn(
    tx: &mut Transaction<'_>,
    id: &WorkspaceId,
    dimension: Dimension,
) -> Result<(), ApplyError> {
    let workspace = tx.state().workspaces.get(id).ok_or(ApplyError::Unknown("the workspace"))?;
    let limit = workspace.budget.get(&dimension).ok_or(ApplyError::Unknown("the limit"))?;
    let event = Event::BudgetWarning(BudgetWarning {
        budget_dimension: dimension,
        consumed: Amount::new(workspace.drawn(dimension, tx.now())),
        limit: *limit,
        threshold_percent: workspace.warn_at.get(),
        workspace_id: id.clone(),
    });
    tx.note(Some(id), Actor::Protocol, event)
}

fn end(tx: &mut Transaction<'_>, id: &WorkspaceId, dimension: Dimension) -> Result<(), ApplyError> {
    let workspace = tx.state().workspaces.get(id).ok_or(ApplyError::Unknown("the workspace"))?;
    let limit = workspace.budget.get(&dimension).ok_or(ApplyError::Unknown("the limit"))?;
    let event = Event::BudgetExceeded(BudgetExceeded {
        budget_dimension: dimension,
        consumed: Amount::new(workspace.drawn(dimension, tx.now())),
        limit: *limit,
        workspace_id: id.clone(),
    });
    tx.note(Some(id), Actor::Protocol, event)?;
    let reason = Some(Text::lossy(dimension.as_str()));
    let over = Change::of_runtime(Status::Failed, Trigger::BudgetExceeded);
    change::fail(tx, id, Change { reason, ..over })
}

/// Acts on a workspace whose active time reached the warning threshold or the limit.
pub(crate) fn on_deadline(tx: &mut Transaction<'_>, id: &WorkspaceId) -> Result<(), ApplyError> {
    let Some(workspace) = tx.state().workspaces.get(id) else { return Ok(()) };
    if workspace.warned.contains(&Dimension::ComputeTimeout) {
        end(tx, id, Dimension::ComputeTimeout)
    } else {
        warn(tx, id, Dimension::ComputeTimeout)
    }
}

pub(crate) fn apply_warning(
    state: &mut State,
    at: Timestamp,
    warning: &BudgetWarning,
) -> Result<(), ApplyError> {
    let known = state.workspaces.get_mut(&warning.workspace_id);
    let known = known.ok_or(ApplyError::Unknown("the workspace"))?;
    let dimension = warning.budget_dimension;
    let is_sound = known.budget.get(&dimension) == Some(&warning.limit)
        && known.warn_at.get() == warning.threshold_percent;
    if !is_sound || !known.is_to_be_warned(dimension, at) {
        return Err(ApplyError::Mismatch("the budget"));
    }
    Arc::make_mut(known).warned.push(dimension);
    Ok(())
}

pub(crate) fn apply_exceeded(
    state: &mut State,
    at: Timestamp,
    exceeded: &BudgetExceeded,
) -> Result<(), ApplyError> {
    let known = state.workspaces.get_mut(&exceeded.workspace_id);
    let known = known.ok_or(ApplyError::Unknown("the workspace"))?;
    let dimension = exceeded.budget_dimension;
    let is_sound = known.budget.get(&dimension) == Some(&exceeded.limit);
    if !is_sound || !known.is_used_up(dimension, at) {
        return Err(ApplyError::Mismatch("the budget"));
    }
    Arc::make_mut(known).exceeded = Some(dimension);
    Ok(())
}
