//! Tasks: their states, priorities and estimates.

pub(crate) mod follow;
pub(crate) mod graph;
pub mod lifecycle;
pub(crate) mod orders;
pub mod terms;
pub(crate) mod view;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use std::sync::Arc;

use crate::model::runs::envelope::Payload;
use crate::model::runs::workspace;
use crate::registry::lifecycle::Lifecycle;
use crate::values::closed_set::closed_set;
use crate::values::content::Blob;
use crate::values::id::{CheckpointId, GraphId, TaskId, WorkspaceId};
use crate::values::principal::Principal;
use crate::values::text::Text;
use crate::values::time::Timestamp;
use crate::values::token::Format;

pub use crate::model::runs::task::lifecycle::{STEPS, State, TAKEN};

closed_set! {
    /// The state of a task.
    Status {
        /// Planned, not yet approved.
        Draft "draft",
        /// Approved, waiting to be assigned.
        Pending "pending",
        /// Assigned to a workspace.
        Assigned "assigned",
        /// In progress.
        InProgress "in_progress",
        /// Completed, not yet merged.
        Completed "completed",
        /// Failed; can be retried.
        Failed "failed",
        /// Completed and merged.
        Integrated "integrated",
        /// Cancelled.
        Cancelled "cancelled",
    }
}

impl Status {
    /// Whether tasks that depend on it may start.
    pub fn is_done(self) -> bool {
        matches!(self, Status::Completed | Status::Integrated)
    }

    /// Whether the state is final.
    pub fn is_terminal(self) -> bool {
        matches!(self, Status::Integrated | Status::Cancelled)
    }
}

/// The lifecycle of a task, for the documents.
pub const LIFECYCLE: Lifecycle = Lifecycle { noun: "task", edges: lifecycle::EDGES };

/// The priority of a task.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// Before all others.
    Urgent,
    /// Above normal.
    Elevated,
    /// The default.
    #[default]
    Normal,
    /// After all others.
    Low,
}

impl Priority {
    /// The priority of a workspace for such a task.
    pub fn of_workspace(self) -> workspace::Priority {
        match self {
            Priority::Urgent => workspace::Priority::Critical,
            Priority::Elevated => workspace::Priority::Interactive,
            Priority::Normal => workspace::Priority::Normal,
            Priority::Low => workspace::Priority::Background,
        }
    }
}

/// The estimated cost of a task. It is informational and limits nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Estimate {
    /// Cost in millionths of the deployment's currency.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub cost: u64,
    /// Tokens.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub tokens: u64,
    /// Wall time in seconds, above zero.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub wall_time_s: u64,
}

/// A task, as runs see it: a view of the record that it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// The id.
    pub id: TaskId,
    /// The graph it belongs to; [`Graph::standing`] if it was planned outside a run.
    pub graph: GraphId,
    /// The display name.
    pub name: Text<200>,
    /// The description; of a task planned outside a run its text.
    pub description: Blob,
    /// The tasks it depends on.
    pub depends_on: Vec<TaskId>,
    /// The parent task.
    pub parent: Option<TaskId>,
    /// The priority.
    pub priority: Priority,
    /// The estimated cost.
    pub estimate: Option<Estimate>,
    /// The current state, in the words of runs.
    pub status: Status,
    /// The current state, as it is stored.
    pub state: State,
    /// The workspace it is bound to.
    pub workspace: Option<WorkspaceId>,
    /// Every workspace it was ever bound to, in order.
    pub history: Vec<WorkspaceId>,
    /// The final checkpoint of the workspace that completed it.
    pub checkpoint: Option<CheckpointId>,
    /// When it was planned.
    pub at: Timestamp,
}

impl Task {
    /// Whether no workspace is bound to it and one may be.
    pub(crate) fn is_free(&self) -> bool {
        let open = self.workspace.is_none() && self.state == State::InProgress;
        self.status == Status::Pending || open
    }

    /// The payload of the directive that orders it.
    pub(crate) fn as_payload(&self) -> Payload {
        let content = self.description.clone();
        Payload { attachments: Vec::new(), content, format: Format::markdown() }
    }
}

/// A graph of tasks. Tasks refer to their graph, not the other way round.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Graph {
    /// The run it was planned in.
    pub root: WorkspaceId,
    /// The root task.
    pub root_task: TaskId,
    /// The principal who planned it.
    pub author: Principal,
    /// When it was planned.
    pub at: Timestamp,
}

impl Graph {
    /// The graph of the tasks that were planned outside a run. It always exists and belongs to no
    /// run.
    pub fn standing() -> GraphId {
        GraphId::from(Arc::from("plans"))
    }
}
