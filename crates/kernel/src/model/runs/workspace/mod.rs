//! Workspaces: the units of work of a run, their states and their resources.

pub(crate) mod abort;
pub(crate) mod account;
pub(crate) mod branch;
pub(crate) mod budget;
pub(crate) mod change;
pub(crate) mod create;
pub(crate) mod draw;
pub mod edges;
pub(crate) mod enforce;
pub(crate) mod grant;
pub(crate) mod group;
pub(crate) mod liveness;
pub(crate) mod memory;
pub(crate) mod meter;
pub(crate) mod migrate;
pub(crate) mod priority;
pub(crate) mod process;
pub(crate) mod reparent;
pub(crate) mod sight;
pub(crate) mod suspend;
pub(crate) mod terminate;
pub(crate) mod transfer;
pub(crate) mod view;

use imbl::OrdMap;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::model::runs::admission::Limits;
use crate::model::runs::file::FilePath;
use crate::model::runs::recovery::Owed;
use crate::model::runs::run::Hold;
use crate::model::runs::workspace::branch::Branch;
use crate::model::runs::workspace::budget::{Budget, Dimension, Percent};
use crate::model::runs::workspace::group::GroupName;
use crate::model::runs::workspace::liveness::Pulse;
use crate::model::runs::workspace::meter::Meter;
use crate::model::runs::workspace::process::Process;
use crate::registry::record_id::RecordId;
use crate::surfaces::Surface;
use crate::values::closed_set::closed_set;
use crate::values::content::Blob;
use crate::values::id::{CheckpointId, EnvelopeId, TaskId, WorkspaceId};
use crate::values::name::{AgentName, UserId};
use crate::values::seconds::Secs;
use crate::values::stream::Stream;
use crate::values::string_newtype::serde_as_text;
use crate::values::text::Text;
use crate::values::time::{Span, Timestamp};
use crate::values::token::RoleName;

/// A timeout, of one second to thirty days.
pub type Timeout = Secs<1, 2_592_000>;

/// The default timeout for the work of a workspace: a day.
pub(crate) const TIMEOUT_DEFAULT: Timeout = Timeout::known::<86_400>();

/// The default time an agent may take to become ready: a day.
pub(crate) const IDLE_TIMEOUT_DEFAULT: Timeout = Timeout::known::<86_400>();

/// How long a new agent may take to become ready after a migration: an hour.
pub const MIGRATION_TIMEOUT: Timeout = Timeout::known::<3_600>();

/// The most workspaces, surfaces or tools one workspace may list.
pub(crate) const LIST_MAX: usize = 256;

/// The most live workspaces at a time: all of them may have to end in one commit.
pub(crate) const LIVE_MAX: usize = 200_000;

/// The most files in a working memory.
pub(crate) const MEMORY_FILES_MAX: usize = 1_000;

closed_set! {
    /// The state of a workspace.
    Status {
        /// Created, and waiting for its agent or its first envelope.
        Idle "idle",
        /// The agent is working.
        Active "active",
        /// The agent reported that it cannot continue.
        Blocked "blocked",
        /// Being moved to another agent.
        Migrating "migrating",
        /// Paused by the coordinator.
        Suspended "suspended",
        /// Completed, waiting to be merged.
        Integrating "integrating",
        /// Completed, but the merge met a conflict.
        Conflicted "conflicted",
        /// Ended successfully.
        Closed "closed",
        /// Ended by failure or abort.
        Failed "failed",
    }
}

impl Status {
    /// Whether it has ended.
    pub fn is_terminal(self) -> bool {
        matches!(self, Status::Closed | Status::Failed)
    }

    /// Whether its inbox permanently refuses mail.
    pub fn is_sealed(self) -> bool {
        matches!(self, Status::Integrating | Status::Conflicted) || self.is_terminal()
    }

    /// Whether its agent may send, take mail and write.
    pub fn is_open(self) -> bool {
        matches!(self, Status::Idle | Status::Active | Status::Blocked)
    }

    /// Whether the timeout runs.
    pub fn is_clocked(self) -> bool {
        matches!(self, Status::Active | Status::Blocked | Status::Conflicted)
    }

    /// Whether signals are delivered now, instead of waiting.
    pub(crate) fn takes_signals(self) -> bool {
        let waits = matches!(self, Status::Blocked | Status::Migrating | Status::Suspended);
        !waits && !self.is_terminal()
    }
}

closed_set! {
    /// The trigger of a transition. Where the protocol fixes a reason, this is it.
    Trigger {
        /// The first envelope arrived.
        FirstEnvelope "first_envelope",
        /// The run is set up; the root's first input.
        WorkflowLoaded "workflow_loaded",
        /// The agent emitted `blocked`.
        Blocked "blocked",
        /// The agent emitted `started`.
        Started "started",
        /// The agent emitted `complete`.
        Complete "complete",
        /// The agent emitted `failed`.
        Failed "failed",
        /// The coordinator aborted it.
        AbortedByCoordinator "aborted_by_coordinator",
        /// A person aborted it.
        AbortedByHuman "aborted_by_human",
        /// Its group was aborted.
        BatchAbort "batch_abort",
        /// The timeout was reached.
        Timeout "timeout",
        /// The timeout was reached while a conflict was open.
        ConflictTimeout "conflict_timeout",
        /// It was asked to terminate and did not within the grace period.
        GracefulTerminationExpired "graceful_termination_expired",
        /// A limit of its budget was reached.
        BudgetExceeded "budget_exceeded",
        /// Its parent workspace failed.
        ParentFailed "parent_failed",
        /// The run was forced to end.
        SystemShutdown "system_shutdown",
        /// The run ended.
        RunComplete "run_complete",
        /// The coordinator ordered a migration.
        Migrate "migrate",
        /// The new agent is ready.
        Migrated "migrated",
        /// The new agent did not become ready in time.
        MigrationError "migration_error",
        /// The coordinator paused it.
        Suspend "suspend",
        /// The coordinator resumed it.
        Resume "resume",
        /// Its work was merged.
        Merged "merged",
        /// Merging met a conflict.
        ConflictFound "conflict_found",
        /// The coordinator requested a revision.
        RevisionRequired "revision_required",
        /// The coordinator rejected the work.
        Rejected "rejected",
        /// Every conflict was resolved.
        ConflictsResolved "conflicts_resolved",
        /// A conflict is resolved by doing the work again.
        AgentRework "agent_rework",
        /// A person, or a gate's fallback, rejected the merge.
        GateRejectedByHuman "gate_rejected_by_human",
        /// An escalation was not answered in time.
        EscalationTimeout "escalation_timeout",
    }
}

/// The party that initiated a transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Initiator {
    /// Its agent.
    Agent,
    /// The coordinator, or a delegate for its children.
    Coordinator,
    /// A person.
    Human,
    /// The runtime.
    Runtime,
}

/// The priority of a workspace.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// Before everything else.
    Critical,
    /// Somebody is waiting for it.
    Interactive,
    /// The default.
    #[default]
    Normal,
    /// When there is spare capacity.
    Background,
}

/// An originator or owner: a person, or the system.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Party {
    /// The system itself.
    System,
    /// A person.
    User(UserId),
}

impl std::fmt::Display for Party {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Party::System => f.pad("system"),
            Party::User(id) => f.pad(id.as_str()),
        }
    }
}

// `system` is a reserved word, so no user can have it as id.
serde_as_text!(Party, "a user or `system`", |text| match text {
    "system" => Ok(Party::System),
    id => UserId::new(id).map(Party::User),
});

/// The properties fixed when a workspace is created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Charter {
    /// The root of the run it belongs to.
    pub root: WorkspaceId,
    /// Its role.
    pub role: RoleName,
    /// The originator: the party that caused it.
    pub originator: Party,
    /// The surfaces it may change.
    pub authority: Vec<Surface>,
    /// Whether it may create child workspaces.
    pub delegate: bool,
    /// Whether it may read the whole trail; for observers.
    pub global_trail: bool,
    /// The tools it has.
    pub mounts: Vec<Text<200>>,
    /// The group it belongs to.
    pub group: Option<GroupName>,
    /// How long there may be no activity before the coordinator is notified.
    pub liveness: Option<Timeout>,
    /// The resource limits of the run; only in its root.
    pub limits: Option<Limits>,
    /// Whether agents take the tasks of the run by themselves; only in its root.
    pub pool: bool,
    /// The envelope with its directive; none for the root.
    pub directive: Option<EnvelopeId>,
    /// The context it was given to read.
    pub context: Option<Blob>,
    /// The task it works on.
    pub task: Option<TaskId>,
    /// The assignment that it is in the memory protocol's words; none for roots and for workspaces
    /// that are no attempt at a piece of work.
    pub assignment: Option<RecordId>,
    /// The timeout for its work; none for the root.
    pub timeout: Option<Timeout>,
    /// How long its agent may take to become ready.
    pub idle_timeout: Timeout,
    /// When it was created.
    pub created_at: Timestamp,
    /// The stream its entries belong to.
    pub stream: Stream,
}

/// A workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workspace {
    /// The properties fixed at creation.
    pub charter: Arc<Charter>,
    /// The agent bound to it; the root may be led by the system itself.
    pub agent: Option<AgentName>,
    /// The owner.
    pub owner: Party,
    /// The parent workspace; none for the root.
    pub parent: Option<WorkspaceId>,
    /// The current state.
    pub status: Status,
    /// When the current state began.
    pub since: Timestamp,
    /// Whether its agent has become ready.
    pub ready: bool,
    /// Whether its agent has started working.
    pub started: bool,
    /// The state to return to after a suspension or migration.
    pub interrupted: Option<Status>,
    /// The workspaces it may read besides itself and its descendants; more can be granted.
    pub visibility: Vec<WorkspaceId>,
    /// The request to terminate, with its deadline, if there is one.
    pub termination: Option<terminate::Termination>,
    /// The parent it lost, until it is given another one.
    pub orphan_of: Option<WorkspaceId>,
    /// The agent bound before a migration in progress.
    pub moved_from: Option<AgentName>,
    /// A signal whose transition is not recorded. Both are written in one commit, so only a trail
    /// that was truncated between them leaves this set.
    pub owed: Option<Owed>,
    /// The part of its timeout that is used up, not counting the current state.
    pub spent: Span,
    /// The priority.
    pub priority: Priority,
    /// The resources it has used.
    pub meter: Meter,
    /// The budget.
    pub budget: Budget,
    /// The percentage of a limit at which to warn.
    pub warn_at: Percent,
    /// The limits about which a warning was issued.
    pub warned: Vec<Dimension>,
    /// The limit that was reached, if any.
    pub exceeded: Option<Dimension>,
    /// The part of its budget given to its descendants.
    pub given: BTreeMap<Dimension, u64>,
    /// The last activity in it.
    pub pulse: Pulse,
    /// Its newest checkpoint.
    pub head: Option<CheckpointId>,
    /// Its newest final checkpoint.
    pub latest_final: Option<CheckpointId>,
    /// The branch that its files are on.
    pub branch: Option<Branch>,
    /// The program that works in it.
    pub process: Option<Process>,
    /// Whether its run gives out no more work; only in a root.
    pub hold: Hold,
    /// The trigger that ended it.
    pub ended: Option<Trigger>,
    /// The reason for its current state, if given.
    pub reason: Option<Text<1000>>,
    /// Its working memory: content by path.
    #[serde(with = "crate::values::ordered::map")]
    pub memory: OrdMap<FilePath, Blob>,
    /// The files merged into it, with their origin.
    #[serde(with = "crate::values::ordered::map")]
    pub merged: OrdMap<FilePath, MergedFile>,
}

/// A file after an integration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergedFile {
    /// The content; none if the file was deleted.
    pub content: Option<Blob>,
    /// The workspace it came from.
    pub from: WorkspaceId,
    /// When it was merged.
    pub at: Timestamp,
}

impl Workspace {
    /// When the runtime will act on it by itself, if nothing changes before.
    pub fn deadline(&self) -> Option<Timestamp> {
        [self.times_out(), self.grace_ends()].into_iter().flatten().min()
    }

    /// When it times out, if nothing changes before.
    pub(crate) fn times_out(&self) -> Option<Timestamp> {
        let timeout = self.charter.timeout?;
        match self.status {
            Status::Idle => Some(self.since.after(self.charter.idle_timeout.span())),
            Status::Migrating => Some(self.since.after(MIGRATION_TIMEOUT.span())),
            status if status.is_clocked() => {
                let left = timeout.span().micros().saturating_sub(self.spent.micros());
                Some(self.since.after(Span::from_micros(left)))
            }
            _ => None,
        }
    }

    /// Whether mail is delivered to its inbox now, instead of waiting.
    pub fn takes_mail(&self) -> bool {
        self.status.is_open() && (self.ready || self.status != Status::Idle)
    }

    /// The working time that counts towards the timeout.
    pub fn worked(&self, now: Timestamp) -> Span {
        let running =
            if self.status.is_clocked() { now.since(self.since) } else { Span::default() };
        Span::from_micros(self.spent.micros() + running.micros())
    }
}
