//! Types of `recovery`: state, arguments of commands and bodies of events.

use serde::Deserialize;
use serde::Serialize;

use crate::model::runs::integrity::IntegrityViolation;
use crate::model::runs::signal::SignalType;
use crate::model::runs::workspace::{Status, Workspace};
use crate::values::id::{EnvelopeId, SignalId, WorkspaceId};
use crate::values::text::Text;
use crate::values::time::Span;

/// The name of a writer: whoever may write takes a fresh one.
pub type WriterName = Text<32>;

/// The most writers one recovery is about.
pub const WRITERS_MAX: usize = 1_000;

/// `runtime.recover`: makes good what somebody left behind who ended without saying so.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recover {
    /// How many entries were examined.
    pub examined: u64,
    /// What was found damaged or missing.
    pub findings: Vec<IntegrityViolation>,
    /// How many files of interrupted work are set aside.
    pub left_over: u64,
    /// Who is on the list of writers and not there any more.
    pub writers: Vec<WriterName>,
}

/// `recovery_completed`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecoveryCompleted {
    /// How long nothing had been recorded.
    pub downtime: Span,
    /// Envelopes that were on their way and are in an inbox now.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub envelopes_redelivered: u64,
    /// Those whom an earlier recovery was about and who were still on the list, because that
    /// recovery was cut short.
    pub known_writers: Vec<WriterName>,
    /// Things that were set aside.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub quarantined_entries: u64,
    /// Signals that were on their way and are again, or have arrived.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub signals_requeued: u64,
    /// Deadlines that run.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub timers_reconstructed: u64,
    /// Entries that were examined.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub trail_entries_examined: u64,
    /// Workspaces that failed in the course of it.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub workspaces_failed: u64,
    /// Workspaces that go on.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub workspaces_recovered: u64,
    /// The writers that ended without saying so.
    pub writers: Vec<WriterName>,
}

/// What an agent said that leads to a step, while the step is not on record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owed {
    /// What it said.
    pub signal: SignalType,
    /// The reason.
    pub reason: Option<Text<1000>>,
}

/// A step that an agent asked for and that is not on record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OwedStep {
    /// The workspace.
    pub workspace: WorkspaceId,
    /// What its agent said.
    pub signal: SignalType,
}

/// What recovery would do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// Envelopes on their way that can be delivered, or go back because their receiver ended.
    pub envelopes: Vec<EnvelopeId>,
    /// Signals on their way, in the order of each receiver.
    pub signals: Vec<SignalId>,
    /// How many of them can arrive now; the others wait for their receiver.
    pub arriving: usize,
    /// Steps that agents asked for and that were not taken.
    pub steps: Vec<OwedStep>,
    /// Deadlines that run.
    pub timers: usize,
    /// How many of them have passed.
    pub due: usize,
    /// Workspaces that go on.
    pub workspaces: usize,
}

impl Plan {
    /// Whether nothing was left half done.
    pub fn is_empty(&self) -> bool {
        self.envelopes.is_empty() && self.steps.is_empty() && self.arriving == 0
    }
}

/// The step a signal leads to from a state, as far as recovery takes it.
pub(crate) fn leads_to_step(workspace: &Workspace, signal: SignalType) -> bool {
    let root = workspace.parent.is_none();
    match (signal, workspace.status) {
        (SignalType::Blocked | SignalType::Complete, Status::Active) => !root,
        (SignalType::Failed, Status::Idle | Status::Active | Status::Blocked) => true,
        _ => false,
    }
}
