//! Types of `step`: state, arguments of commands and bodies of events.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::knowledge::records::effect::Effect;
use crate::model::knowledge::records::field::{Fields, StepId};
use crate::model::knowledge::records::kind::RecordId;
use crate::model::knowledge::records::vocabulary::StepStatus;
use crate::values::idempotency::Mark;
use crate::values::label::Label;

/// `memory.step`: a step of a plan stands otherwise. With the last one done, the plan is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TakeStep {
    /// The version the plan is expected to be at; refused if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<u32>,
    /// Of which plan.
    pub plan: RecordId,
    /// What the caller calls this request; asked again within a day, it is done once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Label>,
    /// How it stands now.
    pub status: StepStatus,
    /// Which step.
    pub step: StepId,
}

/// `memory.stepped`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stepped {
    /// Whether the plan is done with it.
    pub completed: bool,
    /// What followed.
    pub effects: Vec<Effect>,
    /// Of which plan.
    pub plan: RecordId,
    /// The request that led to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Mark>,
    /// How it stands now.
    pub status: StepStatus,
    /// Which step.
    pub step: StepId,
}

/// Remembers the highest number that was given to a step.
pub(crate) fn count(fields: &mut Fields) {
    let highest = fields.steps.iter().filter_map(|step| step.id).map(|id| id.0).max();
    if let Some(highest) = highest {
        fields.steps_made = Some(fields.steps_made.unwrap_or_default().max(highest));
    }
}
