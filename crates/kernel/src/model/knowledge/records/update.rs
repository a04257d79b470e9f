//! Updates of a record's text, tags and fields.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::knowledge::records::effect::Effect;
use crate::model::knowledge::records::field::{Few, Fields};
use crate::model::knowledge::records::record::{Body, Tags};
use crate::registry::record_id::RecordId;
use crate::values::idempotency::Mark;
use crate::values::label::Label;

/// `memory.update`: changes a record's text, tags or fields. Its state is changed with
/// `memory.move`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Update {
    /// The fields to unset.
    #[serde(default, skip_serializing_if = "crate::model::knowledge::records::create::is_default")]
    pub clear: Few<Label, 64>,
    /// The expected version; the command is refused if it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<u32>,
    /// The fields to set, each as a whole.
    #[serde(default, skip_serializing_if = "crate::model::knowledge::records::create::is_default")]
    pub fields: Fields,
    /// The record.
    pub id: RecordId,
    /// Idempotency key: a repeat within a day returns the first answer and changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Label>,
    /// The new tags.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Tags>,
    /// The new text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Body>,
}

/// `memory.updated`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Updated {
    /// The fields that were unset.
    #[serde(default, skip_serializing_if = "crate::model::knowledge::records::create::is_default")]
    pub clear: Few<Label, 64>,
    /// Whether this completes the plan, since all its steps are done.
    #[serde(default, skip_serializing_if = "crate::model::knowledge::records::create::is_default")]
    pub completed: bool,
    /// The text that an approved decision has now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided: Option<Body>,
    /// The side effects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<Effect>,
    /// The fields that changed.
    #[serde(default, skip_serializing_if = "crate::model::knowledge::records::create::is_default")]
    pub fields: Fields,
    /// The record.
    pub id: RecordId,
    /// The idempotency mark of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Mark>,
    /// The new tags.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Tags>,
    /// The new text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Body>,
}
