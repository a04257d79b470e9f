//! What becomes of a workspace that nears or reaches a limit.
//!
//! After every command, and after everything that fell due, each workspace that used something is
//! asked how it stands. A warning comes before the end, even if one step went past both. What was
//! begun is carried out; then the workspace fails, in the same commit. Time at work runs by itself
//! and has a deadline of its own. Only own use ends a workspace: one whose budget was used up below
//! it goes on until it needs something itself.

use serde::{Deserialize, Serialize};
use std::sync::Arc;

use super::budget::{Dimension, is_enforced};
use super::change::{self, Change};
use super::meter::Amount;
use super::{Status, Trigger, Workspace};
use crate::event::Event;
use crate::id::WorkspaceId;
use crate::principal::Actor;
use crate::state::{ApplyError, State};
use crate::text::Text;
use crate::time::{Span, Timestamp};
use crate::turn::Turn;

/// `budget_warning`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BudgetWarning {
    /// What is limited.
    pub budget_dimension: Dimension,
    /// How much is used, and given to the workspaces below.
    pub consumed: Amount,
    /// How much there is.
    pub limit: Amount,
    /// The share of the limit that is warned of.
    pub threshold_percent: u8,
    /// The workspace.
    pub workspace_id: WorkspaceId,
}

/// `budget_exceeded`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BudgetExceeded {
    /// What is limited.
    pub budget_dimension: Dimension,
    /// How much is used, and given to the workspaces below.
    pub consumed: Amount,
    /// How much there was.
    pub limit: Amount,
    /// The workspace.
    pub workspace_id: WorkspaceId,
}

impl Workspace {
    /// Whether a warning about a limit is due.
    pub(crate) fn is_to_be_warned(&self, dimension: Dimension, now: Timestamp) -> bool {
        let Some(limit) = self.budget.get(&dimension) else { return false };
        let nears = self.drawn(dimension, now) >= self.warn_at.of(limit.get());
        is_enforced(self.status) && nears && !self.warned.contains(&dimension)
    }

    /// Whether a limit is reached of which was warned.
    pub(crate) fn is_used_up(&self, dimension: Dimension, now: Timestamp) -> bool {
        let Some(limit) = self.budget.get(&dimension) else { return false };
        let reached = self.drawn(dimension, now) >= limit.get();
        is_enforced(self.status) && reached && self.warned.contains(&dimension)
    }

    /// When its time at work is to be warned of, or over.
    pub(crate) fn compute_deadline(&self) -> Option<Timestamp> {
        let limit = self.budget.get(&Dimension::ComputeTimeout)?.get();
        if self.status != Status::Active {
            return None;
        }
        let warned = self.warned.contains(&Dimension::ComputeTimeout);
        let mark = if warned { limit } else { self.warn_at.of(limit) };
        let left = mark.saturating_sub(self.drawn(Dimension::ComputeTimeout, self.since));
        Some(self.since.after(Span::from_micros(left)))
    }
}

/// What a budget asks for next.
enum Next {
    Warn(Dimension),
    End(Dimension),
}

/// Warns and ends what the entries from `first` on had use something. `before` is the state they
/// came upon. Returns whether there was anything to do.
pub(crate) fn settle(
    turn: &mut Turn<'_>,
    before: &State,
    first: usize,
) -> Result<bool, ApplyError> {
    let (mut at, mut any) = (first, false);
    // What is recorded here is an entry of its own, and looked at in its turn.
    while let Some(entry) = turn.entries().get(at) {
        if let Some(id) = entry.draft.workspace.clone() {
            while let Some(next) = next(turn, before, &id) {
                any = true;
                match next {
                    Next::Warn(dimension) => warn(turn, &id, dimension)?,
                    Next::End(dimension) => end(turn, &id, dimension)?,
                }
            }
        }
        at += 1;
    }
    Ok(any)
}

fn next(turn: &Turn<'_>, before: &State, id: &WorkspaceId) -> Option<Next> {
    let (known, now) = (turn.state().workspaces.get(id)?, turn.now());
    // Time has a deadline and is not asked about here.
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

/// Whether a workspace used something itself since a state, or came under its limits since.
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

fn warn(turn: &mut Turn<'_>, id: &WorkspaceId, dimension: Dimension) -> Result<(), ApplyError> {
    let workspace = turn.state().workspaces.get(id).ok_or(ApplyError::Unknown("the workspace"))?;
    let limit = workspace.budget.get(&dimension).ok_or(ApplyError::Unknown("the limit"))?;
    let event = Event::BudgetWarning(BudgetWarning {
        budget_dimension: dimension,
        consumed: Amount::new(workspace.drawn(dimension, turn.now())),
        limit: *limit,
        threshold_percent: workspace.warn_at.get(),
        workspace_id: id.clone(),
    });
    turn.note(Some(id), Actor::Protocol, event)
}

fn end(turn: &mut Turn<'_>, id: &WorkspaceId, dimension: Dimension) -> Result<(), ApplyError> {
    let workspace = turn.state().workspaces.get(id).ok_or(ApplyError::Unknown("the workspace"))?;
    let limit = workspace.budget.get(&dimension).ok_or(ApplyError::Unknown("the limit"))?;
    let event = Event::BudgetExceeded(BudgetExceeded {
        budget_dimension: dimension,
        consumed: Amount::new(workspace.drawn(dimension, turn.now())),
        limit: *limit,
        workspace_id: id.clone(),
    });
    turn.note(Some(id), Actor::Protocol, event)?;
    let reason = Some(Text::lossy(dimension.as_str()));
    let over = Change::of_runtime(Status::Failed, Trigger::BudgetExceeded);
    change::fail(turn, id, Change { reason, ..over })
}

/// What is due for a workspace whose time at work nears its limit, or has reached it.
pub(crate) fn on_deadline(turn: &mut Turn<'_>, id: &WorkspaceId) -> Result<(), ApplyError> {
    let Some(workspace) = turn.state().workspaces.get(id) else { return Ok(()) };
    if workspace.warned.contains(&Dimension::ComputeTimeout) {
        end(turn, id, Dimension::ComputeTimeout)
    } else {
        warn(turn, id, Dimension::ComputeTimeout)
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
    let tells = known.budget.get(&dimension) == Some(&warning.limit)
        && known.warn_at.get() == warning.threshold_percent;
    if !tells || !known.is_to_be_warned(dimension, at) {
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
    let tells = known.budget.get(&dimension) == Some(&exceeded.limit);
    if !tells || !known.is_used_up(dimension, at) {
        return Err(ApplyError::Mismatch("the budget"));
    }
    Arc::make_mut(known).exceeded = Some(dimension);
    Ok(())
}
