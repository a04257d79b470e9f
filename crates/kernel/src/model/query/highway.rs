//! Types of `highway`: state, arguments of commands and bodies of events.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::values::id::GateId;
use crate::values::name::UserId;

/// `gate.list`
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GateList {
    /// Also those of this run that have ended.
    pub all: bool,
    /// Only those in this person's queue.
    pub owner: Option<UserId>,
}

/// `gate.get`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfGate {
    /// Which gate.
    pub gate: GateId,
}

/// `escalation.list`
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EscalationList {
    /// Only those that wait for this person.
    pub owner: Option<UserId>,
}
