//! Granting and revoking capabilities of users.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::identity::capability::Capability;
use crate::values::name::UserId;
use crate::values::principal::Actor;
use crate::values::text::Text;

/// `capability.grant`: grants a capability to a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    /// The capability to grant.
    pub capability: Capability,
    /// The person.
    pub user: UserId,
}

/// `capability.revoke`: revokes a capability of a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Revoke {
    /// The capability to revoke.
    pub capability: Capability,
    /// The reason, shown to others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// The person.
    pub user: UserId,
}

/// `capability_granted`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Granted {
    /// The capability.
    pub capability: Capability,
    /// The actor who granted it; the system for the first user.
    pub granted_by: Actor,
    /// The person.
    pub user_id: UserId,
}

/// `capability_revoked`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Revoked {
    /// The capability.
    pub capability: Capability,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// The actor who revoked it.
    pub revoked_by: Actor,
    /// The person.
    pub user_id: UserId,
}
