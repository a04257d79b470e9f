//! Types of `view`: state, arguments of commands and bodies of events.

use serde::Serialize;

use crate::model::runs::file::File;
use crate::model::runs::integration::conflict::OpenConflict;
use crate::model::runs::workspace::budget::Budget;
use crate::model::runs::workspace::{Party, Priority, Status, Timeout, Trigger, Workspace};
use crate::surfaces::Surface;
use crate::values::content::Blob;
use crate::values::id::{CheckpointId, EnvelopeId, TaskId, WorkspaceId};
use crate::values::name::AgentName;
use crate::values::time::{Span, Timestamp};
use crate::values::token::RoleName;

/// A workspace, as doors show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WorkspaceView {
    /// The workspace.
    pub workspace: WorkspaceId,
    /// The workspace above it.
    pub parent: Option<WorkspaceId>,
    /// Its role.
    pub role: RoleName,
    /// The agent bound to it.
    pub agent: Option<AgentName>,
    /// The current state.
    pub status: Status,
    /// Since when.
    pub since: Timestamp,
    /// Whether its agent has shown up.
    pub ready: bool,
    /// How it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<Trigger>,
    /// Why it is in the state it is in, in words, if somebody said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The owner.
    pub owner: Party,
    /// Who caused it.
    pub originator: Party,
    /// The workspaces it may read besides itself and those below it.
    pub visibility: Vec<WorkspaceId>,
    /// What it may change.
    pub authority: Vec<Surface>,
    /// Whether it may create workspaces below itself.
    pub delegate: bool,
    /// The priority.
    pub priority: Priority,
    /// The group it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// What it may use.
    #[serde(skip_serializing_if = "Budget::is_empty")]
    pub budget: Budget,
    /// How long nothing may happen in it before the coordinator is told, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub liveness_interval_s: Option<Timeout>,
    /// The tools it has.
    pub mounts: Vec<String>,
    /// The envelope that says what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directive: Option<EnvelopeId>,
    /// What else it was given to read, by hash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<Blob>,
    /// The task it works on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When the runtime ends it, if nothing changes before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// When it has to have finished, if it was asked to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace_ends: Option<Timestamp>,
    /// The parent it lost, if nobody has found another one for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub orphan_of: Option<WorkspaceId>,
    /// How much of its time it has used, in microseconds.
    pub worked: Span,
    /// Its newest checkpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<CheckpointId>,
    /// Its newest final checkpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latest_final: Option<CheckpointId>,
    /// How many envelopes are in its inbox.
    pub inbox: usize,
    /// How many files are in its working memory.
    pub memory: usize,
    /// How many files were merged into it.
    pub merged: usize,
    /// What keeps its work from being merged.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<OpenConflict>,
}

/// The files of a workspace, by hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FilesView {
    /// The workspace.
    pub workspace: WorkspaceId,
    /// Its working memory.
    pub memory: Vec<File>,
    /// What was merged into it.
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
