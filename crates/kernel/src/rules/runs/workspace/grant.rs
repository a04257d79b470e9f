//! Granting visibility of one workspace to another. A grant is permanent, and only the viewer is
//! notified: the workspace that is seen has no entry about it.

use std::sync::Arc;

use crate::machine::coordinator;
use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::runs::workspace::{LIST_MAX, Status};
use crate::protocol::event::Event;
use crate::protocol::refusal::Refusal;
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::registry::rule::Rule;
use crate::rules::runs::workspace;
use crate::rules::runs::workspace::{sight, suspend};
use crate::values::principal::Caller;

pub use crate::model::runs::workspace::grant::*;

pub(crate) fn decide_grant(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    grant: &GrantVisibility,
) -> Result<Reply, DecisionError> {
    let id = &grant.workspace;
    coordinator::root(tx.state())?;
    workspace::get(tx.state(), id)?;
    workspace::get(tx.state(), &grant.target)?;
    may_show(tx.state(), caller, grant)?;
    suspend::at_work(tx, id, "showing it another")?;
    let shown = &workspace::get(tx.state(), id)?.visibility;
    if shown.contains(&grant.target) {
        let message = format!("workspace {id} may read {} already", grant.target);
        return Err(Refusal::denied(Rule::ShownOnce, message).into());
    }
    if shown.len() >= LIST_MAX {
        let message = format!("workspace {id} may already read {LIST_MAX} others");
        return Err(Refusal::denied(Rule::Limits, message).into());
    }
    let event = Event::VisibilityGranted(VisibilityGranted {
        reason: grant.reason.clone(),
        target: grant.target.clone(),
        workspace_id: id.clone(),
    });
    tx.note(Some(id), caller.principal.clone().into(), event)?;
    tx.workspace_reply(id)
}

/// Checks whether a caller may grant visibility: it commands the viewer and sees the target, and so
/// does the viewer's parent.
pub(crate) fn may_show(
    state: &State,
    caller: &Caller,
    grant: &GrantVisibility,
) -> Result<(), Refusal> {
    let (id, target) = (&grant.workspace, &grant.target);
    let Some(from) = workspace::commanding(state, caller, id) else {
        let message = format!("{} may not grant workspace {id} visibility", caller.principal);
        return Err(Refusal::denied(Rule::CoordinatorOnly, message));
    };
    let parent = workspace::get(state, id)?.parent.as_ref();
    for sees in [Some(&from), parent].into_iter().flatten() {
        if !sight::sees(state, sees, target) {
            let message = format!("workspace {sees} cannot see {target} itself");
            return Err(Refusal::denied(Rule::ShowsWhatItSees, message));
        }
    }
    Ok(())
}

pub(crate) fn apply_granted(
    state: &mut State,
    granted: &VisibilityGranted,
) -> Result<(), ApplyError> {
    if !state.workspaces.contains_key(&granted.target) {
        return Err(ApplyError::Unknown("the workspace it may read"));
    }
    let known = state.workspaces.get_mut(&granted.workspace_id);
    let known = known.ok_or(ApplyError::Unknown("the workspace"))?;
    let at_work = matches!(known.status, Status::Active | Status::Blocked);
    if !at_work || known.visibility.contains(&granted.target) || known.visibility.len() >= LIST_MAX
    {
        return Err(ApplyError::Mismatch("what it sees"));
    }
    Arc::make_mut(known).visibility.push(granted.target.clone());
    Ok(())
}
