//! Types of `liveness`: state, arguments of commands and bodies of events.

use serde::Deserialize;
use serde::Serialize;

use crate::model::runs::workspace::{Status, Workspace};
use crate::values::id::WorkspaceId;
use crate::values::name::AgentName;
use crate::values::time::{Span, Timestamp};

/// When something last happened in a workspace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pulse {
    /// The last entry of its local trail, warnings of this sort aside.
    pub last: Timestamp,
    /// How many intervals were warned of since.
    pub silent: u64,
}

/// `liveness_warning`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LivenessWarning {
    /// How long nothing may happen, in microseconds.
    pub interval: Span,
    /// When something last did.
    pub last_activity_timestamp: Timestamp,
    /// How many intervals have passed since.
    pub silent_intervals: u64,
    /// The workspace.
    pub workspace_id: WorkspaceId,
}

/// A workspace in which nothing happens, as the coordinator is told of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Quiet {
    /// The workspace.
    pub workspace: WorkspaceId,
    /// Who should be at work there.
    pub agent: Option<AgentName>,
    /// When something last happened.
    pub last_activity: Timestamp,
    /// How many intervals have passed since.
    pub silent_intervals: u64,
}

impl Workspace {
    /// When it is warned of next, if nothing happens before.
    pub(crate) fn liveness_deadline(&self) -> Option<Timestamp> {
        let interval = self.charter.liveness.filter(|_| self.status == Status::Active)?;
        let intervals = self.pulse.silent.saturating_add(1);
        let silence = interval.span().micros().saturating_mul(intervals);
        Some(self.pulse.last.after(Span::from_micros(silence)))
    }
}
