//! Queries about runs: workspaces, mail, rights, checkpoints and tasks.
//!
//! An agent sees only what it may read; everything else is reported as missing.

use std::borrow::Cow;

use crate::machine::coordinator;
use crate::machine::state::State;
use crate::model::query::topology::WorkspaceList;
use crate::model::query::{Answer, Everything, RunQuery};
use crate::model::runs::access::Viewer;
use crate::model::runs::checkpoint::CheckpointView;
use crate::model::runs::envelope::Envelope;
use crate::model::runs::envelope::inbox::NoticeView;
use crate::model::runs::envelope::view::EnvelopeView;
use crate::model::runs::task::view::{GraphView, TaskView};
use crate::model::runs::task::{Graph, Task};
use crate::model::runs::workspace::Workspace;
use crate::model::runs::workspace::account::MeterGet;
use crate::model::runs::workspace::group::GroupName;
use crate::model::runs::workspace::view::{FilesView, WorkspaceView};
use crate::rules::runs::access::{
    reads_all_content, reads_content, reads_everything, reads_mail, reads_some as reads,
};
use crate::rules::runs::admission::Need;
use crate::rules::runs::workspace::account;
use crate::rules::runs::{admission, task};
use crate::values::id::{CheckpointId, EnvelopeId, TaskId, WorkspaceId};
use crate::values::principal::Principal;
use crate::values::time::Timestamp;

pub(crate) use crate::model::query::work::*;

/// A query about runs, with its viewer.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(super) state: &'a State,
    pub(super) now: Timestamp,
    pub(super) viewer: Viewer<'a>,
    /// Whether the viewer may read everything; computed once.
    everything: bool,
}

pub(crate) fn missing(what: &str, id: &dyn std::fmt::Display) -> Answer {
    Answer::Missing(format!("there is no {what} {id}"))
}

/// Whether a workspace belongs to the requested group.
fn is_of(group: Option<&GroupName>, known: &Workspace) -> bool {
    group.is_none_or(|group| known.charter.group.as_ref() == Some(group))
}

impl<'a> Asked<'a> {
    pub(crate) fn new(state: &'a State, now: Timestamp, viewer: Viewer<'a>) -> Self {
        Asked { state, now, viewer, everything: reads_everything(state, viewer) }
    }

    /// The state without the private records of others.
    pub(crate) fn seen(self) -> Cow<'a, State> {
        match self.viewer {
            Some(who) => Cow::Owned(self.state.as_seen_by(who)),
            None => Cow::Borrowed(self.state),
        }
    }
}

impl Asked<'_> {
    /// Answers a query about runs.
    pub(crate) fn of_run(self, query: RunQuery<'_>) -> Answer {
        use RunQuery as Q;
        match query {
            Q::RunGet(all) => self.run(all),
            Q::WorkspaceList(list) => Answer::Workspaces(self.workspaces(list)),
            Q::WorkspaceGet(of) => self.workspace(&of.workspace),
            Q::WorkspaceFiles(of) => self.files(&of.workspace),
            Q::InboxList(list) => self.inbox(list),
            Q::EnvelopeGet(of) => self.envelope(&of.envelope),
            Q::WorkspaceSees(of) => self.sees(&of.workspace),
            Q::WorkspaceSeenBy(of) => self.seen_by(&of.workspace),
            Q::RightList(list) => self.rights(list),
            Q::CheckpointList(of) => self.checkpoints(&of.workspace),
            Q::CheckpointGet(of) => self.checkpoint(&of.checkpoint),
            Q::TaskList(list) => Answer::Tasks(self.tasks(list)),
            Q::TaskReadyList(of) => Answer::Tasks(self.ready(of)),
            Q::TaskGet(of) => self.task(&of.task),
            Q::TaskDeps(of) => self.task_deps(of),
            Q::TaskGraphs(all) => Answer::Graphs(self.graphs(all)),
            Q::MeterGet(get) => self.meter(get),
        }
    }

    pub(crate) fn reads(self, id: &WorkspaceId) -> bool {
        self.everything || self.is_outside_runs(id) || reads(self.state, self.viewer, id)
    }

    /// Whether a workspace is an attempt outside runs or the root above them. Everybody may know of
    /// these, as of the assignments that they are; their content is another matter.
    fn is_outside_runs(self, id: &WorkspaceId) -> bool {
        let known = self.state.workspaces.get(id);
        known.is_some_and(|known| self.state.is_standing(&known.charter.root))
    }

    fn view(self, id: &WorkspaceId, known: &Workspace) -> WorkspaceView {
        WorkspaceView::of(self.state, self.now, id, known)
    }

    pub(crate) fn workspaces(self, list: &WorkspaceList) -> Vec<WorkspaceView> {
        // A list relative to a workspace that the viewer may not read is empty.
        let anchored = list.anchors().all(|id| self.reads(id));
        let fits = |id: &WorkspaceId, known: &Workspace| {
            anchored && list.fits(self, id, known) && self.reads(id)
        };
        let all = self.state.workspaces().filter(|(id, known)| fits(id, known));
        let mut views: Vec<WorkspaceView> = all.map(|(id, known)| self.view(id, known)).collect();
        views.extend(self.peers(list));
        views.sort_by_key(|view| view.created_at);
        views
    }

    pub(crate) fn workspace(self, id: &WorkspaceId) -> Answer {
        match self.state.workspaces.get(id).filter(|_| self.reads(id)) {
            Some(known) => Answer::Workspace(Box::new(self.view(id, known))),
            None => self
                .peer(id)
                .map_or_else(|| missing("workspace", id), |view| Answer::Workspace(Box::new(view))),
        }
    }

    pub(crate) fn files(self, id: &WorkspaceId) -> Answer {
        match self.state.workspaces.get(id).filter(|_| self.reads_content(id)) {
            Some(known) => Answer::Files(FilesView::of(id, known)),
            None => missing("workspace", id),
        }
    }

    /// Whether the viewer is the workspace's agent, or a person who may read it.
    fn is_of(self, id: &WorkspaceId) -> bool {
        match self.viewer {
            None | Some(Principal::System) => true,
            Some(Principal::User(_)) => self.reads(id),
            Some(Principal::Agent(agent)) => {
                let known = self.state.workspaces.get(id);
                known.is_some_and(|known| known.agent.as_ref() == Some(agent))
            }
        }
    }

    fn coordinates(self) -> bool {
        let agent = self.viewer.filter(|who| matches!(who, Principal::Agent(_)));
        agent.is_some_and(|agent| coordinator::is_coordinator(self.state, agent))
    }

    fn reads_content(self, id: &WorkspaceId) -> bool {
        reads_content(self.state, self.viewer, id)
    }

    fn reads_mail(self, id: &EnvelopeId, envelope: &Envelope) -> bool {
        reads_mail(self.state, self.viewer, id, envelope)
    }

    pub(crate) fn inbox(self, list: &InboxList) -> Answer {
        let id = &list.workspace;
        if !self.state.workspaces.contains_key(id) || !self.reads(id) {
            return missing("workspace", id);
        }
        let view = |id: &EnvelopeId| {
            let envelope = self.state.envelopes.get(id).filter(|sent| self.reads_mail(id, sent));
            envelope.map(|envelope| EnvelopeView::of(id, envelope))
        };
        let envelopes = if list.all {
            let own = self.state.envelopes().filter(|(_, sent)| sent.to == *id);
            let mut all: Vec<EnvelopeView> = own.filter_map(|(id, _)| view(id)).collect();
            all.sort_by_key(|envelope| envelope.created_at);
            all
        } else {
            self.state.inbox_of(id).filter_map(view).collect()
        };
        let own = self.is_of(id) || reads_all_content(self.state, self.viewer);
        let max = if own { usize::MAX } else { 0 };
        let notices = self.state.notices_of(id, max);
        let signals = notices.iter().map(|(_, notice)| NoticeView::of(notice)).collect();
        let news = self.state.news_of(id, max);
        let quiet = if max > 0 { self.state.quiet_for(id) } else { Vec::new() };
        Answer::Inbox(InboxView { workspace: id.clone(), envelopes, signals, news, quiet })
    }

    pub(crate) fn envelope(self, id: &EnvelopeId) -> Answer {
        match self.state.envelopes.get(id).filter(|sent| self.reads_mail(id, sent)) {
            Some(envelope) => Answer::Envelope(Box::new(EnvelopeView::of(id, envelope))),
            None => missing("envelope", id),
        }
    }

    pub(crate) fn checkpoints(self, id: &WorkspaceId) -> Answer {
        if !self.state.workspaces.contains_key(id) || !self.reads_content(id) {
            return missing("workspace", id);
        }
        let known = self.state.register_of(id);
        let known = known.filter_map(|id| self.state.checkpoints.get(id).map(|c| (id, c)));
        let views = known.map(|(id, checkpoint)| CheckpointView::of(id, checkpoint));
        Answer::Checkpoints(views.collect())
    }

    pub(crate) fn checkpoint(self, id: &CheckpointId) -> Answer {
        match self.state.checkpoints.get(id).filter(|made| self.reads_content(&made.workspace)) {
            Some(checkpoint) => Answer::Checkpoint(Box::new(CheckpointView::of(id, checkpoint))),
            None => missing("checkpoint", id),
        }
    }

    /// Whether the viewer may read a task: everybody reads those planned outside a run; of a run the
    /// coordinator and the run's owner read all plans, others the tasks they work or worked on.
    pub(crate) fn reads_task(self, task: &Task) -> bool {
        if task.graph == Graph::standing() {
            return true;
        }
        let planned = self.run_of_task(task).is_some_and(|root| self.reads_plans(root));
        planned || task.history.iter().any(|id| self.reads(id))
    }

    /// Whether the viewer may read the plans of a run as a whole.
    pub(crate) fn reads_plans(self, root: &WorkspaceId) -> bool {
        match self.viewer {
            None | Some(Principal::System) => true,
            Some(Principal::Agent(_)) => self.coordinates(),
            Some(Principal::User(_)) => self.reads(root),
        }
    }

    fn run_of_task(&self, task: &Task) -> Option<&WorkspaceId> {
        self.state.graphs.get(&task.graph).map(|graph| &graph.root)
    }

    pub(crate) fn tasks(self, list: &TaskList) -> Vec<TaskView> {
        let newest = self.state.newest_root();
        let standing = Graph::standing();
        let fits = |task: &Task| {
            let goes_on = || task.graph == standing && !task.state.is_over();
            let of_run = || goes_on() || self.run_of_task(task) == newest && newest.is_some();
            list.graph.as_ref().map_or_else(|| list.all || of_run(), |graph| task.graph == *graph)
                && self.reads_task(task)
        };
        let is_wanted = |view: &TaskView| list.status.is_none_or(|status| view.status == status);
        let mut views: Vec<TaskView> = Vec::new();
        for task in self.state.tasks().filter(fits) {
            let view = TaskView::of(self.state, &task);
            let record = self.state.task_record(&task.id);
            let steps: Vec<TaskView> =
                record.map(|record| view.steps(record).collect()).unwrap_or_default();
            views.extend([view].into_iter().chain(steps).filter(is_wanted));
        }
        // The steps of a task are as old as the task and stay behind it.
        views.sort_by_key(|view| view.created_at);
        views
    }

    /// The tasks that can be assigned now, most urgent first.
    pub(crate) fn ready(self, asked: &TaskReady) -> Vec<TaskView> {
        let list = TaskList {
            all: false,
            graph: asked.graph.clone(),
            status: Some(task::Status::Pending),
        };
        let mut ready = self.tasks(&list);
        ready.retain(|task| task.ready);
        ready.sort_by_key(|task| (task.priority, task.created_at));
        ready
    }

    pub(crate) fn task(self, id: &TaskId) -> Answer {
        match self.state.task(id).filter(|task| self.reads_task(task)) {
            Some(task) => Answer::Task(Box::new(TaskView::of(self.state, &task))),
            None => missing("task", id),
        }
    }

    pub(crate) fn graphs(self, _: &Everything) -> Vec<GraphView> {
        let all = self.state.graphs.iter();
        let mut views: Vec<GraphView> =
            all.map(|(id, graph)| GraphView::of(self.state, id, graph)).collect();
        views.sort_by_key(|view| view.created_at);
        // The newest one of a run stands last.
        GraphView::standing(self.state).into_iter().chain(views).collect()
    }

    /// The resources used by the workspaces the viewer may read.
    pub(crate) fn meter(self, get: &MeterGet) -> Answer {
        if let Some(id) = &get.workspace
            && (!self.state.workspaces.contains_key(id) || !self.reads(id))
        {
            return missing("workspace", id);
        }
        let newest = self.state.newest_root();
        let fits = |id: &WorkspaceId, known: &Workspace| {
            let of_run = || get.all || Some(&known.charter.root) == newest;
            get.workspace.as_ref().map_or_else(of_run, |wanted| wanted == id)
                && is_of(get.group.as_ref(), known)
                && !(get.live && known.status.is_terminal())
                && self.reads(id)
        };
        Answer::Meter(Box::new(account::report(self.state, self.now, &fits)))
    }

    pub(crate) fn run(self, _: &Everything) -> Answer {
        let root = self.state.root.as_ref();
        let found = root.and_then(|root| self.state.workspaces.get(root).map(|w| (root, w)));
        let Some((root, known)) = found else {
            return Answer::Missing("there is no current run".to_owned());
        };
        let taxonomy = self.state.run_of(known);
        let named = taxonomy.document().map(|document| TaxonomyName {
            id: document.id.to_string(),
            version: document.version.to_string(),
        });
        Answer::Run(RunView {
            root: root.clone(),
            coordinator: known.agent.clone(),
            live: self.state.live,
            limits: known.charter.limits.clone(),
            room: admission::standing(self.state, None, Need::default()),
            taxonomy: named,
            roles: taxonomy.roles().cloned().collect(),
            envelope_types: taxonomy.envelope_types().cloned().collect(),
        })
    }
}
