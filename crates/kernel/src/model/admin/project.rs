//! Types of `project`: state, arguments of commands and bodies of events.

use serde::Deserialize;
use serde::Serialize;

use crate::model::admin::adoption::Rules;
use crate::values::id::ProjectId;
use crate::values::key::PublicKey;
use crate::values::text::Text;

/// The version of the trail's form that this kernel writes.
pub const TRAIL_FORMAT: u32 = 1;

/// What the state remembers of the project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Project {
    /// Its id, and that of its trail.
    pub id: ProjectId,
    /// What people call it.
    pub name: Text<128>,
    /// The key that signs heads now.
    pub runtime_key: PublicKey,
    /// The rules that hold.
    #[serde(default)]
    pub rules: Rules,
}

/// `project.create`: issued once, by the runtime that sets the project up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Create {
    /// What people call it.
    pub name: Text<128>,
    /// Its id.
    pub project: ProjectId,
}

/// `project.created`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Created {
    /// The hash that chains the trail.
    pub algorithm: Text<16>,
    /// The version of the trail's form.
    pub format: u32,
    /// What people call the project.
    pub name: Text<128>,
    /// Its id.
    pub project: ProjectId,
    /// The version of the rules that holds; trails from before this was said have the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules: Option<u32>,
    /// The key that signs heads.
    pub runtime_key: PublicKey,
}
