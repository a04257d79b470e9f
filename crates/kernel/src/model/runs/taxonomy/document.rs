//! A taxonomy document, as written by users.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::values::text::Text;
use crate::values::token::{RoleName, TypeName};

/// A taxonomy document: the roles and types an application adds to the base.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// Types of checkpoints.
    #[serde(default)]
    pub checkpoint_types: Vec<CheckpointType>,
    /// Types of envelopes, with the roles that may send and receive them.
    #[serde(default)]
    pub envelope_types: Vec<EnvelopeType>,
    /// The id of the taxonomy.
    pub id: Text<128>,
    /// The version of the protocol it is written for.
    pub protocol_version: Text<32>,
    /// Roles, each derived from a base role.
    #[serde(default)]
    pub roles: Vec<Role>,
    /// Its own version.
    pub version: Text<32>,
}

/// A role derived from a base role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Role {
    /// Capabilities it has in addition to its base.
    #[serde(default)]
    pub add: Vec<Capability>,
    /// The base role: `worker` or `observer`.
    pub extends: RoleName,
    /// The name.
    pub name: RoleName,
    /// Replacements for the defaults of its base.
    #[serde(default, rename = "override")]
    pub overrides: Option<Overrides>,
    /// Capabilities of its base that it lacks.
    #[serde(default)]
    pub remove: Vec<Capability>,
}

/// A capability of a role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Capability {
    /// The action.
    pub action: Action,
    /// The target: a type of envelope or checkpoint, or a thing to read.
    pub target: Text<64>,
}

/// The action of a capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Send a type of envelope.
    Send,
    /// Receive a type of envelope.
    Receive,
    /// Read something.
    Read,
    /// Create a type of checkpoint.
    Create,
}

/// Replacements for a base role's defaults.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Overrides {
    /// The types of checkpoints it creates.
    pub checkpoint_types: Vec<TypeName>,
}

/// A type of envelope.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnvelopeType {
    /// The description.
    #[serde(default)]
    pub description: Text<1000>,
    /// The name.
    pub name: TypeName,
    /// The pairs of roles that may send and receive it.
    pub permissions: Vec<Permission>,
}

/// One row of the permission matrix.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Permission {
    /// The receiving role.
    pub receiver_role: RoleName,
    /// The sending role.
    pub sender_role: RoleName,
}

/// A type of checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckpointType {
    /// The description.
    #[serde(default)]
    pub description: Text<1000>,
    /// The name.
    pub name: TypeName,
    /// The roles that may create it.
    pub permitted_roles: Vec<RoleName>,
    /// Fields its payload must have: `files_changed`, `content`, `artifacts`.
    #[serde(default)]
    pub required_fields: Vec<Text<64>>,
}
