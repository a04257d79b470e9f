//! Planning of task graphs.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::machine::coordinator;
use crate::machine::state::State as Whole;
use crate::machine::state::records::caused_by;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::knowledge::records::field::{Few, Fields};
use crate::model::knowledge::records::record::Record;
use crate::model::knowledge::records::task::TaskPart;
use crate::model::runs::task::terms::{ATTEMPTS_MAX, Terms};
use crate::model::runs::task::{Estimate, Graph, State};
use crate::protocol::event::{Event, Stamped};
use crate::protocol::refusal::Refusal;
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::registry::record_id::{Kind, RecordId};
use crate::registry::rule::Rule;
use crate::rules::runs::approvals::gate;
use crate::rules::runs::{task, workspace};
use crate::values::content::{Blob, Content};
use crate::values::id::{GraphId, IdKind, TaskId};
use crate::values::principal::{Actor, Caller};
use crate::values::text::Text;

pub use crate::model::runs::task::graph::*;

fn unsound(message: impl Into<String>) -> Refusal {
    Refusal::denied(Rule::TaskGraph, message)
}

fn described(description: &Content) -> Result<Blob, Refusal> {
    let stored = description.blob().cloned();
    stored.ok_or_else(|| unsound("a description was not stored first"))
}

fn estimated(estimate: Option<&Estimate>) -> Result<(), Refusal> {
    match estimate {
        Some(Estimate { wall_time_s: 0, .. }) => {
            Err(unsound("an estimate of wall time must be above 0 seconds"))
        }
        _ => Ok(()),
    }
}

/// Checks the terms of a task. One that asks a person needs somebody who can be asked.
fn sound_terms(state: &Whole, terms: Option<&Terms>) -> Result<(), Refusal> {
    let Some(terms) = terms else { return Ok(()) };
    if !(1..=ATTEMPTS_MAX).contains(&terms.attempts()) {
        return Err(unsound(format!("a task is tried 1 to {ATTEMPTS_MAX} times")));
    }
    if terms.gate.is_some() && state.first_active_user().is_none() {
        return Err(unsound("a task asks a person, and nobody has signed up yet"));
    }
    Ok(())
}

pub(crate) fn decide_graph(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    plan: &Plan,
) -> Result<Reply, DecisionError> {
    workspace::coordinator_only(tx.state(), caller, "plan tasks")?;
    let order = sorted(tx.state(), plan)?;
    tx.state().memory.room_for(order.len())?;
    let root = coordinator::root(tx.state())?.clone();
    let graph_id: GraphId = tx.mint(IdKind::Graph).into();
    let mut ids: BTreeMap<&Text<64>, TaskId> = BTreeMap::new();
    // In the order of their entries, from which an audit reads them.
    for task in &order {
        ids.insert(&task.key, tx.mint(IdKind::Task).into());
    }
    let outside: BTreeMap<&Text<64>, TaskId> =
        order.iter().flat_map(|task| outside(tx.state(), plan, task)).collect();
    let id_of = |key: &Text<64>| {
        let known = ids.get(key).or_else(|| outside.get(key));
        known.cloned().ok_or_else(|| unknown_key(key))
    };
    let first = plan.tasks.first().ok_or_else(|| unsound("a plan has at least one task"))?;
    let begun = Event::GraphCreated(GraphCreated {
        graph_id: graph_id.clone(),
        root_task_id: id_of(&first.key)?,
        task_count: u32::try_from(plan.tasks.len()).unwrap_or(u32::MAX),
        workspace_id: root.clone(),
    });
    tx.note(Some(&root), caller.principal.clone().into(), begun)?;
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
            plan: Some(tx.state().memory.next(Kind::Plan).number),
            priority: task.priority,
            task_id: id_of(&task.key)?,
            terms: task.terms.clone(),
        });
        tx.note(Some(&root), Actor::Protocol, created)?;
    }
    for task in &plan.tasks {
        gate::on_planned(tx, &id_of(&task.key)?)?;
    }
    let keys = ids.into_iter().map(|(key, id)| (key.to_string(), id)).collect();
    Ok(Reply::Graph(GraphReply { graph: graph_id, tasks: keys }))
}

/// Removes duplicates, keeping the order.
pub(crate) fn once_each<T: Clone + Ord>(ids: &[T]) -> Vec<T> {
    let mut seen = BTreeSet::new();
    ids.iter().filter(|id| seen.insert(*id)).cloned().collect()
}

fn unknown_key(key: &Text<64>) -> Refusal {
    unsound(format!("no task of this plan has the key {:?}", key.as_str()))
}

/// The dependencies of a task on tasks that were planned outside a run, by their keys.
fn outside<'p>(state: &Whole, plan: &Plan, task: &'p Planned) -> Vec<(&'p Text<64>, TaskId)> {
    let is_own = |key: &Text<64>| plan.tasks.iter().any(|own| own.key == *key);
    let known = |key: &'p Text<64>| {
        let id = key.as_str().parse::<RecordId>().map(|id| id.to_string());
        let id = TaskId::new(id.as_deref().unwrap_or(key.as_str())).ok()?;
        let known = state.task(&id).filter(|known| known.graph == Graph::standing())?;
        Some((key, known.id))
    };
    task.depends_on.iter().filter(|key| !is_own(key)).filter_map(known).collect()
}

/// The tasks of a plan, each after its dependencies and its parent.
fn sorted<'p>(state: &Whole, plan: &'p Plan) -> Result<Vec<&'p Planned>, Refusal> {
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
        sound_terms(state, task.terms.as_deref())?;
        if task.depends_on.len() > DEPENDENCIES_MAX {
            return Err(unsound(format!("a task depends on at most {DEPENDENCIES_MAX} others")));
        }
        if by_key.insert(&task.key, task).is_some() {
            return Err(unsound(format!("the key {:?} is used twice", task.key.as_str())));
        }
    }
    // Topological sort: repeatedly take a task with nothing left before it.
    let mut left: BTreeMap<&Text<64>, usize> = BTreeMap::new();
    let mut after: BTreeMap<&Text<64>, Vec<&Text<64>>> = BTreeMap::new();
    for task in &plan.tasks {
        let outside: Vec<&Text<64>> =
            outside(state, plan, task).into_iter().map(|(key, _)| key).collect();
        let within = task.depends_on.iter().filter(|key| !outside.contains(key));
        let within: Vec<&Text<64>> = within.chain(&task.parent).collect();
        left.insert(&task.key, within.len());
        for earlier in within {
            let known = by_key.get_key_value(earlier).ok_or_else(|| unknown_key(earlier))?.0;
            after.entry(known).or_default().push(&task.key);
        }
    }
    let free = plan.tasks.iter().filter(|task| left.get(&task.key) == Some(&0));
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

pub(crate) fn decide_add(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    add: &Add,
) -> Result<Reply, DecisionError> {
    workspace::coordinator_only(tx.state(), caller, "plan tasks")?;
    let state = tx.state();
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
    let known = |id: &TaskId| -> Result<TaskId, Refusal> {
        let known = task::get(state, id)?;
        if known.graph != add.graph && known.graph != Graph::standing() {
            return Err(unsound(format!("task {id} belongs to another graph")));
        }
        Ok(known.id)
    };
    let depends_on: Vec<TaskId> = add.depends_on.iter().map(known).collect::<Result<_, _>>()?;
    let parent_task = add.parent_task.as_ref().map(known).transpose()?;
    estimated(add.estimate.as_ref())?;
    sound_terms(state, add.terms.as_deref())?;
    state.memory.room_for(1)?;
    let description = described(&add.description)?;
    let task_id: TaskId = tx.mint(IdKind::Task).into();
    let created = Event::TaskCreated(Created {
        depends_on: once_each(&depends_on),
        description,
        estimate: add.estimate.clone(),
        graph_id: add.graph.clone(),
        name: add.name.clone(),
        parent_task,
        plan: Some(tx.state().memory.next(Kind::Plan).number),
        priority: add.priority,
        task_id: task_id.clone(),
        terms: add.terms.clone(),
    });
    tx.note(Some(&home), caller.principal.clone().into(), created)?;
    gate::on_planned(tx, &task_id)?;
    tx.task_reply(&task_id)
}

pub(crate) fn apply_graph_created(
    state: &mut Whole,
    entry: &Stamped,
    created: &GraphCreated,
) -> Result<(), ApplyError> {
    let graph = Graph {
        root: created.workspace_id.clone(),
        root_task: created.root_task_id.clone(),
        author: caused_by(entry),
        at: entry.at,
    };
    match state.graphs.insert(created.graph_id.clone(), graph) {
        None => Ok(()),
        Some(_) => Err(ApplyError::Twice("a graph's creation")),
    }
}

pub(crate) fn apply_created(
    state: &mut Whole,
    entry: &Stamped,
    created: &Created,
) -> Result<(), ApplyError> {
    let id = &created.task_id;
    if state.tasks.contains_key(id) {
        return Err(ApplyError::Twice("a task's creation"));
    }
    let graph = state.graphs.get(&created.graph_id).ok_or(ApplyError::Unknown("the graph"))?;
    // Dependencies must exist before the task, which rules out cycles.
    for earlier in created.depends_on.iter().chain(&created.parent_task) {
        state.task_record(earlier).ok_or(ApplyError::Unknown("the task before it"))?;
    }
    let id_of = |id: &TaskId| state.task_record(id).map(|known| known.id);
    let depends_on: Vec<RecordId> = created.depends_on.iter().filter_map(id_of).collect();
    let number = created.plan.unwrap_or_else(|| state.unnumbered());
    let record_id = RecordId { kind: Kind::Plan, number };
    if state.memory.records.contains_key(&record_id) {
        return Err(ApplyError::Twice("a record"));
    }
    let part = TaskPart {
        description: Some(created.description.clone()),
        estimate: created.estimate.clone(),
        graph: Some(created.graph_id.clone()),
        id: Some(id.clone()),
        parent: created.parent_task.as_ref().and_then(id_of),
        terms: created.terms.as_ref().map(|terms| Arc::new(Terms::clone(terms))),
        ..TaskPart::default()
    };
    let fields = Fields {
        depends_on: Few::new(depends_on).map_err(|_| ApplyError::Mismatch("its dependencies"))?,
        priority: Some(created.priority.stored()),
        task: Some(Arc::new(part)),
        ..Fields::default()
    };
    let author = match &entry.draft.actor {
        Actor::Principal(who) => who.clone(),
        Actor::Protocol => graph.author.clone(),
    };
    let text = Text::lossy(created.name.as_str());
    let made = state.new_record(entry, record_id, author.clone(), text);
    let mut record = Record { updated_by: author, last_door: entry.door, fields, ..made };
    record.enter(State::Draft.stored(), entry.at);
    state.put_record(Arc::new(record));
    Ok(())
}
