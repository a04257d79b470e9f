//! Taking merged work back: each merge is reverted by a commit of its own. Nothing is rewritten.

use althing_kernel::git::BranchName as RecordedBranch;
use althing_kernel::integration::Undo;
use althing_kernel::text::Text;
use althing_kernel::workspace::branch::{Branch, Merge};
use althing_kernel::{Command, Rule, State, WorkspaceId};
use althing_workshop::git::message::{Message, Trailers};
use althing_workshop::git::object_id::ObjectId;
use althing_workshop::git::ref_name::BranchName;
use althing_workshop::history::{Commit, Range};
use althing_workshop::merge::{FastForward, Reverted};
use althing_workshop::repository::Finding;
use serde::Serialize;

use super::prepare::{commit_id, git, object, run_name};
use super::queue;
use super::shared::Shared;
use crate::context::ProjectContext;
use crate::error::Error;

/// What was taken back.
#[derive(Clone, Debug, Serialize)]
pub struct Undone {
    /// The run.
    pub run: String,
    /// The branch.
    pub branch: String,
    /// The commit it is at now.
    pub commit: String,
    /// The tasks whose merges were taken back, newest first.
    pub tasks: Vec<String>,
    /// The tasks of which nothing was left.
    pub gone: Vec<String>,
}

/// A merge of a run.
struct Merged {
    commit: ObjectId,
    task: String,
    workspace: WorkspaceId,
}

/// The root of a run by its name: the end of its id, or all of it.
fn root_of(state: &State, name: &str) -> Result<WorkspaceId, Error> {
    let roots = state.workspaces().filter(|(_, known)| known.parent.is_none());
    let mut found =
        roots.map(|(id, _)| id).filter(|id| run_name(id) == name || id.as_str() == name);
    found.next().cloned().ok_or_else(|| {
        let known = state.workspaces().filter(|(_, known)| known.parent.is_none());
        let known: Vec<String> =
            known.filter(|(_, own)| own.branch.is_some()).map(|(id, _)| run_name(id)).collect();
        let hint = match known.as_slice() {
            [] => "No run has merged anything in git yet.".to_owned(),
            known => format!("Runs here: {}.", known.join(", ")),
        };
        Error::not_found(format!("there is no run {name:?}")).with_rule(Rule::RunNeeded).hint(hint)
    })
}

/// Takes the merges of a run back, or that of one task, on the run's branch or another one. All of
/// them or none.
pub fn undo(
    shared: &Shared,
    by: &ProjectContext,
    run: &str,
    task: Option<&str>,
    on: Option<&str>,
) -> Result<Undone, Error> {
    let _lock = queue::wait_lock(shared)?;
    let state = shared.lead().present()?.state;
    let root = root_of(&state, run)?;
    let known = state.workspaces().find(|(id, _)| **id == root).map(|(_, known)| known);
    let own = known.and_then(|known| known.branch.clone()).ok_or_else(|| {
        Error::not_found(format!("the run {run} was not on a branch")).with_rule(Rule::MergeInGit)
    })?;
    let name = on.unwrap_or(own.name.as_str());
    let branch = BranchName::new(name).map_err(git)?;
    let tip = shared.repository().refs().read(&branch.full()).map_err(git)?;
    let tip = tip.ok_or_else(|| {
        Error::not_found(format!("there is no branch {name}"))
            .hint("Say where the result is: `--on BRANCH`.")
    })?;
    let tip = if on.is_none() { settled(shared, &branch, tip, &own)? } else { tip };
    let merges = merges(shared, &tip, &run_name(&root), task)?;
    if merges.is_empty() {
        let what = task.map_or("merges".to_owned(), |task| format!("merge of {task}"));
        return Err(Error::not_found(format!("{name} has no {what} of the run {run}")));
    }
    let (reverts, gone) = revert(shared, &tip, &merges)?;
    let to = reverts.last().map_or(tip.clone(), |(_, _, commit)| commit.clone());
    if to != tip {
        check_files(shared, name)?;
        // The kernel says whether the caller may; whoever is killed before the branch moved repeats it.
        record(by, name, &reverts)?;
        put(shared, &branch, &tip, &to)?;
    }
    Ok(Undone {
        run: run_name(&root),
        branch: name.to_owned(),
        commit: to.to_string(),
        tasks: reverts.iter().map(|(merged, _, _)| merged.task.clone()).collect(),
        gone,
    })
}

/// The tip of a run's branch, after it was brought to where the trail says it is.
fn settled(
    shared: &Shared,
    branch: &BranchName,
    tip: ObjectId,
    recorded: &Branch,
) -> Result<ObjectId, Error> {
    let known = object(&recorded.tip)?;
    if known == tip || !shared.repository().is_ancestor(&tip, &known).map_err(git)? {
        return Ok(tip);
    }
    put(shared, branch, &tip, &known)?;
    Ok(known)
}

/// Refuses to move a branch under files that are not committed.
fn check_files(shared: &Shared, branch: &str) -> Result<(), Error> {
    let survey = shared.repository().survey();
    let survey =
        survey.map_err(|error| Error::unavailable(error.to_string()).hint(error.hint()))?;
    let is_here = survey.head.branch().is_some_and(|own| own.as_str() == branch);
    let changed = survey.findings.iter().find(|finding| {
        matches!(finding, Finding::Uncommitted { changed, .. } if *changed > 0)
            || matches!(finding, Finding::UnderWay(_))
    });
    match changed.filter(|_| is_here) {
        None => Ok(()),
        Some(_) => Err(Error::unavailable(format!("{branch} is checked out with changes"))
            .hint("Commit or stash them first. Nothing was changed.")),
    }
}

/// The merges of a run on a branch that were not taken back, newest first.
fn merges(
    shared: &Shared,
    tip: &ObjectId,
    run: &str,
    task: Option<&str>,
) -> Result<Vec<Merged>, Error> {
    let range = Range { first_parent: true, ..Range::default() };
    let all = shared.repository().history(tip, &range).map_err(git)?;
    let reverted: Vec<&str> =
        all.iter().filter_map(|own| own.trailers.get("Althing-Reverts")).collect();
    let is_of = |trailers: &Trailers| {
        trailers.get("Althing-Run") == Some(run) && trailers.get("Althing-Reverts").is_none()
    };
    let merged = |own: &Commit| {
        let key = own.trailers.get("Althing-Task")?.to_owned();
        let workspace = WorkspaceId::new(own.trailers.get("Althing-Workspace")?).ok()?;
        Some(Merged { commit: own.id.clone(), task: key, workspace })
    };
    Ok(all
        .iter()
        .filter(|own| is_of(&own.trailers) && !reverted.contains(&own.id.as_str()))
        .filter_map(merged)
        .filter(|own| task.is_none_or(|task| task == own.task))
        .collect())
}

type Reverts<'m> = Vec<(&'m Merged, ObjectId, ObjectId)>;

/// Makes the commits that take the merges back, one on top of the other. Returns also the tasks of
/// which nothing was left.
fn revert<'m>(
    shared: &Shared,
    tip: &ObjectId,
    merges: &'m [Merged],
) -> Result<(Reverts<'m>, Vec<String>), Error> {
    let (mut at, mut reverts, mut gone) = (tip.clone(), Vec::new(), Vec::new());
    for merged in merges {
        let message = Message::new(&format!("Take back {}", merged.task))
            .trailer("Althing-Task", &merged.task)
            .trailer("Althing-Workspace", merged.workspace.as_str())
            .trailer("Althing-Reverts", merged.commit.as_str());
        match shared.repository().revert(&merged.commit, &at, &message).map_err(git)? {
            Reverted::Nothing => gone.push(merged.task.clone()),
            Reverted::Commit(commit) => {
                reverts.push((merged, at.clone(), commit.clone()));
                at = commit;
            }
            Reverted::Conflicts(conflicts) => {
                let lines: Vec<String> = conflicts
                    .conflicts
                    .iter()
                    .map(althing_workshop::merge::Conflict::line)
                    .collect();
                let message = format!(
                    "{} cannot be taken back, because later work changed the same lines: {}",
                    merged.task,
                    lines.join("; ")
                );
                return Err(Error::refused(Rule::MergeStale, message).hint(
                    "Nothing was changed. Take the later work back first, or do it by hand.",
                ));
            }
        }
    }
    Ok((reverts, gone))
}

/// Moves the branch, with the files where it is checked out.
fn put(shared: &Shared, branch: &BranchName, from: &ObjectId, to: &ObjectId) -> Result<(), Error> {
    match shared.repository().fast_forward(branch, from, to).map_err(git)? {
        FastForward::Done => Ok(()),
        FastForward::Refused(refusal) => {
            Err(Error::unavailable(refusal.to_string()).hint(refusal.hint()))
        }
    }
}

fn record(by: &ProjectContext, branch: &str, reverts: &Reverts<'_>) -> Result<(), Error> {
    for (merged, onto, commit) in reverts {
        let merge = Merge {
            branch: RecordedBranch::new(branch).map_err(Error::unreadable)?,
            commit: commit_id(commit)?,
            epoch: None,
            onto: commit_id(onto)?,
        };
        let reason = Some(Text::lossy("taken back"));
        let undo = Undo { merge, reason, workspace: merged.workspace.clone() };
        by.execute(Command::IntegrationUndo(undo))?;
    }
    Ok(())
}
