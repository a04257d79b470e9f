//! Workspaces and their files, as shown to callers.

use serde::Serialize;

use crate::model::runs::file::File;
use crate::model::runs::integration::conflict::OpenConflict;
use crate::model::runs::run::Hold;
use crate::model::runs::workspace::branch::Branch;
use crate::model::runs::workspace::budget::Budget;
use crate::model::runs::workspace::process::Process;
use crate::model::runs::workspace::{Party, Priority, Status, Timeout, Trigger, Workspace};
use crate::registry::record_id::RecordId;
use crate::surfaces::Surface;
use crate::values::content::Blob;
use crate::values::id::{CheckpointId, EnvelopeId, TaskId, WorkspaceId};
use crate::values::name::AgentName;
use crate::values::time::{Span, Timestamp};
use crate::values::token::RoleName;

/// A workspace, as shown to callers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WorkspaceView {
    /// The workspace.
    pub workspace: WorkspaceId,
    /// The parent workspace.
    pub parent: Option<WorkspaceId>,
    /// Its role.
    pub role: RoleName,
    /// The agent bound to it.
    pub agent: Option<AgentName>,
    /// The current state.
    pub status: Status,
    /// When the current state began.
    pub since: Timestamp,
    /// Whether its agent has become ready.
    pub ready: bool,
    /// The trigger that ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<Trigger>,
    /// The reason for its current state, if given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The owner.
    pub owner: Party,
    /// The originator: the party that caused it.
    pub originator: Party,
    /// The workspaces it may read besides itself and its descendants.
    pub visibility: Vec<WorkspaceId>,
    /// The surfaces it may change.
    pub authority: Vec<Surface>,
    /// Whether it may create child workspaces.
    pub delegate: bool,
    /// The priority.
    pub priority: Priority,
    /// The group it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The budget.
    #[serde(skip_serializing_if = "Budget::is_empty")]
    pub budget: Budget,
    /// How long there may be no activity before the coordinator is notified, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub liveness_interval_s: Option<Timeout>,
    /// The tools it has.
    pub mounts: Vec<String>,
    /// The envelope with its directive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directive: Option<EnvelopeId>,
    /// The context it was given to read, by hash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<Blob>,
    /// The task it works on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The assignment that it is in the memory protocol's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assignment: Option<RecordId>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When the runtime ends it, if nothing changes before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// When its grace period ends, if it was asked to terminate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace_ends: Option<Timestamp>,
    /// The parent it lost, until it is given another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub orphan_of: Option<WorkspaceId>,
    /// The working time that counts towards the timeout, in microseconds.
    pub worked: Span,
    /// Its newest checkpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<CheckpointId>,
    /// Its newest final checkpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latest_final: Option<CheckpointId>,
    /// The branch that its files are on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<Branch>,
    /// The program that works, or last worked, in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<Process>,
    /// Whether agents take the tasks of its run by themselves; only for a root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pool: Option<Pool>,
    /// The number of envelopes in its inbox.
    pub inbox: usize,
    /// The number of files in its working memory.
    pub memory: usize,
    /// The number of files merged into it.
    pub merged: usize,
    /// The conflicts that keep its work from being merged.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<OpenConflict>,
    /// The connection of an agent, if it is a peer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer: Option<PeerView>,
    /// Where it belongs.
    pub place: Place,
}

/// The pool of a run's tasks, which agents take by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Pool {
    /// Whether it gives out no more work.
    pub hold: Hold,
}

/// Where a workspace belongs: to a run, or to the project itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// To a run.
    Run,
    /// It is the project's standing root, above everything outside runs.
    StandingRoot,
    /// It is a connected agent.
    Peer,
    /// It is an attempt outside runs, which its agent and its dispatcher move.
    OpenAttempt,
}

impl WorkspaceView {
    /// Whether it is part of a run: no peer, no open attempt and not the standing root.
    pub fn is_of_run(&self) -> bool {
        self.place == Place::Run
    }

    /// Whether it is the project's standing root.
    pub fn is_standing_root(&self) -> bool {
        self.place == Place::StandingRoot
    }
}

/// Whether the host of a peer is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PeerState {
    /// The host is connected, or the agent makes calls without a connection.
    Active,
    /// It has gone; the peer ends unless its agent comes back.
    Gone,
}

impl PeerState {
    /// The name.
    pub fn as_str(self) -> &'static str {
        match self {
            PeerState::Active => "active",
            PeerState::Gone => "gone",
        }
    }
}

/// A connected agent, as shown to callers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PeerView {
    /// The agent's label for its client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The number of its connections; none for calls that keep no connection.
    pub connections: usize,
    /// The approximate time of its last activity.
    pub last_activity: Timestamp,
    /// The number of leases it holds.
    pub leases: usize,
    /// Whether it is the agent's standing session of calls without a connection.
    pub standing: bool,
    /// Whether its host is there.
    pub state: PeerState,
    /// When its host went away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gone_since: Option<Timestamp>,
}

/// The files of a workspace, by hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FilesView {
    /// The workspace.
    pub workspace: WorkspaceId,
    /// Its working memory.
    pub memory: Vec<File>,
    /// The files merged into it.
    pub merged: Vec<File>,
}

impl FilesView {
    pub(crate) fn of(id: &WorkspaceId, known: &Workspace) -> Self {
        let memory = known
            .memory
            .iter()
            .map(|(path, content)| File { content: Some(content.clone()), path: path.clone() });
        let merged = known
            .merged
            .iter()
            .map(|(path, merged)| File { content: merged.content.clone(), path: path.clone() });
        FilesView { workspace: id.clone(), memory: memory.collect(), merged: merged.collect() }
    }
}
