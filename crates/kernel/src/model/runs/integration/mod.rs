//! Types of `integration`: state, arguments of commands and bodies of events.

pub(crate) mod conflict;
pub(crate) mod salvage;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::runs::checkpoint::Confidence;
use crate::model::runs::file::{File, FileArg};
use crate::model::runs::integration::conflict::{ConflictArg, OpenConflict};
use crate::model::runs::workspace::{Party, Status, Trigger};
use crate::values::id::{CheckpointId, WorkspaceId};
use crate::values::text::Text;

/// What the coordinator thinks of finished work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// It is good: merge it.
    Accept,
    /// It could be good: somebody does it again.
    Revise,
    /// It is of no use.
    Reject,
}

/// How work is merged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// Copied as it is.
    #[default]
    Direct,
    /// Copied over what is there; files that others changed are noticed.
    Layered,
    /// The coordinator made one result of both.
    Evaluated,
}

/// What sort of merge it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Finished work of a workspace that completed.
    Normal,
    /// What can be saved of a workspace that failed.
    Salvage,
}

/// `integration.decide`: accepts, revises or rejects what a workspace finished.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Decide {
    /// What does not go together; with other strategies than `evaluated` what breaks a rule of the
    /// project (`constraint_breach`) alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<ConflictArg>,
    /// What to do with it.
    pub decision: Decision,
    /// With `evaluated`: files as they should be; the others stay as the work has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged: Option<Vec<FileArg>>,
    /// The reason, shown to others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// How it is merged (default `direct`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<Strategy>,
    /// The workspace.
    pub workspace: WorkspaceId,
}

/// `integration_started`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Started {
    /// What is merged.
    pub checkpoint_ref: CheckpointId,
    /// What salvaged work counts for; for finished work the checkpoint itself says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
    /// With `evaluated`: the files as they should be.
    pub merged: Option<Vec<File>>,
    /// What sort of merge it is.
    pub mode: Mode,
    /// Who answers for the work.
    pub owner: Party,
    /// Why, of a salvage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// The workspace whose work is merged.
    pub source: WorkspaceId,
    /// How.
    pub strategy: Strategy,
    /// The workspace it is merged into.
    pub target: WorkspaceId,
}

/// How a merge went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Without a conflict.
    Success,
    /// With conflicts that were resolved.
    ConflictResolved,
}

/// `integration_completed`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Completed {
    /// What sort of merge it was.
    pub mode: Mode,
    /// How it went.
    pub result: Outcome,
    /// The workspace whose work was merged.
    pub source: WorkspaceId,
    /// How.
    pub strategy: Strategy,
    /// The workspace it was merged into.
    pub target: WorkspaceId,
}

/// `integration_aborted`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Aborted {
    /// What sort of merge it was.
    pub mode: Mode,
    /// Why it was given up.
    pub reason: Trigger,
    /// The workspace whose work was to be merged.
    pub source: WorkspaceId,
    /// The workspace it was to be merged into.
    pub target: WorkspaceId,
}

/// A merge that was begun and is not over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Integration {
    /// What is merged.
    pub checkpoint: CheckpointId,
    /// How.
    pub strategy: Strategy,
    /// The files as they should be, if somebody said so.
    pub merged: Option<Vec<File>>,
    /// What does not go together and is not resolved.
    pub conflicts: Vec<OpenConflict>,
    /// Where salvaged work goes; none for finished work, which goes to the workspace above.
    pub salvaged_into: Option<WorkspaceId>,
}

impl Integration {
    /// What sort of merge it is.
    pub fn mode(&self) -> Mode {
        if self.salvaged_into.is_some() { Mode::Salvage } else { Mode::Normal }
    }
}

/// What `integration.decide`, `integration.salvage` and `conflict.resolve` return.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IntegrationReply {
    /// The workspace it was about.
    pub workspace: WorkspaceId,
    /// The state it is in now.
    pub status: Status,
    /// The conflicts that are open.
    pub conflicts: Vec<OpenConflict>,
}
