//! Giving a workspace another agent. Everything in it stays; only who works there changes.
//!
//! The new agent is bound at once, so that one always is, and the workspace stands still until
//! that agent says `ready`. If it never does, the workspace fails.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

use super::change::{self, Change};
use super::suspend::{at_work, from_the_root};
use super::{Status, Trigger};
use crate::event::Event;
use crate::id::WorkspaceId;
use crate::name::AgentName;
use crate::principal::{Actor, Caller};
use crate::refusal::Refusal;
use crate::rule::Rule;
use crate::signal::SignalType;
use crate::state::{ApplyError, State};
use crate::text::Text;
use crate::time::Span;
use crate::turn::{Halt, Reply, Turn};

/// `workspace.migrate`: gives a workspace another agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Migrate {
    /// The agent that takes over.
    pub agent: AgentName,
    /// Why, for others to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// Which workspace.
    pub workspace: WorkspaceId,
}

/// `migration_started`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MigrationStarted {
    /// The agent that takes over.
    pub new_agent: AgentName,
    /// The agent that worked there.
    pub old_agent: AgentName,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// The workspace.
    pub workspace_id: WorkspaceId,
}

/// `migration_completed`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MigrationCompleted {
    /// How long it took, in microseconds.
    pub duration: Span,
    /// The agent that took over.
    pub new_agent: AgentName,
    /// The agent that worked there.
    pub old_agent: AgentName,
    /// The workspace.
    pub workspace_id: WorkspaceId,
}

/// `migration_failed`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MigrationFailed {
    /// What went wrong.
    pub error: Trigger,
    /// The agent that should have taken over.
    pub new_agent: AgentName,
    /// The agent that worked there.
    pub old_agent: AgentName,
    /// The workspace.
    pub workspace_id: WorkspaceId,
}

pub(crate) fn decide_migrate(
    turn: &mut Turn<'_>,
    caller: &Caller,
    migrate: &Migrate,
) -> Result<Reply, Halt> {
    let id = &migrate.workspace;
    super::root(turn.state())?;
    super::get(turn.state(), id)?;
    if !super::commands(turn.state(), caller, id) {
        let message = format!("{} may not move workspace {id}", caller.principal);
        return Err(Refusal::denied(Rule::CoordinatorOnly, message).into());
    }
    at_work(turn, id, "moving it")?;
    let old = super::get(turn.state(), id)?.agent.clone();
    let Some(old_agent) = old.filter(|old| *old != migrate.agent) else {
        let message = format!("agent {} works in {id} already", migrate.agent);
        return Err(Refusal::denied(Rule::StateAllows, message).into());
    };
    if !turn.state().agents.contains_key(&migrate.agent) {
        let message = format!("agent {} has never shown who it is", migrate.agent);
        return Err(Refusal::not_found(Rule::AgentKnown, message).into());
    }
    let event = Event::MigrationStarted(MigrationStarted {
        new_agent: migrate.agent.clone(),
        old_agent,
        reason: migrate.reason.clone(),
        workspace_id: id.clone(),
    });
    turn.note(Some(id), caller.principal.clone().into(), event)?;
    let change = Change {
        to: Status::Migrating,
        trigger: Trigger::Migrate,
        initiator: super::initiator(&caller.principal),
        reason: migrate.reason.clone(),
        actor: Actor::Protocol,
    };
    change::take(turn, id, change)?;
    from_the_root(turn, SignalType::Migrate, id)?;
    turn.workspace_reply(id)
}

/// The new agent is there: the workspace goes on where it was interrupted.
pub(crate) fn complete(turn: &mut Turn<'_>, id: &WorkspaceId) -> Result<(), Halt> {
    let workspace = super::get(turn.state(), id)?;
    let (Some(old_agent), Some(new_agent), Some(back)) =
        (workspace.moved_from.clone(), workspace.agent.clone(), workspace.interrupted)
    else {
        return Ok(());
    };
    let duration = turn.now().since(workspace.since);
    let workspace_id = id.clone();
    let completed = MigrationCompleted { duration, new_agent, old_agent, workspace_id };
    turn.note(Some(id), Actor::Protocol, Event::MigrationCompleted(completed))?;
    change::take(turn, id, Change::of_runtime(back, Trigger::Migrated))?;
    Ok(())
}

/// A workspace fails while its new agent is on the way.
pub(crate) fn note_failed(
    turn: &mut Turn<'_>,
    id: &WorkspaceId,
    error: Trigger,
) -> Result<(), ApplyError> {
    let workspace = turn.state().workspaces.get(id).ok_or(ApplyError::Unknown("the workspace"))?;
    let (Some(old_agent), Some(new_agent)) =
        (workspace.moved_from.clone(), workspace.agent.clone())
    else {
        return Ok(());
    };
    let workspace_id = id.clone();
    let failed = MigrationFailed { error, new_agent, old_agent, workspace_id };
    turn.note(Some(id), Actor::Protocol, Event::MigrationFailed(failed))
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

/// The move is over, one way or the other.
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
