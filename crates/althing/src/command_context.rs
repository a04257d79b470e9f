//! The context of commands: the project, the caller, and the meaning of names.

use althing_engine::{Blobs, Client, Engine, Signing};
use althing_kernel::capability::Capability;
use althing_kernel::checkpoint::CheckpointView;
use althing_kernel::query::{
    Answer, Everything, OfWorkspace, Query, RightList, RunView, SightView, TaskDeps, TaskList,
    WorkspaceList,
};
use althing_kernel::records::{Kind as RecordKind, RecordId};
use althing_kernel::right::RightView;
use althing_kernel::task::view::{GraphView, TaskView};
use althing_kernel::user::{Status, User};
use althing_kernel::workspace::view::WorkspaceView;
use althing_kernel::{
    AgentName, Blob, CheckpointId, Command, Content, GraphId, Principal, Reply, RightId, Rule,
    TaskId, Timestamp, UserId, WorkspaceId, agent,
};
use althing_services::{Caller, Project as Served, ProjectContext};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::app::{App, Project};
use crate::error::Error;
use crate::haid::{agent_name, own_haid};
use crate::naming::{Naming, ambiguous};
use crate::output::Out;

/// The root of the current run, as people name it.
const ROOT: &str = "root";
/// Begins the name of the workspace an agent works in.
const OF_AGENT: &str = "agent:";

/// The context of a command: that of the project, with the settings and the output.
pub(crate) struct CommandContext<'a> {
    pub(crate) app: Cow<'a, App>,
    pub(crate) project: Arc<Project>,
    pub(crate) request: ProjectContext,
}

/// The part of an answer that a question leads to.
macro_rules! answered {
    ($context:expr, $query:expr, $variant:ident) => {
        match $context.ask(&$query)? {
            Answer::$variant(found) => Ok(found),
            other => Err(Error::unexpected(&other)),
        }
    };
}

impl<'a> CommandContext<'a> {
    /// Opens the project, which has to exist. Without a name, the caller may only read.
    pub(crate) fn open(app: &'a App) -> Result<Self, Error> {
        let project = Arc::new(app.project()?);
        let (own, by) = (project.clone(), app.clone());
        let caller =
            Caller::new(project.asker()?, Box::new(move |engine: &Engine| own.client(&by, engine)));
        CommandContext::of(Cow::Borrowed(app), project, caller, false)?.opened()
    }

    /// Opens the project for a dialect that needs a name: without `--as` or `--user`, the caller is the
    /// HAID of this person in this project.
    pub(crate) fn open_as_own(app: &'a App) -> Result<Self, Error> {
        let project = Arc::new(app.project()?);
        let caller = match project.asker()? {
            None => Caller::agent(agent_name(&own_haid(project.root())?)?),
            set => {
                let (own, by) = (project.clone(), app.clone());
                Caller::new(set, Box::new(move |engine: &Engine| own.client(&by, engine)))
            }
        };
        CommandContext::of(Cow::Borrowed(app), project, caller, false)?.opened()
    }

    /// Like [`Self::open_as_own`], but derives the HAID only for a change, because most calls are look-ups.
    pub(crate) fn open_to_look_up(app: &'a App) -> Result<Self, Error> {
        CommandContext::to_look_up(Cow::Borrowed(app), false)?.opened()
    }

    /// Opens the project for tools that need no `init`: the first write creates it.
    pub(crate) fn beginning(app: App) -> Result<CommandContext<'static>, Error> {
        CommandContext::to_look_up(Cow::Owned(app), true)
    }

    fn to_look_up(app: Cow<'a, App>, begins: bool) -> Result<Self, Error> {
        let project = Arc::new(app.project()?);
        let (own, by) = (project.clone(), App::clone(&app));
        let authenticate = move |engine: &Engine| -> Result<Client, Error> {
            if own.asker()?.is_some() {
                return own.client(&by, engine);
            }
            let name = agent_name(&own_haid(own.root())?)?;
            Ok(engine.client(engine.agent(&name)?, Signing::Each))
        };
        let caller = Caller::new(project.asker()?, Box::new(authenticate));
        CommandContext::of(app, project, caller, begins)
    }

    fn of(
        app: Cow<'a, App>,
        project: Arc<Project>,
        caller: Caller,
        begins: bool,
    ) -> Result<Self, Error> {
        let is_agent = matches!(project.asker()?, Some(Principal::Agent(_)));
        // Only a session that is named is worth opening the project for here.
        let session = match project.settings.session.value {
            Some(_) if is_agent => project.session(&project.engine()?)?,
            _ => None,
        };
        let served = Arc::new(Served::new(project.setup(begins)).warning(&app.warnings));
        let request = ProjectContext::new(served, caller.in_session(session));
        Ok(CommandContext { app, project, request })
    }

    /// Fails if the project does not exist.
    fn opened(self) -> Result<Self, Error> {
        self.request.opened()?;
        Ok(self)
    }

    pub(crate) fn out(&self) -> Out {
        self.app.out
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.request.now()
    }

    /// The project, opened.
    pub(crate) fn engine(&self) -> Result<Engine, Error> {
        self.request.engine()
    }

    /// The content of the project.
    pub(crate) fn blobs(&self) -> Blobs {
        self.request.blobs()
    }

    /// Remembers content that was brought along.
    pub(crate) fn bring(&self, blob: Blob) -> Content {
        self.request.bring(blob.clone());
        blob.into()
    }

    fn viewer(&self) -> Option<&Principal> {
        self.request.principal()
    }

    /// Fails if there is no such person, because an empty list would mislead.
    pub(crate) fn known_user(&self, user: &UserId) -> Result<(), Error> {
        if self.engine()?.world()?.state.user(user).is_some() {
            return Ok(());
        }
        let failure = Error::not_found(format!("there is no user {user}"));
        Err(failure.hint("`althing users` lists who there is; `althing login NAME` signs up."))
    }

    /// Asks a question in the name of the caller.
    pub(crate) fn ask(&self, query: &Query) -> Result<Answer, Error> {
        if let Some(Principal::User(user)) = self.viewer() {
            self.known_user(user)?;
        }
        self.request.ask(query)
    }

    /// The authenticated caller.
    pub(crate) fn client(&self) -> Result<Client, Error> {
        self.request.client()
    }

    /// Issues a command.
    pub(crate) fn order(&self, command: Command) -> Result<Reply, Error> {
        self.request.execute(command)
    }

    /// The current run, if there is one.
    pub(crate) fn run(&self) -> Result<Option<RunView>, Error> {
        if self.engine()?.world()?.state.root().is_none() {
            return Ok(None);
        }
        answered!(self, Query::RunGet(Everything {}), Run).map(Some)
    }

    pub(crate) fn workspaces(&self, list: WorkspaceList) -> Result<Vec<WorkspaceView>, Error> {
        answered!(self, Query::WorkspaceList(list), Workspaces)
    }

    /// The workspaces of runs, without peers.
    fn workspaces_of_runs(&self) -> Result<Vec<WorkspaceView>, Error> {
        let mut all = self.workspaces(WorkspaceList::default())?;
        all.retain(WorkspaceView::is_of_run);
        Ok(all)
    }

    pub(crate) fn workspace_view(&self, workspace: WorkspaceId) -> Result<WorkspaceView, Error> {
        answered!(self, Query::WorkspaceGet(OfWorkspace { workspace }), Workspace).map(|view| *view)
    }

    pub(crate) fn checkpoints(&self, id: &WorkspaceId) -> Result<Vec<CheckpointView>, Error> {
        let of = OfWorkspace { workspace: id.clone() };
        answered!(self, Query::CheckpointList(of), Checkpoints)
    }

    pub(crate) fn rights(&self, id: &WorkspaceId) -> Result<Vec<RightView>, Error> {
        self.right_list(RightList { workspace: Some(id.clone()), ..RightList::default() })
    }

    pub(crate) fn right_list(&self, list: RightList) -> Result<Vec<RightView>, Error> {
        answered!(self, Query::RightList(list), Rights)
    }

    pub(crate) fn task_deps(&self, deps: TaskDeps) -> Result<Vec<TaskView>, Error> {
        answered!(self, Query::TaskDeps(deps), Tasks)
    }

    /// The workspaces that a workspace may read, or those that may read it.
    pub(crate) fn sight(&self, workspace: WorkspaceId, by: bool) -> Result<Vec<SightView>, Error> {
        let of = OfWorkspace { workspace };
        let query = if by { Query::WorkspaceSeenBy(of) } else { Query::WorkspaceSees(of) };
        answered!(self, query, Sight)
    }

    pub(crate) fn tasks(&self, list: TaskList) -> Result<Vec<TaskView>, Error> {
        answered!(self, Query::TaskList(list), Tasks)
    }

    pub(crate) fn graphs(&self) -> Result<Vec<GraphView>, Error> {
        answered!(self, Query::TaskGraphs(Everything {}), Graphs)
    }
}

/// Looking up names and ids.
impl CommandContext<'_> {
    /// The workspaces that can be meant: those one may read, and those one may write to.
    pub(crate) fn workspace_naming(&self) -> Result<Naming, Error> {
        let all = self.workspaces(WorkspaceList::default())?;
        let mut ids: BTreeSet<WorkspaceId> = BTreeSet::new();
        for view in all {
            let own = matches!(self.viewer(), Some(Principal::Agent(own)) if view.agent.as_ref() == Some(own));
            if own && view.is_of_run() {
                ids.extend(view.parent);
                for right in self.rights(&view.workspace)? {
                    ids.extend([right.holder, right.target]);
                }
            }
            ids.insert(view.workspace);
        }
        Ok(Naming::of(ids))
    }

    /// A workspace by its id, a part of it, `root`, `agent:NAME`, or the assignment that it is. What
    /// fits nothing goes on as it is: the kernel says that there is no such thing, and who asked is
    /// on record.
    pub(crate) fn workspace(&self, text: &str) -> Result<WorkspaceId, Error> {
        if text == ROOT {
            // After the end of a run its result is what one wants to see.
            let last = self.engine()?.world()?.state.newest_root().cloned();
            return last.ok_or_else(no_run);
        }
        if let Some(name) = text.strip_prefix(OF_AGENT) {
            return self.workspace_of(name, true);
        }
        let is_assignment = |id: &RecordId| id.kind == RecordKind::Assignment;
        if let Some(assignment) = text.parse().ok().filter(is_assignment) {
            return self.workspace_of_assignment(assignment);
        }
        named(&self.workspace_naming()?, text, WorkspaceId::new)
    }

    /// The workspace that an assignment is.
    fn workspace_of_assignment(&self, id: RecordId) -> Result<WorkspaceId, Error> {
        let world = self.engine()?.world()?;
        let own = world.state.memory().record(id);
        own.and_then(|own| own.fields.workspace.clone()).ok_or_else(|| {
            let message = format!("{} has no workspace", id.label());
            Error::not_found(message).with_rule(Rule::ReferenceKnown)
        })
    }

    /// A workspace, if one is named.
    pub(crate) fn workspace_if(&self, text: Option<&str>) -> Result<Option<WorkspaceId>, Error> {
        text.map(|text| self.workspace(text)).transpose()
    }

    /// Several workspaces.
    pub(crate) fn workspace_list(&self, texts: &[String]) -> Result<Vec<WorkspaceId>, Error> {
        texts.iter().map(|text| self.workspace(text)).collect()
    }

    /// The one workspace an agent works in, or the last one it worked in; with `peers`, its only peer
    /// if it has no part in a run.
    fn workspace_of(&self, name: &str, peers: bool) -> Result<WorkspaceId, Error> {
        let agent = AgentName::new(name).map_err(|error| Error::usage(error.to_string()))?;
        let asked = WorkspaceList { agent: Some(agent), ..WorkspaceList::default() };
        let mut ever = self.workspaces(asked)?;
        if !peers || ever.iter().any(WorkspaceView::is_of_run) {
            ever.retain(WorkspaceView::is_of_run);
        }
        let live: Vec<&WorkspaceView> =
            ever.iter().filter(|view| !view.status.is_terminal()).collect();
        match (live.as_slice(), ever.last()) {
            ([one], _) => Ok(one.workspace.clone()),
            ([], Some(last)) => Ok(last.workspace.clone()),
            ([], None) => {
                let message = format!("there is no workspace of agent {name} that you may see");
                Err(Error::not_found(message).with_rule(Rule::ReferenceKnown))
            }
            (several, _) => {
                let ids: Vec<&str> = several.iter().map(|view| view.workspace.as_str()).collect();
                Err(ambiguous(&format!("{OF_AGENT}{name}"), &ids))
            }
        }
    }

    /// A task by its id, a part of it, or its name.
    pub(crate) fn task(&self, text: &str) -> Result<TaskId, Error> {
        let all = self.tasks(TaskList { all: true, ..TaskList::default() })?;
        // A task has two ids: as a plan it is `pln#3`.
        if let Ok(id) = text.parse::<RecordId>()
            && let Some(view) = all.iter().find(|view| view.plan == id.to_string())
        {
            return Ok(view.task.clone());
        }
        let naming = Naming::of(all.iter().map(|view| &view.task));
        if naming.find(text).is_ok_and(|found| found.is_some()) {
            return named(&naming, text, TaskId::new);
        }
        let mut called: Vec<&TaskView> = all.iter().filter(|view| view.name == text).collect();
        if called.len() > 1 {
            // Plans of different runs use the same words; the current one is meant.
            let current = self.engine()?.world()?.state.newest_root().cloned();
            let graphs = self.graphs()?;
            let own = |view: &&TaskView| {
                graphs.iter().any(|graph| graph.graph == view.graph && graph.run == current)
            };
            called.retain(own);
        }
        match called.as_slice() {
            [] => named(&naming, text, TaskId::new),
            [one] => Ok(one.task.clone()),
            several => {
                let ids: Vec<&str> = several.iter().map(|view| view.task.as_str()).collect();
                Err(ambiguous(text, &ids))
            }
        }
    }

    /// Several tasks.
    pub(crate) fn task_list(&self, texts: &[String]) -> Result<Vec<TaskId>, Error> {
        texts.iter().map(|text| self.task(text)).collect()
    }

    pub(crate) fn graph(&self, text: &str) -> Result<GraphId, Error> {
        let all = self.graphs()?;
        named(&Naming::of(all.iter().map(|view| &view.graph)), text, GraphId::new)
    }

    pub(crate) fn checkpoint_naming(&self) -> Result<Naming, Error> {
        let mut ids = Vec::new();
        for view in self.workspaces_of_runs()? {
            ids.extend(self.checkpoints(&view.workspace)?.into_iter().map(|made| made.checkpoint));
        }
        Ok(Naming::of(ids))
    }

    pub(crate) fn checkpoint(&self, text: &str) -> Result<CheckpointId, Error> {
        named(&self.checkpoint_naming()?, text, CheckpointId::new)
    }

    pub(crate) fn right_naming(&self) -> Result<Naming, Error> {
        let mut ids = Vec::new();
        for view in self.workspaces_of_runs()? {
            ids.extend(self.rights(&view.workspace)?.into_iter().map(|right| right.right));
        }
        Ok(Naming::of(ids))
    }

    pub(crate) fn right(&self, text: &str) -> Result<RightId, Error> {
        named(&self.right_naming()?, text, RightId::new)
    }
}

/// The workspace that the caller acts in.
impl CommandContext<'_> {
    /// The workspace named with `--workspace`.
    pub(crate) fn acting_in(&self) -> Result<Option<WorkspaceId>, Error> {
        let named = self.project.settings.workspace.value.as_deref();
        named.map(|text| self.workspace(text)).transpose()
    }

    /// The workspace to act in: the one named with `--workspace`, the only one of the agent, or the root.
    pub(crate) fn own(&self) -> Result<WorkspaceId, Error> {
        if let Some(named) = self.acting_in()? {
            return Ok(named);
        }
        match self.viewer() {
            None | Some(Principal::User(_) | Principal::System) => self.workspace(ROOT),
            Some(Principal::Agent(agent)) => self
                .workspace_of(agent.as_str(), false)
                .map_err(|failure| failure.with_rule(Rule::OwnWorkspace).without_hint()),
        }
    }

    /// Registers an unknown agent, so that it can be given work before it runs. Does so only for a caller
    /// who may hand out work, because any other is about to be refused.
    pub(crate) fn introduce(&self, client: &Client, name: &AgentName) -> Result<(), Error> {
        if self.engine()?.world()?.state.agent(name).is_some() || !self.hands_out(client)? {
            return Ok(());
        }
        let engine = self.engine()?;
        let agent = engine.client(engine.agent(name)?, Signing::Each);
        agent.execute(Command::AgentRegister(agent::Register::default()))?;
        let note =
            format!("agent {name} was not known yet; it is now, with a key in the state folder");
        self.out().note(note);
        Ok(())
    }

    /// Whether the caller may give work to others.
    fn hands_out(&self, client: &Client) -> Result<bool, Error> {
        let own = match client.principal() {
            Principal::Agent(own) => own,
            Principal::System => return Ok(true),
            Principal::User(id) => {
                let world = self.engine()?.world()?;
                let creates = |one: &User| {
                    one.holds(Capability::CreateWorkspace)
                        || one.holds(Capability::CreateWorkspaceAny)
                };
                let person = world.state.user(id).filter(|one| one.status == Status::Active);
                return Ok(person.is_some_and(creates));
            }
        };
        let agent = Some(own.clone());
        let list = WorkspaceList { agent, live: true, ..WorkspaceList::default() };
        Ok(self.workspaces(list)?.iter().any(|view| view.delegate || view.parent.is_none()))
    }
}

fn no_run() -> Error {
    Error::not_found("there is no active run, so there is no root").with_rule(Rule::RunNeeded)
}

/// The id that is meant. Text that fits none is taken as it is if it could be an id, so that the
/// kernel refuses it on record.
fn named<T, E: std::fmt::Display>(
    naming: &Naming,
    text: &str,
    read: impl Fn(&str) -> Result<T, E>,
) -> Result<T, Error> {
    let meant = naming.find(text)?.unwrap_or(text);
    read(meant).map_err(|_| {
        let name = althing_engine::screen::repeated(text);
        Error::not_found(format!("nothing here is called {name:?}"))
    })
}
