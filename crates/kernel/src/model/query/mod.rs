//! Types of `query`: state, arguments of commands and bodies of events.

pub(crate) mod commons;
pub(crate) mod highway;
pub(crate) mod topology;
pub(crate) mod work;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::identity::agent::{AgentView, OfAgent};
use crate::model::knowledge::blackboard::view::{
    CommonsAnswer, Delta, OfFact, OfHandle, OfHandles, OfSymbol, OfValue, Report,
};
use crate::model::knowledge::records::view::{Changes, Find, MemoryAnswer, OfRecord};
use crate::model::leasing::lease::surfaces::Surfaces;
use crate::model::leasing::view::{Collision, LeaseView, SessionView};
use crate::model::runs::approvals::view::{EscalationView, GateView, HighwayView};
use crate::model::runs::checkpoint::CheckpointView;
use crate::model::runs::envelope::view::EnvelopeView;
use crate::model::runs::right::RightView;
use crate::model::runs::task::view::{GraphView, TaskView};
use crate::model::runs::workspace::account::{MeterGet, MeterReport};
use crate::model::runs::workspace::view::{FilesView, WorkspaceView};
use crate::values::name::UserId;
use crate::values::principal::Principal;

pub use crate::model::identity::user::view::UserView;
pub use crate::model::identity::user::view::UserWork;
pub use crate::model::query::highway::EscalationList;
pub use crate::model::query::highway::GateList;
pub use crate::model::query::highway::OfGate;
pub use crate::model::query::topology::Because;
pub use crate::model::query::topology::RightList;
pub use crate::model::query::topology::SightView;
pub use crate::model::query::topology::TaskDeps;
pub use crate::model::query::topology::WorkspaceList;
pub use crate::model::query::work::InboxList;
pub use crate::model::query::work::InboxView;
pub use crate::model::query::work::OfCheckpoint;
pub use crate::model::query::work::OfEnvelope;
pub use crate::model::query::work::OfTask;
pub use crate::model::query::work::OfWorkspace;
pub use crate::model::query::work::RunView;
pub use crate::model::query::work::TaskList;
pub use crate::model::query::work::TaskReady;
pub use crate::model::query::work::TaxonomyName;

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
                    $( $name => crate::registry::schema::schema_of::<$args>($help), )*
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
