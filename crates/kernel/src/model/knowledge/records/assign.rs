//! Types of `assign`: state, arguments of commands and bodies of events.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::knowledge::records::field::{Artifact, Few};
use crate::model::knowledge::records::kind::{Kind, RecordId};
use crate::model::knowledge::records::record::Record;
use crate::model::knowledge::records::vocabulary::Status;
use crate::values::idempotency::Mark;
use crate::values::label::Label;
use crate::values::text::Text;

/// `memory.progress`: tells how the work on an assignment goes, which is a sign of life too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Progress {
    /// What came of it so far; added to what there is.
    #[serde(default, skip_serializing_if = "crate::model::knowledge::records::create::is_default")]
    pub artifacts: Few<Artifact, 64>,
    /// The version it is expected to be at; refused if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<u32>,
    /// Which assignment.
    pub id: RecordId,
    /// What the caller calls this request; asked again within a day, it is done once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Label>,
    /// How it goes, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Text<1000>>,
}

/// `memory.converge`: brings a stuck assignment to an end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Converge {
    /// Which assignment.
    pub id: RecordId,
    /// What the caller calls this request; asked again within a day, it is done once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Label>,
    /// How it ends: completed or cancelled.
    pub to: Label,
}

/// `memory.heard`: the agent of an assignment gave a sign of life.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Heard {
    /// What came of it so far.
    #[serde(default, skip_serializing_if = "crate::model::knowledge::records::create::is_default")]
    pub artifacts: Few<Artifact, 64>,
    /// Which assignment.
    pub id: RecordId,
    /// The request that led to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Mark>,
    /// How it goes, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Text<1000>>,
}

/// Whether a step that the table does not have may be forced.
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
