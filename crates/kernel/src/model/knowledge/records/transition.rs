//! Types of `transition`: state, arguments of commands and bodies of events.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::knowledge::records::effect::Effect;
use crate::model::knowledge::records::kind::RecordId;
use crate::model::knowledge::records::vocabulary::Status;
use crate::values::idempotency::Mark;
use crate::values::label::Label;
use crate::values::name::AgentName;
use crate::values::text::Text;

/// What becomes of the plan that an assignment belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlanStatus {
    /// It is done, unless others are at work on it.
    Done,
    /// It is blocked.
    Blocked,
}

impl PlanStatus {
    pub(crate) fn status(self) -> Status {
        match self {
            PlanStatus::Done => Status::Done,
            PlanStatus::Blocked => Status::Blocked,
        }
    }
}

/// `memory.move`: has a record take a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Move {
    /// Who gets the work instead, for an assignment that is rerouted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// What the caller held for a plan that is blocked and gives back with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<RecordId>,
    /// The version it is expected to be at; refused if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<u32>,
    /// Have an assignment take a step that its table does not have (its dispatcher, or whoever
    /// commands).
    #[serde(default, skip_serializing_if = "crate::model::knowledge::records::create::is_default")]
    pub forced: bool,
    /// Which record.
    pub id: RecordId,
    /// Give back what is held for an assignment that is blocked, which it would keep. What failed
    /// gives it back anyway.
    #[serde(default, skip_serializing_if = "crate::model::knowledge::records::create::is_default")]
    pub let_go: bool,
    /// What a candidate is merged into.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged_into: Option<RecordId>,
    /// What becomes of the plan that an assignment belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_status: Option<PlanStatus>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// What the caller calls this request; asked again within a day, it is done once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Label>,
    /// The state it goes to.
    pub to: Label,
}

impl Move {
    /// A step that takes nothing else along.
    pub fn plain(id: RecordId, to: Status) -> Self {
        Move {
            agent: None,
            claim: None,
            expected_version: None,
            forced: false,
            id,
            let_go: false,
            merged_into: None,
            plan_status: None,
            reason: None,
            request_id: None,
            to: Label::constant(to.as_str()),
        }
    }
}

/// `memory.moved`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Moved {
    /// Who gets the work instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// What was held for the plan and is given back with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<RecordId>,
    /// What followed.
    pub effects: Vec<Effect>,
    /// Whether it was had to take the step.
    pub forced: Force,
    /// The state before.
    pub from: Status,
    /// Which record.
    pub id: RecordId,
    /// Whether what is held for it is given back although it is not over.
    #[serde(default, skip_serializing_if = "crate::model::knowledge::records::create::is_default")]
    pub let_go: bool,
    /// What it is merged into.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged_into: Option<RecordId>,
    /// What was to become of its plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_status: Option<PlanStatus>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// The request that led to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Mark>,
    /// The state after.
    pub to: Status,
}

/// How a step came about that the table may not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Force {
    /// Whoever takes such steps took one of the table.
    Plain,
    /// Whoever gave the work out had it taken.
    Forced,
    /// It was stuck, and what it belongs to is over.
    Converged,
}
