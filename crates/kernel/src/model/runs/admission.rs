//! Resource limits of a run, checked when new work is admitted.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::runs::workspace::budget::Percent;
use crate::model::runs::workspace::meter::Amount;
use crate::values::closed_set::closed_set;

/// How a refusal for lack of room begins.
pub(crate) const NO_ROOM: &str = "there is no room for another workspace";

/// The resource limits of a run; a limit left out does not apply.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Bytes of context and working memory of all live workspaces.
    pub context_bytes: Option<Amount>,
    /// How far critical work may exceed each limit, in percent (default 10).
    pub critical_headroom_percent: Option<Percent>,
    /// Bytes that must stay free where content is stored.
    pub disk_free_bytes: Option<Amount>,
    /// Live workspaces, not counting the root.
    pub live_workspaces: Option<Amount>,
    /// Bytes of mail that was sent and not yet taken.
    pub queued_bytes: Option<Amount>,
}

closed_set! {
    /// A limited resource.
    Capacity {
        /// Live workspaces.
        Compute "compute",
        /// Context and working memory.
        Memory "memory",
        /// Mail in transit.
        Network "network",
        /// Disk space where content is stored.
        Storage "storage",
    }
}

/// The use of a limited resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Standing {
    /// The resource.
    pub capacity: Capacity,
    /// The maximum use; for storage the minimum that must be free.
    pub limit: Amount,
    /// The current or projected use; for storage the free space.
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
