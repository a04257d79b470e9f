//! Checkpoints: immutable snapshots of work, in one line per workspace.
//!
//! Each checkpoint builds on the previous one in its workspace; there are no branches. Its content
//! is stored beside the trail. A provisional checkpoint is never promoted: a final one follows it.

use crate::values::id::First as _;
use serde::Serialize;
use std::sync::Arc;

use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::runs::file;
use crate::model::runs::file::File;
use crate::model::runs::signal::SignalType;
use crate::model::runs::workspace::meter::Amount;
use crate::model::runs::workspace::{Status as WorkspaceStatus, Workspace, edges};
use crate::protocol::event::{Event, Stamped};
use crate::protocol::refusal::{Record, Refusal};
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::registry::rule::Rule;
use crate::rules::runs::signal::SignalContent;
use crate::rules::runs::workspace::{authority, meter, sight};
use crate::rules::runs::{seal, signal, workspace};
use crate::values::content::{Blob, Content};
use crate::values::id::{CheckpointId, IdKind, WorkspaceId};
use crate::values::principal::Caller;
use crate::values::text::Text;
use crate::values::time::Timestamp;
use crate::values::token::TypeName;

pub use crate::model::runs::checkpoint::*;

/// The fields of a checkpoint that its integrity proof covers: everything its workspace set.
#[derive(Serialize)]
struct SealedContent<'a> {
    artifacts: &'a [Artifact],
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<&'a Commit>,
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

/// The bytes that a checkpoint's integrity proof covers.
pub(crate) fn message(id: &CheckpointId, made: &Checkpoint) -> Result<Vec<u8>, ApplyError> {
    let content = SealedContent {
        artifacts: &made.artifacts,
        commit: made.commit.as_ref(),
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
    seal::message("checkpoint", &content)
}

/// The content of a checkpoint, once stored.
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
    tx: &mut Transaction<'_>,
    caller: &Caller,
    create: &Create,
) -> Result<Reply, DecisionError> {
    let id = workspace::own(tx.state(), caller, create.workspace.as_ref())?;
    let stored = match check(tx.state(), &id, create) {
        Ok(stored) => stored,
        Err((reason, refusal)) => {
            let rejected = Rejected { reason, kind: create.kind.clone(), workspace: id };
            return Err(refusal.recorded(Record::Checkpoint(Box::new(rejected))).into());
        }
    };
    let bytes = stored.blobs().map(|blob| tx.bytes_of(blob)).fold(0, u64::saturating_add);
    let workspace = workspace::get(tx.state(), &id)?;
    let usage = create.resource_usage.as_ref();
    let differs = usage.map(|usage| meter::discrepancies(workspace, usage, tx.now()));
    let checkpoint_id: CheckpointId = tx.mint(IdKind::Checkpoint).into();
    let mut artifacts = Vec::with_capacity(stored.artifacts.len());
    for (name, content) in stored.artifacts {
        let artifact_id = tx.mint(IdKind::Artifact).into();
        artifacts.push(Artifact { artifact_id, content, name });
    }
    let event = Event::CheckpointCreated(Created {
        artifacts,
        bytes: Amount::new(bytes),
        checkpoint_id: checkpoint_id.clone(),
        commit: create.commit.clone(),
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
    tx.note(Some(&id), caller.principal.clone().into(), event)?;
    meter::note_discrepancies(tx, &id, &checkpoint_id, differs.unwrap_or_default())?;
    let content = SignalContent::plain(SignalType::Checkpoint, (&checkpoint_id).into());
    signal::signal_parent(tx, &id, content)?;
    tx.checkpoint_reply(&checkpoint_id)
}

type Refused = (RejectReason, Refusal);

fn check(state: &State, id: &WorkspaceId, create: &Create) -> Result<Stored, Refused> {
    let workspace = workspace::get(state, id).map_err(|no| (RejectReason::PermissionDenied, no))?;
    if workspace.status != WorkspaceStatus::Active {
        let message = format!("workspace {id} is {}; checkpoints need active", workspace.status);
        let allowed = edges::transitions_from(workspace.status);
        let refusal = Refusal::denied(Rule::CheckpointActive, message).allowing(allowed);
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
    let held = authority::free(state, id, &stored.files, None);
    held.map_err(|held| (RejectReason::PermissionDenied, held))?;
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
    let beyond = files.iter().find(|file| !sight::may_change(workspace, &file.path));
    let Some(beyond) = beyond.map(|file| &file.path) else { return Ok(()) };
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
