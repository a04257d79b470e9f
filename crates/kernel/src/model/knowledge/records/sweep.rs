//! Sweeping of assignments that are overdue for a heartbeat.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::knowledge::records::effect::Effect;
use crate::model::knowledge::records::field::Few;
use crate::model::knowledge::records::view::{MemoryReply, SweptReply};
use crate::model::knowledge::records::vocabulary::{Evidence, Status};
use crate::registry::record_id::RecordId;
use crate::values::idempotency::Mark;
use crate::values::label::Label;
use crate::values::time::Timestamp;

/// The most assignments that one sweep changes.
pub(crate) const SWEPT_MAX: usize = 200;

/// Evidence that somebody is working on an assignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sign {
    /// When, in microseconds since 1970.
    pub at: Timestamp,
    /// The kind of evidence.
    pub evidence: Evidence,
    /// The assignment.
    pub id: RecordId,
}

/// `memory.sweep`: moves assignments on that are overdue for a heartbeat.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sweep {
    /// The assignments that were inspected; others are left alone. All by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looked_at: Option<Few<RecordId, 2000>>,
    /// Idempotency key: a repeat within a day returns the first answer and changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Label>,
    /// Evidence of work that was seen outside the kernel.
    #[serde(default, skip_serializing_if = "crate::model::knowledge::records::create::is_default")]
    pub signs: Few<Sign, 2000>,
}

/// The outcome of the sweep for one assignment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Swept {
    /// The state before.
    pub from: Status,
    /// The assignment.
    pub id: RecordId,
    /// The evidence of work, if there was any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sign: Option<Sign>,
    /// The state after; unchanged if there was evidence of work.
    pub to: Status,
}

/// `memory.swept`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SweptAll {
    /// The side effects.
    pub effects: Vec<Effect>,
    /// Whether more assignments remain to be swept.
    pub more: bool,
    /// The assignments that changed state or were refreshed by evidence.
    pub moved: Vec<Swept>,
    /// The idempotency mark of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Mark>,
}

pub(crate) fn reply(body: &SweptAll) -> MemoryReply {
    let (moved, side_effects) = (body.moved.clone(), body.effects.clone());
    MemoryReply::Swept(SweptReply { moved, side_effects, more: body.more })
}
