//! Integration: accepting finished work and merging it into the parent workspace.

pub(crate) mod conflict;
pub(crate) mod salvage;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::runs::checkpoint::Confidence;
use crate::model::runs::file::{File, FileArg};
use crate::model::runs::integration::conflict::{ConflictArg, OpenConflict};
use crate::model::runs::workspace::branch::Merge;
use crate::model::runs::workspace::{Party, Status, Trigger};
use crate::values::id::{CheckpointId, WorkspaceId};
use crate::values::text::Text;

/// The coordinator's decision about finished work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Merge it.
    Accept,
    /// Have it revised.
    Revise,
    /// Discard it.
    Reject,
}

/// How work is merged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// Copy the files as they are.
    #[default]
    Direct,
    /// Copy the files over the existing ones; report files that others changed.
    Layered,
    /// Merge both versions into files given by the coordinator.
    Evaluated,
}

/// The kind of merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Finished work of a workspace that completed.
    Normal,
    /// Salvaged work of a workspace that failed.
    Salvage,
}

/// `integration.decide`: accepts, revises or rejects the finished work of a workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Decide {
    /// The conflicts found; with strategies other than `evaluated` only breaches of a project rule
    /// (`constraint_breach`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<ConflictArg>,
    /// The decision.
    pub decision: Decision,
    /// The merge that git has prepared, if the files are in git.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge: Option<Merge>,
    /// With `evaluated`: the merged files; the others stay as the work has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged: Option<Vec<FileArg>>,
    /// The reason, shown to others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// The merge strategy (default `direct`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<Strategy>,
    /// The workspace.
    pub workspace: WorkspaceId,
}

/// `integration_started`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Started {
    /// The checkpoint that is merged.
    pub checkpoint_ref: CheckpointId,
    /// The confidence in salvaged work; finished work has that of its checkpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
    /// The merge that git has prepared, if the files are in git.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge: Option<Merge>,
    /// With `evaluated`: the merged files.
    pub merged: Option<Vec<File>>,
    /// The kind of merge.
    pub mode: Mode,
    /// The owner of the work.
    pub owner: Party,
    /// For a salvage: the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// The workspace whose work is merged.
    pub source: WorkspaceId,
    /// The merge strategy.
    pub strategy: Strategy,
    /// The workspace it is merged into.
    pub target: WorkspaceId,
}

/// The outcome of a merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// No conflict occurred.
    Success,
    /// Conflicts occurred and were resolved.
    ConflictResolved,
}

/// `integration_completed`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Completed {
    /// The merge in git, if the files are in git.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge: Option<Merge>,
    /// The kind of merge.
    pub mode: Mode,
    /// The outcome.
    pub result: Outcome,
    /// The workspace whose work was merged.
    pub source: WorkspaceId,
    /// The merge strategy.
    pub strategy: Strategy,
    /// The workspace it was merged into.
    pub target: WorkspaceId,
}

/// `integration_aborted`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Aborted {
    /// The kind of merge.
    pub mode: Mode,
    /// The reason why it was aborted.
    pub reason: Trigger,
    /// The workspace whose work was to be merged.
    pub source: WorkspaceId,
    /// The workspace it was to be merged into.
    pub target: WorkspaceId,
}

/// `integration.undo`: records that merged work was taken back by a commit that reverts it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Undo {
    /// The branch, the commit it was at and the one that takes the work back.
    pub merge: Merge,
    /// The reason, shown to others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// The workspace whose work was merged.
    pub workspace: WorkspaceId,
}

/// `integration.undone`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Undone {
    /// The branch, the commit it was at and the one that takes the work back.
    pub merge: Merge,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// The workspace whose work was merged.
    pub source: WorkspaceId,
    /// The workspace it was merged into.
    pub target: WorkspaceId,
}

/// A merge in progress.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Integration {
    /// The checkpoint that is merged.
    pub checkpoint: CheckpointId,
    /// The merge strategy.
    pub strategy: Strategy,
    /// The merge in git, if the files are in git.
    pub merge: Option<Merge>,
    /// The merged files, if given.
    pub merged: Option<Vec<File>>,
    /// The unresolved conflicts.
    pub conflicts: Vec<OpenConflict>,
    /// The workspace salvaged work is merged into; none for finished work, which goes to the
    /// parent.
    pub salvaged_into: Option<WorkspaceId>,
}

impl Integration {
    /// The kind of merge.
    pub fn mode(&self) -> Mode {
        if self.salvaged_into.is_some() { Mode::Salvage } else { Mode::Normal }
    }
}

/// The reply to `integration.decide`, `integration.salvage` and `conflict.resolve`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IntegrationReply {
    /// The workspace it was about.
    pub workspace: WorkspaceId,
    /// Its current state.
    pub status: Status,
    /// The open conflicts.
    pub conflicts: Vec<OpenConflict>,
}
