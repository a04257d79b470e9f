//! Migration of a workspace to another agent. Everything in it stays; only the agent changes.
//!
//! The new agent is bound at once, so that there always is one, and the workspace is paused until
//! that agent emits `ready`. If it does not in time, the workspace fails.

use std::sync::Arc;

use crate::machine::coordinator;
use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::leasing::lease::ReleaseCause;
use crate::model::runs::signal::SignalType;
use crate::model::runs::workspace::{Status, Trigger};
use crate::protocol::event::Event;
use crate::protocol::refusal::Refusal;
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::registry::rule::Rule;
use crate::rules::runs::workspace;
use crate::rules::runs::workspace::authority;
use crate::rules::runs::workspace::change;
use crate::rules::runs::workspace::change::Change;
use crate::rules::runs::workspace::suspend::{at_work, from_the_root};
use crate::values::id::WorkspaceId;
use crate::values::name::AgentName;
use crate::values::principal::{Actor, Caller};

pub use crate::model::runs::workspace::migrate::*;

pub(crate) fn decide_migrate(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    migrate: &Migrate,
) -> Result<Reply, DecisionError> {
    let id = &migrate.workspace;
    coordinator::root(tx.state())?;
    workspace::get(tx.state(), id)?;
    if !workspace::commands(tx.state(), caller, id) {
        let message = format!("{} may not move workspace {id}", caller.principal);
        return Err(Refusal::denied(Rule::CoordinatorOnly, message).into());
    }
    at_work(tx, id, "moving it")?;
    let old = workspace::get(tx.state(), id)?.agent.clone();
    let Some(old_agent) = old.filter(|old| *old != migrate.agent) else {
        let message = format!("agent {} works in {id} already", migrate.agent);
        return Err(Refusal::denied(Rule::StateAllows, message).into());
    };
    if !tx.state().agents.contains_key(&migrate.agent) {
        let message = format!("agent {} has never registered", migrate.agent);
        return Err(Refusal::not_found(Rule::AgentKnown, message).into());
    }
    let event = Event::MigrationStarted(MigrationStarted {
        new_agent: migrate.agent.clone(),
        old_agent,
        reason: migrate.reason.clone(),
        workspace_id: id.clone(),
    });
    tx.note(Some(id), caller.principal.clone().into(), event)?;
    authority::close(tx, id, ReleaseCause::HandedOver)?;
    authority::open(tx, &caller.principal, id)?;
    let change = Change {
        to: Status::Migrating,
        trigger: Trigger::Migrate,
        initiator: workspace::initiator(&caller.principal),
        reason: migrate.reason.clone(),
        actor: Actor::Protocol,
    };
    change::take(tx, id, change)?;
    from_the_root(tx, SignalType::Migrate, id)?;
    tx.workspace_reply(id)
}

/// Completes a migration: the workspace returns to its interrupted state.
pub(crate) fn complete(tx: &mut Transaction<'_>, id: &WorkspaceId) -> Result<(), DecisionError> {
    let workspace = workspace::get(tx.state(), id)?;
    let (Some(old_agent), Some(new_agent), Some(back)) =
        (workspace.moved_from.clone(), workspace.agent.clone(), workspace.interrupted)
    else {
        return Ok(());
    };
    let duration = tx.now().since(workspace.since);
    let workspace_id = id.clone();
    let completed = MigrationCompleted { duration, new_agent, old_agent, workspace_id };
    tx.note(Some(id), Actor::Protocol, Event::MigrationCompleted(completed))?;
    change::take(tx, id, Change::of_runtime(back, Trigger::Migrated))?;
    Ok(())
}

/// Records that a workspace failed during its migration.
pub(crate) fn note_failed(
    tx: &mut Transaction<'_>,
    id: &WorkspaceId,
    error: Trigger,
) -> Result<(), ApplyError> {
    let workspace = tx.state().workspaces.get(id).ok_or(ApplyError::Unknown("the workspace"))?;
    let (Some(old_agent), Some(new_agent)) =
        (workspace.moved_from.clone(), workspace.agent.clone())
    else {
        return Ok(());
    };
    let workspace_id = id.clone();
    let failed = MigrationFailed { error, new_agent, old_agent, workspace_id };
    tx.note(Some(id), Actor::Protocol, Event::MigrationFailed(failed))
}

pub(crate) fn apply_started(
    state: &mut State,
    started: &MigrationStarted,
) -> Result<(), ApplyError> {
    let id = &started.workspace_id;
    let known = state.workspaces.get_mut(id).ok_or(ApplyError::Unknown("the workspace"))?;
    let at_work = matches!(known.status, Status::Active | Status::Blocked);
    let first = at_work && known.moved_from.is_none();
    let comes = state.agents.contains_key(&started.new_agent);
    if !first || !comes || known.agent.as_ref() != Some(&started.old_agent) {
        return Err(ApplyError::Mismatch("the agent that worked there"));
    }
    let workspace = Arc::make_mut(known);
    workspace.agent = Some(started.new_agent.clone());
    workspace.moved_from = Some(started.old_agent.clone());
    state.bound.remove(&(started.old_agent.clone(), id.clone()));
    state.bound.insert((started.new_agent.clone(), id.clone()));
    state.give_part(&started.new_agent);
    Ok(())
}

/// Applies the end of a migration, completed or failed.
pub(crate) fn apply_over(
    state: &mut State,
    id: &WorkspaceId,
    old: &AgentName,
    new: &AgentName,
) -> Result<(), ApplyError> {
    let known = state.workspaces.get_mut(id).ok_or(ApplyError::Unknown("the workspace"))?;
    if known.moved_from.as_ref() != Some(old) || known.agent.as_ref() != Some(new) {
        return Err(ApplyError::Mismatch("the agents of the move"));
    }
    Arc::make_mut(known).moved_from = None;
    Ok(())
}
