//! Entries the runtime records about itself: a change of its key, storage failures, a restored
//! trail.

use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::protocol::event::{Event, Stamped};
use crate::protocol::refusal::AuthenticationFailed;
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::values::principal::{Actor, Caller, Principal};
use crate::values::text::Text;

pub use crate::model::admin::runtime::*;

pub(crate) fn decide_rekey(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    rekey: &Rekey,
) -> Result<Reply, DecisionError> {
    let old_key = tx.project()?.runtime_key;
    if old_key == caller.key {
        return Ok(Reply::Done);
    }
    let event = Event::RuntimeRekeyed(Rekeyed {
        new_key: caller.key,
        old_key,
        reason: rekey.reason.clone(),
    });
    let draft = tx.project_draft(Principal::System.into(), event)?;
    tx.emit(draft)?;
    Ok(Reply::Done)
}

pub(crate) fn decide_unauthentic(
    tx: &mut Transaction<'_>,
    note: &NoteUnauthentic,
) -> Result<Reply, DecisionError> {
    let event = Event::AuthenticationFailed(AuthenticationFailed {
        context: Text::lossy("authentication"),
        entity: note.entity.clone(),
        reason: note.reason.clone(),
        source: Text::lossy(note.door.as_str()),
    });
    let draft = tx.project_draft(Actor::Protocol, event)?;
    tx.emit(draft)?;
    Ok(Reply::Done)
}

pub(crate) fn decide_restored(
    tx: &mut Transaction<'_>,
    note: &NoteRestored,
) -> Result<Reply, DecisionError> {
    let epoch = note.epoch.max(tx.state().epoch);
    let (asked_by, entries_before) = (note.asked_by.clone(), note.entries_before);
    let event = Event::RuntimeRestored(Restored { asked_by, entries_before, epoch });
    let draft = tx.project_draft(Principal::System.into(), event)?;
    tx.emit(draft)?;
    Ok(Reply::Done)
}

/// Raises the epoch above all epochs of the replaced trail, so that none is reused.
pub(crate) fn apply_restored(state: &mut State, restored: &Restored) {
    state.epoch = state.epoch.max(restored.epoch);
}

pub(crate) fn decide_degraded(
    tx: &mut Transaction<'_>,
    note: &NoteDegraded,
) -> Result<Reply, DecisionError> {
    let event = Event::SystemDegraded(Degraded {
        affected_workspaces: Vec::new(),
        coordinator_action: CoordinatorAction::Wait,
        reason: note.reason.clone(),
        scope: Scope::TrailStorage,
        since: note.since,
        turned_away: note.turned_away,
    });
    let draft = tx.project_draft(Actor::Protocol, event)?;
    tx.emit(draft)?;
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
