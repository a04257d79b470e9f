//! Types of `runtime`: state, arguments of commands and bodies of events.

use serde::Deserialize;
use serde::Serialize;

use crate::values::id::WorkspaceId;
use crate::values::key::PublicKey;
use crate::values::principal::Principal;
use crate::values::text::Text;
use crate::values::time::Timestamp;

/// `runtime.rekey`: a runtime that holds another key takes over and says so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rekey {
    /// Why.
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
    /// Why.
    pub reason: Text<1000>,
}

/// `runtime.unauthentic`: notes that a door could not tell somebody to be who they said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoteUnauthentic {
    /// Whom they said to be.
    pub entity: Principal,
    /// Why that could not be shown.
    pub reason: Text<2000>,
    /// Which door it was.
    pub door: Text<64>,
}

/// `runtime.restored`, the command: notes that this trail was put back from a copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoteRestored {
    /// On whose word, if somebody said who they are.
    pub asked_by: Option<Principal>,
    /// How many entries the trail had that was replaced.
    pub entries_before: u64,
    /// The last fencing epoch that trail gave out.
    pub epoch: u64,
}

/// `runtime.restored`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Restored {
    /// On whose word, if somebody said who they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_by: Option<Principal>,
    /// How many entries the trail had that was replaced.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub entries_before: u64,
    /// Epochs go on above this one: the last that either trail gave out.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub epoch: u64,
}

/// `runtime.degraded`: what the runtime notes once it can write again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoteDegraded {
    /// How many commands were turned away meanwhile.
    pub turned_away: u64,
    /// What the storage said.
    pub reason: Text<1000>,
    /// When the first write failed.
    pub since: Timestamp,
}

/// Which part of the system was degraded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The trail could not be written.
    TrailStorage,
    /// Everything at once.
    Systemic,
}

/// What the coordinator did about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CoordinatorAction {
    /// It waited until writes went through again.
    Wait,
    /// It ended everything.
    BatchAbort,
}

/// `system_degraded`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Degraded {
    /// Workspaces that were affected in particular; none means all alike.
    pub affected_workspaces: Vec<WorkspaceId>,
    /// What was done.
    pub coordinator_action: CoordinatorAction,
    /// What the storage said.
    pub reason: Text<1000>,
    /// What was degraded.
    pub scope: Scope,
    /// When the first write failed.
    pub since: Timestamp,
    /// How many commands were turned away meanwhile.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub turned_away: u64,
}
