//! Types of `sweep`: state, arguments of commands and bodies of events.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::knowledge::records::effect::Effect;
use crate::model::knowledge::records::field::Few;
use crate::model::knowledge::records::kind::RecordId;
use crate::model::knowledge::records::view::{MemoryReply, SweptReply};
use crate::model::knowledge::records::vocabulary::{Evidence, Status};
use crate::values::idempotency::Mark;
use crate::values::label::Label;
use crate::values::time::Timestamp;

/// The most assignments that one sweep moves.
pub const SWEPT_MAX: usize = 200;

/// Something that shows that somebody is at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sign {
    /// When, in microseconds since 1970.
    pub at: Timestamp,
    /// What.
    pub evidence: Evidence,
    /// On which assignment.
    pub id: RecordId,
}

/// `memory.sweep`: has assignments move on of which nothing was heard for too long.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sweep {
    /// The assignments that were looked at; others stay as they are. All, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looked_at: Option<Few<RecordId, 2000>>,
    /// What the caller calls this request; asked again within a day, it is done once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Label>,
    /// What was seen of them outside.
    #[serde(default, skip_serializing_if = "crate::model::knowledge::records::create::is_default")]
    pub signs: Few<Sign, 2000>,
}

/// What became of one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Swept {
    /// The state before.
    pub from: Status,
    /// Which assignment.
    pub id: RecordId,
    /// What showed that somebody is at work on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sign: Option<Sign>,
    /// The state after; the same if it was only heard of.
    pub to: Status,
}

/// `memory.swept`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SweptAll {
    /// What followed.
    pub effects: Vec<Effect>,
    /// Whether there is more to sweep.
    pub more: bool,
    /// What moved, or was heard of.
    pub moved: Vec<Swept>,
    /// The request that led to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Mark>,
}

pub(crate) fn reply(body: &SweptAll) -> MemoryReply {
    let (moved, side_effects) = (body.moved.clone(), body.effects.clone());
    MemoryReply::Swept(SweptReply { moved, side_effects, more: body.more })
}
