//! What the runtime records about itself: a change of its key, a time without storage, a trail
//! that was put back.

use serde::{Deserialize, Serialize};

use crate::event::{Event, Stamped};
use crate::id::WorkspaceId;
use crate::key::PublicKey;
use crate::principal::{Actor, Caller, Principal};
use crate::refusal::AuthenticationFailed;
use crate::state::{ApplyError, State};
use crate::text::Text;
use crate::time::{Timestamp, exact_integer};
use crate::turn::{Halt, Reply, Turn};

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
    #[serde(deserialize_with = "exact_integer")]
    pub entries_before: u64,
    /// Epochs go on above this one: the last that either trail gave out.
    #[serde(deserialize_with = "exact_integer")]
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
    #[serde(deserialize_with = "exact_integer")]
    pub turned_away: u64,
}

pub(crate) fn decide_rekey(
    turn: &mut Turn<'_>,
    caller: &Caller,
    rekey: &Rekey,
) -> Result<Reply, Halt> {
    let old_key = turn.project()?.runtime_key;
    if old_key == caller.key {
        return Ok(Reply::Done);
    }
    let event = Event::RuntimeRekeyed(Rekeyed {
        new_key: caller.key,
        old_key,
        reason: rekey.reason.clone(),
    });
    let draft = turn.project_draft(Principal::System.into(), event)?;
    turn.emit(draft)?;
    Ok(Reply::Done)
}

pub(crate) fn decide_unauthentic(
    turn: &mut Turn<'_>,
    note: &NoteUnauthentic,
) -> Result<Reply, Halt> {
    let event = Event::AuthenticationFailed(AuthenticationFailed {
        context: Text::lossy("authentication"),
        entity: note.entity.clone(),
        reason: note.reason.clone(),
        source: Text::lossy(note.door.as_str()),
    });
    let draft = turn.project_draft(Actor::Protocol, event)?;
    turn.emit(draft)?;
    Ok(Reply::Done)
}

pub(crate) fn decide_restored(turn: &mut Turn<'_>, note: &NoteRestored) -> Result<Reply, Halt> {
    let epoch = note.epoch.max(turn.state().epoch);
    let (asked_by, entries_before) = (note.asked_by.clone(), note.entries_before);
    let event = Event::RuntimeRestored(Restored { asked_by, entries_before, epoch });
    let draft = turn.project_draft(Principal::System.into(), event)?;
    turn.emit(draft)?;
    Ok(Reply::Done)
}

/// Epochs of the trail that was replaced are never given out again.
pub(crate) fn apply_restored(state: &mut State, restored: &Restored) {
    state.epoch = state.epoch.max(restored.epoch);
}

pub(crate) fn decide_degraded(turn: &mut Turn<'_>, note: &NoteDegraded) -> Result<Reply, Halt> {
    let event = Event::SystemDegraded(Degraded {
        affected_workspaces: Vec::new(),
        coordinator_action: CoordinatorAction::Wait,
        reason: note.reason.clone(),
        scope: Scope::TrailStorage,
        since: note.since,
        turned_away: note.turned_away,
    });
    let draft = turn.project_draft(Actor::Protocol, event)?;
    turn.emit(draft)?;
    Ok(Reply::Done)
}

pub(crate) fn apply_rekeyed(
    state: &mut State,
    _entry: &Stamped,
    rekeyed: &Rekeyed,
) -> Result<(), ApplyError> {
    let project = state.project.as_mut().ok_or(ApplyError::NoProject)?;
    if project.runtime_key != rekeyed.old_key {
        return Err(ApplyError::Mismatch("the key that is replaced"));
    }
    project.runtime_key = rekeyed.new_key;
    Ok(())
}
