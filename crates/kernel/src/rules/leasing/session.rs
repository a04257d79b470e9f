//! Sessions: an agent at work, in a workspace of its own.
//!
//! A server that keeps a connection opens a session and names the connection. Windows of one host are
//! connections of one session. When the last one has ended, closed or killed, the session is *gone*:
//! unless its agent comes back within the grace time, it ends. Leases that work is bound to stay until
//! they expire. Calls without a connection (the command line) share one *standing* session per agent,
//! which opens with the first call and lapses after its idle timeout, but not while it holds a live
//! lease. When a session ends, its leases end with it.

use crate::machine::state::{Deadline, State};
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::knowledge::records::{Kind as RecordKind, Record};
use crate::model::leasing::lease::{Lease, ReleaseCause};
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
            if let Some(id) = of_client(tx.state(), agent, Some(client)) {
                Some(id)
            } else {
                let named = Open { client: Some(client.clone()), ..Open::default() };
                Some(open(tx, agent, &named, false)?)
            }
        }
        _ => ensure(tx, caller)?,
    };
    Ok((id, tx.entries().len() > before))
}

/// The oldest open session of an agent with a client label.
fn of_client(state: &State, agent: &AgentName, client: Option<&Text<128>>) -> Option<WorkspaceId> {
    let is_meant = |session: &Session| {
        !session.standing && session.agent == *agent && session.client.as_ref() == client
    };
    let own = state.sessions.iter().filter(|(_, session)| is_meant(session));
    own.min_by_key(|(_, session)| session.opened_at).map(|(id, _)| id.clone())
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
            connection: open.connection.clone(),
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
    let known = args.connection.as_ref();
    let known = known.and_then(|_| of_client(tx.state(), agent, args.client.as_ref()));
    let workspace = match (known, &args.connection) {
        (Some(known), Some(connection)) => {
            connect(tx, agent, &known, connection)?;
            known
        }
        _ => open(tx, agent, args, false)?,
    };
    tx.session_reply(&workspace)
}

/// Goes on with an open session through another connection.
fn connect(
    tx: &mut Transaction<'_>,
    agent: &AgentName,
    workspace: &WorkspaceId,
    connection: &Connection,
) -> Result<(), DecisionError> {
    let session = tx.state().sessions.get(workspace).ok_or(ApplyError::Unknown("the session"))?;
    let (opened_by, stream) = (session.opened_by.clone(), session.stream.clone());
    Ok(tx.emit(Draft {
        actor: Principal::Agent(agent.clone()).into(),
        workspace: Some(workspace.clone()),
        stream,
        correlation: Some(opened_by),
        causation: None,
        event: Event::SessionConnected(Connected {
            agent: agent.clone(),
            connection: connection.clone(),
            workspace: workspace.clone(),
        }),
    })?)
}

/// Records connections that have ended. A session that loses its last one is gone, and ends after its
/// grace time.
pub(crate) fn decide_disconnect(
    tx: &mut Transaction<'_>,
    disconnect: &Disconnect,
) -> Result<Reply, DecisionError> {
    for lost in disconnect.lost.iter().take(LOST_MAX) {
        let uses = |session: &Session| session.connections.contains(&lost.name);
        let using = tx.state().sessions.iter().filter(|(_, session)| uses(session));
        let using: Vec<WorkspaceId> = using.map(|(id, _)| id.clone()).collect();
        for workspace in using {
            let Some(session) = tx.state().sessions.get(&workspace).cloned() else { continue };
            let since = lost.since.max(session.touched_at).min(tx.now());
            let last = session.connections.len() == 1;
            let event = Event::SessionDisconnected(Disconnected {
                agent: session.agent.clone(),
                connection: lost.name.clone(),
                since,
                until: last.then(|| since.after(session.grace.span())),
                workspace: workspace.clone(),
            });
            tx.emit(about(&workspace, &session, event))?;
        }
    }
    Ok(Reply::Done)
}

/// A draft of the runtime's entry about a session.
fn about(workspace: &WorkspaceId, session: &Session, event: Event) -> Draft {
    Draft {
        actor: Actor::Protocol,
        workspace: Some(workspace.clone()),
        stream: session.stream.clone(),
        correlation: Some(session.opened_by.clone()),
        causation: Some(session.opened_by.clone()),
        event,
    }
}

/// Whether work is bound to a lease: somebody gave its agent an assignment that is not over and has it
/// as its claim, or its agent works in a run.
fn is_bound(state: &State, lease: &Lease) -> bool {
    let in_run = match &lease.holder {
        Principal::Agent(agent) => {
            let mut bound = state.bound_to(agent).filter_map(|id| state.workspaces.get(id));
            bound.any(|known| !state.is_open_attempt(known))
        }
        Principal::User(_) | Principal::System => false,
    };
    let mut given = state.memory.newest(RecordKind::Assignment, Some(true));
    let is_for = |own: &Record| own.fields.claim == Some(lease.epoch);
    in_run || given.any(|own| is_for(own) && !own.is_own_work())
}

/// The absence of the host that a lease was taken through, and when the lease is free; `None` while
/// the host is there.
pub(crate) fn absence(state: &State, lease: &Lease) -> Option<Gone> {
    let session = state.sessions.get(lease.workspace.as_ref()?)?;
    let gone = session.gone?;
    let stays = is_bound(state, lease);
    let until = if stays { lease.expires_at } else { gone.until.min(lease.expires_at) };
    Some(Gone { since: gone.since, until })
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
    end(tx, &workspace, caller.principal.clone().into(), EndCause::Closed, None)?;
    Ok(Reply::Done)
}

/// Ends a session: first its leases, then itself.
pub(crate) fn end(
    tx: &mut Transaction<'_>,
    workspace: &WorkspaceId,
    actor: Actor,
    cause: EndCause,
    reason: Option<&Text<1000>>,
) -> Result<(), ApplyError> {
    lease::release_all_of(tx, workspace, &actor)?;
    let Some(session) = tx.state().sessions.get(workspace) else {
        return Ok(());
    };
    let (opened_by, stream) = (session.opened_by.clone(), session.stream.clone());
    let (agent, reason) = (session.agent.clone(), reason.cloned());
    let of_runtime = matches!(cause, EndCause::Lapsed | EndCause::Gone);
    tx.emit(Draft {
        actor,
        workspace: Some(workspace.clone()),
        stream,
        correlation: Some(opened_by.clone()),
        causation: of_runtime.then_some(opened_by),
        event: Event::SessionClosed(Closed { agent, cause, reason, workspace: workspace.clone() }),
    })?;
    Ok(())
}

/// Ends a session whose idle timeout, or whose grace time, has passed.
pub(crate) fn on_deadline(
    tx: &mut Transaction<'_>,
    workspace: &WorkspaceId,
) -> Result<(), ApplyError> {
    match tx.state().sessions.get(workspace).and_then(|session| session.gone) {
        None => end(tx, workspace, Actor::Protocol, EndCause::Lapsed, None),
        Some(gone) => give_back(tx, workspace, gone),
    }
}

/// Releases the leases of a session whose host did not come back, except those that work is bound to,
/// and ends the session if none is left.
fn give_back(
    tx: &mut Transaction<'_>,
    workspace: &WorkspaceId,
    gone: Gone,
) -> Result<(), ApplyError> {
    let mut kept_until = None;
    for id in tx.state().leases_in(workspace) {
        let Some(lease) = tx.state().leases.get(&id).cloned() else { continue };
        if lease.expires_at > gone.until && is_bound(tx.state(), &lease) {
            kept_until = kept_until.max(Some(lease.expires_at));
            continue;
        }
        let event = lease::released(&id, &lease, ReleaseCause::HostGone);
        tx.emit(lease::about(&lease, Actor::Protocol, true, event))?;
    }
    let Some(until) = kept_until else {
        return end(tx, workspace, Actor::Protocol, EndCause::Gone, None);
    };
    let session = tx.state().sessions.get(workspace).ok_or(ApplyError::Unknown("the session"))?;
    let agent = session.agent.clone();
    let event = Event::SessionKept(Kept { agent, until, workspace: workspace.clone() });
    let draft = about(workspace, session, event);
    tx.emit(draft)
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
        connections: opened.connection.iter().map(|own| own.name.clone()).collect(),
        grace: opened.connection.as_ref().map_or(GRACE_DEFAULT, |own| own.grace_s),
        gone: None,
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

pub(crate) fn apply_connected(state: &mut State, connected: &Connected) -> Result<(), ApplyError> {
    known(state, &connected.workspace, &connected.agent)?;
    reschedule(state, &connected.workspace, |session| {
        session.connections.insert(connected.connection.name.clone());
        session.grace = connected.connection.grace_s;
        session.gone = None;
    });
    Ok(())
}

pub(crate) fn apply_disconnected(
    state: &mut State,
    ended: &Disconnected,
) -> Result<(), ApplyError> {
    let session = known(state, &ended.workspace, &ended.agent)?;
    if !session.connections.contains(&ended.connection) {
        return Err(ApplyError::Unknown("the connection"));
    }
    let since = ended.since;
    reschedule(state, &ended.workspace, |session| {
        session.connections.remove(&ended.connection);
        session.gone = ended.until.map(|until| Gone { since, until });
    });
    Ok(())
}

pub(crate) fn apply_kept(state: &mut State, kept: &Kept) -> Result<(), ApplyError> {
    let session = known(state, &kept.workspace, &kept.agent)?;
    let gone = session.gone.ok_or(ApplyError::Mismatch("a session that is not gone"))?;
    let gone = Some(Gone { until: kept.until, ..gone });
    reschedule(state, &kept.workspace, |session| session.gone = gone);
    Ok(())
}

/// The open session of an agent that an entry is about.
fn known<'s>(
    state: &'s State,
    workspace: &WorkspaceId,
    agent: &AgentName,
) -> Result<&'s Session, ApplyError> {
    let session = state.sessions.get(workspace).ok_or(ApplyError::Unknown("the session"))?;
    if session.agent == *agent {
        Ok(session)
    } else {
        Err(ApplyError::Mismatch("the session's agent"))
    }
}

/// Records activity in a session, if the last record is old enough. An agent that acts in a session
/// whose host is gone has come back.
pub(crate) fn touch(state: &mut State, workspace: &WorkspaceId, by: &Principal, at: Timestamp) {
    let Some(session) = state.sessions.get(workspace) else {
        return;
    };
    if session.gone.is_some() && *by == Principal::Agent(session.agent.clone()) {
        reschedule(state, workspace, |session| (session.gone, session.touched_at) = (None, at));
        return;
    }
    let step = Span::from_micros(session.idle.span().micros() / TOUCHES_PER_IDLE);
    if at >= session.touched_at.after(step) {
        reschedule(state, workspace, |session| session.touched_at = at);
    }
}

/// Keeps a session from lapsing before its leases expire.
pub(crate) fn hold_until(state: &mut State, workspace: &WorkspaceId, until: Timestamp) {
    if state.sessions.get(workspace).is_some_and(|session| session.held_until < until) {
        reschedule(state, workspace, |session| session.held_until = until);
    }
}

fn reschedule(state: &mut State, workspace: &WorkspaceId, change: impl FnOnce(&mut Session)) {
    if let Some(session) = state.sessions.get_mut(workspace) {
        let before = session.lapses_at();
        change(session);
        let after = session.lapses_at();
        if before == after {
            return;
        }
        state.deadlines.remove(&(before, Deadline::Session(workspace.clone())));
        state.deadlines.insert((after, Deadline::Session(workspace.clone())));
    }
}
