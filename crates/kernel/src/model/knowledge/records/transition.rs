//! Transitions of records between states.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::knowledge::records::effect::Effect;
use crate::model::knowledge::records::record::Body;
use crate::model::knowledge::records::vocabulary::Status;
use crate::registry::record_id::RecordId;
use crate::values::idempotency::Mark;
use crate::values::label::Label;
use crate::values::name::AgentName;
use crate::values::text::Text;

/// The new status of the plan that an assignment belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlanStatus {
    /// Done, unless other assignments are still active on it.
    Done,
    /// Blocked.
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

/// `memory.move`: moves a record to another state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Move {
    /// The new agent, for an assignment that is rerouted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// The caller's claim for a plan that becomes blocked; it is released along with the move.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<RecordId>,
    /// The expected version; the command is refused if it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<u32>,
    /// Force a transition of an assignment that its table does not allow (its dispatcher, or
    /// somebody with command over it).
    #[serde(default, skip_serializing_if = "crate::model::knowledge::records::create::is_default")]
    pub forced: bool,
    /// The record.
    pub id: RecordId,
    /// Release the claims of an assignment that becomes blocked, which it would otherwise keep. A
    /// failed one releases them anyway.
    #[serde(default, skip_serializing_if = "crate::model::knowledge::records::create::is_default")]
    pub let_go: bool,
    /// The record that the candidate is merged into.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged_into: Option<RecordId>,
    /// The new status of the plan that the assignment belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_status: Option<PlanStatus>,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// Idempotency key: a repeat within a day returns the first answer and changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Label>,
    /// The target state.
    pub to: Label,
}

impl Move {
    /// A move with no optional arguments.
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
    /// The new agent of a rerouted assignment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// The claim for the plan that is released along with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<RecordId>,
    /// The text of the decision that it approves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided: Option<Body>,
    /// The side effects.
    pub effects: Vec<Effect>,
    /// Whether the transition was forced.
    pub forced: Force,
    /// The state before.
    pub from: Status,
    /// The record.
    pub id: RecordId,
    /// Whether its claims are released although it has not ended.
    #[serde(default, skip_serializing_if = "crate::model::knowledge::records::create::is_default")]
    pub let_go: bool,
    /// The record it is merged into.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged_into: Option<RecordId>,
    /// The requested status of its plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_status: Option<PlanStatus>,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// The idempotency mark of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Mark>,
    /// The state after.
    pub to: Status,
}

/// How a transition came about that the table may not allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Force {
    /// An ordinary transition of the table.
    Plain,
    /// Forced by the dispatcher.
    Forced,
    /// Made by convergence: it was stuck, and the plan it belongs to has ended.
    Converged,
}
