//! Types of `checkpoint`: state, arguments of commands and bodies of events.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::runs::file::{File, FileArg};
use crate::model::runs::seal::Integrity;
use crate::model::runs::workspace::meter::Amount;
use crate::values::content::{Blob, Content};
use crate::values::id::{ArtifactId, CheckpointId, WorkspaceId};
use crate::values::text::Text;
use crate::values::time::Timestamp;
use crate::values::token::TypeName;

/// The most artifacts of one checkpoint.
pub const ARTIFACTS_MAX: usize = 256;

/// Whether a checkpoint is ready to be merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Work in progress, kept for the record.
    Provisional,
    /// Ready to be merged.
    Final,
}

/// How sure the agent is. It is information and stops nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// Sure.
    High,
    /// Fairly sure.
    #[default]
    Medium,
    /// Not sure.
    Low,
}

/// What a checkpoint cost since the one before, as the agent tells it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResourceUsage {
    /// In millionths of the currency the deployment counts in.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub cost: u64,
    /// Tokens.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub tokens_consumed: u64,
    /// Microseconds.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub wall_time: u64,
}

/// A thing a checkpoint holds that can be named on its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Artifact {
    /// Its id.
    pub artifact_id: ArtifactId,
    /// What it is, by hash.
    pub content: Blob,
    /// What it is called.
    pub name: Text<200>,
}

/// A thing to be put into a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArtifactArg {
    /// What it is.
    pub content: Content,
    /// What it is called.
    pub name: Text<200>,
}

/// A checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// The workspace it was made in.
    pub workspace: WorkspaceId,
    /// Its type.
    pub kind: TypeName,
    /// Whether it is ready to be merged.
    pub status: Status,
    /// How sure the agent is.
    pub confidence: Confidence,
    /// The one before it.
    pub parent: Option<CheckpointId>,
    /// Why it exists.
    pub intent: Text<2000>,
    /// The files it changes.
    pub files: Vec<File>,
    /// What it says.
    pub content: Option<Blob>,
    /// What it holds.
    pub artifacts: Vec<Artifact>,
    /// What it cost.
    pub usage: Option<ResourceUsage>,
    /// The proof that its workspace made it.
    pub integrity: Option<Integrity>,
    /// When it was made.
    pub at: Timestamp,
}

/// `checkpoint.create`: records how far the work in the caller's workspace has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Create {
    /// Things it holds that can be named on their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<ArtifactArg>,
    /// How sure the agent is.
    #[serde(default)]
    pub confidence: Confidence,
    /// What it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
    /// The files it changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files_changed: Vec<FileArg>,
    /// Why it exists, in the agent's words.
    pub intent: Text<2000>,
    /// The checkpoint before it in this workspace; none for the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<CheckpointId>,
    /// What it cost since the one before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_usage: Option<ResourceUsage>,
    /// Whether it is ready to be merged.
    pub status: Status,
    /// Its type: `artifact`, `observation`, or one the taxonomy adds.
    #[serde(rename = "type")]
    pub kind: TypeName,
    /// The workspace; the caller's own if it has only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceId>,
}

/// `checkpoint_created`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Created {
    /// What it holds.
    pub artifacts: Vec<Artifact>,
    /// How large everything in it is.
    #[serde(default, skip_serializing_if = "Amount::is_zero")]
    pub bytes: Amount,
    /// The checkpoint.
    pub checkpoint_id: CheckpointId,
    /// How sure the agent is.
    pub confidence: Confidence,
    /// What it says, by hash.
    pub content: Option<Blob>,
    /// The files it changes, by hash.
    pub files_changed: Vec<File>,
    /// The proof that its workspace made it. It is made when this is recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub integrity: Option<Integrity>,
    /// Why it exists.
    pub intent: Text<2000>,
    /// The one before it.
    pub parent: Option<CheckpointId>,
    /// What it cost.
    pub resource_usage: Option<ResourceUsage>,
    /// Whether it is ready to be merged.
    pub status: Status,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: TypeName,
    /// The workspace it was made in.
    pub workspace: WorkspaceId,
}

impl Created {
    /// The checkpoint it makes.
    pub(crate) fn checkpoint(&self, at: Timestamp) -> Checkpoint {
        Checkpoint {
            workspace: self.workspace.clone(),
            kind: self.kind.clone(),
            status: self.status,
            confidence: self.confidence,
            parent: self.parent.clone(),
            intent: self.intent.clone(),
            files: self.files_changed.clone(),
            content: self.content.clone(),
            artifacts: self.artifacts.clone(),
            usage: self.resource_usage.clone(),
            integrity: self.integrity,
            at,
        }
    }
}

impl Checkpoint {
    /// The content it cites.
    pub fn blobs(&self) -> impl Iterator<Item = &Blob> {
        let files = self.files.iter().filter_map(|file| file.content.as_ref());
        let artifacts = self.artifacts.iter().map(|artifact| &artifact.content);
        self.content.iter().chain(files).chain(artifacts)
    }
}

/// Why a checkpoint was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RejectReason {
    /// The role does not create this type, or may not change those files.
    PermissionDenied,
    /// Its type is not registered.
    InvalidType,
    /// It is not made as checkpoints are.
    InvalidStructure,
    /// It does not build on the newest one.
    InvalidParent,
    /// The workspace is not at work.
    WorkspaceNotActive,
}

/// `checkpoint_rejected`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rejected {
    /// Why.
    pub reason: RejectReason,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: TypeName,
    /// The workspace.
    pub workspace: WorkspaceId,
}

/// A checkpoint, as doors show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CheckpointView {
    /// The checkpoint.
    pub checkpoint: CheckpointId,
    /// The workspace it was made in.
    pub workspace: WorkspaceId,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: TypeName,
    /// Whether it is ready to be merged.
    pub status: Status,
    /// How sure the agent is.
    pub confidence: Confidence,
    /// The one before it.
    pub parent: Option<CheckpointId>,
    /// Why it exists.
    pub intent: String,
    /// The files it changes, by hash.
    pub files_changed: Vec<File>,
    /// What it says, by hash.
    pub content: Option<Blob>,
    /// What it holds.
    pub artifacts: Vec<Artifact>,
    /// What it cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_usage: Option<ResourceUsage>,
    /// The proof that its workspace made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub integrity: Option<Integrity>,
    /// When it was made.
    pub at: Timestamp,
}

impl CheckpointView {
    pub(crate) fn of(id: &CheckpointId, checkpoint: &Checkpoint) -> Self {
        CheckpointView {
            checkpoint: id.clone(),
            workspace: checkpoint.workspace.clone(),
            kind: checkpoint.kind.clone(),
            status: checkpoint.status,
            confidence: checkpoint.confidence,
            parent: checkpoint.parent.clone(),
            intent: checkpoint.intent.to_string(),
            files_changed: checkpoint.files.clone(),
            content: checkpoint.content.clone(),
            artifacts: checkpoint.artifacts.clone(),
            resource_usage: checkpoint.usage.clone(),
            integrity: checkpoint.integrity,
            at: checkpoint.at,
        }
    }
}
