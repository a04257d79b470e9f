//! Versions of the rules: the one a trail follows, and the change to a newer one.

use serde::Deserialize;
use serde::Serialize;

use crate::registry::apply_error::ApplyError;

/// The version of the rules that this kernel decides and audits by. Raise it with every change to
/// what `decide` refuses, or to the entries that follow from a command.
pub const RULES_VERSION: u32 = 6;

/// The rules version of trails created before projects recorded one.
const FIRST: u32 = 1;

/// The version of the rules that a trail follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    /// The version.
    pub version: u32,
    /// The sequence number of the entry that set it.
    pub since: u64,
}

impl Default for Rules {
    fn default() -> Self {
        Rules { version: FIRST, since: 1 }
    }
}

impl Rules {
    /// The rules that a `project.created` entry states.
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

/// `rules.adopted`: entries after this one follow another version of the rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Adopted {
    /// The version in force until this entry.
    pub from: u32,
    /// The version in force from this entry on.
    pub version: u32,
}
