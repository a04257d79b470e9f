//! Checkpoints: versioned results of the work in a workspace.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::runs::file::{File, FileArg};
use crate::model::runs::seal::Integrity;
use crate::model::runs::workspace::meter::Amount;
use crate::values::content::{Blob, Content};
use crate::values::git::CommitId;
use crate::values::id::{ArtifactId, CheckpointId, WorkspaceId};
use crate::values::text::Text;
use crate::values::time::Timestamp;
use crate::values::token::TypeName;

/// The most artifacts of one checkpoint.
pub(crate) const ARTIFACTS_MAX: usize = 256;

/// Whether a checkpoint is ready to be merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Work in progress, kept for the record.
    Provisional,
    /// Ready to be merged.
    Final,
}

/// The agent's confidence. It is informational and blocks nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// High.
    High,
    /// Medium.
    #[default]
    Medium,
    /// Low.
    Low,
}

/// Resources used since the checkpoint before, as the agent reports them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResourceUsage {
    /// Cost in millionths of the deployment's currency.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub cost: u64,
    /// Tokens.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub tokens_consumed: u64,
    /// Wall time in microseconds.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub wall_time: u64,
}

/// A named artifact of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Artifact {
    /// Its id.
    pub artifact_id: ArtifactId,
    /// Its content, by hash.
    pub content: Blob,
    /// The name.
    pub name: Text<200>,
}

/// An artifact to add to a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArtifactArg {
    /// Its content.
    pub content: Content,
    /// The name.
    pub name: Text<200>,
}

/// The commit that a checkpoint is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Commit {
    /// The commit.
    pub commit: CommitId,
    /// Its tree.
    pub tree: CommitId,
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
    /// The agent's confidence.
    pub confidence: Confidence,
    /// The previous checkpoint.
    pub parent: Option<CheckpointId>,
    /// Its purpose.
    pub intent: Text<2000>,
    /// The files it changes.
    pub files: Vec<File>,
    /// Its text.
    pub content: Option<Blob>,
    /// Its artifacts.
    pub artifacts: Vec<Artifact>,
    /// The resources used since the one before.
    pub usage: Option<ResourceUsage>,
    /// The commit that it is, if the files are in git.
    pub commit: Option<Commit>,
    /// The integrity proof by its workspace.
    pub integrity: Option<Integrity>,
    /// When it was made.
    pub at: Timestamp,
}

/// `checkpoint.create`: records the state of the work in the caller's workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Create {
    /// Its artifacts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<ArtifactArg>,
    /// The commit that it is, if the files are in git.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<Commit>,
    /// The agent's confidence.
    #[serde(default)]
    pub confidence: Confidence,
    /// Its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
    /// The files it changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files_changed: Vec<FileArg>,
    /// Its purpose, in the agent's words.
    pub intent: Text<2000>,
    /// The previous checkpoint in this workspace; none for the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<CheckpointId>,
    /// The resources used since the one before.
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
    /// Its artifacts.
    pub artifacts: Vec<Artifact>,
    /// The total size of its content, in bytes.
    #[serde(default, skip_serializing_if = "Amount::is_zero")]
    pub bytes: Amount,
    /// The checkpoint.
    pub checkpoint_id: CheckpointId,
    /// The commit that it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<Commit>,
    /// The agent's confidence.
    pub confidence: Confidence,
    /// Its text, by hash.
    pub content: Option<Blob>,
    /// The files it changes, by hash.
    pub files_changed: Vec<File>,
    /// The integrity proof by its workspace, added when the entry is recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub integrity: Option<Integrity>,
    /// Its purpose.
    pub intent: Text<2000>,
    /// The previous checkpoint.
    pub parent: Option<CheckpointId>,
    /// The resources used since the one before.
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
    /// Builds the checkpoint that the event records.
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
            commit: self.commit.clone(),
            integrity: self.integrity,
            at,
        }
    }
}

impl Checkpoint {
    /// The content it refers to.
    pub fn blobs(&self) -> impl Iterator<Item = &Blob> {
        let files = self.files.iter().filter_map(|file| file.content.as_ref());
        let artifacts = self.artifacts.iter().map(|artifact| &artifact.content);
        self.content.iter().chain(files).chain(artifacts)
    }
}

/// The reason why a checkpoint was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RejectReason {
    /// The role may not create this type or change those files.
    PermissionDenied,
    /// Its type is not registered.
    InvalidType,
    /// It is malformed.
    InvalidStructure,
    /// Its parent is not the newest checkpoint of the workspace.
    InvalidParent,
    /// The workspace is not active.
    WorkspaceNotActive,
}

/// `checkpoint_rejected`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rejected {
    /// The reason.
    pub reason: RejectReason,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: TypeName,
    /// The workspace.
    pub workspace: WorkspaceId,
}

/// A checkpoint, as shown to callers.
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
    /// The agent's confidence.
    pub confidence: Confidence,
    /// The previous checkpoint.
    pub parent: Option<CheckpointId>,
    /// Its purpose.
    pub intent: String,
    /// The files it changes, by hash.
    pub files_changed: Vec<File>,
    /// Its text, by hash.
    pub content: Option<Blob>,
    /// Its artifacts.
    pub artifacts: Vec<Artifact>,
    /// The resources used since the one before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_usage: Option<ResourceUsage>,
    /// The commit that it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<Commit>,
    /// The integrity proof by its workspace.
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
            commit: checkpoint.commit.clone(),
            integrity: checkpoint.integrity,
            at: checkpoint.at,
        }
    }
}
