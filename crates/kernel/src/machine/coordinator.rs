//! Who coordinates the run that goes on.

use crate::machine::state::State;
use crate::protocol::refusal::Refusal;
use crate::registry::rule::Rule;
use crate::values::id::WorkspaceId;
use crate::values::principal::Principal;

/// The root of the run that goes on.
pub(crate) fn root(state: &State) -> Result<&WorkspaceId, Refusal> {
    state.root.as_ref().ok_or_else(|| {
        Refusal::denied(Rule::RunNeeded, "no run goes on, so there is no coordinator")
    })
}

/// Whether a caller speaks for the coordinator: the system, the agent that was given the post, or a
/// person, whose every command was checked against their capabilities before.
pub(crate) fn is_coordinator(state: &State, caller: &Principal) -> bool {
    match caller {
        Principal::System | Principal::User(_) => true,
        Principal::Agent(name) => {
            let root = state.root.as_ref().and_then(|root| state.workspaces.get(root));
            root.is_some_and(|root| root.agent.as_ref() == Some(name))
        }
    }
}
