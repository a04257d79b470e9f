//! Working memory: the files an agent keeps while it works.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

use super::meter::Amount;
use super::{MEMORY_FILES_MAX, Status, edges, sight};
use crate::content::{Blob, Content};
use crate::event::Event;
use crate::file::FilePath;
use crate::id::WorkspaceId;
use crate::principal::Caller;
use crate::refusal::Refusal;
use crate::rule::Rule;
use crate::state::{ApplyError, State};
use crate::turn::{Halt, Reply, Turn};

/// `workspace.write`: puts a file into the working memory of the caller's workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Write {
    /// What is in it; left out, the file is removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
    /// Which file.
    pub path: FilePath,
    /// The workspace; the caller's own if it has only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceId>,
}

/// `workspace.written`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Written {
    /// How large that is.
    #[serde(default, skip_serializing_if = "Amount::is_zero")]
    pub bytes: Amount,
    /// What is in it now; none if it was removed.
    pub content: Option<Blob>,
    /// Which file.
    pub path: FilePath,
    /// The workspace.
    pub workspace_id: WorkspaceId,
}

pub(crate) fn decide_write(
    turn: &mut Turn<'_>,
    caller: &Caller,
    write: &Write,
) -> Result<Reply, Halt> {
    let id = super::own(turn.state(), caller, write.workspace.as_ref())?;
    let workspace = super::get(turn.state(), &id)?;
    if workspace.status != Status::Active || workspace.parent.is_none() {
        let message = format!("workspace {id} is {}; writing needs active", workspace.status);
        let ways = edges::ways_from(workspace.status);
        return Err(Refusal::denied(Rule::StateAllows, message).allowing(ways).into());
    }
    if sight::within_authority(workspace, std::slice::from_ref(write.path.surface())).is_some() {
        let message = format!("workspace {id} may not change {}", write.path);
        let own = workspace.charter.authority.iter().map(ToString::to_string);
        return Err(Refusal::denied(Rule::Authority, message).allowing(own).into());
    }
    if workspace.memory.len() >= MEMORY_FILES_MAX && !workspace.memory.contains_key(&write.path) {
        let message = format!("the working memory of {id} holds {MEMORY_FILES_MAX} files");
        return Err(Refusal::denied(Rule::Limits, message).into());
    }
    let content = match &write.content {
        None => None,
        Some(content) => Some(
            content
                .blob()
                .cloned()
                .ok_or_else(|| Refusal::denied(Rule::Usage, "the content was not stored first"))?,
        ),
    };
    let event = Event::WorkspaceWritten(Written {
        bytes: Amount::new(content.as_ref().map_or(0, |content| turn.bytes_of(content))),
        content,
        path: write.path.clone(),
        workspace_id: id.clone(),
    });
    turn.note(Some(&id), caller.principal.clone().into(), event)?;
    Ok(Reply::Done)
}

pub(crate) fn apply_written(state: &mut State, written: &Written) -> Result<(), ApplyError> {
    let known = state.workspaces.get_mut(&written.workspace_id);
    let known = known.ok_or(ApplyError::Unknown("the workspace"))?;
    if known.status != Status::Active {
        return Err(ApplyError::Mismatch("the state it is written in"));
    }
    let memory = &mut Arc::make_mut(known).memory;
    match &written.content {
        Some(content) => drop(memory.insert(written.path.clone(), content.clone())),
        None => drop(memory.remove(&written.path)),
    }
    Ok(())
}
