//! Progress of assignments: progress reports, which count as heartbeats, and convergence.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::knowledge::records::field::{Artifact, Few};
use crate::model::knowledge::records::record::Record;
use crate::model::knowledge::records::vocabulary::Status;
use crate::registry::record_id::{Kind, RecordId};
use crate::values::idempotency::Mark;
use crate::values::label::Label;
use crate::values::text::Text;

/// `memory.progress`: reports progress on an assignment; counts as a heartbeat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Progress {
    /// The artifacts produced so far; added to those recorded.
    #[serde(default, skip_serializing_if = "crate::model::knowledge::records::create::is_default")]
    pub artifacts: Few<Artifact, 64>,
    /// The expected version; the command is refused if it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<u32>,
    /// The assignment.
    pub id: RecordId,
    /// Idempotency key: a repeat within a day returns the first answer and changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Label>,
    /// The progress, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Text<1000>>,
}

/// `memory.converge`: ends a stuck assignment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Converge {
    /// The assignment.
    pub id: RecordId,
    /// Idempotency key: a repeat within a day returns the first answer and changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Label>,
    /// The final state: completed or cancelled.
    pub to: Label,
}

/// `memory.heard`: the agent of an assignment sent a heartbeat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Heard {
    /// The artifacts produced so far.
    #[serde(default, skip_serializing_if = "crate::model::knowledge::records::create::is_default")]
    pub artifacts: Few<Artifact, 64>,
    /// The assignment.
    pub id: RecordId,
    /// The idempotency mark of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Mark>,
    /// The progress, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Text<1000>>,
}

/// Whether a transition that the table does not allow may be forced.
pub(crate) fn is_forcible(own: &Record, to: Status) -> bool {
    let ends = matches!(
        to,
        Status::Accepted
            | Status::Started
            | Status::Completed
            | Status::Failed
            | Status::Blocked
            | Status::Cancelled
    );
    own.id.kind == Kind::Assignment && !own.is_terminal() && own.status != to && ends
}
