//! Types of `adoption`: state, arguments of commands and bodies of events.

use serde::Deserialize;
use serde::Serialize;

use crate::registry::apply_error::ApplyError;

/// The version of the rules that this kernel decides and audits by. Raise it with every change of
/// what `decide` refuses, or of the entries that follow from a command.
pub const RULES_VERSION: u32 = 3;

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

    pub(crate) fn are_known(self) -> Result<Self, ApplyError> {
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
