//! Liveness: detecting workspaces without activity.
//!
//! It only reports. An active workspace without an entry for an interval causes a warning, and
//! again after each further interval; the coordinator sees it beside its mail until there is
//! activity. No workspace is ever ended for inactivity.

use std::sync::Arc;

use crate::machine::state::{Deadline, State};
use crate::machine::transaction::Transaction;
use crate::model::runs::workspace::{Status, Timeout, Workspace};
use crate::protocol::event::{Event, Stamped};
use crate::registry::apply_error::ApplyError;
use crate::values::id::WorkspaceId;
use crate::values::principal::Actor;
use crate::values::time::Timestamp;

pub use crate::model::runs::workspace::liveness::*;

/// The most missed intervals that are warned about one by one. After a longer pause, such as a
/// night without a command, one warning stands for all.
const MISSED_MAX: u64 = 32;

/// Warns about a workspace that had no activity for an interval.
pub(crate) fn on_deadline(tx: &mut Transaction<'_>, id: &WorkspaceId) -> Result<(), ApplyError> {
    let Some(workspace) = tx.state().workspaces.get(id) else { return Ok(()) };
    let Some(interval) = workspace.charter.liveness.map(Timeout::span) else { return Ok(()) };
    // Its own deadline is handled in its turn, and no warning follows it.
    let until = workspace.deadline().map_or(tx.now(), |end| end.min(tx.now()));
    let pulse = workspace.pulse;
    let passed = until.since(pulse.last).micros() / interval.micros().max(1);
    let missed = passed.saturating_sub(pulse.silent) > MISSED_MAX;
    let event = Event::LivenessWarning(LivenessWarning {
        interval,
        last_activity_timestamp: pulse.last,
        silent_intervals: if missed { passed } else { pulse.silent + 1 },
        workspace_id: id.clone(),
    });
    tx.note(Some(id), Actor::Protocol, event)
}

pub(crate) fn apply_warning(
    state: &mut State,
    at: Timestamp,
    warning: &LivenessWarning,
) -> Result<(), ApplyError> {
    let id = &warning.workspace_id;
    let known = state.workspaces.get_mut(id).ok_or(ApplyError::Unknown("the workspace"))?;
    let interval = known.charter.liveness.map(Timeout::span);
    let passed = at.since(known.pulse.last).micros();
    let silence = warning.interval.micros().saturating_mul(warning.silent_intervals);
    let is_sound = interval == Some(warning.interval)
        && known.status == Status::Active
        && known.pulse.last == warning.last_activity_timestamp
        && warning.silent_intervals > known.pulse.silent
        && silence <= passed;
    if !is_sound {
        return Err(ApplyError::Mismatch("how long nothing happened"));
    }
    Arc::make_mut(known).pulse.silent = warning.silent_intervals;
    state.quiet.insert(id.clone());
    Ok(())
}

/// Records activity in a workspace and updates its deadlines.
pub(crate) fn on_entry(state: &mut State, id: &WorkspaceId, entry: &Stamped) {
    if !matches!(entry.draft.event, Event::LivenessWarning(_))
        && let Some(known) = state.workspaces.get_mut(id)
    {
        Arc::make_mut(known).pulse = Pulse { last: entry.at, silent: 0 };
        state.quiet.remove(id);
    }
    state.retime(id);
}

impl State {
    /// Reschedules the deadlines of a workspace for active time and liveness.
    pub(crate) fn retime(&mut self, id: &WorkspaceId) {
        let Some(known) = self.workspaces.get(id) else { return };
        let now = (known.compute_deadline(), known.liveness_deadline());
        let before = self.timers.get(id).copied().unwrap_or_default();
        if before == now {
            return;
        }
        self.reschedule(before.0, now.0, &Deadline::Compute(id.clone()));
        self.reschedule(before.1, now.1, &Deadline::Liveness(id.clone()));
        if now == (None, None) {
            self.timers.remove(id);
        } else {
            self.timers.insert(id.clone(), now);
        }
    }

    /// The workspaces without activity, if this is the root; they are shown in its inbox.
    pub(crate) fn quiet_for(&self, owner: &WorkspaceId) -> Vec<Quiet> {
        if self.root.as_ref() != Some(owner) {
            return Vec::new();
        }
        let known = self.quiet.iter().filter_map(|id| self.workspaces.get(id).map(|w| (id, w)));
        let view = |(id, workspace): (&WorkspaceId, &Arc<Workspace>)| Quiet {
            workspace: id.clone(),
            agent: workspace.agent.clone(),
            last_activity: workspace.pulse.last,
            silent_intervals: workspace.pulse.silent,
        };
        known.map(view).collect()
    }
}
