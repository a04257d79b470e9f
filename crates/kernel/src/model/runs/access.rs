//! Types of `access`: state, arguments of commands and bodies of events.

use serde::Deserialize;
use serde::Serialize;

use crate::registry::rule::Rule;
use crate::values::id::WorkspaceId;
use crate::values::principal::Principal;
use crate::values::text::Text;

/// Whoever asks; nobody in particular is a person at the machine.
pub type Viewer<'a> = Option<&'a Principal>;

/// `trail.denied`: notes that somebody asked for what it may not read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoteDenied {
    /// What was asked, as a hash.
    pub filter_digest: Text<80>,
    /// Who asked.
    pub requester: Principal,
    /// What it was about; none for the whole trail.
    pub scope: Option<WorkspaceId>,
}

/// `trail_access_denied`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessDenied {
    /// What was asked, as a hash.
    pub filter_digest: Text<80>,
    /// What it was about; none for the whole trail.
    pub requested_scope: Option<WorkspaceId>,
    /// Who asked.
    pub requester: Principal,
    /// The workspace it works in, if it has one.
    pub requester_workspace: Option<WorkspaceId>,
}

/// `access.refused`: notes that somebody asked for content it may not read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoteRefused {
    /// What was said to that.
    pub message: Text<2000>,
    /// Who asked.
    pub requester: Principal,
    /// The rule it rests on.
    pub rule: Rule,
    /// What was asked for.
    pub what: Text<64>,
}
