//! Working memory: files that an agent keeps while it works.

use std::sync::Arc;

use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::runs::file::File;
use crate::model::runs::workspace::meter::Amount;
use crate::model::runs::workspace::{MEMORY_FILES_MAX, Status, edges};
use crate::protocol::event::Event;
use crate::protocol::refusal::Refusal;
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::registry::rule::Rule;
use crate::rules::runs::workspace;
use crate::rules::runs::workspace::{authority, sight};
use crate::values::principal::Caller;

pub use crate::model::runs::workspace::memory::*;

pub(crate) fn decide_write(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    write: &Write,
) -> Result<Reply, DecisionError> {
    let id = workspace::own(tx.state(), caller, write.workspace.as_ref())?;
    let workspace = workspace::get(tx.state(), &id)?;
    if workspace.status != Status::Active || workspace.parent.is_none() {
        let message = format!("workspace {id} is {}; writing needs active", workspace.status);
        let allowed = edges::transitions_from(workspace.status);
        return Err(Refusal::denied(Rule::StateAllows, message).allowing(allowed).into());
    }
    if !sight::may_change(workspace, &write.path) {
        let message = format!("workspace {id} may not change {}", write.path);
        let own = workspace.charter.authority.iter().map(ToString::to_string);
        return Err(Refusal::denied(Rule::Authority, message).allowing(own).into());
    }
    let file = File { content: None, path: write.path.clone() };
    authority::free(tx.state(), &id, std::slice::from_ref(&file), None)?;
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
        bytes: Amount::new(content.as_ref().map_or(0, |content| tx.bytes_of(content))),
        content,
        path: write.path.clone(),
        workspace_id: id.clone(),
    });
    tx.note(Some(&id), caller.principal.clone().into(), event)?;
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
