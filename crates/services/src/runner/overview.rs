//! The attempts of a run, for people who look from another terminal. Nothing here is written.

use althing_kernel::task::State as TaskState;
use althing_kernel::workspace::{Status, Workspace};
use althing_kernel::{State, Timestamp, WorkspaceId};
use althing_workshop::agents::{CustomAgent, Format, find};
use althing_workshop::process::{self, Status as Process};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::attempt::{key_of, title_of};
use super::prepare::git;
use super::turn;
use crate::context::ProjectContext;
use crate::error::Error;

/// How long an agent gets to end after it was asked to.
const GRACE: Duration = Duration::from_secs(5);

/// An attempt, as it is now.
#[derive(Clone, Debug, Serialize)]
pub struct AttemptView {
    /// The task.
    pub task: String,
    /// Its title.
    pub title: String,
    /// Counts the attempts at it, from 1.
    pub attempt: usize,
    /// The agent.
    pub agent: String,
    /// The workspace.
    pub workspace: WorkspaceId,
    /// The state of the workspace.
    pub status: Status,
    /// Since when.
    pub since: Timestamp,
    /// The kind of program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// The process, while it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The state of the process: running, ended, lost or none.
    pub process: &'static str,
    /// The tokens it used.
    pub tokens: u64,
    /// The cost in millionths of a dollar.
    pub cost: u64,
    /// The branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The folder with its log.
    pub folder: PathBuf,
}

/// The folder for what runs keep beside the trail.
fn folder_of(context: &ProjectContext, id: &WorkspaceId) -> PathBuf {
    context.setup().home.root().join("workshop").join(id.as_str())
}

/// The attempts in which programs work, or with `all` have ever worked, oldest first.
pub fn attempts(context: &ProjectContext, all: bool) -> Result<Vec<AttemptView>, Error> {
    let state = context.present()?.state;
    let own = state.workspaces().filter(|(_, known)| {
        known.branch.is_some() && known.parent.is_some() && (all || !known.status.is_terminal())
    });
    let mut views: Vec<AttemptView> = own
        .filter_map(|(id, known)| view(&state, id, known, folder_of(context, id)).transpose())
        .collect::<Result<_, _>>()?;
    views.sort_by(|one, other| one.since.cmp(&other.since).then(one.task.cmp(&other.task)));
    Ok(views)
}

fn view(
    state: &State,
    id: &WorkspaceId,
    known: &Workspace,
    folder: PathBuf,
) -> Result<Option<AttemptView>, Error> {
    let task = known.charter.task.as_ref().and_then(|task| state.task_record(task));
    let Some(task) = task else { return Ok(None) };
    let history = task.task().map(|part| part.history.as_slice()).unwrap_or_default();
    let (process, pid) = match turn::status(&folder)? {
        Process::NotStarted => ("none", None),
        Process::Running(running) => ("running", running.pid),
        Process::Ended(_) => ("ended", None),
        Process::Lost(_) => ("lost", None),
    };
    Ok(Some(AttemptView {
        task: key_of(task),
        title: title_of(task).to_owned(),
        attempt: history.iter().position(|own| own == id).unwrap_or(0) + 1,
        agent: known.agent.as_ref().map(ToString::to_string).unwrap_or_default(),
        workspace: id.clone(),
        status: known.status,
        since: known.since,
        program: known.process.as_ref().map(|own| own.program.to_string()),
        pid,
        process,
        tokens: known.meter.tokens,
        cost: known.meter.cost,
        branch: known.branch.as_ref().map(|own| own.name.to_string()),
        folder,
    }))
}

/// The newest attempt at a task, which is named by its key or id, or by a workspace.
pub fn attempt_at(context: &ProjectContext, named: &str) -> Result<AttemptView, Error> {
    let mut all = attempts(context, true)?;
    all.retain(|own| own.task == named || own.workspace.as_str().ends_with(named));
    let newest = all.into_iter().max_by_key(|own| (own.attempt, own.since));
    newest.ok_or_else(|| {
        Error::not_found(format!("there is no attempt at a task {named:?}"))
            .hint("`althing ps --all` lists the attempts.")
    })
}

/// A task of the current run that failed, by its key or id.
pub fn failed_task(context: &ProjectContext, named: &str) -> Result<althing_kernel::TaskId, Error> {
    let state = context.present()?.state;
    let all = state.memory().newest(althing_kernel::records::Kind::Plan, None);
    let mut own = all.filter(|plan| key_of(plan) == named || plan.task_id().as_str() == named);
    let found =
        own.find(|plan| state.is_governed(plan) || plan.task_state() == Some(TaskState::Failed));
    found.map(althing_kernel::records::Record::task_id).ok_or_else(|| {
        Error::not_found(format!("there is no task {named:?} in the run"))
            .hint("`althing task list` lists the tasks.")
    })
}

/// The form of what an agent prints.
pub fn format_of(program: Option<&str>, settings: &[CustomAgent]) -> Format {
    let Some(name) = program else { return Format::Plain };
    let custom = settings.iter().find(|own| own.name == name).map(CustomAgent::format);
    custom.or_else(|| find(name).map(|own| own.format)).unwrap_or(Format::Plain)
}

/// Ends the process of an attempt, if one runs. A runner that watches it does the same; whoever comes
/// second finds nothing to do.
pub fn end_process(folder: &Path) -> Result<(), Error> {
    match turn::status(folder)? {
        Process::NotStarted | Process::Ended(_) => Ok(()),
        Process::Running(_) | Process::Lost(_) => {
            process::stop(folder, GRACE).map(drop).map_err(git)
        }
    }
}

/// Ends the processes of workspaces that are not to go on: those that ended, or are suspended.
pub fn end_idle_processes(context: &ProjectContext) -> Result<(), Error> {
    let state = context.present()?.state;
    for (id, known) in state.workspaces().filter(|(_, known)| known.process.is_some()) {
        if known.status.is_terminal() || known.status == Status::Suspended {
            end_process(&folder_of(context, id))?;
        }
    }
    Ok(())
}

/// Whether the process of an attempt runs.
pub fn is_running(folder: &Path) -> Result<bool, Error> {
    Ok(matches!(turn::status(folder)?, Process::Running(_)))
}
