//! Arguments of queries about gates and escalations.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::values::id::GateId;
use crate::values::name::UserId;

/// `gate.list`
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GateList {
    /// Include gates of this run that have ended.
    pub all: bool,
    /// Only gates in this person's queue.
    pub owner: Option<UserId>,
}

/// `gate.get`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfGate {
    /// The gate.
    pub gate: GateId,
}

/// `escalation.list`
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EscalationList {
    /// Only escalations waiting for this person.
    pub owner: Option<UserId>,
}
