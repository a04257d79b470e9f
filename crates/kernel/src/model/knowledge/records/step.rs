//! Steps of plans.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::knowledge::records::effect::Effect;
use crate::model::knowledge::records::field::{Fields, StepId};
use crate::model::knowledge::records::vocabulary::StepStatus;
use crate::registry::record_id::RecordId;
use crate::values::idempotency::Mark;
use crate::values::label::Label;

/// `memory.step`: changes the status of a plan's step. When the last step is done, the plan is
/// done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TakeStep {
    /// The expected version of the plan; the command is refused if it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<u32>,
    /// The plan.
    pub plan: RecordId,
    /// Idempotency key: a repeat within a day returns the first answer and changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Label>,
    /// The new status.
    pub status: StepStatus,
    /// The step.
    pub step: StepId,
}

/// `memory.stepped`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stepped {
    /// Whether this completes the plan.
    pub completed: bool,
    /// The side effects.
    pub effects: Vec<Effect>,
    /// The plan.
    pub plan: RecordId,
    /// The idempotency mark of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Mark>,
    /// The new status.
    pub status: StepStatus,
    /// The step.
    pub step: StepId,
}

/// Records the highest number given to a step.
pub(crate) fn count(fields: &mut Fields) {
    let highest = fields.steps.iter().filter_map(|step| step.id).map(|id| id.0).max();
    if let Some(highest) = highest {
        fields.steps_made = Some(fields.steps_made.unwrap_or_default().max(highest));
    }
}
