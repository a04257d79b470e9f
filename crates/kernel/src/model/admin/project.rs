//! The project: its id, name, runtime key and rules.

use serde::Deserialize;
use serde::Serialize;

use crate::model::admin::adoption::Rules;
use crate::values::id::ProjectId;
use crate::values::key::PublicKey;
use crate::values::text::Text;
use crate::values::time::Timestamp;

/// The version of the trail format that this kernel writes.
pub(crate) const TRAIL_FORMAT: u32 = 1;

/// The state's record of the project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Project {
    /// The id of the project and of its trail.
    pub id: ProjectId,
    /// The display name.
    pub name: Text<128>,
    /// When it was created.
    pub created_at: Timestamp,
    /// The key that currently signs heads.
    pub runtime_key: PublicKey,
    /// The version of the rules in force.
    #[serde(default)]
    pub rules: Rules,
}

/// `project.create`: issued once, by the runtime that sets the project up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Create {
    /// The display name.
    pub name: Text<128>,
    /// Its id.
    pub project: ProjectId,
}

/// `project.created`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Created {
    /// The hash algorithm that chains the trail.
    pub algorithm: Text<16>,
    /// The version of the trail format.
    pub format: u32,
    /// The display name.
    pub name: Text<128>,
    /// Its id.
    pub project: ProjectId,
    /// The version of the rules in force; absent in old trails, which follow the first version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules: Option<u32>,
    /// The key that signs heads.
    pub runtime_key: PublicKey,
}
