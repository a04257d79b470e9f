//! Versions of the rules: which one holds in a trail, and from which entry on.
//!
//! The audit asks whether today's rules allow an entry, so it can only be asked of entries that
//! today's rules decided. A project says which version of the rules holds when it is created. A
//! newer build that writes to an older trail says so once, right before its first entry, and the
//! audit begins there. What stands before is read with today's types, where a field that an earlier
//! version did not have takes the default that says what held then, and is checked for its form,
//! the chains and the signatures.

use crate::machine::state::State;
use crate::protocol::event::Stamped;
use crate::registry::apply_error::ApplyError;
use crate::values::principal::Actor;

pub use crate::model::admin::adoption::*;

/// The adoption that has to be on record before this kernel writes anything else.
pub(crate) fn due(state: &State) -> Option<Adopted> {
    let held = state.project.as_ref()?.rules;
    let adopted = Adopted { from: held.version, version: RULES_VERSION };
    (!held.are_current()).then_some(adopted)
}

/// Rules are adopted by the runtime, once, and never go back.
pub(crate) fn apply_adopted(
    state: &mut State,
    entry: &Stamped,
    body: &Adopted,
) -> Result<(), ApplyError> {
    let since = state.seq;
    let project = state.project.as_mut().ok_or(ApplyError::NoProject)?;
    let plain = entry.draft.workspace.is_none() && entry.draft.causation.is_none();
    if !plain || entry.draft.actor != Actor::Protocol || body.from != project.rules.version {
        return Err(ApplyError::Mismatch("the version of the rules"));
    }
    if body.version <= body.from {
        return Err(ApplyError::Twice("the version of the rules"));
    }
    project.rules = Rules { version: body.version, since }.are_known()?;
    Ok(())
}
