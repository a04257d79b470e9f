//! Tasks: their states, priorities and estimates.

pub(crate) mod follow;
pub(crate) mod graph;
pub(crate) mod orders;
pub(crate) mod view;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::runs::envelope::Payload;
use crate::model::runs::workspace;
use crate::registry::kind::Kind;
use crate::registry::lifecycle::{Edge, Lifecycle};
use crate::values::closed_set::closed_set;
use crate::values::content::Blob;
use crate::values::id::{CheckpointId, GraphId, TaskId, WorkspaceId};
use crate::values::text::Text;
use crate::values::time::Timestamp;
use crate::values::token::Format;

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

/// The transitions a task may make after its creation; no others are allowed.
pub const STEPS: &[(Status, Status)] = &[
    (Status::Draft, Status::Pending),
    (Status::Draft, Status::Cancelled),
    (Status::Pending, Status::Assigned),
    (Status::Pending, Status::Cancelled),
    (Status::Assigned, Status::InProgress),
    (Status::Assigned, Status::Failed),
    (Status::Assigned, Status::Cancelled),
    (Status::InProgress, Status::Completed),
    (Status::InProgress, Status::Failed),
    (Status::InProgress, Status::Cancelled),
    (Status::Completed, Status::Integrated),
    (Status::Completed, Status::Failed),
    (Status::Completed, Status::Cancelled),
    (Status::Failed, Status::Pending),
    (Status::Failed, Status::Cancelled),
];

macro_rules! edges {
    ($( $from:literal $to:literal $by:literal; )*) => {
        &[
            Edge { from: None, to: "draft", event: Kind::TaskCreated, by: "the coordinator" },
            $( Edge { from: Some($from), to: $to, event: Kind::TaskStatusChanged, by: $by }, )*
        ]
    };
}

/// The lifecycle of a task, for the documents; a test checks it against [`STEPS`].
pub const LIFECYCLE: Lifecycle = Lifecycle {
    noun: "task",
    edges: edges! {
        "draft" "pending" "approval";
        "draft" "cancelled" "the coordinator";
        "pending" "assigned" "a workspace is bound";
        "pending" "cancelled" "the coordinator";
        "assigned" "in_progress" "signal started";
        "assigned" "failed" "its workspace failed";
        "assigned" "cancelled" "the coordinator";
        "in_progress" "completed" "signal complete";
        "in_progress" "failed" "its workspace failed";
        "in_progress" "cancelled" "the coordinator";
        "completed" "integrated" "its work is merged";
        "completed" "failed" "revise, reject, or its workspace failed";
        "completed" "cancelled" "the coordinator";
        "failed" "pending" "retry";
        "failed" "cancelled" "the coordinator";
    },
};

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
}

impl Priority {
    /// The priority of a workspace for such a task.
    pub fn of_workspace(self) -> workspace::Priority {
        match self {
            Priority::Urgent => workspace::Priority::Critical,
            Priority::Elevated => workspace::Priority::Interactive,
            Priority::Normal => workspace::Priority::Normal,
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

/// A task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// The graph it belongs to.
    pub graph: GraphId,
    /// The display name.
    pub name: Text<200>,
    /// The description.
    pub description: Blob,
    /// The tasks it depends on.
    pub depends_on: Vec<TaskId>,
    /// The parent task.
    pub parent: Option<TaskId>,
    /// The priority.
    pub priority: Priority,
    /// The estimated cost.
    pub estimate: Option<Estimate>,
    /// The current state.
    pub status: Status,
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
    /// When it was planned.
    pub at: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documents_show_the_table_and_nothing_else() {
        let drawn = LIFECYCLE.edges.iter().filter_map(|edge| edge.from.map(|from| (from, edge.to)));
        assert!(drawn.eq(STEPS.iter().map(|(from, to)| (from.as_str(), to.as_str()))));
    }
}
