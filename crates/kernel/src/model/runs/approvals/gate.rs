//! Gates: actions that wait for a person's approval, with timeout and fallback.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use std::sync::Arc;

use crate::model::runs::approvals::request::Request;
use crate::model::runs::approvals::{GateFallback, GateType, resolve};
use crate::values::id::{AnyId, GateId, GraphId, TaskId, WorkspaceId};
use crate::values::principal::{Actor, Principal};
use crate::values::text::Text;
use crate::values::time::{Span, Timestamp};

/// The most open gates at a time.
pub(crate) const GATES_MAX: usize = 2_000;

/// An open gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    /// The type of action that waits.
    pub kind: GateType,
    /// The subject that waits: a task, an envelope, a conflict or a workspace.
    pub subject: AnyId,
    /// The workspace it is about; none for tasks.
    pub workspace: Option<WorkspaceId>,
    /// The task it is about.
    pub task: Option<TaskId>,
    /// The graph of that task.
    pub graph: Option<GraphId>,
    /// The actor who ordered the action.
    pub asked_by: Actor,
    /// The command to carry out once approved, if there is one.
    #[serde(with = "crate::values::packed")]
    pub request: Option<Request>,
    /// When it was triggered.
    pub at: Timestamp,
    /// How long it waits.
    pub timeout: Option<Span>,
    /// The fallback after the timeout.
    pub fallback: GateFallback,
    /// The party that chose a fallback which passes people.
    pub chosen_by: Option<Principal>,
    /// The gate that nobody answered in time, if this one asks again.
    pub asks_again: Option<GateId>,
    /// Its position in the owner's queue when it was triggered, from one.
    pub position: u32,
}

impl Gate {
    /// When the fallback applies.
    pub fn due(&self) -> Option<Timestamp> {
        self.timeout.map(|timeout| self.at.after(timeout))
    }
}

/// A person's decision at a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GateAction {
    /// Proceed as proposed.
    Approve,
    /// Do not proceed.
    Reject,
    /// Proceed with modifications.
    Modify,
}

/// The outcome of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateEnd {
    /// The action proceeded as proposed.
    Approve,
    /// The action was rejected.
    Reject,
    /// The action proceeded with modifications.
    Modify,
    /// Nobody answered, and the coordinator decides.
    Escalate,
}

/// A closed gate, kept while its run lasts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClosedGate {
    /// The gate before it was closed.
    pub gate: Arc<Gate>,
    /// The outcome.
    pub end: GateEnd,
    /// The party that closed it.
    pub by: resolve::Resolver,
    /// When it was closed.
    pub at: Timestamp,
    /// Whether the coordinator, to whom it was escalated, has since let it proceed.
    pub released: bool,
}

impl ClosedGate {
    /// Whether it still waits for the coordinator, to whom it was escalated.
    pub fn is_left(&self) -> bool {
        self.end == GateEnd::Escalate && !self.released
    }

    /// Whether it was rejected because nobody answered in time.
    pub fn is_unanswered(&self) -> bool {
        self.end == GateEnd::Reject && self.by == resolve::Resolver::Fallback
    }
}

/// `gate.ask`: asks people again about an action that was rejected because nobody answered in time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    /// The gate that nobody answered.
    pub gate: GateId,
}

/// `gate_triggered`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Triggered {
    /// The gate that nobody answered in time, if this one asks again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asks_again: Option<GateId>,
    /// The party that chose a fallback which passes people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen_by: Option<Principal>,
    /// The fallback after the timeout.
    pub fallback: GateFallback,
    /// The gate.
    pub gate_id: GateId,
    /// The type of action that waits.
    pub gate_type: GateType,
    /// The graph of the task it is about.
    pub graph_ref: Option<GraphId>,
    /// Its position in the owner's queue, from one.
    pub queue_position: u32,
    /// The command to carry out once approved, if there is one.
    pub request: Option<Request>,
    /// The subject that waits.
    pub subject: AnyId,
    /// The task it is about.
    pub task_ref: Option<TaskId>,
    /// How long it waits.
    pub timeout: Option<Span>,
    /// The workspace it is about.
    pub workspace: Option<WorkspaceId>,
}

/// `gate_timeout`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimedOut {
    /// How long it waited.
    pub elapsed: Span,
    /// The fallback that applies.
    pub fallback_action: GateFallback,
    /// The gate.
    pub gate_id: GateId,
    /// The type of action that waited.
    pub gate_type: GateType,
}

/// `gate_reentry_blocked`: a gate that its fallback had closed was not opened again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReentryBlocked {
    /// The outcome that was applied instead.
    pub converted_to: GateAction,
    /// The gate that had been closed.
    pub gate_id: GateId,
    /// The type of action that waited.
    pub gate_type: GateType,
    /// The subject that had waited.
    pub subject_id: AnyId,
}

/// A fixed reason text of `gate_resolved` entries.
pub(crate) const SUBJECT_INVALIDATED: &str = "subject_invalidated";

pub(crate) fn words(text: &str) -> Text<1000> {
    Text::lossy(text)
}
