//! Signals that workspaces emit, and their delivery.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::runs::workspace::{Status, budget};
use crate::values::closed_set::closed_set;
use crate::values::id::{AnyId, SignalId, WorkspaceId};
use crate::values::text::Text;
use crate::values::time::Timestamp;

/// The most signals waiting for one workspace before its children must wait with emitting more.
/// They are delivered in one commit.
pub(crate) const PENDING_MAX: usize = 1_000;

closed_set! {
    /// The type of a signal. The set is closed; no taxonomy adds any.
    SignalType {
        /// The agent is present and waits for input.
        Ready "ready",
        /// The agent has started, or continues.
        Started "started",
        /// The agent cannot continue.
        Blocked "blocked",
        /// A checkpoint was made.
        Checkpoint "checkpoint",
        /// The work is finished.
        Complete "complete",
        /// An unrecoverable error occurred.
        Failed "failed",
        /// The work of this workspace is being merged.
        Integrate "integrate",
        /// An envelope has arrived in the inbox.
        Acknowledged "acknowledged",
        /// A person is needed.
        Escalation "escalation",
        /// This workspace is being paused.
        Suspend "suspend",
        /// This workspace is getting another agent.
        Migrate "migrate",
    }
}

impl SignalType {
    /// Whether it requires a reason.
    pub fn needs_reason(self) -> bool {
        matches!(self, SignalType::Blocked | SignalType::Failed | SignalType::Escalation)
    }
}

/// `signal.emit`: reports the state of the caller's workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Emit {
    /// The budget limit that is near, if that is the cause; with `blocked` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_warning: Option<budget::Notice>,
    /// The reason; required for `blocked`, `failed` and `escalation`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// The envelope, checkpoint or workspace it refers to.
    #[serde(default, rename = "ref", skip_serializing_if = "Option::is_none")]
    pub about: Option<AnyId>,
    /// The type.
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
    /// The budget warning it carries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_warning: Option<budget::Notice>,
    /// The workspace that emitted it.
    pub from: WorkspaceId,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// The subject it refers to.
    #[serde(default, rename = "ref", skip_serializing_if = "Option::is_none")]
    pub about: Option<AnyId>,
    /// The id of the signal.
    pub signal_id: SignalId,
    /// The receiving workspace; none if the root emitted it.
    pub to: Option<WorkspaceId>,
    /// The type.
    #[serde(rename = "type")]
    pub signal: SignalType,
}

/// `signal_delivered`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delivered {
    /// The receiving workspace.
    pub delivered_to: WorkspaceId,
    /// The workspace that emitted it.
    pub from: WorkspaceId,
    /// The id of the signal.
    pub signal_id: SignalId,
}

/// A signal in transit, or one that its receiver has not taken yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// The id of the signal.
    pub id: SignalId,
    /// The workspace that emitted it.
    pub from: WorkspaceId,
    /// The type.
    pub signal: SignalType,
    /// The reason.
    pub reason: Option<Text<1000>>,
    /// The subject it refers to.
    pub about: Option<AnyId>,
    /// When it was emitted.
    pub at: Timestamp,
    /// The budget warning it carries.
    pub budget_warning: Option<budget::Notice>,
}

/// The reply to `signal.emit`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SignalReply {
    /// The id of the signal.
    pub signal_id: SignalId,
    /// The workspace that emitted it.
    pub workspace: WorkspaceId,
    /// The current state of the workspace.
    pub status: Status,
    /// Whether the signal caused a transition; one that does not fit the state is only recorded.
    pub effect: bool,
}
