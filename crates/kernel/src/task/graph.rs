//! Planning: graphs and the tasks in them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Estimate, Graph, Priority, Status, Task};
use crate::content::{Blob, Content};
use crate::event::{Event, Stamped};
use crate::highway::gate;
use crate::id::{First as _, GraphId, IdKind, TaskId, WorkspaceId};
use crate::principal::{Actor, Caller};
use crate::refusal::Refusal;
use crate::rule::Rule;
use crate::state::{ApplyError, State};
use crate::text::Text;
use crate::time::Timestamp;
use crate::turn::{Halt, Reply, Turn};
use crate::workspace;

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
    /// How urgent it is.
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
    /// How urgent it is.
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
    /// How urgent it is.
    pub priority: Priority,
    /// The task.
    pub task_id: TaskId,
}

fn unsound(message: impl Into<String>) -> Refusal {
    Refusal::denied(Rule::TaskGraph, message)
}

fn described(description: &Content) -> Result<Blob, Refusal> {
    let stored = description.blob().cloned();
    stored.ok_or_else(|| unsound("a description was not stored first"))
}

fn estimated(estimate: Option<&Estimate>) -> Result<(), Refusal> {
    match estimate {
        Some(Estimate { wall_time_s: 0, .. }) => Err(unsound("nothing is done in no time")),
        _ => Ok(()),
    }
}

pub(crate) fn decide_graph(
    turn: &mut Turn<'_>,
    caller: &Caller,
    plan: &Plan,
) -> Result<Reply, Halt> {
    workspace::coordinator_only(turn.state(), caller, "plan tasks")?;
    let order = sorted(plan)?;
    let root = workspace::root(turn.state())?.clone();
    let graph_id: GraphId = turn.mint(IdKind::Graph).into();
    let mut ids: BTreeMap<&Text<64>, TaskId> = BTreeMap::new();
    for task in &plan.tasks {
        ids.insert(&task.key, turn.mint(IdKind::Task).into());
    }
    let id_of = |key: &Text<64>| ids.get(key).cloned().ok_or_else(|| unknown_key(key));
    let first = plan.tasks.first().ok_or_else(|| unsound("a plan has at least one task"))?;
    let begun = Event::GraphCreated(GraphCreated {
        graph_id: graph_id.clone(),
        root_task_id: id_of(&first.key)?,
        task_count: u32::try_from(plan.tasks.len()).unwrap_or(u32::MAX),
        workspace_id: root.clone(),
    });
    turn.note(Some(&root), caller.principal.clone().into(), begun)?;
    for task in order {
        let depends_on: Vec<TaskId> =
            task.depends_on.iter().map(id_of).collect::<Result<_, _>>()?;
        let depends_on = once_each(&depends_on);
        let created = Event::TaskCreated(Created {
            depends_on,
            description: described(&task.description)?,
            estimate: task.estimate.clone(),
            graph_id: graph_id.clone(),
            name: task.name.clone(),
            parent_task: task.parent.as_ref().map(id_of).transpose()?,
            priority: task.priority,
            task_id: id_of(&task.key)?,
        });
        turn.note(Some(&root), Actor::Protocol, created)?;
    }
    for task in &plan.tasks {
        gate::on_planned(turn, &id_of(&task.key)?)?;
    }
    let keys = ids.into_iter().map(|(key, id)| (key.to_string(), id)).collect();
    Ok(Reply::Graph(GraphReply { graph: graph_id, tasks: keys }))
}

/// To wait for something twice is to wait for it once.
pub(crate) fn once_each<T: Clone + Ord>(ids: &[T]) -> Vec<T> {
    let mut seen = BTreeSet::new();
    ids.iter().filter(|id| seen.insert(*id)).cloned().collect()
}

/// What `task.graph` returns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GraphReply {
    /// The graph.
    pub graph: GraphId,
    /// The tasks, by the keys of the plan.
    pub tasks: BTreeMap<String, TaskId>,
}

fn unknown_key(key: &Text<64>) -> Refusal {
    unsound(format!("no task of this plan has the key {:?}", key.as_str()))
}

/// The tasks of a plan, each after what it depends on and what it is a part of.
fn sorted(plan: &Plan) -> Result<Vec<&Planned>, Refusal> {
    if plan.tasks.is_empty() || plan.tasks.len() > TASKS_MAX {
        return Err(unsound(format!(
            "a plan has 1 to {TASKS_MAX} tasks, not {}",
            plan.tasks.len()
        )));
    }
    let mut by_key: BTreeMap<&Text<64>, &Planned> = BTreeMap::new();
    for task in &plan.tasks {
        described(&task.description)?;
        estimated(task.estimate.as_ref())?;
        if task.depends_on.len() > DEPENDENCIES_MAX {
            return Err(unsound(format!("a task depends on at most {DEPENDENCIES_MAX} others")));
        }
        if by_key.insert(&task.key, task).is_some() {
            return Err(unsound(format!("the key {:?} is there twice", task.key.as_str())));
        }
    }
    // What has nothing left before it comes next, until nothing is left.
    let before = |task: &Planned| task.depends_on.iter().chain(&task.parent).count();
    let mut left: BTreeMap<&Text<64>, usize> = BTreeMap::new();
    let mut after: BTreeMap<&Text<64>, Vec<&Text<64>>> = BTreeMap::new();
    for task in &plan.tasks {
        left.insert(&task.key, before(task));
        for earlier in task.depends_on.iter().chain(&task.parent) {
            let known = by_key.get_key_value(earlier).ok_or_else(|| unknown_key(earlier))?.0;
            after.entry(known).or_default().push(&task.key);
        }
    }
    let free = plan.tasks.iter().filter(|task| before(task) == 0);
    let mut next: std::collections::VecDeque<&Text<64>> = free.map(|task| &task.key).collect();
    let mut order = Vec::with_capacity(plan.tasks.len());
    while let Some(key) = next.pop_front() {
        order.extend(by_key.get(key));
        for later in after.remove(key).unwrap_or_default() {
            let count = left.entry(later).or_default();
            *count -= 1;
            if *count == 0 {
                next.push_back(later);
            }
        }
    }
    if order.len() < plan.tasks.len() {
        let stuck = left.iter().filter(|(_, count)| **count > 0).map(|(key, _)| key.as_str());
        let stuck: Vec<&str> = stuck.take(10).collect();
        return Err(unsound(format!("these tasks wait for each other: {}", stuck.join(", "))));
    }
    Ok(order)
}

pub(crate) fn decide_add(turn: &mut Turn<'_>, caller: &Caller, add: &Add) -> Result<Reply, Halt> {
    workspace::coordinator_only(turn.state(), caller, "plan tasks")?;
    let state = turn.state();
    let Some(graph) = state.graphs.get(&add.graph) else {
        let message = format!("there is no graph {}", add.graph);
        return Err(Refusal::not_found(Rule::ReferenceKnown, message).into());
    };
    let home = graph.root.clone();
    if state.root.as_ref() != Some(&home) {
        return Err(unsound("that graph was planned in another run").into());
    }
    if add.depends_on.len() > DEPENDENCIES_MAX {
        return Err(unsound(format!("a task depends on at most {DEPENDENCIES_MAX} others")).into());
    }
    for earlier in add.depends_on.iter().chain(&add.parent_task) {
        if super::get(state, earlier)?.graph != add.graph {
            return Err(unsound(format!("task {earlier} belongs to another graph")).into());
        }
    }
    estimated(add.estimate.as_ref())?;
    let description = described(&add.description)?;
    let task_id: TaskId = turn.mint(IdKind::Task).into();
    let created = Event::TaskCreated(Created {
        depends_on: once_each(&add.depends_on),
        description,
        estimate: add.estimate.clone(),
        graph_id: add.graph.clone(),
        name: add.name.clone(),
        parent_task: add.parent_task.clone(),
        priority: add.priority,
        task_id: task_id.clone(),
    });
    turn.note(Some(&home), caller.principal.clone().into(), created)?;
    gate::on_planned(turn, &task_id)?;
    turn.task_reply(&task_id)
}

pub(crate) fn apply_graph_created(
    state: &mut State,
    entry: &Stamped,
    created: &GraphCreated,
) -> Result<(), ApplyError> {
    let graph = Graph {
        root: created.workspace_id.clone(),
        root_task: created.root_task_id.clone(),
        at: entry.at,
    };
    match state.graphs.insert(created.graph_id.clone(), graph) {
        None => Ok(()),
        Some(_) => Err(ApplyError::Twice("a graph's creation")),
    }
}

pub(crate) fn apply_created(
    state: &mut State,
    entry: &Stamped,
    created: &Created,
) -> Result<(), ApplyError> {
    let id = &created.task_id;
    if state.tasks.contains_key(id) {
        return Err(ApplyError::Twice("a task's creation"));
    }
    if !state.graphs.contains_key(&created.graph_id) {
        return Err(ApplyError::Unknown("the graph"));
    }
    // What a task depends on is there before it: that alone rules out every cycle.
    for earlier in created.depends_on.iter().chain(&created.parent_task) {
        let known = state.tasks.get(earlier).ok_or(ApplyError::Unknown("the task before it"))?;
        if known.graph != created.graph_id {
            return Err(ApplyError::Mismatch("the graph of the task before it"));
        }
    }
    let task = Task {
        graph: created.graph_id.clone(),
        name: created.name.clone(),
        description: created.description.clone(),
        depends_on: created.depends_on.clone(),
        parent: created.parent_task.clone(),
        priority: created.priority,
        estimate: created.estimate.clone(),
        status: Status::Draft,
        workspace: None,
        history: Vec::new(),
        checkpoint: None,
        at: entry.at,
    };
    state.insert_task(id.clone(), task);
    Ok(())
}

impl State {
    pub(crate) fn insert_task(&mut self, id: TaskId, task: Task) {
        self.graph_tasks.insert((task.graph.clone(), task.at, id.clone()));
        self.tasks.insert(id, Arc::new(task));
    }

    /// The tasks of a graph, in the order they were planned.
    pub(crate) fn tasks_in(&self, graph: &GraphId) -> impl Iterator<Item = &TaskId> {
        let own = graph.clone();
        let first = (graph.clone(), Timestamp::default(), TaskId::first());
        self.graph_tasks.range(first..).take_while(move |(of, ..)| *of == own).map(|(.., id)| id)
    }
}
