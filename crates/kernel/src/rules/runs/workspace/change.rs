//! Transitions of workspaces: the entry that records one, and its immediate consequences.
//!
//! The consequences are decided here, in one place: waiting mail and signals are delivered, mail to
//! an ended workspace is returned, its task follows, and a failure cascades to its descendants. All
//! of it is in the same commit as the transition.

use std::sync::Arc;

use crate::machine::state::{Deadline, State};
use crate::machine::transaction::Transaction;
use crate::model::leasing::lease::ReleaseCause;
use crate::model::runs::signal::SignalType;
use crate::model::runs::workspace::reparent::ReparentReason;
use crate::model::runs::workspace::{Initiator, Status, Trigger, Workspace, edges};
use crate::protocol::event::{Event, Stamped};
use crate::registry::apply_error::ApplyError;
use crate::rules::runs::signal::SignalContent;
use crate::rules::runs::task::follow;
use crate::rules::runs::workspace::{authority, migrate, reparent, terminate};
use crate::rules::runs::{envelope, signal};
use crate::values::id::WorkspaceId;
use crate::values::principal::Actor;
use crate::values::text::Text;
use crate::values::time::Timestamp;

pub use crate::model::runs::workspace::change::*;

/// A requested transition of a workspace.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) to: Status,
    pub(crate) trigger: Trigger,
    pub(crate) initiator: Initiator,
    pub(crate) reason: Option<Text<1000>>,
    pub(crate) actor: Actor,
}

impl Change {
    /// A transition initiated by the runtime.
    pub(crate) fn of_runtime(to: Status, trigger: Trigger) -> Self {
        let (initiator, actor) = (Initiator::Runtime, Actor::Protocol);
        Change { to, trigger, initiator, reason: None, actor }
    }
}

/// Makes a transition other than a failure.
pub(crate) fn take(
    tx: &mut Transaction<'_>,
    id: &WorkspaceId,
    change: Change,
) -> Result<(), ApplyError> {
    let (to, trigger) = (change.to, change.trigger);
    record(tx, id, change)?;
    match to {
        Status::Active => {
            envelope::deliver::move_on(tx, id)?;
            signal::deliver_pending(tx, id)
        }
        Status::Blocked => envelope::deliver::move_on(tx, id),
        Status::Closed => {
            let reason = ReparentReason::ParentClosedCrossOwnership;
            for child in live_children(tx.state(), id) {
                reparent::to_the_root(tx, &child, reason)?;
            }
            crate::rules::runs::integration::salvage::on_target_ended(tx, id, trigger)?;
            envelope::deliver::give_back(tx, id)
        }
        _ => Ok(()),
    }
}

/// Makes the transition caused by the first envelope. The caller continues to deliver the rest of
/// the mail.
pub(crate) fn begin_work(
    tx: &mut Transaction<'_>,
    id: &WorkspaceId,
    change: Change,
) -> Result<(), ApplyError> {
    record(tx, id, change)?;
    signal::deliver_pending(tx, id)
}

fn record(tx: &mut Transaction<'_>, id: &WorkspaceId, change: Change) -> Result<(), ApplyError> {
    let workspace = tx.state().workspaces.get(id).ok_or(ApplyError::Unknown("the workspace"))?;
    let event = Event::WorkspaceStateChanged(StateChanged {
        from_state: workspace.status,
        initiator: change.initiator,
        reason: change.reason,
        to_state: change.to,
        trigger: change.trigger,
        workspace_id: id.clone(),
    });
    let to = change.to;
    tx.note(Some(id), change.actor, event)?;
    match to {
        Status::Suspended => authority::close(tx, id, ReleaseCause::Suspended),
        to if to.is_terminal() => authority::close(tx, id, ReleaseCause::WorkOver),
        _ => Ok(()),
    }
}

/// Fails a workspace and, in the same commit, its descendants of the same owner. Those of other
/// owners move to the root. If the root fails, everything does.
pub(crate) fn fail(
    tx: &mut Transaction<'_>,
    id: &WorkspaceId,
    change: Change,
) -> Result<(), ApplyError> {
    let root = tx.state().root.as_ref() == Some(id);
    let trigger = change.trigger;
    let (signals, given) = (signals_parent(trigger), change.reason.clone());
    end_badly(tx, id, change)?;
    if signals {
        let reason = Some(failure_reason(trigger, given.as_ref()));
        let saying = SignalContent { signal: SignalType::Failed, reason, about: None };
        signal::signal_parent(tx, id, saying)?;
    }
    // A stack instead of recursion: trees may be deep.
    let mut below = live_children(tx.state(), id);
    below.reverse();
    while let Some(child) = below.pop() {
        let state = tx.state();
        let parent = state.workspaces.get(&child).and_then(|known| known.parent.as_ref());
        let same = parent.is_some_and(|parent| same_owner(state, &child, parent));
        if !root && !same {
            reparent::to_the_root(tx, &child, ReparentReason::ParentAbortedCrossOwnership)?;
            continue;
        }
        end_badly(tx, &child, Change::of_runtime(Status::Failed, Trigger::ParentFailed))?;
        let mut next = live_children(tx.state(), &child);
        next.reverse();
        below.append(&mut next);
    }
    Ok(())
}

/// Ends all descendants of the root, then the root: the forced end of a run.
pub(crate) fn shut_down(tx: &mut Transaction<'_>, root: &WorkspaceId) -> Result<(), ApplyError> {
    let mut all = Vec::new();
    let mut below = live_children(tx.state(), root);
    while let Some(id) = below.pop() {
        below.extend(live_children(tx.state(), &id));
        all.push(id);
    }
    // Parents come before their children in the list, so the deepest end first.
    let stop = || Change::of_runtime(Status::Failed, Trigger::SystemShutdown);
    for id in all.iter().rev().chain([root]) {
        end_badly(tx, id, stop())?;
    }
    Ok(())
}

/// Whether the runtime signals a failure to the parent. The agent's own `failed` was already a
/// signal, and a cascade or a shutdown is known above.
fn signals_parent(trigger: Trigger) -> bool {
    !matches!(trigger, Trigger::Failed | Trigger::ParentFailed | Trigger::SystemShutdown)
}

/// The reason of a failure, as sent to the parent.
fn failure_reason(trigger: Trigger, given: Option<&Text<1000>>) -> Text<1000> {
    match given {
        Some(dimension) if trigger == Trigger::BudgetExceeded => {
            Text::lossy(&format!("{}: {dimension}", trigger.as_str()))
        }
        _ => Text::lossy(trigger.as_str()),
    }
}

/// Fails a single workspace: the entry, its merge, its task, its mail.
fn end_badly(tx: &mut Transaction<'_>, id: &WorkspaceId, change: Change) -> Result<(), ApplyError> {
    let moving = tx.state().workspaces.get(id).is_some_and(|w| w.status == Status::Migrating);
    let trigger = change.trigger;
    record(tx, id, change)?;
    if moving {
        migrate::note_failed(tx, id, trigger)?;
    }
    crate::rules::runs::integration::on_failed(tx, id, trigger)?;
    crate::rules::runs::integration::salvage::on_target_ended(tx, id, trigger)?;
    follow::on_failed(tx, id, trigger)?;
    envelope::deliver::give_back(tx, id)
}

pub(crate) fn live_children(state: &State, id: &WorkspaceId) -> Vec<WorkspaceId> {
    let live = |child: &&WorkspaceId| {
        state.workspaces.get(*child).is_some_and(|known| !known.status.is_terminal())
    };
    state.children_of(id).filter(live).cloned().collect()
}

pub(crate) fn same_owner(state: &State, a: &WorkspaceId, b: &WorkspaceId) -> bool {
    let owner = |id| state.workspaces.get(id).map(|known: &Arc<Workspace>| &known.owner);
    owner(a) == owner(b)
}

/// A live child with the same owner, if there is one.
pub(crate) fn live_child_of_same_owner(state: &State, id: &WorkspaceId) -> Option<WorkspaceId> {
    live_children(state, id).into_iter().find(|child| same_owner(state, child, id))
}

/// Acts on a workspace whose deadline has passed.
pub(crate) fn on_deadline(tx: &mut Transaction<'_>, id: &WorkspaceId) -> Result<(), ApplyError> {
    let Some(workspace) = tx.state().workspaces.get(id) else { return Ok(()) };
    if workspace.grace_ends().is_some_and(|ends| workspace.deadline() == Some(ends)) {
        return terminate::on_expired(tx, id);
    }
    let trigger = match workspace.status {
        Status::Conflicted => Trigger::ConflictTimeout,
        Status::Migrating => Trigger::MigrationError,
        _ => Trigger::Timeout,
    };
    fail(tx, id, Change::of_runtime(Status::Failed, trigger))
}

pub(crate) fn apply_state_changed(
    state: &mut State,
    entry: &Stamped,
    changed: &StateChanged,
) -> Result<(), ApplyError> {
    let id = &changed.workspace_id;
    let known = state.workspaces.get_mut(id).ok_or(ApplyError::Unknown("the workspace"))?;
    if known.status != changed.from_state {
        return Err(ApplyError::Mismatch("the state it comes from"));
    }
    let (from, to) = (changed.from_state, changed.to_state);
    if !edges::is_step(from, to, changed.trigger, changed.initiator) {
        return Err(ApplyError::Mismatch("the table of steps"));
    }
    let returns = matches!(from, Status::Migrating | Status::Suspended) && to != Status::Failed;
    if returns && known.interrupted != Some(to) {
        return Err(ApplyError::Mismatch("the state it was interrupted in"));
    }
    let workspace = Arc::make_mut(known);
    let before = workspace.deadline();
    workspace.spent = workspace.worked(entry.at);
    workspace.meter_state(entry.at);
    workspace.since = entry.at;
    workspace.status = to;
    workspace.owed = None;
    workspace.reason.clone_from(&changed.reason);
    workspace.interrupted = matches!(to, Status::Migrating | Status::Suspended).then_some(from);
    if to.is_sealed() {
        // The work is done, so a request to terminate is settled.
        workspace.termination = None;
    }
    if to.is_terminal() {
        workspace.ended = Some(changed.trigger);
    }
    let after = workspace.deadline();
    let agent = workspace.agent.clone();
    state.reschedule(before, after, &Deadline::Workspace(id.clone()));
    if to.is_terminal() {
        forget_the_ended(state, id, agent.as_ref(), entry.at);
        state.note_warm(id, entry.at);
    }
    Ok(())
}

/// Removes an ended workspace from the indexes: its rights and those to it, its agent's binding,
/// its deadlines.
fn forget_the_ended(
    state: &mut State,
    id: &WorkspaceId,
    agent: Option<&crate::values::name::AgentName>,
    at: Timestamp,
) {
    let outside = state.workspaces.get(id).is_some_and(|w| state.is_standing(&w.charter.root));
    if outside {
        state.live_outside -= 1;
    } else {
        state.live -= 1;
    }
    state.forget_use(id, at);
    if let Some(agent) = agent {
        state.bound.remove(&(agent.clone(), id.clone()));
    }
    if state.root.as_ref() == Some(id) {
        state.root = None;
    }
    for right in state.rights_held_by(id).into_iter().chain(state.rights_about(id)) {
        state.remove_right(&right);
    }
    for at in state.pending_of(id) {
        state.pending_signals.remove(&(id.clone(), at));
    }
    for (at, _) in state.notices_of(id, usize::MAX) {
        state.notices.remove(&(id.clone(), at));
    }
    for news in state.news_of(id, usize::MAX) {
        state.news.remove(&(id.clone(), news.at));
    }
}
