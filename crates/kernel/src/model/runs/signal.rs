//! Types of `signal`: state, arguments of commands and bodies of events.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::runs::workspace::{Status, budget};
use crate::values::id::{AnyId, SignalId, WorkspaceId};
use crate::values::text::Text;
use crate::values::time::Timestamp;

/// The most signals that wait for one workspace before agents have to wait, too. They are delivered
/// in one piece.
pub const PENDING_MAX: usize = 1_000;

/// The eleven signals. There are no others, and no taxonomy adds any.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum SignalType {
    /// I exist and wait for input.
    Ready,
    /// I have begun, or go on.
    Started,
    /// I cannot continue.
    Blocked,
    /// I made a checkpoint.
    Checkpoint,
    /// My work is finished.
    Complete,
    /// I met an error I cannot recover from.
    Failed,
    /// The work of this workspace is being merged.
    Integrate,
    /// Your message is in my inbox.
    Acknowledged,
    /// I need a person.
    Escalation,
    /// This workspace is being paused.
    Suspend,
    /// This workspace is getting another agent.
    Migrate,
}

impl SignalType {
    /// All eleven.
    pub const ALL: &'static [SignalType] = &[
        SignalType::Ready,
        SignalType::Started,
        SignalType::Blocked,
        SignalType::Checkpoint,
        SignalType::Complete,
        SignalType::Failed,
        SignalType::Integrate,
        SignalType::Acknowledged,
        SignalType::Escalation,
        SignalType::Suspend,
        SignalType::Migrate,
    ];

    /// The name.
    pub fn as_str(self) -> &'static str {
        match self {
            SignalType::Ready => "ready",
            SignalType::Started => "started",
            SignalType::Blocked => "blocked",
            SignalType::Checkpoint => "checkpoint",
            SignalType::Complete => "complete",
            SignalType::Failed => "failed",
            SignalType::Integrate => "integrate",
            SignalType::Acknowledged => "acknowledged",
            SignalType::Escalation => "escalation",
            SignalType::Suspend => "suspend",
            SignalType::Migrate => "migrate",
        }
    }

    /// Whether it must say why.
    pub fn needs_reason(self) -> bool {
        matches!(self, SignalType::Blocked | SignalType::Failed | SignalType::Escalation)
    }
}

impl std::fmt::Display for SignalType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// `signal.emit`: says how the caller's workspace stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Emit {
    /// Which limit is near, if that is why; with `blocked` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_warning: Option<budget::Notice>,
    /// Why; needed for `blocked`, `failed` and `escalation`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// What it is about: an envelope, a checkpoint or a workspace.
    #[serde(default, rename = "ref", skip_serializing_if = "Option::is_none")]
    pub about: Option<AnyId>,
    /// Which signal.
    #[serde(rename = "type")]
    pub signal: SignalType,
    /// The workspace it is emitted in; the caller's own if it has only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceId>,
}

/// `signal_emitted`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Emitted {
    /// What it says about a budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_warning: Option<budget::Notice>,
    /// The workspace that emitted it.
    pub from: WorkspaceId,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// What it is about.
    #[serde(default, rename = "ref", skip_serializing_if = "Option::is_none")]
    pub about: Option<AnyId>,
    /// The signal.
    pub signal_id: SignalId,
    /// Whom it is for; nobody, if the root emitted it.
    pub to: Option<WorkspaceId>,
    /// Which signal.
    #[serde(rename = "type")]
    pub signal: SignalType,
}

/// `signal_delivered`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delivered {
    /// Who received it.
    pub delivered_to: WorkspaceId,
    /// The workspace that emitted it.
    pub from: WorkspaceId,
    /// The signal.
    pub signal_id: SignalId,
}

/// A signal on its way, or one its receiver has not looked at yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// The signal.
    pub id: SignalId,
    /// The workspace that emitted it.
    pub from: WorkspaceId,
    /// Which signal.
    pub signal: SignalType,
    /// The reason.
    pub reason: Option<Text<1000>>,
    /// What it is about.
    pub about: Option<AnyId>,
    /// When it was emitted.
    pub at: Timestamp,
    /// What it says about a budget.
    pub budget_warning: Option<budget::Notice>,
}

/// What became of a signal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SignalReply {
    /// The signal.
    pub signal_id: SignalId,
    /// The workspace that emitted it.
    pub workspace: WorkspaceId,
    /// The state the workspace is in now.
    pub status: Status,
    /// Whether the signal changed anything; one that does not fit the state is only recorded.
    pub effect: bool,
}
