//! The reasons behind a line: which task, agent, approval and cost. Git knows the commit, the trail
//! knows the rest.

use althing_engine::trail_query::{Found, TrailQuery};
use althing_kernel::workspace::Workspace;
use althing_kernel::{Event, Kind, State, Timestamp, WorkspaceId};
use althing_workshop::blame::{BlameError, Written, path_in};
use althing_workshop::git::tree_path::TreePath;
use serde::Serialize;
use std::path::Path;

use super::attempt::{key_of, title_of};
use super::prepare::git;
use super::shared::Shared;
use crate::context::ProjectContext;
use crate::error::Error;

/// The most entries of the trail that are named.
const ENTRIES_MAX: usize = 20;

/// The question.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// The file on disk.
    pub file: &'a Path,
    /// The line, counted from 1.
    pub line: Option<u32>,
    /// The commit; what is checked out by default.
    pub at: Option<&'a str>,
}

/// The answer.
#[derive(Clone, Debug, Serialize)]
pub struct Because {
    /// The file.
    pub path: String,
    /// The line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The commit that wrote it.
    pub commit: String,
    /// Its author.
    pub author: String,
    /// Its first line.
    pub subject: String,
    /// The merge that brought it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merge: Option<String>,
    /// What the trail knows; none if no attempt wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work: Option<Work>,
}

/// The attempt behind it.
#[derive(Clone, Debug, Serialize)]
pub struct Work {
    /// The task.
    pub task: String,
    /// Its title.
    pub title: String,
    /// Its text.
    pub text: String,
    /// The agent.
    pub agent: String,
    /// The kind of program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// The workspace.
    pub workspace: WorkspaceId,
    /// How many attempts there were at the task.
    pub attempts: usize,
    /// The tokens of this attempt.
    pub tokens: u64,
    /// Its cost in millionths of a dollar.
    pub cost: u64,
    /// What the trail says about its approval and its merge.
    pub entries: Vec<Line>,
}

/// An entry of the trail.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// Its position.
    pub seq: u64,
    /// When.
    pub at: Timestamp,
    /// Who.
    pub actor: String,
    /// What.
    pub kind: &'static str,
    /// The event.
    #[serde(skip)]
    pub event: Event,
}

/// Answers why a line or a file is as it is.
pub fn why(shared: &Shared, context: &ProjectContext, ask: &Ask<'_>) -> Result<Because, Error> {
    let repository = shared.repository();
    let revision = ask.at.unwrap_or("HEAD");
    let at = repository.resolve(revision).map_err(git)?;
    let at = at.ok_or_else(|| Error::not_found(format!("there is no commit {revision:?}")))?;
    let path = path_of(shared, ask.file)
        .ok_or_else(|| Error::usage(format!("{} is not in the project", ask.file.display())))?;
    let written = match ask.line {
        Some(line) => repository.blame_line(&at, &path, line),
        None => repository.blame_file(&at, &path),
    };
    let written = written.map_err(|error| match error {
        BlameError::Git(error) => git(error),
        other => Error::not_found(other.to_string()).hint(other.hint()),
    })?;
    let workspace = written.trailer("Althing-Workspace").and_then(|id| WorkspaceId::new(id).ok());
    let work = workspace.map(|id| work(context, &id, &written)).transpose()?.flatten();
    Ok(Because {
        path: path.shown(),
        line: ask.line,
        commit: written.commit.id.to_string(),
        author: written.commit.author.clone(),
        subject: written.commit.subject.clone(),
        merge: written.merge.as_ref().map(|merge| merge.id.to_string()),
        work,
    })
}

/// The file in the repository: where it lies on disk, or by its name from the root.
fn path_of(shared: &Shared, file: &Path) -> Option<TreePath> {
    path_in(shared.repository(), file)
        .or_else(|| file.is_relative().then(|| TreePath::of_path(file)).flatten())
}

fn work(
    context: &ProjectContext,
    id: &WorkspaceId,
    written: &Written,
) -> Result<Option<Work>, Error> {
    let state = context.present()?.state;
    let Some((_, known)) = state.workspaces().find(|(own, _)| *own == id) else {
        return Ok(None);
    };
    let known: &Workspace = known;
    let entries = entries(context, id, written)?;
    Ok(Some(of_attempt(context, &state, id, known, entries)?))
}

fn of_attempt(
    context: &ProjectContext,
    state: &State,
    id: &WorkspaceId,
    known: &Workspace,
    entries: Vec<Line>,
) -> Result<Work, Error> {
    let task = known.charter.task.as_ref().and_then(|task| state.task_record(task));
    let description = task.and_then(|task| task.task()?.description.clone());
    let text = match description {
        Some(blob) => String::from_utf8_lossy(&context.blobs().get(&blob)?).into_owned(),
        None => task.map(|task| task.text.to_string()).unwrap_or_default(),
    };
    let history = task.and_then(|task| Some(task.task()?.history.len())).unwrap_or(1);
    Ok(Work {
        task: task.map(|task| key_of(task)).unwrap_or_default(),
        title: task.map(|task| title_of(task).to_owned()).unwrap_or_default(),
        text,
        agent: known.agent.as_ref().map(ToString::to_string).unwrap_or_default(),
        program: known.process.as_ref().map(|own| own.program.to_string()),
        workspace: id.clone(),
        attempts: history,
        tokens: known.meter.tokens,
        cost: known.meter.cost,
        entries,
    })
}

/// The entries about the approval and the merge of an attempt.
fn entries(
    context: &ProjectContext,
    id: &WorkspaceId,
    written: &Written,
) -> Result<Vec<Line>, Error> {
    let find = |kinds: &[Kind], mentions: &str| -> Result<Vec<Found>, Error> {
        let query = TrailQuery {
            kinds: kinds.to_vec(),
            mentions: Some(mentions.to_owned()),
            limit: Some(ENTRIES_MAX),
            ..TrailQuery::default()
        };
        Ok(query.find(&mut *context.engine()?.reader()?)?)
    };
    let mut found = find(
        &[Kind::GateTriggered, Kind::IntegrationCompleted, Kind::IntegrationUndone],
        id.as_str(),
    )?;
    let gates: Vec<String> = found
        .iter()
        .filter_map(|found| match &found.entry.stamped.draft.event {
            Event::GateTriggered(body) => Some(body.gate_id.to_string()),
            _ => None,
        })
        .collect();
    for gate in gates {
        found.extend(find(&[Kind::GateResolved], &gate)?);
    }
    let merge = written.merge.as_ref().unwrap_or(&written.commit);
    found.extend(find(&[Kind::RunLanded], merge.id.as_str())?);
    found.sort_by_key(|found| found.entry.seq);
    found.dedup_by_key(|found| found.entry.seq);
    let line = |found: Found| {
        let entry = found.entry;
        Line {
            seq: entry.seq,
            at: entry.stamped.at,
            actor: entry.stamped.draft.actor.to_string(),
            kind: entry.stamped.draft.event.kind().as_str(),
            event: entry.stamped.draft.event,
        }
    };
    Ok(found.into_iter().map(line).collect())
}
