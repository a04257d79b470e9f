//! Versions of the rules: the one a trail follows, and from which entry on.
//!
//! The audit checks entries against the current rules, so it can only check entries that were
//! decided by them. A project records the version of the rules when it is created. A newer build
//! that writes to an older trail records the change once, right before its first entry, and the
//! audit begins there. Earlier entries are read with today's types, where a field that an earlier
//! version did not have takes a default, and only their form, the hash chains and the signatures
//! are checked.

use crate::machine::state::State;
use crate::protocol::event::Stamped;
use crate::registry::apply_error::ApplyError;
use crate::values::principal::Actor;

pub use crate::model::admin::adoption::*;

/// The adoption that must be recorded before this kernel writes anything else, if one is due.
pub(crate) fn due(state: &State) -> Option<Adopted> {
    let held = state.project.as_ref()?.rules;
    let adopted = Adopted { from: held.version, version: RULES_VERSION };
    (!held.are_current()).then_some(adopted)
}

/// Applies an adoption. Only the runtime adopts rules, and the version only grows.
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
