//! Attempts: an agent's try at a piece of work. A workspace and an assignment are one attempt, in
//! the words of two protocols.
//!
//! Inside a run an attempt is *governed*: signals and the coordinator's orders move its workspace,
//! and the assignment follows ([`follow`]). Outside runs it is *open*: the verbs for records move
//! the assignment, and its workspace below the standing root follows ([`open`]). The verbs of the
//! other protocol are translated ([`orders`], [`open::signalled`]), so every step is decided by one
//! set of rules, whichever door asked for it.

pub(crate) mod open;
pub(crate) mod orders;

use std::sync::Arc;

use crate::machine::state::State;
use crate::machine::state::records::caused_by;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::knowledge::records::field::{Cover, Fields};
use crate::model::knowledge::records::record::{Body, Record};
use crate::model::knowledge::records::transition::Move;
use crate::model::knowledge::records::vocabulary::Status as Word;
use crate::model::leasing::lease::Opened;
use crate::model::runs::signal::Emit;
use crate::model::runs::workspace::abort::Abort;
use crate::model::runs::workspace::create::Created;
use crate::model::runs::workspace::migrate::Migrate;
use crate::model::runs::workspace::{Status, Timeout};
use crate::protocol::event::Stamped;
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::registry::record_id::Kind;
use crate::rules::knowledge::records::create;
use crate::rules::runs::workspace::{abort, migrate, peer};
use crate::rules::runs::{signal, workspace};
use crate::values::id::WorkspaceId;
use crate::values::principal::Caller;

pub use crate::model::knowledge::attempt::*;

/// Makes the assignment of a new workspace follow it: creates its record, or names the workspace in
/// the record that was created with it.
pub(crate) fn apply_created(
    state: &mut State,
    entry: &Stamped,
    created: &Created,
) -> Result<(), ApplyError> {
    let Some(id) = created.assignment else { return Ok(()) };
    if id.kind != Kind::Assignment {
        return Err(ApplyError::Mismatch("the assignment of a workspace"));
    }
    let workspace = Some(created.workspace_id.clone());
    if let Some(known) = state.memory.records.get(&id) {
        // The entry that offered it counts as the change; this names where it is worked on.
        let mut own = Record::clone(known);
        own.fields.workspace = workspace;
        state.put_record(Arc::new(own));
        return Ok(());
    }
    let by = caused_by(entry);
    let plan = created.task_ref.as_ref().and_then(|task| state.task_record(task));
    let text = plan.map_or_else(|| untitled(created), |plan| plan.text.clone());
    let plan_id = plan.map(|plan| plan.id);
    let mut made = state.new_record(entry, id, by.clone(), text);
    made.fields = Fields {
        acceptance_ttl_secs: Some(seconds(created.idle_timeout_s)),
        agent: created.agent.clone(),
        heartbeat_ttl_secs: created.timeout_s.map(seconds),
        max_retries: Some(0),
        plan_id,
        workspace,
        ..Fields::default()
    };
    create::begin(&mut made, &by, Word::Offered, entry);
    state.put_record(Arc::new(made));
    Ok(())
}

fn seconds(timeout: Timeout) -> u32 {
    u32::try_from(timeout.span().micros() / 1_000_000).unwrap_or(u32::MAX)
}

/// The text of an assignment without a task. Its directive is for its agent alone.
fn untitled(created: &Created) -> Body {
    Body::lossy(&format!("work in workspace {}", created.workspace_id))
}

/// Moves the assignment of a workspace to the state that follows from the workspace's, if it is not
/// in one that fits. The assignment of an open attempt leads, and follows only into failure.
pub(crate) fn follow(
    state: &mut State,
    entry: &Stamped,
    id: &WorkspaceId,
) -> Result<(), ApplyError> {
    let Some(record) = state.assignment_of(id) else { return Ok(()) };
    let known = state.workspaces.get(id).ok_or(ApplyError::Unknown("the workspace"))?;
    if state.is_open_attempt(known) && known.status != Status::Failed {
        return Ok(());
    }
    let words = words(known);
    let fits = words.contains(&record.status) && !was_turned_down(known);
    let Some(word) = words.first().copied().filter(|_| !fits) else {
        return Ok(());
    };
    let (own, reason) = (record.id, known.reason.clone());
    state.change_record(entry, own, |own| {
        own.enter(word, entry.at);
        if reason.is_some() {
            own.fields.resolved_reason = reason;
        }
    })
}

/// Names the new agent of a workspace in its assignment.
pub(crate) fn follow_agent(
    state: &mut State,
    entry: &Stamped,
    id: &WorkspaceId,
) -> Result<(), ApplyError> {
    let Some(record) = state.assignment_of(id).map(|record| record.id) else { return Ok(()) };
    let agent = state.workspaces.get(id).and_then(|known| known.agent.clone());
    state.change_record(entry, record, |own| own.fields.agent = agent)
}

/// Names the lease that a workspace holds for its authority in its assignment.
pub(crate) fn follow_lease(
    state: &mut State,
    entry: &Stamped,
    opened: &Opened,
) -> Result<(), ApplyError> {
    let Some(at) = entry.draft.workspace.as_ref() else { return Ok(()) };
    // Files that are claimed as they are edited are not its authority.
    let is_authority = state.workspaces.get(at).is_some_and(|known| {
        let own = &known.charter.authority;
        !own.is_empty() && own.iter().all(|own| opened.surfaces.as_slice().contains(own))
    });
    let record = state.assignment_of(at).map(|own| own.id).filter(|_| is_authority);
    let Some(record) = record else { return Ok(()) };
    let covers = Arc::new(Cover { surfaces: opened.surfaces.clone(), ttl_s: opened.ttl_s });
    state.change_record(entry, record, |own| {
        (own.fields.claim, own.fields.covers) = (Some(opened.epoch), Some(covers));
    })
}

/// Moves the assignment of a workspace that goes on after a signal from it: the first `started`
/// begins the work.
pub(crate) fn follow_signal(
    state: &mut State,
    entry: &Stamped,
    from: &WorkspaceId,
) -> Result<(), ApplyError> {
    match state.workspaces.get(from) {
        Some(known) if !known.status.is_terminal() => follow(state, entry, from),
        _ => Ok(()),
    }
}

/// Emits a signal. That of an attempt outside runs moves its assignment.
pub(crate) fn decide_emit(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    emit: &Emit,
) -> Result<Reply, DecisionError> {
    let from = workspace::own(tx.state(), caller, emit.workspace.as_ref())?;
    if tx.state().is_open_attempt(workspace::get(tx.state(), &from)?) {
        open::signalled(tx, caller, &from, emit)
    } else {
        signal::decide_emit(tx, caller, emit)
    }
}

/// Aborts a workspace. The assignment of an attempt outside runs is cancelled.
pub(crate) fn decide_abort(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    asked: &Abort,
) -> Result<Reply, DecisionError> {
    let known = tx.state().workspaces.get(&asked.workspace);
    if known.is_none_or(|known| !tx.state().is_open_attempt(known)) {
        return abort::decide_abort(tx, caller, asked);
    }
    let at = open::moved(tx, caller, &asked.workspace, |assignment| Move {
        reason: asked.reason.clone(),
        ..Move::plain(assignment, Word::Cancelled)
    })?;
    tx.workspace_reply(&at)
}

/// Moves a workspace to another agent. The assignment of an attempt outside runs is rerouted.
pub(crate) fn decide_migrate(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    asked: &Migrate,
) -> Result<Reply, DecisionError> {
    let known = tx.state().workspaces.get(&asked.workspace);
    if known.is_none_or(|known| !tx.state().is_open_attempt(known)) {
        return migrate::decide_migrate(tx, caller, asked);
    }
    let next = open::moved(tx, caller, &asked.workspace, |assignment| Move {
        agent: Some(asked.agent.clone()),
        reason: asked.reason.clone(),
        ..Move::plain(assignment, Word::Rerouted)
    })?;
    tx.workspace_reply(&next)
}

/// The id of the standing root, or an error if there is no project.
pub(crate) fn standing_root(state: &State) -> Result<WorkspaceId, ApplyError> {
    peer::standing_root(state).ok_or(ApplyError::NoProject)
}
