//! The terms of a task: who may do it, what it may change, and what shows that it is done.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::runs::file::FilePath;
use crate::model::runs::workspace::Timeout;
use crate::model::runs::workspace::budget::Budget;
use crate::surfaces::Surface;
use crate::values::few::Few;
use crate::values::text::Text;
use crate::values::token::RoleName;

/// How often an agent may try before the attempt fails, unless the task says otherwise.
pub const ATTEMPTS_DEFAULT: u8 = 2;

/// The most tries that a task may ask for.
pub(crate) const ATTEMPTS_MAX: u8 = 20;

/// The terms of a task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Terms {
    /// The kind of agent program that does it, such as `claude`; any by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Text<64>>,
    /// How often an agent may try, 1 to 20 (default 2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u8>,
    /// The budget of each attempt.
    #[serde(default, skip_serializing_if = "Budget::is_empty")]
    pub budget: Budget,
    /// The command that must succeed in the attempt's files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<Text<2000>>,
    /// Ask a person at this point, whatever the run asks about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<TaskGate>,
    /// The key by which people and the plan call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Text<64>>,
    /// The files that must exist afterwards.
    #[serde(default, skip_serializing_if = "Few::has_none")]
    pub produces: Few<FilePath, 64>,
    /// The role of workers that take it; any by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<RoleName>,
    /// The skills that a worker needs.
    #[serde(default, skip_serializing_if = "Few::has_none")]
    pub skills: Few<Text<64>, 16>,
    /// The timeout of each attempt, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<Timeout>,
    /// The surfaces that it may change; without any, what it edits is claimed as it goes.
    #[serde(default, skip_serializing_if = "Few::has_none")]
    pub touches: Few<Surface, 256>,
}

impl Terms {
    /// How often an agent may try.
    pub fn attempts(&self) -> u8 {
        self.attempts.unwrap_or(ATTEMPTS_DEFAULT)
    }
}

/// A point at which a task asks a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskGate {
    /// Before its work is merged.
    Integration,
}
