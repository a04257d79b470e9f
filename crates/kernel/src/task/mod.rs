//! Tasks: units of work in graphs, bound to one workspace after another until one succeeds.
//!
//! A graph only grows, its edges never change, and it never has a cycle: whatever a task depends
//! on is there before it. A task is ready once everything it depends on is done; it can then be
//! bound to a workspace, whose signals move it on. A failed task can be tried again.

pub mod follow;
pub mod graph;
pub mod orders;
pub mod view;

pub(crate) use follow::{on_assigned, on_complete, on_failed, on_integrated, on_started};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

use crate::content::Blob;
use crate::envelope::Payload;
use crate::event::Kind;
use crate::id::{CheckpointId, GraphId, TaskId, WorkspaceId};
use crate::lifecycle::{Edge, Lifecycle};
use crate::refusal::Refusal;
use crate::rule::Rule;
use crate::state::State;
use crate::text::Text;
use crate::time::{Timestamp, exact_integer};
use crate::token::Format;
use crate::workspace;

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

    /// Its name.
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
    #[serde(deserialize_with = "exact_integer")]
    pub cost: u64,
    /// Tokens.
    #[serde(deserialize_with = "exact_integer")]
    pub tokens: u64,
    /// Seconds, more than none.
    #[serde(deserialize_with = "exact_integer")]
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
    /// How urgent it is.
    pub priority: Priority,
    /// What it is thought to cost.
    pub estimate: Option<Estimate>,
    /// The state it is in.
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

/// A task by its id.
pub(crate) fn get<'s>(state: &'s State, id: &TaskId) -> Result<&'s Arc<Task>, Refusal> {
    state
        .tasks
        .get(id)
        .ok_or_else(|| Refusal::not_found(Rule::ReferenceKnown, format!("there is no task {id}")))
}

/// What a task waits for.
pub(crate) fn unmet<'s>(state: &'s State, task: &'s Task) -> impl Iterator<Item = &'s TaskId> {
    let done = |id: &TaskId| state.tasks.get(id).is_some_and(|task| task.status.is_done());
    task.depends_on.iter().filter(move |id| !done(id))
}

/// The task, if it can be bound to a workspace now.
pub(crate) fn bindable<'s>(state: &'s State, id: &TaskId) -> Result<&'s Arc<Task>, Refusal> {
    let task = get(state, id)?;
    if task.status != Status::Pending {
        let message = format!("task {id} is {}; only a pending one is taken up", task.status);
        return Err(Refusal::denied(Rule::TaskStep, message).allowing(ways_from(task.status)));
    }
    let unmet: Vec<String> = unmet(state, task).map(ToString::to_string).collect();
    if !unmet.is_empty() {
        let message = format!("task {id} waits for {}", unmet.join(", "));
        return Err(Refusal::denied(Rule::TaskReady, message));
    }
    of_this_run(state, id, task)?;
    Ok(task)
}

/// Whether a task was planned in the run that goes on.
pub(crate) fn is_of_this_run(state: &State, task: &Task) -> bool {
    let graph = state.graphs.get(&task.graph);
    graph.is_some_and(|graph| Some(&graph.root) == state.root.as_ref())
}

/// Refuses a task of a run that is over: nothing becomes of it any more.
pub(crate) fn of_this_run(state: &State, id: &TaskId, task: &Task) -> Result<(), Refusal> {
    if is_of_this_run(state, task) {
        return Ok(());
    }
    let message = format!("task {id} was planned in another run; plan it anew");
    Err(Refusal::denied(Rule::TaskStep, message))
}

/// The states a task can go to from one, for people to read.
pub(crate) fn ways_from(from: Status) -> impl Iterator<Item = String> {
    STEPS.iter().filter(move |(own, _)| *own == from).map(|(from, to)| format!("{from} -> {to}"))
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
