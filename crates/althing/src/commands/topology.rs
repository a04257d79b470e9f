//! Questions along the structures of a run: `workspace path`, `workspace sees`, and what the tasks
//! that another one needs came to.

use althing_kernel::query::{Answer, Because, OfCheckpoint, Query, TaskDeps, WorkspaceList};
use althing_kernel::{Content, TaskId};
use serde_json::{Value, json};

use super::workspaces;
use crate::cli::WorkspaceSees;
use crate::command_context::CommandContext;
use crate::error::Error;

/// The way from the root down to a workspace.
pub(super) fn path(context: &CommandContext<'_>, text: &str) -> Result<(), Error> {
    let id = context.workspace(text)?;
    let own = context.workspace_view(id.clone())?;
    let mut way =
        context.workspaces(WorkspaceList { above: Some(id), ..WorkspaceList::default() })?;
    way.push(own);
    if context.out().json {
        return context.out().value(&way);
    }
    workspaces::table(context, &way)
}

/// Prints what a workspace sees, or who sees it.
pub(super) fn sees(context: &CommandContext<'_>, args: &WorkspaceSees) -> Result<(), Error> {
    let found = context.sight(context.workspace(&args.id)?, args.by)?;
    if context.out().json {
        return context.out().value(&found);
    }
    let naming = context.workspace_naming()?;
    let because = |why: Because| match (why, args.by) {
        (Because::Itself, _) => "itself",
        (Because::Below, false) => "below it",
        (Because::Below, true) => "above it",
        (Because::Shown, _) => "shown",
    };
    let row = |view: &althing_kernel::query::SightView| {
        vec![
            naming.short(&view.workspace),
            view.role.to_string(),
            view.agent.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string),
            view.status.to_string(),
            because(view.because).to_owned(),
        ]
    };
    let titles = ["WORKSPACE", "ROLE", "AGENT", "STATE", "BECAUSE"];
    context.out().table(&titles, &found.iter().map(row).collect::<Vec<_>>())
}

/// The results of a task's dependencies: their checkpoints and the files in them, by hash.
pub(super) fn results(context: &CommandContext<'_>, task: &TaskId) -> Result<Content, Error> {
    let needed = TaskDeps { all: false, dependents: false, task: task.clone() };
    let mut results: Vec<Value> = Vec::new();
    for task in context.task_deps(needed)? {
        let made = match task.checkpoint.clone() {
            Some(checkpoint) => {
                match context.ask(&Query::CheckpointGet(OfCheckpoint { checkpoint }))? {
                    Answer::Checkpoint(made) => Some(made),
                    other => return Err(Error::unexpected(&other)),
                }
            }
            None => None,
        };
        results.push(json!({
            "task": task.task,
            "name": task.name,
            "workspace": task.workspace,
            "checkpoint": made,
        }));
    }
    let text = json!({ "results": results }).to_string();
    Ok(Content::Text(text.into()))
}
