//! Branches of workspaces, and merges that git has prepared.
//!
//! Git does the work, the kernel decides whether it counts: a merge builds on the newest commit on
//! record of its branch, and on the lease under which the work was done. Whoever prepared it moves
//! the branch after the decision is on record.

use std::sync::Arc;

use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::runs::workspace::Workspace;
use crate::protocol::event::Event;
use crate::protocol::refusal::Refusal;
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::registry::rule::Rule;
use crate::rules::runs::workspace;
use crate::rules::runs::workspace::abort;
use crate::values::id::WorkspaceId;
use crate::values::principal::Caller;

pub use crate::model::runs::workspace::branch::*;

pub(crate) fn decide_set(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    set: &SetBranch,
) -> Result<Reply, DecisionError> {
    let id = &set.workspace;
    let known = workspace::get(tx.state(), id)?;
    if !may_set(tx.state(), caller, id, known) {
        let message = format!("{} may not put workspace {id} on a branch", caller.principal);
        return Err(Refusal::denied(Rule::CoordinatorOnly, message).into());
    }
    if known.status.is_terminal() {
        return Err(abort::ended(id, known.status).into());
    }
    if let Some(branch) = known.branch.as_ref().filter(|branch| branch.name != set.branch) {
        let message = format!("workspace {id} is on branch {} already", branch.name);
        return Err(Refusal::denied(Rule::BranchOnce, message).into());
    }
    let event = Event::WorkspaceBranched(Branched {
        base: set.base.clone(),
        branch: set.branch.clone(),
        workspace_id: id.clone(),
    });
    tx.note(Some(id), caller.principal.clone().into(), event)?;
    tx.workspace_reply(id)
}

/// Whether a caller may say where the files of a workspace are: its agent, or who commands it.
fn may_set(state: &State, caller: &Caller, id: &WorkspaceId, known: &Workspace) -> bool {
    let is_own = known.agent.as_ref().is_some_and(|agent| caller.principal.is_agent(agent));
    is_own || workspace::commands(state, caller, id)
}

pub(crate) fn apply_branched(state: &mut State, set: &Branched) -> Result<(), ApplyError> {
    let known = state.workspaces.get_mut(&set.workspace_id);
    let known = known.ok_or(ApplyError::Unknown("the workspace"))?;
    let before = known.branch.as_ref().filter(|before| before.name == set.branch);
    if known.status.is_terminal() || (known.branch.is_some() && before.is_none()) {
        return Err(ApplyError::Twice("the branch of a workspace"));
    }
    // Said again, somebody else has moved the branch, and the next merge builds on that.
    let base = before.map_or(&set.base, |before| &before.base).clone();
    let (name, tip) = (set.branch.clone(), set.base.clone());
    Arc::make_mut(known).branch = Some(Branch { name, base, tip });
    Ok(())
}

/// Checks a merge of finished or salvaged work into a workspace. Where the files are in git, it needs
/// one that was prepared on the newest commit on record.
pub(crate) fn may_land(
    state: &State,
    source: &WorkspaceId,
    target: &WorkspaceId,
    merge: Option<&Merge>,
) -> Result<(), Refusal> {
    let branch = workspace::get(state, target)?.branch.as_ref();
    let (branch, merge) = match (branch, merge) {
        (None, None) => return Ok(()),
        (Some(branch), Some(merge)) => (branch, merge),
        (Some(branch), None) => {
            let message = format!("the files of workspace {target} are on branch {}", branch.name);
            return Err(Refusal::denied(Rule::MergeInGit, message));
        }
        (None, Some(merge)) => {
            let message = format!("workspace {target} is not on branch {}", merge.branch);
            return Err(Refusal::denied(Rule::MergeInGit, message));
        }
    };
    if branch.name != merge.branch || branch.tip != merge.onto {
        let message = format!(
            "the merge is for {} at {}, and {} is at {}",
            merge.branch, merge.onto, branch.name, branch.tip
        );
        return Err(Refusal::denied(Rule::MergeStale, message));
    }
    if merge.epoch.is_some() && merge.epoch != epoch_of(state, source) {
        let message = format!("workspace {source} no longer holds the lease it worked under");
        return Err(Refusal::denied(Rule::Fenced, message));
    }
    Ok(())
}

/// The fencing epoch of the lease that a workspace holds for its authority.
fn epoch_of(state: &State, id: &WorkspaceId) -> Option<u64> {
    let held = state.leases_in(id);
    held.iter().filter_map(|id| state.leases.get(id)).map(|lease| lease.epoch).max()
}

/// Moves the newest commit on record of a workspace's branch.
pub(crate) fn advance(
    state: &mut State,
    target: &WorkspaceId,
    merge: &Merge,
) -> Result<(), ApplyError> {
    let known = state.workspaces.get_mut(target).ok_or(ApplyError::Unknown("the parent"))?;
    let branch = Arc::make_mut(known).branch.as_mut();
    let branch = branch.ok_or(ApplyError::Mismatch("the branch of a merge"))?;
    if branch.name != merge.branch || branch.tip != merge.onto {
        return Err(ApplyError::Mismatch("the branch of a merge"));
    }
    branch.tip = merge.commit.clone();
    Ok(())
}
