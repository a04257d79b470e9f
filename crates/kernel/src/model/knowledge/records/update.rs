//! Types of `update`: state, arguments of commands and bodies of events.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::knowledge::records::effect::Effect;
use crate::model::knowledge::records::field::{Few, Fields};
use crate::model::knowledge::records::kind::RecordId;
use crate::model::knowledge::records::record::{Body, Tags};
use crate::values::idempotency::Mark;
use crate::values::label::Label;

/// `memory.update`: changes what a record says. Its state is changed with `memory.move`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Update {
    /// The fields to leave out from now on.
    #[serde(default, skip_serializing_if = "crate::model::knowledge::records::create::is_default")]
    pub clear: Few<Label, 64>,
    /// The version it is expected to be at; refused if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<u32>,
    /// The fields to change, each as a whole.
    #[serde(default, skip_serializing_if = "crate::model::knowledge::records::create::is_default")]
    pub fields: Fields,
    /// Which record.
    pub id: RecordId,
    /// What the caller calls this request; asked again within a day, it is done once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Label>,
    /// What to file it under instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Tags>,
    /// What it says instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Body>,
}

/// `memory.updated`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Updated {
    /// The fields that are left out.
    #[serde(default, skip_serializing_if = "crate::model::knowledge::records::create::is_default")]
    pub clear: Few<Label, 64>,
    /// Whether the plan is done with it, since all of its steps are.
    #[serde(default, skip_serializing_if = "crate::model::knowledge::records::create::is_default")]
    pub completed: bool,
    /// What followed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<Effect>,
    /// The fields that changed.
    #[serde(default, skip_serializing_if = "crate::model::knowledge::records::create::is_default")]
    pub fields: Fields,
    /// Which record.
    pub id: RecordId,
    /// The request that led to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Mark>,
    /// What it is filed under.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Tags>,
    /// What it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Body>,
}
