//! Sessions: an agent at work, in a workspace of its own.
//!
//! A server that keeps a connection opens a session and closes it when the connection ends. Calls
//! without a connection (the command line) share one *standing* session per agent, which opens with
//! the first call and lapses after its idle timeout. A session does not lapse while it holds a live
//! lease. When a session ends, its leases end with it.

use crate::machine::state::{Deadline, State};
use crate::machine::transaction::{DecisionError, Transaction};
use crate::protocol::event::{Draft, Event, Stamped};
use crate::protocol::refusal::Refusal;
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::registry::rule::Rule;
use crate::rules::leasing::lease;
use crate::values::id::{IdKind, WorkspaceId};
use crate::values::name::AgentName;
use crate::values::principal::{Actor, Caller, Principal};
use crate::values::stream::Stream;
use crate::values::text::Text;
use crate::values::time::{Span, Timestamp};

pub use crate::model::leasing::session::*;

/// How often activity is recorded per idle timeout, so that a busy session does not move its
/// deadline with every entry. A session may lapse that fraction early.
const TOUCHES_PER_IDLE: u64 = 64;

/// The session an agent's command runs in: the one the caller named, or its standing one, which
/// opens on first use. People and the coordinator have none.
pub(crate) fn ensure(
    tx: &mut Transaction<'_>,
    caller: &Caller,
) -> Result<Option<WorkspaceId>, DecisionError> {
    let Principal::Agent(agent) = &caller.principal else {
        if caller.session.is_none() {
            return Ok(None);
        }
        let message = format!("{} has no session", caller.principal);
        return Err(Refusal::denied(Rule::AgentsHaveSessions, message).into());
    };
    if let Some(named) = &caller.session {
        return owned(tx.state(), agent, named)
            .map(|_| Some(named.clone()))
            .map_err(DecisionError::from);
    }
    if let Some(standing) = tx.state().standing.get(agent) {
        return Ok(Some(standing.clone()));
    }
    open(tx, agent, &Open::default(), true).map(Some)
}

/// The session that a caller works in, and whether it was opened just now: the one it named, or its
/// own with this client label, or its standing one if there is no label. People have none.
pub(crate) fn ensure_called(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    client: Option<&Text<128>>,
) -> Result<(Option<WorkspaceId>, bool), DecisionError> {
    let before = tx.entries().len();
    let id = match (&caller.principal, &caller.session, client) {
        (Principal::Agent(agent), None, Some(client)) => {
            let is_meant = |session: &Session| {
                session.agent == *agent && session.client.as_ref() == Some(client)
            };
            let own = tx.state().sessions.iter().filter(|(_, session)| is_meant(session));
            if let Some((id, _)) = own.min_by_key(|(_, session)| session.opened_at) {
                Some(id.clone())
            } else {
                let named = Open { client: Some(client.clone()), idle_s: None };
                Some(open(tx, agent, &named, false)?)
            }
        }
        _ => ensure(tx, caller)?,
    };
    Ok((id, tx.entries().len() > before))
}

fn owned<'s>(
    state: &'s State,
    agent: &AgentName,
    workspace: &WorkspaceId,
) -> Result<&'s Session, Refusal> {
    match state.sessions.get(workspace) {
        Some(session) if session.agent == *agent => Ok(session),
        Some(_) => {
            let message = format!("the session {workspace} belongs to another agent");
            Err(Refusal::denied(Rule::SessionOwned, message))
        }
        None => {
            let message = format!("there is no open session {workspace}");
            Err(Refusal::not_found(Rule::SessionOwned, message))
        }
    }
}

fn open(
    tx: &mut Transaction<'_>,
    agent: &AgentName,
    open: &Open,
    standing: bool,
) -> Result<WorkspaceId, DecisionError> {
    let workspace: WorkspaceId = tx.mint(IdKind::Workspace).into();
    tx.emit(Draft {
        actor: Principal::Agent(agent.clone()).into(),
        workspace: Some(workspace.clone()),
        stream: Stream::agent(agent),
        correlation: None,
        causation: None,
        event: Event::SessionOpened(Opened {
            agent: agent.clone(),
            client: open.client.clone(),
            idle_s: open.idle_s.unwrap_or_default(),
            standing,
            workspace: workspace.clone(),
        }),
    })?;
    Ok(workspace)
}

pub(crate) fn decide_open(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    args: &Open,
) -> Result<Reply, DecisionError> {
    let Principal::Agent(agent) = &caller.principal else {
        let message = format!("{} cannot open a session", caller.principal);
        return Err(Refusal::denied(Rule::AgentsHaveSessions, message).into());
    };
    let workspace = open(tx, agent, args, false)?;
    tx.session_reply(&workspace)
}

pub(crate) fn decide_close(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    close: &Close,
) -> Result<Reply, DecisionError> {
    let Principal::Agent(agent) = &caller.principal else {
        let message = format!("{} has no session to close", caller.principal);
        return Err(Refusal::denied(Rule::AgentsHaveSessions, message).into());
    };
    let named = close.workspace.as_ref().or(caller.session.as_ref());
    let Some(workspace) = named.or_else(|| tx.state().standing.get(agent)).cloned() else {
        let message = format!("agent {agent} has no open session");
        return Err(Refusal::not_found(Rule::SessionOwned, message).into());
    };
    owned(tx.state(), agent, &workspace)?;
    end(tx, &workspace, caller.principal.clone().into(), EndCause::Closed)?;
    Ok(Reply::Done)
}

/// Ends a session: first its leases, then itself.
pub(crate) fn end(
    tx: &mut Transaction<'_>,
    workspace: &WorkspaceId,
    actor: Actor,
    cause: EndCause,
) -> Result<(), ApplyError> {
    lease::release_all_of(tx, workspace, &actor)?;
    let Some(session) = tx.state().sessions.get(workspace) else {
        return Ok(());
    };
    let (opened_by, stream) = (session.opened_by.clone(), session.stream.clone());
    let agent = session.agent.clone();
    tx.emit(Draft {
        actor,
        workspace: Some(workspace.clone()),
        stream,
        correlation: Some(opened_by.clone()),
        causation: (cause == EndCause::Lapsed).then_some(opened_by),
        event: Event::SessionClosed(Closed { agent, cause, workspace: workspace.clone() }),
    })?;
    Ok(())
}

/// Ends a session whose idle timeout has passed.
pub(crate) fn on_deadline(
    tx: &mut Transaction<'_>,
    workspace: &WorkspaceId,
) -> Result<(), ApplyError> {
    end(tx, workspace, Actor::Protocol, EndCause::Lapsed)
}

pub(crate) fn apply_opened(
    state: &mut State,
    entry: &Stamped,
    opened: &Opened,
) -> Result<(), ApplyError> {
    if state.sessions.contains_key(&opened.workspace) {
        return Err(ApplyError::Twice("a session's opening"));
    }
    let session = Session {
        agent: opened.agent.clone(),
        client: opened.client.clone(),
        standing: opened.standing,
        idle: opened.idle_s,
        opened_at: entry.at,
        opened_by: entry.id.clone(),
        touched_at: entry.at,
        held_until: entry.at,
        stream: entry.draft.stream.clone(),
        leases: 0,
    };
    if opened.standing {
        let before = state.standing.insert(opened.agent.clone(), opened.workspace.clone());
        if before.is_some() {
            return Err(ApplyError::Twice("a standing session"));
        }
    }
    state.deadlines.insert((session.lapses_at(), Deadline::Session(opened.workspace.clone())));
    state.sessions.insert(opened.workspace.clone(), session);
    Ok(())
}

pub(crate) fn apply_closed(
    state: &mut State,
    _entry: &Stamped,
    closed: &Closed,
) -> Result<(), ApplyError> {
    let session =
        state.sessions.remove(&closed.workspace).ok_or(ApplyError::Unknown("the session"))?;
    if session.standing {
        state.standing.remove(&session.agent);
    }
    let deadline = (session.lapses_at(), Deadline::Session(closed.workspace.clone()));
    state.deadlines.remove(&deadline);
    let own = (Principal::Agent(session.agent), Some(closed.workspace.clone()));
    state.authenticated.remove(&own);
    Ok(())
}

/// Records activity in a session, if the last record is old enough.
pub(crate) fn touch(state: &mut State, workspace: &WorkspaceId, at: Timestamp) {
    let Some(session) = state.sessions.get(workspace) else {
        return;
    };
    let step = Span::from_micros(session.idle.span().micros() / TOUCHES_PER_IDLE);
    if at >= session.touched_at.after(step) {
        reschedule(state, workspace, |session| session.touched_at = at);
    }
}

/// Keeps a session from lapsing before its leases expire.
pub(crate) fn hold_until(state: &mut State, workspace: &WorkspaceId, until: Timestamp) {
    if state.sessions.get(workspace).is_some_and(|session| session.lapses_at() < until) {
        reschedule(state, workspace, |session| session.held_until = until);
    }
}

fn reschedule(state: &mut State, workspace: &WorkspaceId, change: impl FnOnce(&mut Session)) {
    if let Some(session) = state.sessions.get_mut(workspace) {
        let before = session.lapses_at();
        change(session);
        let after = session.lapses_at();
        state.deadlines.remove(&(before, Deadline::Session(workspace.clone())));
        state.deadlines.insert((after, Deadline::Session(workspace.clone())));
    }
}
