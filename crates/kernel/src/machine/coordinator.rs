//! The coordinator of the current run.

use crate::machine::state::State;
use crate::protocol::refusal::Refusal;
use crate::registry::rule::Rule;
use crate::values::id::WorkspaceId;
use crate::values::principal::Principal;

/// The root of the current run, or a refusal if there is none.
pub(crate) fn root(state: &State) -> Result<&WorkspaceId, Refusal> {
    state.root.as_ref().ok_or_else(|| {
        Refusal::denied(Rule::RunNeeded, "there is no current run, so there is no coordinator")
    })
}

/// Whether a caller acts as the coordinator: the system, the coordinating agent, or a person, whose
/// every command was already checked against their capabilities.
pub(crate) fn is_coordinator(state: &State, caller: &Principal) -> bool {
    match caller {
        Principal::System | Principal::User(_) => true,
        Principal::Agent(name) => {
            let root = state.root.as_ref().and_then(|root| state.workspaces.get(root));
            root.is_some_and(|root| root.agent.as_ref() == Some(name))
        }
    }
}
