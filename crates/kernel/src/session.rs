//! Sessions: an agent at work, in a workspace of its own.
//!
//! A door that keeps a connection opens a session and closes it when the connection ends. Calls
//! without a connection (the command line) share one *standing* session per agent, which opens
//! with the first call and lapses when nothing happened in it for its idle time. A session does
//! not lapse while it holds a live lease. When a session ends, its leases end with it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::{Draft, Event, Kind, Stamped, Stream};
use crate::id::{EntryId, IdKind, WorkspaceId};
use crate::lease;
use crate::lifecycle::{Edge, Lifecycle};
use crate::name::AgentName;
use crate::principal::{Actor, Caller, Principal};
use crate::refusal::Refusal;
use crate::rule::Rule;
use crate::state::{ApplyError, Deadline, State};
use crate::text::Text;
use crate::time::{Span, Timestamp};
use crate::turn::{Halt, Reply, Turn};

/// The shortest idle time, in seconds.
pub const IDLE_SECS_MIN: u64 = 60;
/// The longest idle time, in seconds: 30 days.
pub const IDLE_SECS_MAX: u64 = 30 * 24 * 60 * 60;
/// The idle time where none is given, in seconds: 12 hours.
pub const IDLE_SECS_DEFAULT: u64 = 12 * 60 * 60;

/// Activity is noted at most this many times per idle time, so that a busy session does not
/// move its deadline with every entry. A session may lapse that much earlier than to the
/// microsecond.
const TOUCHES_PER_IDLE: u64 = 64;

/// How long a session may stay silent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Idle(u64);

/// A number of seconds that is not an idle time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an idle time is {IDLE_SECS_MIN} to {IDLE_SECS_MAX} seconds, not {0}")]
pub struct IdleError(i128);

impl Idle {
    /// Checks and takes a number of seconds.
    pub fn new(secs: i128) -> Result<Self, IdleError> {
        match u64::try_from(secs) {
            Ok(fits) if (IDLE_SECS_MIN..=IDLE_SECS_MAX).contains(&fits) => Ok(Idle(fits)),
            _ => Err(IdleError(secs)),
        }
    }

    /// As a span.
    pub fn span(self) -> Span {
        Span::from_secs(self.0)
    }
}

impl Default for Idle {
    fn default() -> Self {
        Idle(IDLE_SECS_DEFAULT)
    }
}

// Signed both ways, so that a negative number in JSON is told apart from nonsense and binary
// forms that distinguish the two read what they wrote.
impl Serialize for Idle {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(self.0.cast_signed())
    }
}

impl<'de> Deserialize<'de> for Idle {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let secs = i64::deserialize(deserializer)?;
        Idle::new(secs.into()).map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Idle {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Idle".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "integer", "minimum": IDLE_SECS_MIN, "maximum": IDLE_SECS_MAX
        })
    }
}

/// What the state remembers of an open session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Whose it is.
    pub agent: AgentName,
    /// What the agent called its end of it.
    pub client: Option<Text<128>>,
    /// Whether it is the agent's standing session.
    pub standing: bool,
    /// How long it may stay silent.
    pub idle: Idle,
    /// When it was opened.
    pub opened_at: Timestamp,
    /// The entry that opened it.
    pub opened_by: EntryId,
    /// Roughly when something last happened in it.
    pub touched_at: Timestamp,
    /// Until when a lease of it was ever good; it does not lapse before.
    pub held_until: Timestamp,
    /// The stream its entries belong to.
    pub stream: Stream,
    /// How many leases it has; follows from the leases.
    #[serde(skip)]
    pub leases: usize,
}

impl Session {
    /// When it lapses if nothing more happens in it.
    pub fn lapses_at(&self) -> Timestamp {
        self.touched_at.after(self.idle.span()).max(self.held_until)
    }
}

/// The state of a session that goes on.
pub const OPEN: &str = "open";

/// The ways of a session.
pub const LIFECYCLE: Lifecycle = Lifecycle {
    noun: "session",
    edges: &[
        Edge { from: None, to: OPEN, event: Kind::SessionOpened, by: "its agent" },
        Edge { from: Some(OPEN), to: "closed", event: Kind::SessionClosed, by: "its agent" },
        Edge { from: Some(OPEN), to: "lapsed", event: Kind::SessionClosed, by: "the runtime" },
    ],
};

/// `session.open`: begins a session, in a fresh workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Open {
    /// What the agent calls its end of it, for people to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<Text<128>>,
    /// How long it may stay silent, in seconds (default 12 hours).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_s: Option<Idle>,
}

/// `session.close`: ends a session of the caller and the leases it holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Close {
    /// Which one; the session the caller speaks in, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceId>,
}

/// `session.opened`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Opened {
    /// Whose session it is.
    pub agent: AgentName,
    /// What the agent calls its end of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<Text<128>>,
    /// How long it may stay silent, in seconds.
    pub idle_s: Idle,
    /// Whether it is the agent's standing session.
    pub standing: bool,
    /// The workspace it opened.
    pub workspace: WorkspaceId,
}

/// Why a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndCause {
    /// Its agent closed it.
    Closed,
    /// Nothing happened in it for too long.
    Lapsed,
}

/// `session.closed`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Closed {
    /// Whose session it was.
    pub agent: AgentName,
    /// Why it ended.
    pub cause: EndCause,
    /// Its workspace.
    pub workspace: WorkspaceId,
}

/// The session a command of an agent runs in: the one the caller named, or its standing one,
/// which opens on first use. People and the coordinator have none.
pub(crate) fn ensure(turn: &mut Turn<'_>, caller: &Caller) -> Result<Option<WorkspaceId>, Halt> {
    let Principal::Agent(agent) = &caller.principal else {
        if caller.session.is_none() {
            return Ok(None);
        }
        let message = format!("{} has no session", caller.principal);
        return Err(Refusal::denied(Rule::AgentsHaveSessions, message).into());
    };
    if let Some(named) = &caller.session {
        return owned(turn.state(), agent, named).map(|_| Some(named.clone())).map_err(Halt::from);
    }
    if let Some(standing) = turn.state().standing.get(agent) {
        return Ok(Some(standing.clone()));
    }
    open(turn, agent, &Open::default(), true).map(Some)
}

/// The session that a caller works in, and whether it was opened for this: the one it named, or its
/// own that it calls so; its standing one if nothing is said. People have none.
pub(crate) fn ensure_called(
    turn: &mut Turn<'_>,
    caller: &Caller,
    client: Option<&Text<128>>,
) -> Result<(Option<WorkspaceId>, bool), Halt> {
    let before = turn.entries().len();
    let id = match (&caller.principal, &caller.session, client) {
        (Principal::Agent(agent), None, Some(client)) => {
            let called = |session: &Session| {
                session.agent == *agent && session.client.as_ref() == Some(client)
            };
            let own = turn.state().sessions.iter().filter(|(_, session)| called(session));
            match own.min_by_key(|(_, session)| session.opened_at) {
                Some((id, _)) => Some(id.clone()),
                None => {
                    let named = Open { client: Some(client.clone()), idle_s: None };
                    Some(open(turn, agent, &named, false)?)
                }
            }
        }
        _ => ensure(turn, caller)?,
    };
    Ok((id, turn.entries().len() > before))
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
    turn: &mut Turn<'_>,
    agent: &AgentName,
    open: &Open,
    standing: bool,
) -> Result<WorkspaceId, Halt> {
    let workspace: WorkspaceId = turn.mint(IdKind::Workspace).into();
    turn.emit(Draft {
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
    turn: &mut Turn<'_>,
    caller: &Caller,
    args: &Open,
) -> Result<Reply, Halt> {
    let Principal::Agent(agent) = &caller.principal else {
        let message = format!("{} cannot open a session", caller.principal);
        return Err(Refusal::denied(Rule::AgentsHaveSessions, message).into());
    };
    let workspace = open(turn, agent, args, false)?;
    turn.session_reply(&workspace)
}

pub(crate) fn decide_close(
    turn: &mut Turn<'_>,
    caller: &Caller,
    close: &Close,
) -> Result<Reply, Halt> {
    let Principal::Agent(agent) = &caller.principal else {
        let message = format!("{} has no session to close", caller.principal);
        return Err(Refusal::denied(Rule::AgentsHaveSessions, message).into());
    };
    let named = close.workspace.as_ref().or(caller.session.as_ref());
    let Some(workspace) = named.or_else(|| turn.state().standing.get(agent)).cloned() else {
        let message = format!("agent {agent} has no open session");
        return Err(Refusal::not_found(Rule::SessionOwned, message).into());
    };
    owned(turn.state(), agent, &workspace)?;
    end(turn, &workspace, caller.principal.clone().into(), EndCause::Closed)?;
    Ok(Reply::Done)
}

/// Ends a session: first its leases, then itself.
pub(crate) fn end(
    turn: &mut Turn<'_>,
    workspace: &WorkspaceId,
    actor: Actor,
    cause: EndCause,
) -> Result<(), ApplyError> {
    lease::release_all_of(turn, workspace, &actor)?;
    let Some(session) = turn.state().sessions.get(workspace) else {
        return Ok(());
    };
    let (opened_by, stream) = (session.opened_by.clone(), session.stream.clone());
    let agent = session.agent.clone();
    turn.emit(Draft {
        actor,
        workspace: Some(workspace.clone()),
        stream,
        correlation: Some(opened_by.clone()),
        causation: (cause == EndCause::Lapsed).then_some(opened_by),
        event: Event::SessionClosed(Closed { agent, cause, workspace: workspace.clone() }),
    })?;
    Ok(())
}

/// What is due for a session whose deadline has come.
pub(crate) fn on_deadline(turn: &mut Turn<'_>, workspace: &WorkspaceId) -> Result<(), ApplyError> {
    end(turn, workspace, Actor::Protocol, EndCause::Lapsed)
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

/// Notes that something happened in a session, if it has been a while since the last note.
pub(crate) fn touch(state: &mut State, workspace: &WorkspaceId, at: Timestamp) {
    let Some(session) = state.sessions.get(workspace) else {
        return;
    };
    let step = Span::from_micros(session.idle.span().micros() / TOUCHES_PER_IDLE);
    if at >= session.touched_at.after(step) {
        reschedule(state, workspace, |session| session.touched_at = at);
    }
}

/// Keeps a session from lapsing before a lease of it does.
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
