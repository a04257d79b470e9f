//! What a person may do.

use crate::id::WorkspaceId;
use crate::name::UserId;
use crate::refusal::Refusal;
use crate::rule::Rule;
use crate::state::State;

/// A deed a person needs a capability for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Making workspaces and plans.
    CreateWorkspace,
    /// Ending workspaces.
    Abort,
    /// Sending from outside.
    Inject,
    /// Deciding about finished work.
    ApproveIntegration,
}

pub(crate) fn may(
    state: &State,
    user: &UserId,
    _deed: Deed,
    _target: Option<&WorkspaceId>,
) -> Result<(), Refusal> {
    if state.users.contains_key(user) {
        Ok(())
    } else {
        Err(Refusal::denied(Rule::PersonNeedsCredential, "nobody of that name was let in"))
    }
}
