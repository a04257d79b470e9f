//! A taxonomy document, as people write it.

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
    /// Types of envelopes, with who may send them to whom.
    #[serde(default)]
    pub envelope_types: Vec<EnvelopeType>,
    /// Which taxonomy this is.
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
    /// Capabilities it has beyond its base.
    #[serde(default)]
    pub add: Vec<Capability>,
    /// The base role: `worker` or `observer`.
    pub extends: RoleName,
    /// The name.
    pub name: RoleName,
    /// What takes the place of its base's defaults.
    #[serde(default, rename = "override")]
    pub overrides: Option<Overrides>,
    /// Capabilities of its base that it does not have.
    #[serde(default)]
    pub remove: Vec<Capability>,
}

/// One thing a role may do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Capability {
    /// What is done.
    pub action: Action,
    /// What it is done with: a type of envelope or checkpoint, or what is read.
    pub target: Text<64>,
}

/// What a capability lets one do.
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

/// What takes the place of a base role's defaults.
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
    /// What it is for.
    #[serde(default)]
    pub description: Text<1000>,
    /// The name.
    pub name: TypeName,
    /// Who may send it to whom.
    pub permissions: Vec<Permission>,
}

/// One row of the permission matrix.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Permission {
    /// Who receives.
    pub receiver_role: RoleName,
    /// Who sends.
    pub sender_role: RoleName,
}

/// A type of checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckpointType {
    /// What it is for.
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
