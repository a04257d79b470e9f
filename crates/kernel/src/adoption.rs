//! Versions of the rules: which one holds in a trail, and from which entry on.
//!
//! The audit asks whether today's rules allow an entry, so it can only be asked of entries that
//! today's rules decided. A project says which version of the rules holds when it is created. A
//! newer build that writes to an older trail says so once, right before its first entry, and the
//! audit begins there. What stands before is read with today's types, where a field that an earlier
//! version did not have takes the default that says what held then, and is checked for its form,
//! the chains and the signatures.

use serde::{Deserialize, Serialize};

use crate::event::Stamped;
use crate::principal::Actor;
use crate::state::{ApplyError, State};

/// The version of the rules that this kernel decides and audits by. Raise it with every change of
/// what `decide` refuses, or of the entries that follow from a command.
pub const RULES_VERSION: u32 = 2;

/// The version of trails from before projects said which one holds.
const FIRST: u32 = 1;

/// The rules that hold in a trail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    /// Their version.
    pub version: u32,
    /// The entry that says so, by its place in the trail.
    pub since: u64,
}

impl Default for Rules {
    fn default() -> Self {
        Rules { version: FIRST, since: 1 }
    }
}

impl Rules {
    /// The rules of a new project.
    pub(crate) fn stated(version: Option<u32>) -> Result<Self, ApplyError> {
        let rules = Rules { version: version.unwrap_or(FIRST), since: 1 };
        rules.are_known()
    }

    /// Whether these are the rules that this kernel decides and audits by.
    pub fn are_current(self) -> bool {
        self.version == RULES_VERSION
    }

    fn are_known(self) -> Result<Self, ApplyError> {
        let (found, known) = (self.version, RULES_VERSION);
        if found > known { Err(ApplyError::NewerRules { found, known }) } else { Ok(self) }
    }
}

/// `rules.adopted`: from here on the entries are decided by another version of the rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Adopted {
    /// The version that held until here.
    pub from: u32,
    /// The version that holds from here on.
    pub version: u32,
}

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
