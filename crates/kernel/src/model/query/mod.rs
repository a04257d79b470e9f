//! Queries of the state, their arguments and their answers.

pub(crate) mod approvals;
pub(crate) mod topology;
pub(crate) mod work;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::identity::agent::{AgentView, OfAgent};
use crate::model::knowledge::blackboard::view::{
    BlackboardAnswer, Delta, OfFact, OfHandle, OfHandles, OfSymbol, OfValue, Report,
};
use crate::model::knowledge::records::view::{Changes, Find, MemoryAnswer, OfRecord};
use crate::model::leasing::lease::surfaces::Surfaces;
use crate::model::leasing::view::{Collision, LeaseView, SessionView};
use crate::model::runs::approvals::view::{ApprovalsView, EscalationView, GateView};
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
pub use crate::model::query::approvals::EscalationList;
pub use crate::model::query::approvals::GateList;
pub use crate::model::query::approvals::OfGate;
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
    /// The person.
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
    /// Ignore leases of this holder (`agent:NAME`, `user:ID`).
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub holder: Option<Principal>,
    /// The epoch under which the holder believes to hold the surfaces; requires `holder`.
    #[serde(default)]
    pub epoch: Option<u64>,
    /// The surfaces to check.
    pub surfaces: Surfaces,
}

/// The answer to `lease.check`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CheckReport {
    /// Whether the surfaces could be claimed now (by `holder`, if given).
    pub free: bool,
    /// Whether each surface is covered by a lease of `holder`.
    pub held: bool,
    /// Whether each surface is covered by a lease of `holder` under `epoch`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epoch_valid: Option<bool>,
    /// The leases that collide.
    pub collisions: Vec<Collision>,
}

macro_rules! queries {
    ($(
        #[doc = $doc:literal]
        $room:ident $queries:ident { $( $variant:ident $name:literal => $args:ty, $help:literal; )* }
    )*) => {
        /// A query of the state.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Query {
            $($( #[doc = $help] $variant($args), )*)*
        }

        /// A query, by the part of the kernel that answers it.
        #[derive(Clone, Copy, Debug)]
        pub enum QueryRoom<'a> {
            $( #[doc = $doc] $room($queries<'a>), )*
        }

        $(
            #[doc = $doc]
            #[derive(Clone, Copy, Debug)]
            pub enum $queries<'a> {
                $( #[doc = $help] $variant(&'a $args), )*
            }
        )*

        impl Query {
            /// The names of the queries that callers can make, each with its help text.
            pub const DOORS: &'static [(&'static str, &'static str)] = &[$($(($name, $help),)*)*];

            /// The query, by the part of the kernel that answers it.
            pub fn room(&self) -> QueryRoom<'_> {
                match self {
                    $($( Query::$variant(args) => QueryRoom::$room($queries::$variant(args)), )*)*
                }
            }

            /// Parses a query by its name; `None` if there is no query of that name.
            pub fn read(name: &str, args: &str) -> Option<Result<Self, serde_json::Error>> {
                Some(match name {
                    $($( $name => serde_json::from_str::<$args>(args).map(Query::$variant), )*)*
                    _ => return None,
                })
            }

            /// The JSON Schema of a query's arguments.
            pub fn schema(name: &str) -> Option<schemars::Schema> {
                Some(match name {
                    $($( $name => crate::registry::schema::schema_of::<$args>($help), )*)*
                    _ => return None,
                })
            }
        }
    };
}

/// The empty arguments of a query.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Everything {}

// Each query is listed under the part of the kernel that answers it, so a missing answer does not
// compile.
queries! {
    #[doc = "Leases on surfaces."]
    Lease LeaseQuery {
        LeaseList "lease.list" => LeaseList, "The live leases.";
        LeaseCheck "lease.check" => LeaseCheck,
            "Whether surfaces are free, and the leases that overlap them.";
    }
    #[doc = "Sessions, agents and people."]
    Identity IdentityQuery {
        SessionList "session.list" => Everything, "The open sessions.";
        AgentList "agent.list" => Everything, "The agents that ever registered.";
        AgentGet "agent.get" => OfAgent, "One agent.";
        UserList "user.list" => Everything, "The users.";
        UserGet "user.get" => OfUser, "One user: status, capabilities and workspaces.";
    }
    #[doc = "Runs: workspaces, mail, rights, checkpoints, tasks and the meter."]
    Run RunQuery {
        RunGet "run.get" => Everything, "The current run: root, coordinator, roles and types.";
        WorkspaceList "workspace.list" => WorkspaceList, "The workspaces, oldest first.";
        WorkspaceGet "workspace.get" => OfWorkspace, "One workspace.";
        WorkspaceFiles "workspace.files" => OfWorkspace,
            "The files of a workspace: its working memory, and what was merged into it.";
        InboxList "inbox.list" => InboxList, "What is in an inbox, without taking it.";
        EnvelopeGet "envelope.get" => OfEnvelope, "One envelope.";
        WorkspaceSees "workspace.sees" => OfWorkspace, "What a workspace sees, and why.";
        WorkspaceSeenBy "workspace.seen_by" => OfWorkspace, "Who sees a workspace, and why.";
        RightList "right.list" => RightList, "The live rights to send, from and to workspaces.";
        CheckpointList "checkpoint.list" => OfWorkspace, "The checkpoints of a workspace.";
        CheckpointGet "checkpoint.get" => OfCheckpoint, "One checkpoint.";
        TaskList "task.list" => TaskList, "The tasks, in the order they were planned.";
        TaskReadyList "task.ready" => TaskReady, "The tasks that can be assigned, most urgent first.";
        TaskGet "task.get" => OfTask, "One task.";
        TaskDeps "task.deps" => TaskDeps, "What a task depends on, or what waits for it.";
        TaskGraphs "task.graphs" => Everything, "The task graphs.";
        MeterGet "meter.get" => MeterGet, "Resource use: by workspace, by group, and in total.";
    }
    #[doc = "Gates, escalations and what waits for people."]
    Approval ApprovalQuery {
        GateList "gate.list" => GateList, "The gates that wait for people, each queue in order.";
        GateGet "gate.get" => OfGate, "One gate, open or ended.";
        EscalationList "escalation.list" => EscalationList, "The open escalations.";
        HighwayGet "highway.get" => Everything, "The settings for gates, escalations and injection.";
    }
    #[doc = "The blackboard that everybody shares."]
    Blackboard BlackboardQuery {
        SymbolGet "symbol.get" => OfSymbol, "What a symbol stands for.";
        SymbolReverse "symbol.reverse" => OfValue, "The first symbol that stands for a value.";
        SymbolList "symbol.list" => Everything, "The symbols, in the order they were added.";
        FactGet "fact.get" => OfFact, "One fact.";
        FactList "fact.list" => Everything, "The facts, in the order they were added.";
        CapsuleGet "capsule.get" => OfHandle, "One capsule.";
        CapsuleList "capsule.list" => Everything, "The capsules, in the order of their ids.";
        CapsuleDeps "capsule.deps" => OfHandles,
            "The dependencies of capsules, each after its own dependencies.";
        CapsuleHydrate "capsule.hydrate" => OfHandles, "The dependencies of capsules, with their text.";
        DecisionList "decision.list" => Everything, "The newest 1,000 decisions, oldest first.";
        DisputeList "dispute.list" => Everything, "The disputes, oldest first.";
        DisputeGet "dispute.get" => OfHandle, "One dispute.";
        LedgerReport "ledger.report" => Report, "The tokens counted.";
        LedgerDelta "ledger.delta" => Delta, "The tokens counted, compared with the baselines.";
    }
    #[doc = "Records of the memory."]
    Memory MemoryQuery {
        MemoryGet "memory.get" => OfRecord, "One record.";
        MemoryFind "memory.find" => Find, "The records of a kind, newest change first.";
        MemoryChanges "memory.changes" => Changes,
            "The records changed after an entry, newest change first.";
    }
}

/// The answer to a query.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Answer {
    /// The answer to `lease.list`.
    Leases(Vec<LeaseView>),
    /// The answer to `lease.check`.
    Check(CheckReport),
    /// The answer to `session.list`.
    Sessions(Vec<SessionView>),
    /// The answer to `agent.list`.
    Agents(Vec<AgentView>),
    /// The answer to `user.list`.
    Users(Vec<UserView>),
    /// The answer to `user.get`.
    User(Box<UserWork>),
    /// The answer to `run.get`.
    Run(RunView),
    /// The answer to `workspace.list`.
    Workspaces(Vec<WorkspaceView>),
    /// The answer to `workspace.get`.
    Workspace(Box<WorkspaceView>),
    /// The answer to `workspace.files`.
    Files(FilesView),
    /// The answer to `inbox.list`.
    Inbox(InboxView),
    /// The answer to `envelope.get`.
    Envelope(Box<EnvelopeView>),
    /// The answer to `workspace.sees` and `workspace.seen_by`.
    Sight(Vec<SightView>),
    /// The answer to `right.list`.
    Rights(Vec<RightView>),
    /// The answer to `checkpoint.list`.
    Checkpoints(Vec<CheckpointView>),
    /// The answer to `checkpoint.get`.
    Checkpoint(Box<CheckpointView>),
    /// The answer to `task.list`, `task.ready` and `task.deps`.
    Tasks(Vec<TaskView>),
    /// The answer to `task.get`.
    Task(Box<TaskView>),
    /// The answer to `task.graphs`.
    Graphs(Vec<GraphView>),
    /// The answer to `gate.list`.
    Gates(Vec<GateView>),
    /// The answer to `gate.get`.
    Gate(Box<GateView>),
    /// The answer to `escalation.list`.
    Escalations(Vec<EscalationView>),
    /// The answer to `highway.get`.
    Approvals(Box<ApprovalsView>),
    /// The answer to `meter.get`.
    Meter(Box<MeterReport>),
    /// The answer to `agent.get`.
    Agent(Box<AgentView>),
    /// The answer to queries about the blackboard.
    Blackboard(BlackboardAnswer),
    /// The answer to queries about records.
    Memory(MemoryAnswer),
    /// Nothing found, or nothing the viewer may see.
    Missing(String),
}
