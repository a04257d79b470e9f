//! The table of records and its indexes. A task is a record of the kind `plan`, stored here and
//! nowhere else.

use std::borrow::Cow;
use std::sync::Arc;

use crate::machine::state::{Deadline, State};
use crate::model::knowledge::records::field::{Few, Step};
use crate::model::knowledge::records::record::{Body, Record};
use crate::model::knowledge::records::task::{TaskPart, UNNUMBERED};
use crate::model::knowledge::records::vocabulary::{Priority, Status, StepStatus};
use crate::model::knowledge::records::{EARLIER_DECISIONS, Memory};
use crate::model::runs::task::{Graph, Task};
use crate::model::runs::{task, workspace};
use crate::protocol::event::Stamped;
use crate::registry::apply_error::ApplyError;
use crate::registry::record_id::{Kind, RecordId};
use crate::values::content::Blob;
use crate::values::id::{First as _, GraphId, TaskId, WorkspaceId};
use crate::values::label::Label;
use crate::values::name::AgentName;
use crate::values::principal::{Actor, Principal};
use crate::values::text::Text;
use crate::values::time::Timestamp;

/// The principal who caused an entry; the system for entries by the runtime.
pub(crate) fn caused_by(entry: &Stamped) -> Principal {
    match &entry.draft.actor {
        Actor::Principal(who) => who.clone(),
        Actor::Protocol => Principal::System,
    }
}

impl State {
    /// A new record with only a text, which an entry leads to.
    pub(crate) fn new_record(
        &self,
        entry: &Stamped,
        id: RecordId,
        author: Principal,
        text: Body,
    ) -> Record {
        Record {
            updated_by: caused_by(entry),
            created_seq: self.seq,
            updated_seq: self.seq,
            door: entry.door,
            ..Record::new(id, author, entry.at, text)
        }
    }
}

impl Record {
    /// Updates the version, time and author of the last change.
    pub(crate) fn touch(&mut self, entry: &Stamped, seq: u64) {
        self.version = self.version.saturating_add(1);
        (self.updated_at, self.updated_seq) = (entry.at, seq);
        self.updated_by = caused_by(entry);
        self.last_door = entry.door;
    }

    /// The part of a task that only runs know of, to be changed.
    pub(crate) fn task_mut(&mut self) -> &mut TaskPart {
        Arc::make_mut(self.fields.task.get_or_insert_default())
    }
}

impl Memory {
    pub(crate) fn unlist(&mut self, record: &Record) {
        let (id, live) = (record.id, record.is_live());
        self.newest.remove(&(id.kind, live, record.updated_seq, id.number));
        self.changed.remove(&(record.updated_seq, id));
        self.private.remove(&id);
        let left = self.count(id.kind, Some(live)).saturating_sub(1);
        if left == 0 {
            self.counts.remove(&(id.kind, live));
        } else {
            self.counts.insert((id.kind, live), left);
        }
        if let Some(plan) = record.worked_on() {
            self.at_work.remove(&(plan, id));
        }
        if let Some(parent) = record.task().and_then(|part| part.parent) {
            self.below.remove(&(parent, id));
        }
        if let Some(key) = &record.fields.key {
            self.keyed.remove(&(id.kind, key.clone()));
        }
        if id.kind == Kind::Symbol {
            self.symbols.remove(&(record.text.clone(), id.number));
        }
    }

    fn list(&mut self, record: &Record) {
        let (id, live) = (record.id, record.is_live());
        self.newest.insert((id.kind, live, record.updated_seq, id.number));
        self.changed.insert((record.updated_seq, id));
        if record.is_private() {
            self.private.insert(id);
        }
        *self.counts.entry((id.kind, live)).or_insert(0) += 1;
        if let Some(plan) = record.worked_on() {
            self.at_work.insert((plan, id));
        }
        if let Some(parent) = record.task().and_then(|part| part.parent) {
            self.below.insert((parent, id));
        }
        if let Some(key) = &record.fields.key {
            self.keyed.insert((id.kind, key.clone()), id.number);
        }
        if id.kind == Kind::Symbol {
            self.symbols.insert((record.text.clone(), id.number));
        }
    }
}

/// The key of a task in the index of tasks by graph.
fn by_graph(record: &Record) -> (GraphId, Timestamp, TaskId) {
    let graph = record.task().and_then(|part| part.graph.clone());
    (graph.unwrap_or_else(Graph::standing), record.created_at, record.task_id())
}

impl State {
    /// Inserts or replaces a record and updates the indexes.
    pub(crate) fn put_record(&mut self, record: Arc<Record>) {
        let id = record.id;
        let before = self.memory.records.get(&id).cloned();
        if let Some(before) = &before {
            self.memory.unlist(before);
        } else if id.kind == Kind::Plan {
            self.tasks.insert(record.task_id(), id);
            self.graph_tasks.insert(by_graph(&record));
        }
        let due = before.as_ref().and_then(|before| before.runs_out());
        self.reschedule(due, record.runs_out(), &Deadline::Memory(id));
        self.memory.list(&record);
        if id.number < EARLIER_DECISIONS.min(UNNUMBERED) {
            let last = self.memory.numbers.get(&id.kind).copied().unwrap_or_default();
            self.memory.numbers.insert(id.kind, last.max(id.number));
        }
        self.memory.records.insert(id, record);
    }

    /// Removes a record.
    pub(crate) fn remove_record(&mut self, id: RecordId) -> Result<(), ApplyError> {
        let record = self.memory.records.remove(&id).ok_or(ApplyError::Unknown("the record"))?;
        self.memory.unlist(&record);
        if id.kind == Kind::Plan {
            self.tasks.remove(&record.task_id());
            self.graph_tasks.remove(&by_graph(&record));
        }
        self.reschedule(record.runs_out(), None, &Deadline::Memory(id));
        Ok(())
    }

    /// Changes a record as an entry says.
    pub(crate) fn change_record(
        &mut self,
        entry: &Stamped,
        id: RecordId,
        how: impl FnOnce(&mut Record),
    ) -> Result<(), ApplyError> {
        let known = self.memory.records.get(&id).ok_or(ApplyError::Unknown("the record"))?;
        let mut record = Record::clone(known);
        how(&mut record);
        record.touch(entry, self.seq);
        self.put_record(Arc::new(record));
        Ok(())
    }

    /// The record of a task, by its id or by the id of the record.
    pub fn task_record(&self, id: &TaskId) -> Option<&Arc<Record>> {
        let named = || id.as_str().parse().ok().filter(|id: &RecordId| id.kind == Kind::Plan);
        let own = self.tasks.get(id).copied().or_else(named)?;
        self.memory.records.get(&own)
    }

    /// A task by its id, or by the id of its record.
    pub fn task(&self, id: &TaskId) -> Option<Task> {
        self.task_record(id).map(|record| self.task_of(record))
    }

    /// All tasks, as runs see them.
    pub fn tasks(&self) -> impl Iterator<Item = Task> {
        let all = self.tasks.values().filter_map(|id| self.memory.records.get(id));
        all.map(|record| self.task_of(record))
    }

    /// The tasks of a graph, in the order they were planned.
    pub(crate) fn tasks_in(&self, graph: &GraphId) -> impl Iterator<Item = &TaskId> {
        let own = graph.clone();
        let first = (graph.clone(), Timestamp::default(), TaskId::first());
        self.graph_tasks.range(first..).take_while(move |(of, ..)| *of == own).map(|(.., id)| id)
    }

    /// A task, as runs see it.
    pub(crate) fn task_of(&self, record: &Record) -> Task {
        let part = record.task().cloned().unwrap_or_default();
        let state = record.task_state().unwrap_or(task::State::Pending);
        let id_of = |id: &RecordId| self.memory.records.get(id).map(|own| own.task_id());
        let first = record.text.as_str().lines().find(|line| !line.trim().is_empty());
        Task {
            id: record.task_id(),
            graph: part.graph.unwrap_or_else(Graph::standing),
            name: Text::lossy(first.unwrap_or_default().trim()),
            description: part
                .description
                .unwrap_or_else(|| Blob::of(record.text.as_str().as_bytes())),
            depends_on: record.fields.depends_on.iter().filter_map(id_of).collect(),
            parent: part.parent.as_ref().and_then(id_of),
            priority: record.fields.priority.map(Priority::in_runs).unwrap_or_default(),
            estimate: part.estimate,
            status: state.in_runs(),
            state,
            workspace: part.workspace,
            history: part.history,
            checkpoint: part.checkpoint,
            at: record.created_at,
        }
    }

    /// The state of a task in the words of runs. An open task is in progress while somebody works
    /// on it.
    pub fn task_status_of(&self, record: &Record) -> task::Status {
        let stored = record.task_state().unwrap_or(task::State::Pending).in_runs();
        let at_work = || matches!(self.status_of(record), Status::InProgress | Status::Blocked);
        if stored == task::Status::Pending && at_work() { task::Status::InProgress } else { stored }
    }

    /// The run that governs a task: the current one, if the task was planned in it or a workspace
    /// of it was bound to the task.
    pub(crate) fn run_over(&self, record: &Record) -> Option<&WorkspaceId> {
        let root = self.root.as_ref()?;
        let part = record.task()?;
        let planned = part.graph.as_ref().and_then(|graph| self.graphs.get(graph));
        let tried = part.history.last().and_then(|id| self.workspaces.get(id));
        let here = planned.is_some_and(|graph| graph.root == *root)
            || tried.is_some_and(|tried| tried.charter.root == *root);
        here.then_some(root)
    }

    /// Whether a task is governed by the current run, so that only its workspace and the
    /// coordinator move it.
    pub fn is_governed(&self, record: &Record) -> bool {
        self.run_over(record).is_some()
    }

    /// The workspace in which somebody works on a task, or is offered it: the one that a run bound
    /// to it, or the attempt outside runs. None that has ended.
    pub fn live_attempt(&self, record: &Record) -> Option<(&WorkspaceId, &workspace::Workspace)> {
        let mut given = self.memory.at_work_on(record.id);
        let outside =
            || given.find_map(|id| self.live(self.memory.record(id)?.fields.workspace.as_ref()?));
        self.bound_attempt(record).or_else(outside)
    }

    /// The workspace that a run bound to a task and that has not ended.
    pub(crate) fn bound_attempt(
        &self,
        record: &Record,
    ) -> Option<(&WorkspaceId, &workspace::Workspace)> {
        self.live(record.task()?.workspace.as_ref()?)
    }

    /// A workspace that has not ended.
    fn live(&self, id: &WorkspaceId) -> Option<(&WorkspaceId, &workspace::Workspace)> {
        let (id, known) = self.workspaces.get_key_value(id)?;
        (!known.status.is_terminal()).then_some((id, known.as_ref()))
    }

    /// The state of a record in the words of the memory protocol. A task is as far as the attempt
    /// at it: in progress once its agent has taken it up, blocked while the agent is.
    pub fn status_of(&self, record: &Record) -> Status {
        let word = record.word();
        if record.id.kind != Kind::Plan || !matches!(word, Status::Open | Status::InProgress) {
            return word;
        }
        match self.live_attempt(record).map(|(_, known)| known.status) {
            Some(workspace::Status::Blocked) => Status::Blocked,
            Some(workspace::Status::Idle) | None => word,
            Some(_) => Status::InProgress,
        }
    }

    /// Whether plans that depend on a plan may start. One that is archived has ended.
    pub fn is_met(&self, plan: RecordId) -> bool {
        let state = self.memory.records.get(&plan).and_then(|record| record.task_state());
        state.is_none_or(|state| state.in_runs().is_done())
    }

    /// The agent that works on a task: in a workspace, or with an active assignment.
    pub fn at_work_on(&self, record: &Record) -> Option<&AgentName> {
        let bound = self.live_attempt(record).and_then(|(_, known)| known.agent.as_ref());
        let given = || {
            let id = self.memory.at_work_on(record.id).next()?;
            self.memory.records.get(&id)?.agent()
        };
        bound.or_else(given)
    }

    /// A record, as the memory protocol shows it: the state in its words, the agent of its workspace
    /// as the assignee, and the plans below a plan as further steps.
    pub fn shown<'s>(&self, record: &'s Record) -> Cow<'s, Record> {
        if record.id.kind != Kind::Plan {
            return Cow::Borrowed(record);
        }
        let status = self.status_of(record);
        let below: Vec<Step> =
            self.memory.plans_below(record.id).map(|own| self.as_step(own)).collect();
        let agent = self.live_attempt(record).and_then(|(_, known)| known.agent.as_ref());
        if status == record.status && below.is_empty() && agent.is_none() {
            return Cow::Borrowed(record);
        }
        let mut shown = Record { status, ..record.clone() };
        if let Some(agent) = agent {
            shown.fields.assignee = Label::new(agent.as_str()).ok();
        }
        let steps = record.fields.steps.iter().cloned().chain(below).collect();
        shown.fields.steps = Few::new(steps).unwrap_or_else(|_| record.fields.steps.clone());
        Cow::Owned(shown)
    }

    /// Like [`State::shown`], for a shared record: it is copied only if it is shown differently.
    pub(crate) fn shown_shared(&self, record: &Arc<Record>) -> Arc<Record> {
        match self.shown(record) {
            Cow::Borrowed(_) => record.clone(),
            Cow::Owned(shown) => Arc::new(shown),
        }
    }

    /// A plan, as a step of the plan above it.
    fn as_step(&self, record: &Record) -> Step {
        let status = match self.status_of(record) {
            Status::InProgress => StepStatus::InProgress,
            Status::Blocked => StepStatus::Blocked,
            Status::Done | Status::Cancelled => StepStatus::Done,
            _ => StepStatus::Todo,
        };
        Step {
            assignee: record.fields.assignee.clone(),
            id: None,
            plan: Some(record.id),
            status,
            text: Text::lossy(record.text.as_str()),
        }
    }

    /// The number of a task whose entry names none.
    pub(crate) fn unnumbered(&self) -> u64 {
        UNNUMBERED + self.seq
    }
}
