//! Types of `graph`: state, arguments of commands and bodies of events.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use std::collections::BTreeMap;

use crate::model::runs::task::{Estimate, Priority};
use crate::values::content::{Blob, Content};
use crate::values::id::{GraphId, TaskId, WorkspaceId};
use crate::values::text::Text;

/// The most tasks planned in one command.
pub const TASKS_MAX: usize = 500;

/// The most tasks one task depends on.
pub const DEPENDENCIES_MAX: usize = 256;

/// `task.graph`: plans a graph of tasks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The tasks; they name each other by their keys. The first one is the graph's root.
    pub tasks: Vec<Planned>,
}

/// A task of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Planned {
    /// The keys of the tasks that have to be done before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<Text<64>>,
    /// What is to be done.
    pub description: Content,
    /// What it is thought to cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Estimate>,
    /// What other tasks of this plan call it.
    pub key: Text<64>,
    /// What people call it.
    pub name: Text<200>,
    /// The key of the task it is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Text<64>>,
    /// The priority.
    #[serde(default, skip_serializing_if = "is_normal")]
    pub priority: Priority,
}

/// `task.add`: adds a task to a graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Add {
    /// The tasks that have to be done before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<TaskId>,
    /// What is to be done.
    pub description: Content,
    /// What it is thought to cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Estimate>,
    /// The graph.
    pub graph: GraphId,
    /// What people call it.
    pub name: Text<200>,
    /// The task it is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_task: Option<TaskId>,
    /// The priority.
    #[serde(default, skip_serializing_if = "is_normal")]
    pub priority: Priority,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_normal(priority: &Priority) -> bool {
    *priority == Priority::Normal
}

/// `graph_created`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GraphCreated {
    /// The graph.
    pub graph_id: GraphId,
    /// The task it begins with.
    pub root_task_id: TaskId,
    /// How many tasks it begins with.
    pub task_count: u32,
    /// The root of the run it is planned in.
    pub workspace_id: WorkspaceId,
}

/// `task_created`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Created {
    /// What has to be done before.
    pub depends_on: Vec<TaskId>,
    /// What is to be done, by hash.
    pub description: Blob,
    /// What it is thought to cost.
    pub estimate: Option<Estimate>,
    /// The graph it belongs to.
    pub graph_id: GraphId,
    /// What people call it.
    pub name: Text<200>,
    /// The task it is a part of.
    pub parent_task: Option<TaskId>,
    /// The priority.
    pub priority: Priority,
    /// The task.
    pub task_id: TaskId,
}

/// What `task.graph` returns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GraphReply {
    /// The graph.
    pub graph: GraphId,
    /// The tasks, by the keys of the plan.
    pub tasks: BTreeMap<String, TaskId>,
}
