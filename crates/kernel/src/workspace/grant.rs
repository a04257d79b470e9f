//! Showing a workspace another one. What was shown once stays shown, and nobody is told but the
//! one who may look: the workspace that is watched has no entry of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

use super::{LIST_MAX, Status, sight, suspend};
use crate::event::Event;
use crate::id::WorkspaceId;
use crate::principal::Caller;
use crate::refusal::Refusal;
use crate::rule::Rule;
use crate::state::{ApplyError, State};
use crate::text::Text;
use crate::turn::{Halt, Reply, Turn};

/// `workspace.grant_visibility`: shows a workspace another one from now on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GrantVisibility {
    /// Why, for others to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// The workspace it may read.
    pub target: WorkspaceId,
    /// The workspace that may read it.
    pub workspace: WorkspaceId,
}

/// `visibility_granted`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VisibilityGranted {
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// The workspace it may read.
    pub target: WorkspaceId,
    /// The workspace that may read it.
    pub workspace_id: WorkspaceId,
}

pub(crate) fn decide_grant(
    turn: &mut Turn<'_>,
    caller: &Caller,
    grant: &GrantVisibility,
) -> Result<Reply, Halt> {
    let id = &grant.workspace;
    super::root(turn.state())?;
    super::get(turn.state(), id)?;
    super::get(turn.state(), &grant.target)?;
    may_show(turn.state(), caller, grant)?;
    suspend::at_work(turn, id, "showing it another")?;
    let shown = &super::get(turn.state(), id)?.visibility;
    if shown.contains(&grant.target) {
        let message = format!("workspace {id} may read {} already", grant.target);
        return Err(Refusal::denied(Rule::ShownOnce, message).into());
    }
    if shown.len() >= LIST_MAX {
        let message = format!("workspace {id} was shown {LIST_MAX} others already");
        return Err(Refusal::denied(Rule::Limits, message).into());
    }
    let event = Event::VisibilityGranted(VisibilityGranted {
        reason: grant.reason.clone(),
        target: grant.target.clone(),
        workspace_id: id.clone(),
    });
    turn.note(Some(id), caller.principal.clone().into(), event)?;
    turn.workspace_reply(id)
}

/// Whether a caller may show it: it commands the one, sees the other, and so does the workspace
/// above the one.
pub(crate) fn may_show(
    state: &State,
    caller: &Caller,
    grant: &GrantVisibility,
) -> Result<(), Refusal> {
    let (id, target) = (&grant.workspace, &grant.target);
    let Some(from) = super::commanding(state, caller, id) else {
        let message = format!("{} may not show workspace {id} anything", caller.principal);
        return Err(Refusal::denied(Rule::CoordinatorOnly, message));
    };
    let parent = super::get(state, id)?.parent.as_ref();
    for sees in [Some(&from), parent].into_iter().flatten() {
        if !sight::sees(state, sees, target) {
            let message = format!("workspace {sees} does not see {target} itself");
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
