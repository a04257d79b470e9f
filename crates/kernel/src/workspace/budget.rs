//! Budgets: what a workspace may use, and how that is raised.
//!
//! A budget limits any of seven things, each by itself. Whether something is limited is fixed
//! when a workspace is created; a limit is only ever raised. What becomes of a workspace that
//! reaches one is in [`super::enforce`], how workspaces draw on the one above them in
//! [`super::draw`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

use super::meter::Amount;
use super::{Status, Workspace, draw, edges};
use crate::event::Event;
use crate::id::WorkspaceId;
use crate::principal::{Actor, Caller};
use crate::refusal::Refusal;
use crate::rule::Rule;
use crate::state::{ApplyError, State};
use crate::time::{Span, Timestamp};
use crate::turn::{Halt, Reply, Turn};

/// What a budget limits.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Dimension {
    /// Bytes of envelopes sent and received.
    BandwidthLimit,
    /// Bytes of the content of checkpoints.
    CheckpointLimit,
    /// Time at work, in microseconds.
    ComputeTimeout,
    /// Bytes of context and working memory.
    ContextLimit,
    /// Cost, in millionths of the currency the deployment counts in.
    CostLimit,
    /// Tokens.
    TokenLimit,
    /// Bytes of the local trail.
    TrailLimit,
}

impl Dimension {
    /// All seven.
    pub const ALL: &'static [Dimension] = &[
        Dimension::BandwidthLimit,
        Dimension::CheckpointLimit,
        Dimension::ComputeTimeout,
        Dimension::ContextLimit,
        Dimension::CostLimit,
        Dimension::TokenLimit,
        Dimension::TrailLimit,
    ];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Dimension::BandwidthLimit => "bandwidth_limit",
            Dimension::CheckpointLimit => "checkpoint_limit",
            Dimension::ComputeTimeout => "compute_timeout",
            Dimension::ContextLimit => "context_limit",
            Dimension::CostLimit => "cost_limit",
            Dimension::TokenLimit => "token_limit",
            Dimension::TrailLimit => "trail_limit",
        }
    }
}

impl std::fmt::Display for Dimension {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// Limits by what they limit; what is not in it is not limited. Tokens, bytes, microseconds, and
/// millionths of the currency the deployment counts in.
pub type Budget = BTreeMap<Dimension, Amount>;

/// A part in a hundred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Percent(#[schemars(range(max = 100))] u8);

/// A number that is no percentage.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a percentage is 0 to 100, not {0}")]
pub struct PercentError(u64);

impl Percent {
    /// The share of a limit that is warned of, where nothing else is said.
    pub const WARNING: Percent = Percent(80);
    /// How far an agent's figure may be from the meter's.
    pub const TOLERANCE: Percent = Percent(10);
    /// How much further critical work may go, where nothing else is said.
    pub const HEADROOM: Percent = Percent(10);

    /// Checks and takes a percentage.
    pub fn new(percent: u64) -> Result<Self, PercentError> {
        match u8::try_from(percent) {
            Ok(fits) if fits <= 100 => Ok(Percent(fits)),
            _ => Err(PercentError(percent)),
        }
    }

    /// The number.
    pub fn get(self) -> u8 {
        self.0
    }

    /// This share of an amount, rounded up.
    pub fn of(self, amount: u64) -> u64 {
        let share = (u128::from(amount) * u128::from(self.0)).div_ceil(100);
        // A share of an amount is no more than the amount.
        u64::try_from(share).unwrap_or(amount)
    }
}

impl<'de> Deserialize<'de> for Percent {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let percent = u8::deserialize(deserializer)?;
        Percent::new(percent.into()).map_err(serde::de::Error::custom)
    }
}

/// What an agent says about its budget when it stops because of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Notice {
    /// How much is used.
    pub consumed: Amount,
    /// Of what.
    pub dimension: Dimension,
    /// How much there is.
    pub limit: Amount,
}

/// `workspace.modify_budget`: raises limits of a workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Modify {
    /// The new limits, each above the one it takes the place of.
    pub limits: Budget,
    /// Which workspace.
    pub workspace: WorkspaceId,
}

/// `budget_modified`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BudgetModified {
    /// What is limited.
    pub budget_dimension: Dimension,
    /// The limit from now on.
    pub new_limit: Amount,
    /// The limit before.
    pub old_limit: Amount,
    /// The workspace.
    pub workspace_id: WorkspaceId,
}

pub(crate) fn decide_modify(
    turn: &mut Turn<'_>,
    caller: &Caller,
    modify: &Modify,
) -> Result<Reply, Halt> {
    let id = &modify.workspace;
    let (state, mut at) = (turn.state(), turn.stamp());
    super::root(state)?;
    let workspace = super::get(state, id)?;
    if !super::commands(state, caller, id) {
        let message = format!("{} may not change the budget of {id}", caller.principal);
        return Err(Refusal::denied(Rule::CoordinatorOnly, message).into());
    }
    if !workspace.status.is_open() {
        let message = format!("workspace {id} is {}; its budget stays", workspace.status);
        let refusal = Refusal::denied(Rule::BudgetGrows, message);
        return Err(refusal.allowing(edges::ways_from(workspace.status)).into());
    }
    if modify.limits.is_empty() {
        return Err(Refusal::denied(Rule::Usage, "there is no new limit").into());
    }
    let parent = workspace.parent.as_ref().map(|parent| super::get(state, parent)).transpose()?;
    let mut raised = Vec::new();
    for (dimension, new) in &modify.limits {
        let old = may_raise(workspace, *dimension, *new, at)?;
        if let Some(parent) = parent {
            draw::may_give(parent, *dimension, new.get() - old.get(), at)?;
        }
        // Each is an entry of its own, a moment later.
        at = at.after(Span::from_micros(1));
        raised.push((*dimension, old, *new));
    }
    for (n, (budget_dimension, old_limit, new_limit)) in raised.into_iter().enumerate() {
        let workspace_id = id.clone();
        let body = BudgetModified { budget_dimension, new_limit, old_limit, workspace_id };
        // One deed, one entry in the caller's name; the rest follows from it.
        let actor = if n == 0 { caller.principal.clone().into() } else { Actor::Protocol };
        turn.note(Some(id), actor, Event::BudgetModified(body))?;
    }
    turn.meter_reply(id)
}

/// The limit before, if it may be raised to a new one.
pub(crate) fn may_raise(
    workspace: &Workspace,
    dimension: Dimension,
    new: Amount,
    now: Timestamp,
) -> Result<Amount, Refusal> {
    let denied = |message| Err(Refusal::denied(Rule::BudgetGrows, message));
    let Some(old) = workspace.budget.get(&dimension) else {
        return denied(format!("{dimension} is not limited, and stays so"));
    };
    if new <= *old {
        return denied(format!("{dimension} is {} and only grows", old.get()));
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
    // A warning is given again before the new limit, unless there is no room left for one.
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

/// Whether the runtime ends a workspace in this state for what it used.
pub(crate) fn is_enforced(status: Status) -> bool {
    matches!(status, Status::Active | Status::Blocked)
}
