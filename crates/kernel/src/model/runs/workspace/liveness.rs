//! Liveness: warnings about workspaces without activity.

use serde::Deserialize;
use serde::Serialize;

use crate::model::runs::workspace::{Status, Workspace};
use crate::values::id::WorkspaceId;
use crate::values::name::AgentName;
use crate::values::time::{Span, Timestamp};

/// The last activity in a workspace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pulse {
    /// The time of the last entry of its local trail, not counting liveness warnings.
    pub last: Timestamp,
    /// The number of warnings issued since.
    pub silent: u64,
}

/// `liveness_warning`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LivenessWarning {
    /// The interval without activity that is allowed, in microseconds.
    pub interval: Span,
    /// When the last activity was.
    pub last_activity_timestamp: Timestamp,
    /// The number of intervals passed since.
    pub silent_intervals: u64,
    /// The workspace.
    pub workspace_id: WorkspaceId,
}

/// A workspace without activity, as reported to the coordinator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Quiet {
    /// The workspace.
    pub workspace: WorkspaceId,
    /// The agent bound to it.
    pub agent: Option<AgentName>,
    /// When the last activity was.
    pub last_activity: Timestamp,
    /// The number of intervals passed since.
    pub silent_intervals: u64,
}

impl Workspace {
    /// When the next warning is due if there is no activity before.
    pub(crate) fn liveness_deadline(&self) -> Option<Timestamp> {
        let interval = self.charter.liveness.filter(|_| self.status == Status::Active)?;
        let intervals = self.pulse.silent.saturating_add(1);
        let silence = interval.span().micros().saturating_mul(intervals);
        Some(self.pulse.last.after(Span::from_micros(silence)))
    }
}
