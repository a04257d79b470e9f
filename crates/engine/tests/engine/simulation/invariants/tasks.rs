//! Tasks in both vocabularies: those of runs, and plans of the shared memory.

use althing_kernel::records::{self, RecordId};
use althing_kernel::task::{self, follow, graph};
use althing_kernel::workspace::Status;
use althing_kernel::{GraphId, State, TaskId, WorkspaceId};

use super::{Ledger, Place};

/// A task, as recorded in the trail.
pub(super) struct Work {
    pub(super) graph: GraphId,
    pub(super) depends_on: Vec<TaskId>,
    pub(super) status: task::Status,
    /// The state in the words of memory, if a memory verb moved it last.
    pub(super) moved: Option<records::Status>,
    /// The runs that planned it and that last bound a workspace to it.
    pub(super) runs: [Option<WorkspaceId>; 2],
    pub(super) workspace: Option<WorkspaceId>,
    pub(super) history: Vec<WorkspaceId>,
}

impl Ledger {
    /// A plan that was made through memory.
    pub(super) fn plan_created(&mut self, at: &Place<'_>, body: &records::create::Created) {
        if body.id.kind != records::Kind::Plan {
            return;
        }
        let work = Work {
            graph: task::Graph::standing(),
            depends_on: body.fields.depends_on.iter().map(|id| self.plans[id].clone()).collect(),
            status: task::Status::Pending,
            moved: None,
            runs: [None, None],
            workspace: None,
            history: Vec::new(),
        };
        let id = TaskId::new(&body.id.to_string()).unwrap();
        self.plans.insert(body.id, id.clone());
        at.must(self.tasks.insert(id, work).is_none(), "it is a new plan");
    }

    pub(super) fn task_created(&mut self, at: &Place<'_>, body: &graph::Created) {
        for earlier in body.depends_on.iter().chain(&body.parent_task) {
            let known = self.tasks.get(earlier);
            let standing = task::Graph::standing();
            let fits = |graph: &GraphId| *graph == body.graph_id || *graph == standing;
            let same = known.is_some_and(|known| fits(&known.graph));
            at.must(same, "what it depends on was there before, in the same graph");
        }
        let work = Work {
            graph: body.graph_id.clone(),
            depends_on: body.depends_on.clone(),
            status: task::Status::Draft,
            moved: None,
            runs: [self.root.clone(), None],
            workspace: None,
            history: Vec::new(),
        };
        let plan = RecordId { kind: records::Kind::Plan, number: body.plan.unwrap() };
        at.must(self.plans.insert(plan, body.task_id.clone()).is_none(), "it is a new plan");
        at.must(self.tasks.insert(body.task_id.clone(), work).is_none(), "it is a new task");
    }

    /// A task that a memory verb moved.
    pub(super) fn moved(&mut self, at: &Place<'_>, plan: RecordId, to: records::Status) {
        let Some(id) = self.plans.get(&plan) else { return };
        let work = self.tasks.get_mut(id).unwrap();
        let here = self.root.as_ref();
        let governed = here.is_some() && work.runs.iter().any(|run| run.as_ref() == here);
        at.must(!governed, "a run moves what it has taken");
        work.moved = Some(to);
        work.status = match to {
            records::Status::Done => task::Status::Completed,
            records::Status::Cancelled => task::Status::Cancelled,
            _ => task::Status::InProgress,
        };
        self.count("an open task is moved");
    }

    pub(super) fn assigned(&mut self, at: &Place<'_>, body: &follow::Assigned) {
        let done = |id: &TaskId| self.tasks[id].status.is_done();
        at.must(self.tasks[&body.task_id].depends_on.iter().all(done), "it was ready");
        let own = &self.tree[&body.workspace_id].body.task_ref;
        at.must(own.as_ref() == Some(&body.task_id), "the workspace is for that task");
        at.must(self.bound.insert(body.workspace_id.clone()), "a workspace has one task ever");
        let work = self.tasks.get_mut(&body.task_id).unwrap();
        at.must(work.workspace.is_none(), "a task has one workspace at a time");
        work.workspace = Some(body.workspace_id.clone());
        work.history.push(body.workspace_id.clone());
        work.runs[1].clone_from(&self.root);
        let attempt = u32::try_from(work.history.len()).unwrap();
        at.must(body.attempt_number == attempt, "attempts are counted");
        if attempt > 1 {
            self.count("second attempt");
        }
    }

    /// The state of the workspace in which somebody works at a task. Attempts outside runs follow the
    /// rules of records, so they are taken as they are.
    fn attempt_at(&self, state: &State, plan: &records::Record) -> Option<Status> {
        let (id, known) = state.live_attempt(plan)?;
        let of_run = self.tree.get(id).map(|node| node.status);
        let is_known = of_run.is_some() || self.outside.contains(id);
        assert!(is_known, "seed {}: {id} is in no run and outside of none", self.seed);
        Some(of_run.unwrap_or(known.status))
    }

    pub(super) fn compare_tasks(&self, state: &State) {
        let seed = self.seed;
        assert_eq!(state.tasks().count(), self.tasks.len(), "seed {seed}");
        for task in state.tasks() {
            let (id, work) = (&task.id, &self.tasks[&task.id]);
            assert_eq!(task.status, work.status, "seed {seed}: {id}");
            assert_eq!(task.depends_on, work.depends_on, "seed {seed}: {id}");
            assert_eq!(task.history, work.history, "seed {seed}: {id}");
            assert_eq!(task.workspace, work.workspace, "seed {seed}: {id}");
            let bound = task.workspace.as_ref().map(|id| self.tree[id].status);
            let record = state.task_record(id).unwrap();
            let moved = work.moved.unwrap_or_else(|| in_memory(task.status, bound));
            let expected = as_far_as(moved, self.attempt_at(state, record));
            assert_eq!(state.status_of(record), expected, "seed {seed}: {id} in both vocabularies");
            if work.moved.is_none() {
                let is = task.status;
                assert!(fits(is, bound), "seed {seed}: {id} is {is}, {bound:?}");
            }
        }
    }
}

/// The state of a task at which somebody works: that of the attempt, once its agent has taken it up.
fn as_far_as(word: records::Status, attempt: Option<Status>) -> records::Status {
    if !matches!(word, records::Status::Open | records::Status::InProgress) {
        return word;
    }
    match attempt {
        Some(Status::Blocked) => records::Status::Blocked,
        Some(Status::Idle) | None => word,
        Some(_) => records::Status::InProgress,
    }
}

/// The state of a task that its run moved last, in the words of memory.
fn in_memory(task: task::Status, workspace: Option<Status>) -> records::Status {
    use task::Status as Task;
    match task {
        Task::Draft | Task::Pending | Task::Failed => records::Status::Open,
        Task::Assigned | Task::InProgress if workspace == Some(Status::Blocked) => {
            records::Status::Blocked
        }
        Task::Assigned | Task::InProgress | Task::Completed => records::Status::InProgress,
        Task::Integrated => records::Status::Done,
        Task::Cancelled => records::Status::Cancelled,
    }
}

/// Whether a task can be in a state while its workspace is in another.
fn fits(task: task::Status, workspace: Option<Status>) -> bool {
    use task::Status as Task;
    match (task, workspace) {
        (Task::Draft | Task::Pending, bound) => bound.is_none(),
        (Task::Cancelled, bound) => bound.is_none_or(Status::is_terminal),
        (_, None) => false,
        (Task::Assigned | Task::InProgress, Some(status)) => !status.is_sealed(),
        (Task::Completed, Some(status)) => {
            matches!(status, Status::Integrating | Status::Conflicted)
        }
        (Task::Failed, Some(status)) => status == Status::Failed,
        (Task::Integrated, Some(status)) => status == Status::Closed,
    }
}
