//! Recovery after a writer crashed: redelivery, requeued signals, interrupted transitions.

use serde::Deserialize;
use serde::Serialize;

use crate::model::runs::integrity::IntegrityViolation;
use crate::model::runs::signal::SignalType;
use crate::model::runs::workspace::{Status, Workspace};
use crate::values::id::{EnvelopeId, SignalId, WorkspaceId};
use crate::values::text::Text;
use crate::values::time::Span;

/// The name of a writer process; each takes a fresh one.
pub type WriterName = Text<32>;

/// The most writers one recovery can cover.
pub(crate) const WRITERS_MAX: usize = 1_000;

/// `runtime.recover`: completes the work of writers that crashed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recover {
    /// The number of entries examined.
    pub examined: u64,
    /// The integrity violations found.
    pub findings: Vec<IntegrityViolation>,
    /// The number of quarantined files of interrupted writes.
    pub left_over: u64,
    /// Registered writers that are no longer running.
    pub writers: Vec<WriterName>,
}

/// `recovery_completed`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecoveryCompleted {
    /// The time during which nothing was recorded.
    pub downtime: Span,
    /// The number of envelopes in transit that were delivered.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub envelopes_redelivered: u64,
    /// Writers that an earlier recovery already covered and that were still registered because it
    /// was interrupted.
    pub known_writers: Vec<WriterName>,
    /// The number of quarantined items.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub quarantined_entries: u64,
    /// The number of signals in transit that were requeued or delivered.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub signals_requeued: u64,
    /// The number of running deadlines.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub timers_reconstructed: u64,
    /// The number of entries examined.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub trail_entries_examined: u64,
    /// The number of workspaces that failed during recovery.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub workspaces_failed: u64,
    /// The number of live workspaces.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub workspaces_recovered: u64,
    /// The writers that crashed.
    pub writers: Vec<WriterName>,
}

/// An agent's signal whose transition has not been recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owed {
    /// The signal.
    pub signal: SignalType,
    /// The reason.
    pub reason: Option<Text<1000>>,
}

/// A transition requested by a signal and not yet recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OwedStep {
    /// The workspace.
    pub workspace: WorkspaceId,
    /// The agent's signal.
    pub signal: SignalType,
}

/// The actions that recovery would take.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// Envelopes in transit that can be delivered, or returned because their receiver ended.
    pub envelopes: Vec<EnvelopeId>,
    /// Signals in transit, in the order of each receiver.
    pub signals: Vec<SignalId>,
    /// The number of them that can be delivered now; the others wait for their receiver.
    pub arriving: usize,
    /// Transitions requested by agents and not yet made.
    pub steps: Vec<OwedStep>,
    /// The number of running deadlines.
    pub timers: usize,
    /// The number of deadlines that have passed.
    pub due: usize,
    /// The number of live workspaces.
    pub workspaces: usize,
}

impl Plan {
    /// Whether no work was left incomplete.
    pub fn is_empty(&self) -> bool {
        self.envelopes.is_empty() && self.steps.is_empty() && self.arriving == 0
    }
}

/// Whether a signal leads to a transition from the current state that recovery makes.
pub(crate) fn leads_to_step(workspace: &Workspace, signal: SignalType) -> bool {
    let root = workspace.parent.is_none();
    match (signal, workspace.status) {
        (SignalType::Blocked | SignalType::Complete, Status::Active) => !root,
        (SignalType::Failed, Status::Idle | Status::Active | Status::Blocked) => true,
        _ => false,
    }
}
