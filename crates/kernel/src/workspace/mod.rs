//! Workspaces: where an agent works, bounded and alone.
//!
//! A workspace has one agent, one role and at most one task, lives in one tree, and takes only
//! the steps of one table ([`edges`]). It is never reopened and never removed: once it has ended
//! it stays as a record. Its nine components are kept where they belong:
//!
//! | # | component | where | who changes it |
//! |---|---|---|---|
//! | 1 | directive | [`Charter::directive`], an envelope's id | nobody |
//! | 2 | inbox | [`crate::envelope`] | the runtime adds, the agent takes |
//! | 3 | context | [`Charter::context`] | nobody |
//! | 4 | working memory | [`Workspace::memory`], path to content | the agent |
//! | 5 | checkpoint register | [`crate::checkpoint`] | the agent adds |
//! | 6 | resource meter | [`Workspace::meter`] | the runtime |
//! | 7 | local trail | the chain of the trail that bears its id | everything adds |
//! | 8 | visibility | [`Workspace::visibility`] | the coordinator adds |
//! | 9 | authority | [`Charter::authority`] | nobody |

pub mod abort;
pub mod account;
pub mod budget;
pub mod change;
pub mod create;
pub mod draw;
pub mod edges;
pub mod enforce;
pub mod grant;
pub mod group;
pub mod liveness;
pub mod memory;
pub mod meter;
pub mod migrate;
pub mod priority;
pub mod reparent;
pub mod sight;
pub mod suspend;
pub mod terminate;
pub mod transfer;
pub mod view;

use imbl::OrdMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

use self::budget::{Budget, Dimension, Percent};
use self::group::GroupName;
use self::liveness::Pulse;
use self::meter::Meter;
use crate::admission::Limits;
use crate::content::Blob;
use crate::event::Stream;
use crate::file::FilePath;
use crate::id::{CheckpointId, EnvelopeId, First as _, TaskId, WorkspaceId};
use crate::name::{AgentName, UserId};
use crate::principal::{Caller, Principal};
use crate::recovery::Owed;
use crate::refusal::Refusal;
use crate::rule::Rule;
use crate::secs::Secs;
use crate::state::State;
use crate::surface::Surface;
use crate::text::Text;
use crate::time::{Span, Timestamp};
use crate::token::RoleName;

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

    /// Its name.
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
        crate::de::from_str(deserializer, "a user or `system`", |text| match text {
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
    /// Who answers for it.
    pub owner: Party,
    /// The workspace above it; none for the root.
    pub parent: Option<WorkspaceId>,
    /// The state it is in.
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
    /// How urgent it is.
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
    #[serde(with = "crate::ordered::map")]
    pub memory: OrdMap<FilePath, Blob>,
    /// What was merged into it: what is in which file, and whose it was.
    #[serde(with = "crate::ordered::map")]
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

/// A workspace by its id.
pub(crate) fn get<'s>(state: &'s State, id: &WorkspaceId) -> Result<&'s Arc<Workspace>, Refusal> {
    state.workspaces.get(id).ok_or_else(|| {
        Refusal::not_found(Rule::ReferenceKnown, format!("there is no workspace {id}"))
    })
}

/// The root of the run that goes on.
pub(crate) fn root(state: &State) -> Result<&WorkspaceId, Refusal> {
    state.root.as_ref().ok_or_else(|| {
        Refusal::denied(Rule::RunNeeded, "no run goes on, so there is no coordinator")
    })
}

/// Whether a caller speaks for the coordinator: the system, the agent that was given the post, or a
/// person, whose every command was checked against their capabilities before.
pub(crate) fn is_coordinator(state: &State, caller: &Principal) -> bool {
    match caller {
        Principal::System | Principal::User(_) => true,
        Principal::Agent(name) => {
            let root = state.root.as_ref().and_then(|root| state.workspaces.get(root));
            root.is_some_and(|root| root.agent.as_ref() == Some(name))
        }
    }
}

/// Refuses whoever does not speak for the coordinator.
pub(crate) fn coordinator_only(
    state: &State,
    caller: &Caller,
    deed: &str,
) -> Result<Initiator, Refusal> {
    root(state)?;
    if !is_coordinator(state, &caller.principal) {
        let message = format!("{} may not {deed}: that is for the coordinator", caller.principal);
        return Err(Refusal::denied(Rule::CoordinatorOnly, message));
    }
    Ok(initiator(&caller.principal))
}

pub(crate) fn initiator(principal: &Principal) -> Initiator {
    match principal {
        Principal::User(_) => Initiator::Human,
        Principal::System | Principal::Agent(_) => Initiator::Coordinator,
    }
}

/// Whether a caller may do something to a workspace that the coordinator may do everywhere and
/// a delegate below itself, as long as it is neither paused nor being moved nor done.
pub(crate) fn commands(state: &State, caller: &Caller, target: &WorkspaceId) -> bool {
    is_coordinator(state, &caller.principal) || delegate_above(state, caller, target).is_some()
}

/// The workspace a caller commands another one from: the root, or a delegate's own.
pub(crate) fn commanding(
    state: &State,
    caller: &Caller,
    target: &WorkspaceId,
) -> Option<WorkspaceId> {
    if is_coordinator(state, &caller.principal) {
        return state.root.clone();
    }
    delegate_above(state, caller, target).cloned()
}

fn delegate_above<'s>(
    state: &'s State,
    caller: &Caller,
    target: &WorkspaceId,
) -> Option<&'s WorkspaceId> {
    let Principal::Agent(name) = &caller.principal else { return None };
    let mut above = state.workspaces.get(target).and_then(|known| known.parent.as_ref());
    while let Some(id) = above {
        let workspace = state.workspaces.get(id)?;
        let leads = workspace.charter.delegate && workspace.status.is_open();
        if leads && workspace.agent.as_ref() == Some(name) {
            return Some(id);
        }
        above = workspace.parent.as_ref();
    }
    None
}

/// The workspace a caller acts in: the one it names, or the only one it has. People and the
/// system act in the root.
pub(crate) fn own(
    state: &State,
    caller: &Caller,
    named: Option<&WorkspaceId>,
) -> Result<WorkspaceId, Refusal> {
    // A session is a place to hold leases from; only some are workspaces of a run too.
    let session = caller.session.as_ref().filter(|id| state.workspaces.contains_key(*id));
    let named = named.or(session);
    let Principal::Agent(agent) = &caller.principal else {
        let root = root(state)?;
        if named.is_none_or(|named| named == root) {
            return Ok(root.clone());
        }
        let message = format!("{} acts in the root alone", caller.principal);
        return Err(Refusal::denied(Rule::OwnWorkspace, message));
    };
    if let Some(named) = named {
        let known = get(state, named)?;
        if known.agent.as_ref() == Some(agent) {
            return Ok(named.clone());
        }
        let message = format!("workspace {named} is not bound to agent {agent}");
        return Err(Refusal::denied(Rule::OwnWorkspace, message));
    }
    let mut bound = state.bound_to(agent);
    match (bound.next(), bound.next()) {
        (Some(only), None) => Ok(only.clone()),
        (None, _) => {
            let message = format!("agent {agent} is bound to no workspace that goes on");
            Err(Refusal::not_found(Rule::OwnWorkspace, message))
        }
        (Some(_), Some(_)) => {
            let message = format!("agent {agent} is bound to several workspaces: say which");
            let all = state.bound_to(agent).take(LIST_MAX).map(ToString::to_string);
            Err(Refusal::denied(Rule::OwnWorkspace, message).allowing(all))
        }
    }
}

impl State {
    /// The live workspaces an agent is bound to.
    pub(crate) fn bound_to(&self, agent: &AgentName) -> impl Iterator<Item = &WorkspaceId> {
        let own = agent.clone();
        let from = self.bound.range((agent.clone(), WorkspaceId::first())..);
        from.take_while(move |(of, _)| *of == own).map(|(_, id)| id)
    }

    /// The workspaces directly below another, oldest first.
    pub(crate) fn children_of(&self, id: &WorkspaceId) -> impl Iterator<Item = &WorkspaceId> {
        let own = id.clone();
        let first = (id.clone(), Timestamp::default(), WorkspaceId::first());
        self.children.range(first..).take_while(move |(of, ..)| *of == own).map(|(.., id)| id)
    }
}
