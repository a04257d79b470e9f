//! Checkpoints: immutable snapshots of work, in one line per workspace.
//!
//! Each checkpoint builds on the one before it in its workspace; there are no branches. What is
//! in it lies beside the trail. A provisional checkpoint is never promoted: a final one comes
//! after it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

use crate::content::{Blob, Content};
use crate::event::{Event, Stamped};
use crate::file::{self, File, FileArg};
use crate::id::{ArtifactId, CheckpointId, First as _, IdKind, WorkspaceId};
use crate::principal::Caller;
use crate::refusal::{Record, Refusal};
use crate::rule::Rule;
use crate::seal::{self, Integrity};
use crate::signal::{self, Saying, SignalType};
use crate::state::{ApplyError, State};
use crate::text::Text;
use crate::time::{Timestamp, exact_integer};
use crate::token::TypeName;
use crate::turn::{Halt, Reply, Turn};
use crate::workspace::meter::{self, Amount};
use crate::workspace::{self, Status as WorkspaceStatus, Workspace, edges, sight};

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
    #[serde(deserialize_with = "exact_integer")]
    pub cost: u64,
    /// Tokens.
    #[serde(deserialize_with = "exact_integer")]
    pub tokens_consumed: u64,
    /// Microseconds.
    #[serde(deserialize_with = "exact_integer")]
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

/// What is proved of a checkpoint: everything its workspace said.
#[derive(Serialize)]
struct Said<'a> {
    artifacts: &'a [Artifact],
    confidence: Confidence,
    content: Option<&'a Blob>,
    files: &'a [File],
    id: &'a CheckpointId,
    intent: &'a Text<2000>,
    parent: Option<&'a CheckpointId>,
    resource_usage: Option<&'a ResourceUsage>,
    status: Status,
    #[serde(rename = "type")]
    kind: &'a TypeName,
    workspace: &'a WorkspaceId,
}

/// What is proved of a checkpoint.
pub(crate) fn message(id: &CheckpointId, made: &Checkpoint) -> Result<Vec<u8>, ApplyError> {
    let said = Said {
        artifacts: &made.artifacts,
        confidence: made.confidence,
        content: made.content.as_ref(),
        files: &made.files,
        id,
        intent: &made.intent,
        parent: made.parent.as_ref(),
        resource_usage: made.usage.as_ref(),
        status: made.status,
        kind: &made.kind,
        workspace: &made.workspace,
    };
    seal::message("checkpoint", &said)
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

/// What is in a checkpoint, once it is stored.
struct Stored {
    artifacts: Vec<(Text<200>, Blob)>,
    content: Option<Blob>,
    files: Vec<File>,
}

impl Stored {
    fn blobs(&self) -> impl Iterator<Item = &Blob> {
        let files = self.files.iter().filter_map(|file| file.content.as_ref());
        let artifacts = self.artifacts.iter().map(|(_, blob)| blob);
        self.content.iter().chain(files).chain(artifacts)
    }
}

pub(crate) fn decide_create(
    turn: &mut Turn<'_>,
    caller: &Caller,
    create: &Create,
) -> Result<Reply, Halt> {
    let id = workspace::own(turn.state(), caller, create.workspace.as_ref())?;
    let stored = match check(turn.state(), &id, create) {
        Ok(stored) => stored,
        Err((reason, refusal)) => {
            let rejected = Rejected { reason, kind: create.kind.clone(), workspace: id };
            return Err(refusal.recorded(Record::Checkpoint(Box::new(rejected))).into());
        }
    };
    let bytes = stored.blobs().map(|blob| turn.bytes_of(blob)).fold(0, u64::saturating_add);
    let workspace = workspace::get(turn.state(), &id)?;
    let usage = create.resource_usage.as_ref();
    let differs = usage.map(|usage| meter::discrepancies(workspace, usage, turn.now()));
    let checkpoint_id: CheckpointId = turn.mint(IdKind::Checkpoint).into();
    let mut artifacts = Vec::with_capacity(stored.artifacts.len());
    for (name, content) in stored.artifacts {
        let artifact_id = turn.mint(IdKind::Artifact).into();
        artifacts.push(Artifact { artifact_id, content, name });
    }
    let event = Event::CheckpointCreated(Created {
        artifacts,
        bytes: Amount::new(bytes),
        checkpoint_id: checkpoint_id.clone(),
        confidence: create.confidence,
        content: stored.content,
        files_changed: stored.files,
        integrity: None,
        intent: create.intent.clone(),
        parent: create.parent.clone(),
        resource_usage: create.resource_usage.clone(),
        status: create.status,
        kind: create.kind.clone(),
        workspace: id.clone(),
    });
    turn.note(Some(&id), caller.principal.clone().into(), event)?;
    meter::note_discrepancies(turn, &id, &checkpoint_id, differs.unwrap_or_default())?;
    let told = Saying::plain(SignalType::Checkpoint, (&checkpoint_id).into());
    signal::tell_parent(turn, &id, told)?;
    turn.checkpoint_reply(&checkpoint_id)
}

type Refused = (RejectReason, Refusal);

fn check(state: &State, id: &WorkspaceId, create: &Create) -> Result<Stored, Refused> {
    let workspace = workspace::get(state, id).map_err(|no| (RejectReason::PermissionDenied, no))?;
    if workspace.status != WorkspaceStatus::Active {
        let message = format!("workspace {id} is {}; checkpoints need active", workspace.status);
        let ways = edges::ways_from(workspace.status);
        let refusal = Refusal::denied(Rule::CheckpointActive, message).allowing(ways);
        return Err((RejectReason::WorkspaceNotActive, refusal));
    }
    if create.intent.is_blank() {
        return Err(unsound("the intent says nothing"));
    }
    let stored = stored(create)?;
    check_type(state, workspace, create)?;
    if create.parent != workspace.head {
        let head = workspace.head.as_ref().map_or("none", CheckpointId::as_str);
        let message = format!("the newest checkpoint of {id} is {head}");
        let refusal = Refusal::denied(Rule::CheckpointChain, message).allowing([head.to_owned()]);
        return Err((RejectReason::InvalidParent, refusal));
    }
    check_authority(id, workspace, &stored.files)?;
    Ok(stored)
}

fn unsound(message: impl Into<String>) -> Refused {
    (RejectReason::InvalidStructure, Refusal::denied(Rule::CheckpointSound, message))
}

fn stored(create: &Create) -> Result<Stored, Refused> {
    let blob = |content: &Content| {
        content.blob().cloned().ok_or_else(|| unsound("content was not stored first"))
    };
    if create.artifacts.len() > ARTIFACTS_MAX {
        let count = create.artifacts.len();
        return Err(unsound(format!("{count} artifacts are over the limit of {ARTIFACTS_MAX}")));
    }
    let artifact = |artifact: &ArtifactArg| Ok((artifact.name.clone(), blob(&artifact.content)?));
    Ok(Stored {
        artifacts: create.artifacts.iter().map(artifact).collect::<Result<_, Refused>>()?,
        content: create.content.as_ref().map(blob).transpose()?,
        files: file::stored(&create.files_changed).map_err(|error| unsound(error.to_string()))?,
    })
}

fn check_type(state: &State, workspace: &Workspace, create: &Create) -> Result<(), Refused> {
    let taxonomy = state.run_of(workspace);
    let Some(required) = taxonomy.required_fields(&create.kind) else {
        let message = format!("there is no checkpoint type {:?}", create.kind.as_str());
        let refusal = Refusal::denied(Rule::TypeRegistered, message);
        return Err((RejectReason::InvalidType, refusal));
    };
    if !taxonomy.creates(&workspace.charter.role, &create.kind) {
        let message =
            format!("the role {} creates no {} checkpoints", workspace.charter.role, create.kind);
        let refusal = Refusal::denied(Rule::CheckpointType, message);
        return Err((RejectReason::PermissionDenied, refusal));
    }
    let has = |field: &str| match field {
        "files_changed" => !create.files_changed.is_empty(),
        "content" => create.content.is_some(),
        "artifacts" => !create.artifacts.is_empty(),
        _ => false,
    };
    match required.iter().find(|field| !has(field)) {
        Some(missing) => Err(unsound(format!("{} checkpoints need {missing}", create.kind))),
        None => Ok(()),
    }
}

fn check_authority(id: &WorkspaceId, workspace: &Workspace, files: &[File]) -> Result<(), Refused> {
    let paths: Vec<_> = files.iter().map(|file| file.path.surface().clone()).collect();
    let Some(beyond) = sight::within_authority(workspace, &paths) else { return Ok(()) };
    let message = format!("workspace {id} may not change {beyond}");
    let own = workspace.charter.authority.iter().map(ToString::to_string);
    let refusal = Refusal::denied(Rule::Authority, message).allowing(own);
    Err((RejectReason::PermissionDenied, refusal))
}

pub(crate) fn apply_created(
    state: &mut State,
    entry: &Stamped,
    created: &Created,
) -> Result<(), ApplyError> {
    let id = &created.checkpoint_id;
    if state.checkpoints.contains_key(id) {
        return Err(ApplyError::Twice("a checkpoint's creation"));
    }
    let known = state.workspaces.get_mut(&created.workspace);
    let known = known.ok_or(ApplyError::Unknown("the workspace"))?;
    if known.status != WorkspaceStatus::Active {
        return Err(ApplyError::Mismatch("the state it is made in"));
    }
    if known.head != created.parent {
        return Err(ApplyError::Mismatch("the checkpoint before it"));
    }
    let workspace = Arc::make_mut(known);
    workspace.head = Some(id.clone());
    if created.status == Status::Final {
        workspace.latest_final = Some(id.clone());
    }
    let checkpoint = created.checkpoint(entry.at);
    state.insert_checkpoint(id.clone(), checkpoint);
    Ok(())
}

impl State {
    pub(crate) fn insert_checkpoint(&mut self, id: CheckpointId, checkpoint: Checkpoint) {
        let place = (checkpoint.workspace.clone(), checkpoint.at, id.clone());
        self.registers.insert(place);
        self.checkpoints.insert(id, Arc::new(checkpoint));
    }

    /// A workspace's checkpoints, oldest first.
    pub(crate) fn register_of(&self, id: &WorkspaceId) -> impl Iterator<Item = &CheckpointId> {
        let own = id.clone();
        let first = (id.clone(), Timestamp::default(), CheckpointId::first());
        self.registers.range(first..).take_while(move |(of, ..)| *of == own).map(|(.., id)| id)
    }
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
