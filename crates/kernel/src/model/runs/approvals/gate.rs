//! Types of `gate`: state, arguments of commands and bodies of events.

use serde::Deserialize;
use serde::Serialize;
use std::sync::Arc;

use crate::model::runs::approvals::request::Request;
use crate::model::runs::approvals::{GateFallback, GateType, resolve};
use crate::values::id::{AnyId, GateId, GraphId, TaskId, WorkspaceId};
use crate::values::principal::Actor;
use crate::values::text::Text;
use crate::values::time::{Span, Timestamp};

/// The most gates that are open at the same time.
pub const GATES_MAX: usize = 2_000;

/// A gate that is open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    /// What it stands before.
    pub kind: GateType,
    /// What waits: a task, an envelope, a conflict or a workspace.
    pub subject: AnyId,
    /// The workspace it is about; none for tasks.
    pub workspace: Option<WorkspaceId>,
    /// The task it is about.
    pub task: Option<TaskId>,
    /// The graph of that task.
    pub graph: Option<GraphId>,
    /// Who ordered what waits.
    pub asked_by: Actor,
    /// The order, where there is one to carry out later.
    pub request: Option<Request>,
    /// When it was triggered.
    pub at: Timestamp,
    /// How long it waits.
    pub timeout: Option<Span>,
    /// What happens then.
    pub fallback: GateFallback,
    /// Its place in the queue of its owner, from one, when it was triggered.
    pub position: u32,
}

impl Gate {
    /// When its fallback happens.
    pub fn due(&self) -> Option<Timestamp> {
        self.timeout.map(|timeout| self.at.after(timeout))
    }
}

/// What was answered at a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GateAction {
    /// Go on as proposed.
    Approve,
    /// Do not.
    Reject,
    /// Go on, with something changed.
    Modify,
}

/// How a gate ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateEnd {
    /// It went on as proposed.
    Approve,
    /// It did not.
    Reject,
    /// It went on, with something changed.
    Modify,
    /// Nobody answered, and the coordinator decides.
    Escalate,
}

/// What is remembered of a gate that has ended, as long as its run goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClosedGate {
    /// The gate as it was.
    pub gate: Arc<Gate>,
    /// How it ended.
    pub end: GateEnd,
    /// Who ended it.
    pub by: resolve::Resolver,
    /// When.
    pub at: Timestamp,
    /// Whether the coordinator, to whom it was left, has let it go on since.
    pub released: bool,
}

impl ClosedGate {
    /// Whether it waits for the coordinator, to whom people left it.
    pub fn is_left(&self) -> bool {
        self.end == GateEnd::Escalate && !self.released
    }
}

/// `gate_triggered`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Triggered {
    /// What happens if nobody answers.
    pub fallback: GateFallback,
    /// The gate.
    pub gate_id: GateId,
    /// What it stands before.
    pub gate_type: GateType,
    /// The graph of the task it is about.
    pub graph_ref: Option<GraphId>,
    /// Its place in the queue of its owner, from one.
    pub queue_position: u32,
    /// The order that waits, where there is one to carry out later.
    pub request: Option<Request>,
    /// What waits.
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
    /// What happens now.
    pub fallback_action: GateFallback,
    /// The gate.
    pub gate_id: GateId,
    /// What it stood before.
    pub gate_type: GateType,
}

/// `gate_reentry_blocked`: a gate that its fallback had closed was not asked again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReentryBlocked {
    /// What happened instead.
    pub converted_to: GateAction,
    /// The gate that had been closed.
    pub gate_id: GateId,
    /// What it stood before.
    pub gate_type: GateType,
    /// What had waited.
    pub subject_id: AnyId,
}

/// A reason in words that is part of what an entry says.
pub(crate) const SUBJECT_INVALIDATED: &str = "subject_invalidated";

pub(crate) fn words(text: &str) -> Text<1000> {
    Text::lossy(text)
}
