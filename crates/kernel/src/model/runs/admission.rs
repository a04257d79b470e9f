//! Types of `admission`: state, arguments of commands and bodies of events.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::runs::workspace::budget::Percent;
use crate::model::runs::workspace::meter::Amount;

/// What a run has room for; what is left out is not limited.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Bytes of context and working memory of all workspaces that go on.
    pub context_bytes: Option<Amount>,
    /// How much further critical work may go, in hundredths of each limit (default 10).
    pub critical_headroom_percent: Option<Percent>,
    /// Bytes that have to stay free where content is stored.
    pub disk_free_bytes: Option<Amount>,
    /// Workspaces that go on at the same time, the root not counted.
    pub live_workspaces: Option<Amount>,
    /// Bytes of mail that was sent and not taken yet.
    pub queued_bytes: Option<Amount>,
}

/// What there is a limited amount of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Capacity {
    /// Workspaces that go on.
    Compute,
    /// Context.
    Memory,
    /// Mail on its way.
    Network,
    /// Room where content is stored.
    Storage,
}

impl Capacity {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Capacity::Compute => "compute",
            Capacity::Memory => "memory",
            Capacity::Network => "network",
            Capacity::Storage => "storage",
        }
    }
}

/// How a capacity stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Standing {
    /// Which.
    pub capacity: Capacity,
    /// The most that may be in use; of storage, the least that must be free.
    pub limit: Amount,
    /// What is in use, or would be; of storage, what is free.
    pub measured: Amount,
}

impl Standing {
    pub(crate) fn is_short(&self) -> bool {
        match self.capacity {
            Capacity::Storage => self.measured < self.limit,
            _ => self.measured > self.limit,
        }
    }
}
