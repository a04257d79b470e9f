//! Types of `grant`: state, arguments of commands and bodies of events.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::identity::capability::Capability;
use crate::values::name::UserId;
use crate::values::principal::Actor;
use crate::values::text::Text;

/// `capability.grant`: lets a person do more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    /// What they may do from now on.
    pub capability: Capability,
    /// Which person.
    pub user: UserId,
}

/// `capability.revoke`: lets a person do less.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Revoke {
    /// What they may not do any more.
    pub capability: Capability,
    /// Why, for others to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// Which person.
    pub user: UserId,
}

/// `capability_granted`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Granted {
    /// What was granted.
    pub capability: Capability,
    /// Who granted it; the system to the first user.
    pub granted_by: Actor,
    /// The person.
    pub user_id: UserId,
}

/// `capability_revoked`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Revoked {
    /// What was taken away.
    pub capability: Capability,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// Who took it away.
    pub revoked_by: Actor,
    /// The person.
    pub user_id: UserId,
}
