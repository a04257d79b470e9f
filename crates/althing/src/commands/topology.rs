//! Questions along the structures of a run: `workspace path`, `workspace sees`, and what the tasks
//! that another one needs came to.

use althing_kernel::query::{Answer, Because, OfCheckpoint, Query, TaskDeps, WorkspaceList};
use althing_kernel::{Content, TaskId};
use serde_json::{Value, json};

use super::workspaces;
use crate::cli::WorkspaceSees;
use crate::desk::Desk;
use crate::error::Error;

/// The way from the root down to a workspace.
pub(super) fn path(desk: &Desk<'_>, text: &str) -> Result<(), Error> {
    let id = desk.workspace(text)?;
    let own = desk.workspace_view(id.clone())?;
    let mut way = desk.workspaces(WorkspaceList { above: Some(id), ..WorkspaceList::default() })?;
    way.push(own);
    if desk.out().json {
        return desk.out().value(&way);
    }
    workspaces::table(desk, &way)
}

/// Prints what a workspace sees, or who sees it.
pub(super) fn sees(desk: &Desk<'_>, args: &WorkspaceSees) -> Result<(), Error> {
    let found = desk.sight(desk.workspace(&args.id)?, args.by)?;
    if desk.out().json {
        return desk.out().value(&found);
    }
    let naming = desk.workspace_naming()?;
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
    desk.out().table(&titles, &found.iter().map(row).collect::<Vec<_>>())
}

/// The results of a task's dependencies: their checkpoints and the files in them, by hash.
pub(super) fn results(desk: &Desk<'_>, task: &TaskId) -> Result<Content, Error> {
    let needed = TaskDeps { all: false, dependents: false, task: task.clone() };
    let mut results: Vec<Value> = Vec::new();
    for task in desk.task_deps(needed)? {
        let made = match task.checkpoint.clone() {
            Some(checkpoint) => {
                match desk.ask(&Query::CheckpointGet(OfCheckpoint { checkpoint }))? {
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
