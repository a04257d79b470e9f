//! Questions: everything a caller can ask of the state. Asking changes nothing.

mod commons;
mod highway;
mod memory;
mod topology;
mod work;

pub use highway::{EscalationList, GateList, OfGate};
pub use topology::{Because, RightList, SightView, TaskDeps, WorkspaceList};
pub use work::{
    InboxList, InboxView, OfCheckpoint, OfEnvelope, OfTask, OfWorkspace, RunView, TaskList,
    TaskReady, TaxonomyName,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use crate::access::Viewer;
use crate::agent::{Agent, OfAgent, Standing};
use crate::checkpoint::CheckpointView;
use crate::commons::Label;
use crate::commons::view::{
    CommonsAnswer, Delta, OfFact, OfHandle, OfHandles, OfSymbol, OfValue, Report,
};
use crate::envelope::view::EnvelopeView;
use crate::envelope::{Envelope, Status};
use crate::highway::view::{EscalationView, GateView, HighwayView};
use crate::memory::view::{Changes, Find, MemoryAnswer, OfRecord};
use crate::right::RightView;
use crate::task::view::{GraphView, TaskView};
pub use crate::user::view::{UserView, UserWork};
use crate::workspace::account::{MeterGet, MeterReport};
use crate::workspace::view::{FilesView, WorkspaceView};
use work::Asked;

use crate::id::{LeaseId, WorkspaceId};
use crate::key::PublicKey;
use crate::lease::{COLLISIONS_MAX, Lease, Surfaces};
use crate::name::{AgentName, UserId};
use crate::principal::Principal;
use crate::session::Session;
use crate::state::State;
use crate::surface::Surface;
use crate::time::Timestamp;

/// A lease that is in the way of a surface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Collision {
    /// The lease in the way.
    pub lease: LeaseId,
    /// Who holds it.
    pub holder: Principal,
    /// The surface of theirs that overlaps.
    pub surface: Surface,
    /// The surface that was asked for.
    pub wanted: Surface,
    /// A path both cover.
    pub example: String,
    /// Under which epoch it is held.
    pub epoch: u64,
    /// When it runs out if it is not renewed.
    pub expires_at: Timestamp,
    /// What it is held for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
}

/// A lease, as doors show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseView {
    /// Its id.
    pub lease: LeaseId,
    /// Who holds it.
    pub holder: Principal,
    /// The session it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceId>,
    /// What it covers.
    pub surfaces: Vec<Surface>,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
    /// The task it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Its fencing epoch.
    pub epoch: u64,
    /// When it was granted.
    pub opened_at: Timestamp,
    /// When it runs out.
    pub expires_at: Timestamp,
    /// How long a renewal lasts, in seconds.
    pub ttl_s: u64,
}

/// A session, as doors show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SessionView {
    /// The workspace it opened, which is also its id.
    pub workspace: WorkspaceId,
    /// Whose it is.
    pub agent: AgentName,
    /// What the agent calls its end of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// Whether it is the standing one.
    pub standing: bool,
    /// When it was opened.
    pub opened_at: Timestamp,
    /// When it lapses if nothing more happens in it.
    pub lapses_at: Timestamp,
}

/// An agent, as doors show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AgentView {
    /// Its name.
    pub agent: AgentName,
    /// The key its name is bound to.
    pub key: PublicKey,
    /// When it was first seen.
    pub registered_at: Timestamp,
    /// The same, under the name others know it by.
    pub first_seen: Timestamp,
    /// When it last did anything, to the second.
    pub last_heartbeat: Timestamp,
    /// Whether it may hold leases.
    pub status: Standing,
    /// For whom it works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub human: Option<Label>,
    /// What it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<Label>,
    /// What it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<Label>,
    /// Which version of that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_version: Option<Label>,
    /// Its open sessions.
    pub sessions: Vec<WorkspaceId>,
    /// How many leases it holds.
    pub leases: usize,
}

/// `user.get`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfUser {
    /// Which person.
    pub user: UserId,
}

/// `lease.list`
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LeaseList {
    /// Only leases of this holder (`agent:NAME`, `user:ID`).
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub holder: Option<Principal>,
    /// Only leases that overlap one of these surfaces.
    #[serde(default)]
    pub surfaces: Option<Surfaces>,
}

/// `lease.check`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LeaseCheck {
    /// Leave out what this holder holds (`agent:NAME`, `user:ID`).
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub holder: Option<Principal>,
    /// The epoch the holder believes to hold the surfaces under; needs `holder`.
    #[serde(default)]
    pub epoch: Option<u64>,
    /// What is asked about.
    pub surfaces: Surfaces,
}

/// What `lease.check` finds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CheckReport {
    /// Whether the surfaces could be claimed now (by the holder asked about).
    pub free: bool,
    /// Whether each of the surfaces lies within what the holder asked about holds.
    pub held: bool,
    /// Whether each lies within what the holder holds under the epoch asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epoch_valid: Option<bool>,
    /// The leases in the way.
    pub collisions: Vec<Collision>,
}

macro_rules! queries {
    ($( $variant:ident $name:literal => $args:ty, $help:literal; )*) => {
        /// A question about the state.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Query {
            $( #[doc = $help] $variant($args), )*
        }

        impl Query {
            /// The questions that doors offer, each with what it tells.
            pub const DOORS: &'static [(&'static str, &'static str)] = &[$(($name, $help)),*];

            /// Reads a question that came in through a door. `None` if there is none of that name.
            pub fn read(name: &str, args: &str) -> Option<Result<Self, serde_json::Error>> {
                Some(match name {
                    $( $name => serde_json::from_str::<$args>(args).map(Query::$variant), )*
                    _ => return None,
                })
            }

            /// The JSON Schema of a question's arguments.
            pub fn schema(name: &str) -> Option<schemars::Schema> {
                Some(match name {
                    $( $name => crate::command::schema_of::<$args>($help), )*
                    _ => return None,
                })
            }
        }
    };
}

/// A question without arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Everything {}

queries! {
    LeaseList "lease.list" => LeaseList, "The live leases.";
    LeaseCheck "lease.check" => LeaseCheck, "Who holds what overlaps these surfaces.";
    SessionList "session.list" => Everything, "The open sessions.";
    AgentList "agent.list" => Everything, "The agents that ever registered.";
    AgentGet "agent.get" => OfAgent, "One agent.";
    UserList "user.list" => Everything, "The people who were let in.";
    UserGet "user.get" => OfUser, "One person: how they stand, what they may do, what is theirs.";
    RunGet "run.get" => Everything, "The run that goes on: root, coordinator, roles and types.";
    WorkspaceList "workspace.list" => WorkspaceList, "The workspaces, oldest first.";
    WorkspaceGet "workspace.get" => OfWorkspace, "One workspace.";
    WorkspaceFiles "workspace.files" => OfWorkspace,
        "The files of a workspace: its working memory, and what was merged into it.";
    InboxList "inbox.list" => InboxList, "What is in an inbox, without taking it.";
    EnvelopeGet "envelope.get" => OfEnvelope, "One envelope.";
    WorkspaceSees "workspace.sees" => OfWorkspace, "What a workspace sees, and why.";
    WorkspaceSeenBy "workspace.seen_by" => OfWorkspace, "Who sees a workspace, and why.";
    RightList "right.list" => RightList, "The live rights that lead out of and into workspaces.";
    CheckpointList "checkpoint.list" => OfWorkspace, "The checkpoints of a workspace.";
    CheckpointGet "checkpoint.get" => OfCheckpoint, "One checkpoint.";
    TaskList "task.list" => TaskList, "The tasks, in the order they were planned.";
    TaskReadyList "task.ready" => TaskReady, "The tasks that can be taken up, most urgent first.";
    TaskGet "task.get" => OfTask, "One task.";
    TaskDeps "task.deps" => TaskDeps, "What a task depends on, or what waits for it.";
    TaskGraphs "task.graphs" => Everything, "The task graphs.";
    GateList "gate.list" => GateList, "What waits for people, each queue in order.";
    GateGet "gate.get" => OfGate, "One gate, open or ended.";
    EscalationList "escalation.list" => EscalationList, "What agents need people for.";
    HighwayGet "highway.get" => Everything, "What people want to be asked about.";
    MeterGet "meter.get" => MeterGet, "What was used: by workspace, by group, and in all.";
    SymbolGet "symbol.get" => OfSymbol, "What a symbol stands for.";
    SymbolReverse "symbol.reverse" => OfValue, "The first symbol that stands for something.";
    SymbolList "symbol.list" => Everything, "The symbols, in the order they came.";
    FactGet "fact.get" => OfFact, "One fact.";
    FactList "fact.list" => Everything, "The facts, in the order they came.";
    CapsuleGet "capsule.get" => OfHandle, "One capsule.";
    CapsuleList "capsule.list" => Everything, "The capsules, in the order of their ids.";
    CapsuleDeps "capsule.deps" => OfHandles, "What capsules build on, each after what it builds on.";
    CapsuleHydrate "capsule.hydrate" => OfHandles, "The same, with what they say.";
    DecisionList "decision.list" => Everything, "The newest 1,000 decisions, oldest first.";
    DisputeList "dispute.list" => Everything, "The disputes, oldest first.";
    DisputeGet "dispute.get" => OfHandle, "One dispute.";
    LedgerReport "ledger.report" => Report, "The tokens that were counted.";
    LedgerDelta "ledger.delta" => Delta, "The tokens that were counted beside what was used before.";
    MemoryGet "memory.get" => OfRecord, "One record.";
    MemoryFind "memory.find" => Find, "The records of a kind, newest change first.";
    MemoryChanges "memory.changes" => Changes, "The records that changed since, newest change first.";
}

/// What a question is answered with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Answer {
    /// To `lease.list`.
    Leases(Vec<LeaseView>),
    /// To `lease.check`.
    Check(CheckReport),
    /// To `session.list`.
    Sessions(Vec<SessionView>),
    /// To `agent.list`.
    Agents(Vec<AgentView>),
    /// To `user.list`.
    Users(Vec<UserView>),
    /// To `user.get`.
    User(Box<UserWork>),
    /// To `run.get`.
    Run(RunView),
    /// To `workspace.list`.
    Workspaces(Vec<WorkspaceView>),
    /// To `workspace.get`.
    Workspace(Box<WorkspaceView>),
    /// To `workspace.files`.
    Files(FilesView),
    /// To `inbox.list`.
    Inbox(InboxView),
    /// To `envelope.get`.
    Envelope(Box<EnvelopeView>),
    /// To `workspace.sees` and `workspace.seen_by`.
    Sight(Vec<SightView>),
    /// To `right.list`.
    Rights(Vec<RightView>),
    /// To `checkpoint.list`.
    Checkpoints(Vec<CheckpointView>),
    /// To `checkpoint.get`.
    Checkpoint(Box<CheckpointView>),
    /// To `task.list`, `task.ready` and `task.deps`.
    Tasks(Vec<TaskView>),
    /// To `task.get`.
    Task(Box<TaskView>),
    /// To `task.graphs`.
    Graphs(Vec<GraphView>),
    /// To `gate.list`.
    Gates(Vec<GateView>),
    /// To `gate.get`.
    Gate(Box<GateView>),
    /// To `escalation.list`.
    Escalations(Vec<EscalationView>),
    /// To `highway.get`.
    Highway(Box<HighwayView>),
    /// To `meter.get`.
    Meter(Box<MeterReport>),
    /// To `agent.get`.
    Agent(Box<AgentView>),
    /// To questions about what everybody shares.
    Commons(CommonsAnswer),
    /// To questions about what is remembered.
    Memory(MemoryAnswer),
    /// There is no such thing, or not for whoever asks.
    Missing(String),
}

/// Answers a question of a person's as of `now`.
pub fn answer(state: &State, now: Timestamp, query: &Query) -> Answer {
    answer_to(state, now, query, None)
}

/// Answers a question as of `now`, with what the viewer may see.
pub fn answer_to(state: &State, now: Timestamp, query: &Query, viewer: Viewer<'_>) -> Answer {
    let asked = Asked::new(state, now, viewer);
    match query {
        Query::LeaseList(list) => Answer::Leases(leases(state, now, list)),
        Query::LeaseCheck(check) => Answer::Check(lease_check(state, now, check)),
        Query::SessionList(_) => Answer::Sessions(sessions(state, now)),
        Query::AgentList(_) => Answer::Agents(agents(state, now)),
        Query::AgentGet(of) => agent(state, now, &of.agent),
        Query::UserList(_) => Answer::Users(users(state)),
        Query::UserGet(of) => user(state, &of.user),
        Query::RunGet(all) => asked.run(all),
        Query::WorkspaceList(list) => Answer::Workspaces(asked.workspaces(list)),
        Query::WorkspaceGet(of) => asked.workspace(&of.workspace),
        Query::WorkspaceFiles(of) => asked.files(&of.workspace),
        Query::InboxList(list) => asked.inbox(list),
        Query::EnvelopeGet(of) => asked.envelope(&of.envelope),
        Query::WorkspaceSees(of) => asked.sees(&of.workspace),
        Query::WorkspaceSeenBy(of) => asked.seen_by(&of.workspace),
        Query::RightList(list) => asked.rights(list),
        Query::CheckpointList(of) => asked.checkpoints(&of.workspace),
        Query::CheckpointGet(of) => asked.checkpoint(&of.checkpoint),
        Query::TaskList(list) => Answer::Tasks(asked.tasks(list)),
        Query::TaskReadyList(of) => Answer::Tasks(asked.ready(of)),
        Query::TaskGet(of) => asked.task(&of.task),
        Query::TaskDeps(of) => asked.task_deps(of),
        Query::TaskGraphs(all) => Answer::Graphs(asked.graphs(all)),
        Query::GateList(list) => Answer::Gates(asked.gates(list)),
        Query::GateGet(of) => asked.gate(&of.gate),
        Query::EscalationList(list) => Answer::Escalations(asked.escalations(list)),
        Query::HighwayGet(all) => asked.highway(all),
        Query::MeterGet(get) => asked.meter(get),
        Query::MemoryGet(of) => memory::get(&asked.seen(), of),
        Query::MemoryFind(of) => memory::find(&asked.seen(), of),
        Query::MemoryChanges(of) => memory::changes(&asked.seen(), of),
        _ => commons::answer(state.commons(), query),
    }
}

fn agent(state: &State, now: Timestamp, name: &AgentName) -> Answer {
    match AgentView::find(state, now, name) {
        Some(view) => Answer::Agent(Box::new(view)),
        None => Answer::Missing(format!("there is no agent {name}")),
    }
}

/// The messages that wait: on their way, or in an inbox; in the order they were sent.
pub fn mail(state: &State) -> Vec<EnvelopeView> {
    let waits = |envelope: &Envelope| !envelope.taken && envelope.status != Status::Rejected;
    let all = state.envelopes().filter(|(_, envelope)| waits(envelope));
    let mut views: Vec<EnvelopeView> = all.map(|(id, own)| EnvelopeView::of(id, own)).collect();
    views.sort_by_key(|view| view.created_at);
    views
}

/// The open sessions, in the order of their ids.
pub fn sessions(state: &State, now: Timestamp) -> Vec<SessionView> {
    let open = state.sessions.iter().filter(|(_, session)| now < session.lapses_at());
    open.map(|(id, session)| SessionView::of(id, session)).collect()
}

/// The people who were let in, in the order of their ids.
pub fn users(state: &State) -> Vec<UserView> {
    state.users.iter().map(|(id, user)| UserView::of(id, user)).collect()
}

fn user(state: &State, id: &UserId) -> Answer {
    match state.users.get(id) {
        Some(known) => Answer::User(Box::new(UserWork::of(state, id, known))),
        None => Answer::Missing(format!("there is no user {id}")),
    }
}

/// The live leases, in the order of their ids.
pub fn leases(state: &State, now: Timestamp, list: &LeaseList) -> Vec<LeaseView> {
    let overlapping = list
        .surfaces
        .as_ref()
        .map(|surfaces| state.surfaces.meeting(surfaces.as_slice(), usize::MAX, &|_, _| true));
    let wanted = |id: &LeaseId, lease: &Lease| {
        lease.is_live(now)
            && list.holder.as_ref().is_none_or(|holder| *holder == lease.holder)
            && overlapping.as_ref().is_none_or(|found| found.contains(id))
    };
    let live = state.leases.iter().filter(|(id, lease)| wanted(id, lease));
    live.map(|(id, lease)| LeaseView::of(id, lease)).collect()
}

fn lease_check(state: &State, now: Timestamp, check: &LeaseCheck) -> CheckReport {
    let surfaces = check.surfaces.as_slice();
    let collisions = collisions(state, now, surfaces, check.holder.as_ref());
    let own: Vec<&Lease> = match &check.holder {
        None => Vec::new(),
        Some(holder) => own_leases(state, now, holder, surfaces),
    };
    let held_by = |counts: &dyn Fn(&Lease) -> bool| {
        surfaces.iter().all(|wanted| {
            let mut held = own.iter().filter(|lease| counts(lease));
            held.any(|lease| lease.surfaces.as_slice().iter().any(|own| own.covers(wanted)))
        })
    };
    CheckReport {
        free: collisions.is_empty(),
        held: held_by(&|_| true),
        epoch_valid: check.epoch.map(|epoch| held_by(&|lease| lease.epoch == epoch)),
        collisions,
    }
}

fn own_leases<'s>(
    state: &'s State,
    now: Timestamp,
    holder: &Principal,
    surfaces: &[Surface],
) -> Vec<&'s Lease> {
    let own = |id: &LeaseId, of: &Principal| of == holder && state.is_live(id, now);
    let found = state.surfaces.meeting(surfaces, usize::MAX, &own);
    found.iter().filter_map(|id| state.leases.get(id)).map(AsRef::as_ref).collect()
}

/// The agents that ever registered, in the order of their names.
pub fn agents(state: &State, now: Timestamp) -> Vec<AgentView> {
    let mut sessions: BTreeMap<&AgentName, Vec<WorkspaceId>> = BTreeMap::new();
    for (id, session) in &state.sessions {
        if now < session.lapses_at() {
            sessions.entry(&session.agent).or_default().push(id.clone());
        }
    }
    let mut leases: BTreeMap<&AgentName, usize> = BTreeMap::new();
    for lease in state.leases.values().filter(|lease| lease.is_live(now)) {
        if let Principal::Agent(name) = &lease.holder {
            *leases.entry(name).or_default() += 1;
        }
    }
    let view = |(name, agent): (&AgentName, &Agent)| {
        let sessions = sessions.get(name).cloned().unwrap_or_default();
        AgentView::of(name, agent, sessions, leases.get(name).copied().unwrap_or_default())
    };
    state.agents.iter().map(view).collect()
}

impl AgentView {
    fn of(name: &AgentName, agent: &Agent, sessions: Vec<WorkspaceId>, leases: usize) -> Self {
        AgentView {
            agent: name.clone(),
            key: agent.key,
            registered_at: agent.registered_at,
            first_seen: agent.registered_at,
            last_heartbeat: agent.heard_at,
            status: agent.standing(),
            human: agent.about.human.clone(),
            role: agent.about.role.clone(),
            tool: agent.about.tool.clone(),
            tool_version: agent.about.tool_version.clone(),
            sessions,
            leases,
        }
    }

    /// One agent.
    pub(crate) fn find(state: &State, now: Timestamp, name: &AgentName) -> Option<Self> {
        let agent = state.agents.get(name)?;
        let own = |session: &Session| session.agent == *name && now < session.lapses_at();
        let sessions = state.sessions.iter().filter(|(_, session)| own(session));
        let sessions: Vec<WorkspaceId> = sessions.map(|(id, _)| id.clone()).collect();
        let live = |id: &LeaseId| state.is_live(id, now);
        let held = |id: &WorkspaceId| state.leases_in(id).iter().filter(|id| live(id)).count();
        let leases = sessions.iter().map(held).sum();
        Some(AgentView::of(name, agent, sessions, leases))
    }
}

/// The live leases that overlap the surfaces and are not held by `except`.
pub(crate) fn collisions(
    state: &State,
    now: Timestamp,
    surfaces: &[Surface],
    except: Option<&Principal>,
) -> Vec<Collision> {
    collisions_where(state, now, surfaces, &|_, of| except != Some(of))
}

/// The live leases that meet the surfaces, among those that count.
pub(crate) fn collisions_where(
    state: &State,
    now: Timestamp,
    surfaces: &[Surface],
    counts: &dyn Fn(&LeaseId, &Principal) -> bool,
) -> Vec<Collision> {
    let in_the_way = |id: &LeaseId, of: &Principal| counts(id, of) && state.is_live(id, now);
    let found = state.surfaces.meeting(surfaces, COLLISIONS_MAX, &in_the_way);
    let leases = found.iter().filter_map(|id| state.leases.get(id).map(|lease| (id, lease)));
    leases.filter_map(|(id, lease)| Collision::between(surfaces, id, lease)).collect()
}

/// The live leases that overlap surfaces, oldest first.
pub fn overlapping<'s>(
    state: &'s State,
    now: Timestamp,
    surfaces: &[Surface],
) -> Vec<(&'s LeaseId, &'s Lease)> {
    let live = |id: &LeaseId, _: &Principal| state.is_live(id, now);
    let found = state.surfaces.meeting(surfaces, usize::MAX, &live);
    let known = found.iter().filter_map(|id| state.leases.get_key_value(id));
    let mut known: Vec<_> = known.map(|(id, lease)| (id, lease.as_ref())).collect();
    known.sort_by_key(|(_, lease)| lease.epoch);
    known
}

impl Collision {
    fn between(wanted: &[Surface], id: &LeaseId, lease: &Lease) -> Option<Self> {
        let mut pairs = wanted.iter().flat_map(|wanted| {
            lease.surfaces.as_slice().iter().map(move |surface| (wanted, surface))
        });
        let met = pairs.clone().find_map(|(wanted, surface)| {
            wanted.common_path(surface).map(|example| (wanted, surface, example))
        });
        // The index found it, so it is in the way even if no pair shows how.
        debug_assert!(met.is_some(), "{wanted:?} and {lease:?}");
        let unshown =
            || pairs.next().map(|(wanted, surface)| (wanted, surface, surface.to_string()));
        let (wanted, surface, example) = met.or_else(unshown)?;
        Some(Collision {
            lease: id.clone(),
            holder: lease.holder.clone(),
            surface: surface.clone(),
            wanted: wanted.clone(),
            example,
            epoch: lease.epoch,
            expires_at: lease.expires_at,
            purpose: lease.purpose.as_ref().map(ToString::to_string),
        })
    }
}

impl LeaseView {
    pub(crate) fn of(id: &LeaseId, lease: &Lease) -> Self {
        LeaseView {
            lease: id.clone(),
            holder: lease.holder.clone(),
            workspace: lease.workspace.clone(),
            surfaces: lease.surfaces.as_slice().to_vec(),
            purpose: lease.purpose.as_ref().map(ToString::to_string),
            task: lease.task.as_ref().map(ToString::to_string),
            epoch: lease.epoch,
            opened_at: lease.opened_at,
            expires_at: lease.expires_at,
            ttl_s: lease.ttl.secs(),
        }
    }
}

impl SessionView {
    pub(crate) fn of(id: &WorkspaceId, session: &Session) -> Self {
        SessionView {
            workspace: id.clone(),
            agent: session.agent.clone(),
            client: session.client.as_ref().map(ToString::to_string),
            standing: session.standing,
            opened_at: session.opened_at,
            lapses_at: session.lapses_at(),
        }
    }
}
