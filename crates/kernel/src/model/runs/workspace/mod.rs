//! Types of `workspace`: state, arguments of commands and bodies of events.

pub(crate) mod abort;
pub(crate) mod account;
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
use crate::model::runs::workspace::budget::{Budget, Dimension, Percent};
use crate::model::runs::workspace::group::GroupName;
use crate::model::runs::workspace::liveness::Pulse;
use crate::model::runs::workspace::meter::Meter;
use crate::surfaces::Surface;
use crate::values::content::Blob;
use crate::values::id::{CheckpointId, EnvelopeId, TaskId, WorkspaceId};
use crate::values::name::{AgentName, UserId};
use crate::values::seconds::Secs;
use crate::values::stream::Stream;
use crate::values::text::Text;
use crate::values::time::{Span, Timestamp};
use crate::values::token::RoleName;

/// A timeout, of one second to thirty days.
pub type Timeout = Secs<1, 2_592_000>;

/// How long a workspace may work where nothing else is said: a day.
pub const TIMEOUT_DEFAULT: Timeout = Timeout::known::<86_400>();

/// How long an agent may take to show up where nothing else is said: a day.
pub const IDLE_TIMEOUT_DEFAULT: Timeout = Timeout::known::<86_400>();

/// How long a new agent may take to show up in a workspace it was moved to: an hour.
pub const MIGRATION_TIMEOUT: Timeout = Timeout::known::<3_600>();

/// The most workspaces, surfaces or tools one workspace may list.
pub const LIST_MAX: usize = 256;

/// The most workspaces that go on at the same time: all of them may have to end in one step.
pub const LIVE_MAX: usize = 200_000;

/// The most files a working memory holds.
pub const MEMORY_FILES_MAX: usize = 1_000;

/// The nine states.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Made, and waiting for its agent or its first envelope.
    Idle,
    /// At work.
    Active,
    /// Cannot go on, and said so.
    Blocked,
    /// Getting another agent.
    Migrating,
    /// Paused by the coordinator.
    Suspended,
    /// Done, and about to be merged.
    Integrating,
    /// Done, but the merge met a conflict.
    Conflicted,
    /// Ended well.
    Closed,
    /// Ended badly.
    Failed,
}

impl Status {
    /// All nine.
    pub const ALL: &'static [Status] = &[
        Status::Idle,
        Status::Active,
        Status::Blocked,
        Status::Migrating,
        Status::Suspended,
        Status::Integrating,
        Status::Conflicted,
        Status::Closed,
        Status::Failed,
    ];

    /// The name.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Idle => "idle",
            Status::Active => "active",
            Status::Blocked => "blocked",
            Status::Migrating => "migrating",
            Status::Suspended => "suspended",
            Status::Integrating => "integrating",
            Status::Conflicted => "conflicted",
            Status::Closed => "closed",
            Status::Failed => "failed",
        }
    }

    /// Whether it has ended.
    pub fn is_terminal(self) -> bool {
        matches!(self, Status::Closed | Status::Failed)
    }

    /// Whether its inbox refuses mail for good.
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

    /// Whether signals reach it now, instead of waiting.
    pub(crate) fn takes_signals(self) -> bool {
        let waits = matches!(self, Status::Blocked | Status::Migrating | Status::Suspended);
        !waits && !self.is_terminal()
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// What made a workspace take a step. Where the protocol fixes a reason, this is it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// The first envelope arrived.
    FirstEnvelope,
    /// The run is set up; the root's first input.
    WorkflowLoaded,
    /// The agent emitted `blocked`.
    Blocked,
    /// The agent emitted `started`.
    Started,
    /// The agent emitted `complete`.
    Complete,
    /// The agent emitted `failed`.
    Failed,
    /// The coordinator aborted it.
    AbortedByCoordinator,
    /// A person aborted it.
    AbortedByHuman,
    /// Its group was aborted.
    BatchAbort,
    /// Its time was over.
    Timeout,
    /// Its time was over while a conflict was open.
    ConflictTimeout,
    /// It was asked to finish and did not in time.
    GracefulTerminationExpired,
    /// A limit of its budget was reached.
    BudgetExceeded,
    /// The workspace above it failed.
    ParentFailed,
    /// The run was ended by force.
    SystemShutdown,
    /// The run is over.
    RunComplete,
    /// The coordinator ordered another agent.
    Migrate,
    /// The new agent is there.
    Migrated,
    /// The new agent did not come.
    MigrationError,
    /// The coordinator paused it.
    Suspend,
    /// The coordinator resumed it.
    Resume,
    /// Its work was merged.
    Merged,
    /// Merging met a conflict.
    ConflictFound,
    /// The work has to be done again, better.
    RevisionRequired,
    /// The work is of no use.
    Rejected,
    /// Every conflict was resolved.
    ConflictsResolved,
    /// A conflict has to be resolved by doing the work again.
    AgentRework,
    /// A person, or nobody in time, said no to its merge.
    GateRejectedByHuman,
    /// Nobody answered its call for help in time.
    EscalationTimeout,
}

/// Who had a workspace take a step.
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

/// How urgent a workspace's work is.
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
    /// Somebody waits for it.
    Interactive,
    /// As usual.
    #[default]
    Normal,
    /// When there is time.
    Background,
}

/// On whose account something exists: a person, or the system.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Party {
    /// Nobody but the system itself.
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

impl Serialize for Party {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Party {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // No user can be called so: it is a reserved word.
        crate::values::de::from_str(deserializer, "a user or `system`", |text| match text {
            "system" => Ok(Party::System),
            id => UserId::new(id).map(Party::User),
        })
    }
}

/// What is fixed when a workspace is created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Charter {
    /// The root of the run it belongs to.
    pub root: WorkspaceId,
    /// Its role.
    pub role: RoleName,
    /// Who caused it.
    pub originator: Party,
    /// What it may change.
    pub authority: Vec<Surface>,
    /// Whether it may create workspaces below itself.
    pub delegate: bool,
    /// Whether it may read the whole trail; for observers.
    pub global_trail: bool,
    /// The tools it has.
    pub mounts: Vec<Text<200>>,
    /// The group it belongs to.
    pub group: Option<GroupName>,
    /// How long nothing may happen in it before the coordinator is told.
    pub liveness: Option<Timeout>,
    /// What the run has room for; in its root alone.
    pub limits: Option<Limits>,
    /// The envelope that says what to do; none for the root.
    pub directive: Option<EnvelopeId>,
    /// What else it was given to read.
    pub context: Option<Blob>,
    /// The task it works on.
    pub task: Option<TaskId>,
    /// How long it may work; none for the root.
    pub timeout: Option<Timeout>,
    /// How long its agent may take to show up.
    pub idle_timeout: Timeout,
    /// When it was created.
    pub created_at: Timestamp,
    /// The stream its entries belong to.
    pub stream: Stream,
}

/// A workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workspace {
    /// What is fixed.
    pub charter: Arc<Charter>,
    /// The agent bound to it; the root may be led by the system itself.
    pub agent: Option<AgentName>,
    /// The owner.
    pub owner: Party,
    /// The workspace above it; none for the root.
    pub parent: Option<WorkspaceId>,
    /// The current state.
    pub status: Status,
    /// Since when.
    pub since: Timestamp,
    /// Whether its agent has shown up.
    pub ready: bool,
    /// The state to go back to after a pause or a move.
    pub interrupted: Option<Status>,
    /// The workspaces it may read besides itself and those below it; some may be added.
    pub visibility: Vec<WorkspaceId>,
    /// Whether it was asked to finish, and by when.
    pub termination: Option<terminate::Termination>,
    /// The parent it lost, if nobody has found another one for it.
    pub orphan_of: Option<WorkspaceId>,
    /// The agent that was bound before a move that is still under way.
    pub moved_from: Option<AgentName>,
    /// What its agent said that leads to a step which is not on record. Both are in one commit, so
    /// only a trail that was cut in between leaves this behind.
    pub owed: Option<Owed>,
    /// How much of its timeout is used up, not counting the state it is in.
    pub spent: Span,
    /// The priority.
    pub priority: Priority,
    /// What it has used.
    pub meter: Meter,
    /// What it may use.
    pub budget: Budget,
    /// The share of a limit that is warned of.
    pub warn_at: Percent,
    /// The limits that were warned of.
    pub warned: Vec<Dimension>,
    /// The limit that was reached.
    pub exceeded: Option<Dimension>,
    /// What was given of its budget to the workspaces below it.
    pub given: BTreeMap<Dimension, u64>,
    /// When something last happened in it.
    pub pulse: Pulse,
    /// Its newest checkpoint.
    pub head: Option<CheckpointId>,
    /// Its newest final checkpoint.
    pub latest_final: Option<CheckpointId>,
    /// How it ended.
    pub ended: Option<Trigger>,
    /// Why it is in the state it is in, in words, if somebody said so.
    pub reason: Option<Text<1000>>,
    /// Its working memory: what is in which file.
    #[serde(with = "crate::values::ordered::map")]
    pub memory: OrdMap<FilePath, Blob>,
    /// What was merged into it: what is in which file, and whose it was.
    #[serde(with = "crate::values::ordered::map")]
    pub merged: OrdMap<FilePath, MergedFile>,
}

/// A file as an integration left it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergedFile {
    /// What is in it; none if it was deleted.
    pub content: Option<Blob>,
    /// The workspace it came from.
    pub from: WorkspaceId,
}

impl Workspace {
    /// When the runtime acts on it by itself, if nothing changes before.
    pub fn deadline(&self) -> Option<Timestamp> {
        [self.times_out(), self.grace_ends()].into_iter().flatten().min()
    }

    /// When its time is over, if nothing changes before.
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

    /// Whether mail reaches its inbox now, instead of waiting.
    pub fn takes_mail(&self) -> bool {
        self.status.is_open() && (self.ready || self.status != Status::Idle)
    }

    /// How long it has worked, counting what the timeout counts.
    pub fn worked(&self, now: Timestamp) -> Span {
        let running =
            if self.status.is_clocked() { now.since(self.since) } else { Span::default() };
        Span::from_micros(self.spent.micros() + running.micros())
    }
}
