//! Preparing an attempt: its worktree, its set-up and its brief.

use althing_kernel::git::{BranchName as RecordedBranch, CommitId};
use althing_kernel::query::{Answer, OfWorkspace, Query};
use althing_kernel::records::Record;
use althing_kernel::workspace::branch::{Branch, SetBranch};
use althing_kernel::workspace::view::WorkspaceView;
use althing_kernel::{Command, State, WorkspaceId};
use althing_workshop::attempt_tree::{
    AttemptTree, IfBranchExists, Lfs, NewTree, Origin, Provisions, TreeError,
};
use althing_workshop::command::{self, Limits};
use althing_workshop::git::object_id::ObjectId;
use althing_workshop::git::ref_name::{BranchName, TreeName};
use std::path::Path;

use super::attempt::{Place, Turns, key_of, title_of, write_whole};
use super::brief::{Brief, Earlier};
use super::shared::Shared;
use crate::context::ProjectContext;
use crate::error::Error;

/// The file that says that a worktree is set up.
const SET_UP: &str = "setup.done";
/// The file with the brief.
pub(crate) const BRIEF: &str = "brief.md";

pub(crate) fn workshop(error: &TreeError) -> Error {
    Error::unavailable(error.to_string()).hint(error.hint())
}

pub(crate) fn git(error: impl std::fmt::Display) -> Error {
    Error::unavailable(error.to_string())
}

pub(crate) fn object(id: &CommitId) -> Result<ObjectId, Error> {
    ObjectId::new(id.as_str()).map_err(git)
}

pub(crate) fn commit_id(id: &ObjectId) -> Result<CommitId, Error> {
    CommitId::new(id.as_str()).map_err(Error::unreadable)
}

/// A workspace, as it is now.
pub(crate) fn view(context: &ProjectContext, id: &WorkspaceId) -> Result<WorkspaceView, Error> {
    let asked = Query::WorkspaceGet(OfWorkspace { workspace: id.clone() });
    match context.ask(&asked)? {
        Answer::Workspace(view) => Ok(*view),
        other => Err(Error::unexpected(&other)),
    }
}

/// The branch of the run, which is that of its root.
pub(crate) fn target(state: &State) -> Result<(WorkspaceId, Branch), Error> {
    let missing = || Error::defect("the run is on no branch");
    let root = state.root().ok_or_else(missing)?;
    let known = state.workspaces().find(|(id, _)| *id == root);
    let branch = known.and_then(|(_, known)| known.branch.clone()).ok_or_else(missing)?;
    Ok((root.clone(), branch))
}

/// The name of a run: the end of the id of its root.
pub fn run_name(root: &WorkspaceId) -> String {
    let id = root.as_str();
    let from = id.len().saturating_sub(6);
    id.get(from..).unwrap_or(id).to_owned()
}

/// Makes the worktree of an attempt, or finds it again, and sets it up. Everything can be repeated.
pub(crate) fn prepare(shared: &Shared, id: &WorkspaceId, tree_name: &str) -> Result<Place, Error> {
    let lead = shared.lead();
    let present = lead.present()?;
    let (root, target) = target(&present.state)?;
    let own = view(&lead, id)?.branch;
    let name = TreeName::new(tree_name).map_err(git)?;
    let tree = match shared.trees.open(&name).map_err(|error| workshop(&error))? {
        Some(tree)
            if own.as_ref().is_none_or(|own| own.name.as_str() == tree.branch().as_str()) =>
        {
            tree
        }
        _ => make(shared, &name, &run_name(&root), own.as_ref(), &target)?,
    };
    let base = if let Some(own) = &own {
        object(&own.base)?
    } else {
        let base = tree.base().clone();
        let set = SetBranch {
            base: commit_id(&base)?,
            branch: RecordedBranch::new(tree.branch().as_str()).map_err(Error::unreadable)?,
            workspace: id.clone(),
        };
        lead.execute(Command::WorkspaceBranch(set))?;
        base
    };
    set_up(shared, id, &tree)?;
    Ok(Place { tree, base })
}

fn make(
    shared: &Shared,
    name: &TreeName,
    run: &str,
    own: Option<&Branch>,
    target: &Branch,
) -> Result<AttemptTree, Error> {
    let (branch, base, if_branch_exists) = if let Some(own) = own {
        // The folder is gone, and its branch has what was committed.
        (own.name.to_string(), object(&own.base)?, IfBranchExists::Continue)
    } else {
        (format!("althing/{run}/{name}"), object(&target.tip)?, IfBranchExists::NextFree)
    };
    let new = NewTree {
        name: name.clone(),
        branch: BranchName::new(&branch).map_err(git)?,
        base,
        if_branch_exists,
        reuse: shared.settings.reuse,
        provisions: provisions(shared),
    };
    shared.trees.add(&new).map_err(|error| workshop(&error))
}

pub(crate) fn provisions(shared: &Shared) -> Provisions {
    Provisions { copy: shared.settings.copy.clone(), lfs: Lfs::AsConfigured }
}

/// Runs the project's set-up in a worktree that was made or taken from the pool.
fn set_up(shared: &Shared, id: &WorkspaceId, tree: &AttemptTree) -> Result<(), Error> {
    if shared.settings.setup.is_none() {
        return Ok(());
    }
    let done = shared.attempt_folder(id).join(SET_UP);
    if done.exists() && tree.origin() == Origin::Found {
        return Ok(());
    }
    run_set_up(shared, tree.path())?;
    write_whole(&done, b"")
}

/// Runs the project's set-up in a folder, if there is one.
pub(crate) fn run_set_up(shared: &Shared, folder: &Path) -> Result<(), Error> {
    let Some(command) = &shared.settings.setup else { return Ok(()) };
    let limits = Limits { time: shared.settings.check_timeout, ..Limits::default() };
    let ran = command::run(folder, command, &limits).map_err(git)?;
    if ran.passed {
        return Ok(());
    }
    let message = format!("`{command}` failed ({}): {}", ran.ended, ran.output.trim());
    Err(Error::unavailable(message).hint("Correct `[workshop] setup` in althing.toml."))
}

/// Writes the brief of an attempt.
pub(crate) fn brief(shared: &Shared, id: &WorkspaceId, task: &Record) -> Result<(), Error> {
    let lead = shared.lead();
    let present = lead.present()?;
    let part = task.task();
    let description = part.and_then(|part| part.description.as_ref());
    let text = match description {
        Some(blob) => String::from_utf8_lossy(&lead.blobs().get(blob)?).into_owned(),
        None => task.text.to_string(),
    };
    let merged = |id: &althing_kernel::records::RecordId| {
        let before = present.state.memory().record(*id)?;
        Some(format!("{} – {}", key_of(before), title_of(before)))
    };
    let history = part.map(|part| part.history.as_slice()).unwrap_or_default();
    let tried = history.iter().filter(|own| *own != id);
    let earlier = tried.filter_map(|own| earlier(shared, &present.state, own));
    let brief = Brief {
        task,
        text: &text,
        before: task.fields.depends_on.iter().filter_map(merged).collect(),
        earlier: earlier.collect(),
        tokens_max: shared.settings.brief_tokens,
    };
    write_whole(&shared.attempt_folder(id).join(BRIEF), brief.write(&lead)?.as_bytes())
}

/// How an earlier attempt at the same task ended.
fn earlier(shared: &Shared, state: &State, id: &WorkspaceId) -> Option<Earlier> {
    let (_, known) = state.workspaces().find(|(own, _)| *own == id)?;
    let found = Turns::read(&shared.attempt_folder(id)).evidence;
    let said = known.reason.as_ref().map(ToString::to_string);
    let evidence = match (said, found) {
        (Some(said), Some(found)) => format!("{said}\n\n{found}"),
        (said, found) => said.or(found).unwrap_or_else(|| "It did not come to an end.".to_owned()),
    };
    let agent = known.agent.as_ref().map(ToString::to_string).unwrap_or_default();
    Some(Earlier { agent, evidence, left: left_by(shared, id) })
}

/// The commit that keeps what an attempt left.
pub(crate) fn left_by(shared: &Shared, id: &WorkspaceId) -> Option<String> {
    let name = std::fs::read_to_string(shared.attempt_folder(id).join(LEFT)).ok()?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}

/// The file that names what an attempt left.
const LEFT: &str = "left";

/// Writes down where what an attempt left is kept.
pub(crate) fn note_left(folder: &Path, name: &str) -> Result<(), Error> {
    write_whole(&folder.join(LEFT), name.as_bytes())
}
