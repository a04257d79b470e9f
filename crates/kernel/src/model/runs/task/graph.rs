//! Planning of task graphs.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use std::collections::BTreeMap;

use crate::model::runs::task::terms::Terms;
use crate::model::runs::task::{Estimate, Priority};
use crate::values::content::{Blob, Content};
use crate::values::id::{GraphId, TaskId, WorkspaceId};
use crate::values::text::Text;

/// The most tasks in one plan.
pub(crate) const TASKS_MAX: usize = 500;

/// The most direct dependencies of a task.
pub(crate) const DEPENDENCIES_MAX: usize = 256;

/// `task.graph`: plans a graph of tasks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The tasks; they refer to each other by key. The first one is the graph's root.
    pub tasks: Vec<Planned>,
}

/// A task of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Planned {
    /// The keys of the tasks it depends on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<Text<64>>,
    /// The description.
    pub description: Content,
    /// The estimated cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Estimate>,
    /// The key by which other tasks of this plan refer to it.
    pub key: Text<64>,
    /// The display name.
    pub name: Text<200>,
    /// The key of its parent task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Text<64>>,
    /// The priority.
    #[serde(default, skip_serializing_if = "is_normal")]
    pub priority: Priority,
    /// Who may do it, what it may change, and what shows that it is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terms: Option<Box<Terms>>,
}

/// `task.add`: adds a task to a graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Add {
    /// The tasks it depends on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<TaskId>,
    /// The description.
    pub description: Content,
    /// The estimated cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Estimate>,
    /// The graph.
    pub graph: GraphId,
    /// The display name.
    pub name: Text<200>,
    /// The parent task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_task: Option<TaskId>,
    /// The priority.
    #[serde(default, skip_serializing_if = "is_normal")]
    pub priority: Priority,
    /// Who may do it, what it may change, and what shows that it is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terms: Option<Box<Terms>>,
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
    /// The root task.
    pub root_task_id: TaskId,
    /// The number of tasks it starts with.
    pub task_count: u32,
    /// The root of the run it is planned in.
    pub workspace_id: WorkspaceId,
}

/// `task_created`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Created {
    /// The tasks it depends on.
    pub depends_on: Vec<TaskId>,
    /// The description, by hash.
    pub description: Blob,
    /// The estimated cost.
    pub estimate: Option<Estimate>,
    /// The graph it belongs to.
    pub graph_id: GraphId,
    /// The display name.
    pub name: Text<200>,
    /// The parent task.
    pub parent_task: Option<TaskId>,
    /// Its number among plans; older entries have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<u64>,
    /// The priority.
    pub priority: Priority,
    /// The task.
    pub task_id: TaskId,
    /// Its terms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terms: Option<Box<Terms>>,
}

/// The reply to `task.graph`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GraphReply {
    /// The graph.
    pub graph: GraphId,
    /// The ids of the tasks, by their keys in the plan.
    pub tasks: BTreeMap<String, TaskId>,
}
