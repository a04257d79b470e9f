//! Types of `task`: state, arguments of commands and bodies of events.

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
use crate::values::content::Blob;
use crate::values::id::{CheckpointId, GraphId, TaskId, WorkspaceId};
use crate::values::text::Text;
use crate::values::time::Timestamp;
use crate::values::token::Format;

/// The eight states of a task.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Planned, not approved.
    Draft,
    /// Approved, waiting to be taken up.
    Pending,
    /// Bound to a workspace.
    Assigned,
    /// Being worked on.
    InProgress,
    /// Done, not merged.
    Completed,
    /// Not done; may be tried again.
    Failed,
    /// Done and merged.
    Integrated,
    /// Given up.
    Cancelled,
}

impl Status {
    /// All eight.
    pub const ALL: &'static [Status] = &[
        Status::Draft,
        Status::Pending,
        Status::Assigned,
        Status::InProgress,
        Status::Completed,
        Status::Failed,
        Status::Integrated,
        Status::Cancelled,
    ];

    /// The name.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Draft => "draft",
            Status::Pending => "pending",
            Status::Assigned => "assigned",
            Status::InProgress => "in_progress",
            Status::Completed => "completed",
            Status::Failed => "failed",
            Status::Integrated => "integrated",
            Status::Cancelled => "cancelled",
        }
    }

    /// Whether what depends on it may begin.
    pub fn is_done(self) -> bool {
        matches!(self, Status::Completed | Status::Integrated)
    }

    /// Whether it will never change again.
    pub fn is_terminal(self) -> bool {
        matches!(self, Status::Integrated | Status::Cancelled)
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// The steps a task may take after its creation. Nothing else is one.
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

/// The ways of a task, for the documents; a test holds it to [`STEPS`].
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

/// How urgent a task is.
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
    /// Before the others.
    Urgent,
    /// Sooner than usual.
    Elevated,
    /// As usual.
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

/// What a task is thought to cost. It is information and limits nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Estimate {
    /// In millionths of the currency the deployment counts in.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub cost: u64,
    /// Tokens.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub tokens: u64,
    /// Seconds, more than none.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub wall_time_s: u64,
}

/// A task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// The graph it belongs to.
    pub graph: GraphId,
    /// What people call it.
    pub name: Text<200>,
    /// What is to be done.
    pub description: Blob,
    /// What has to be done before.
    pub depends_on: Vec<TaskId>,
    /// The task it is a part of.
    pub parent: Option<TaskId>,
    /// The priority.
    pub priority: Priority,
    /// What it is thought to cost.
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
    /// The directive it makes.
    pub(crate) fn as_payload(&self) -> Payload {
        let content = self.description.clone();
        Payload { attachments: Vec::new(), content, format: Format::markdown() }
    }
}

/// A graph of tasks. Its tasks are found through the tasks themselves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Graph {
    /// The run it was planned in.
    pub root: WorkspaceId,
    /// The task it began with.
    pub root_task: TaskId,
    /// When it was made.
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
