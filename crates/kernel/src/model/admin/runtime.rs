//! Entries about the runtime itself: key changes, restores, degraded storage, failed
//! authentication.

use serde::Deserialize;
use serde::Serialize;

use crate::values::id::WorkspaceId;
use crate::values::key::PublicKey;
use crate::values::principal::Principal;
use crate::values::text::Text;
use crate::values::time::Timestamp;

/// `runtime.rekey`: records that a runtime with another key has taken over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rekey {
    /// The reason.
    pub reason: Text<1000>,
}

/// `runtime.rekeyed`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rekeyed {
    /// The key that signs from this entry's commit on.
    pub new_key: PublicKey,
    /// The key that signed until then.
    pub old_key: PublicKey,
    /// The reason.
    pub reason: Text<1000>,
}

/// `runtime.unauthentic`: records a failed authentication.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoteUnauthentic {
    /// The API the attempt came through.
    pub door: Text<64>,
    /// The identity that was claimed.
    pub entity: Principal,
    /// The reason why authentication failed.
    pub reason: Text<2000>,
}

/// `runtime.restored`, the command: records that this trail was restored from a copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoteRestored {
    /// The principal who asked for the restore, if authenticated.
    pub asked_by: Option<Principal>,
    /// The number of entries of the trail that was replaced.
    pub entries_before: u64,
    /// The last fencing epoch of the trail that was replaced.
    pub epoch: u64,
}

/// `runtime.restored`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Restored {
    /// The principal who asked for the restore, if authenticated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_by: Option<Principal>,
    /// The number of entries of the trail that was replaced.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub entries_before: u64,
    /// The highest fencing epoch of either trail; later epochs are above it.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub epoch: u64,
}

/// `runtime.degraded`: recorded once the runtime can write again after storage failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoteDegraded {
    /// The error of the storage.
    pub reason: Text<1000>,
    /// When the first write failed.
    pub since: Timestamp,
    /// The number of commands refused in the meantime.
    pub turned_away: u64,
}

/// The part of the system that was degraded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The trail could not be written.
    TrailStorage,
    /// The whole system.
    Systemic,
}

/// The coordinator's response to the degradation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CoordinatorAction {
    /// The coordinator waited until storage accepted writes again.
    Wait,
    /// The coordinator aborted all workspaces.
    BatchAbort,
}

/// `system_degraded`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Degraded {
    /// The workspaces that were affected in particular; empty if all were.
    pub affected_workspaces: Vec<WorkspaceId>,
    /// The coordinator's response.
    pub coordinator_action: CoordinatorAction,
    /// The error of the storage.
    pub reason: Text<1000>,
    /// The part that was degraded.
    pub scope: Scope,
    /// When the first write failed.
    pub since: Timestamp,
    /// The number of commands refused in the meantime.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub turned_away: u64,
}
