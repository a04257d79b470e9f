//! Access control for reading: the viewer, and records of denied reads.

use serde::Deserialize;
use serde::Serialize;

use crate::registry::rule::Rule;
use crate::values::id::WorkspaceId;
use crate::values::principal::Principal;
use crate::values::text::Text;

/// The principal who reads; `None` is a person with direct access to the machine.
pub type Viewer<'a> = Option<&'a Principal>;

/// `trail.denied`: records a denied read of the trail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoteDenied {
    /// The hash of the query.
    pub filter_digest: Text<80>,
    /// The principal who asked.
    pub requester: Principal,
    /// The workspace it was about; none for the whole trail.
    pub scope: Option<WorkspaceId>,
}

/// `trail_access_denied`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessDenied {
    /// The hash of the query.
    pub filter_digest: Text<80>,
    /// The workspace it was about; none for the whole trail.
    pub requested_scope: Option<WorkspaceId>,
    /// The principal who asked.
    pub requester: Principal,
    /// The workspace the principal works in, if any.
    pub requester_workspace: Option<WorkspaceId>,
}

/// `access.refused`: records a denied read of content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoteRefused {
    /// The refusal message.
    pub message: Text<2000>,
    /// The principal who asked.
    pub requester: Principal,
    /// The rule that was violated.
    pub rule: Rule,
    /// The content that was requested.
    pub what: Text<64>,
}
