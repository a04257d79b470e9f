//! Sessions of agents: opening, idle timeout and closing.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use std::collections::BTreeSet;

use crate::registry::kind::Kind;
use crate::registry::lifecycle::{Edge, Lifecycle};
use crate::values::id::{EntryId, WorkspaceId};
use crate::values::name::AgentName;
use crate::values::seconds::Secs;
use crate::values::stream::Stream;
use crate::values::text::Text;
use crate::values::time::{Span, Timestamp};

/// The shortest idle timeout, in seconds.
pub(crate) const IDLE_SECS_MIN: u64 = 60;

/// The longest idle timeout, in seconds: 30 days.
pub(crate) const IDLE_SECS_MAX: u64 = 30 * 24 * 60 * 60;

/// The default idle timeout, in seconds: 12 hours.
pub(crate) const IDLE_SECS_DEFAULT: u64 = 12 * 60 * 60;

/// The name of a connection: that of the process at its other end, which takes a fresh one.
pub type ConnectionName = Text<32>;

/// How long the leases of a session stay after its last connection ended.
pub type Grace = Secs<1, 2_592_000>;

/// The default grace time: 5 minutes.
pub const GRACE_DEFAULT: Grace = Grace::known::<300>();

/// The most connections one command reports as ended.
pub(crate) const LOST_MAX: usize = 1_000;

/// The idle timeout of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Idle(u64);

/// The error for a number of seconds that is not a valid idle timeout.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an idle time is {IDLE_SECS_MIN} to {IDLE_SECS_MAX} seconds, not {0}")]
pub struct IdleError(i128);

impl Idle {
    /// Validates a number of seconds.
    pub fn new(secs: i128) -> Result<Self, IdleError> {
        match u64::try_from(secs) {
            Ok(fits) if (IDLE_SECS_MIN..=IDLE_SECS_MAX).contains(&fits) => Ok(Idle(fits)),
            _ => Err(IdleError(secs)),
        }
    }

    /// Converts to a span.
    pub fn span(self) -> Span {
        Span::from_secs(self.0)
    }
}

impl Default for Idle {
    fn default() -> Self {
        Idle(IDLE_SECS_DEFAULT)
    }
}

// Signed both ways, so that a negative number in JSON gives an error about bounds rather than about
// its type, and binary formats that distinguish the two read what they wrote.
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

/// The state's record of an open session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// The agent.
    pub agent: AgentName,
    /// The agent's label for its client.
    pub client: Option<Text<128>>,
    /// Whether it is the agent's standing session.
    pub standing: bool,
    /// The idle timeout.
    pub idle: Idle,
    /// When it was opened.
    pub opened_at: Timestamp,
    /// The entry that opened it.
    pub opened_by: EntryId,
    /// The approximate time of the last activity in it.
    pub touched_at: Timestamp,
    /// The latest expiry of any of its leases; the session does not lapse before.
    pub held_until: Timestamp,
    /// The connections it is used through; none for calls that keep no connection.
    pub connections: BTreeSet<ConnectionName>,
    /// How long it stays open after the last connection ended.
    pub grace: Grace,
    /// Set while it had connections and all of them have ended.
    pub gone: Option<Gone>,
    /// The stream its entries belong to.
    pub stream: Stream,
    /// The number of its leases; derived from the leases.
    #[serde(skip)]
    pub leases: usize,
}

/// The absence of a session's host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gone {
    /// When the last connection ended.
    pub since: Timestamp,
    /// When the session ends, unless its agent comes back.
    pub until: Timestamp,
}

impl Gone {
    /// Says so, and when what was held is free.
    pub fn words(self, now: Timestamp) -> String {
        let left = self.until.since(now).micros().div_ceil(1_000_000);
        let left = match left.div_ceil(60) {
            0 | 1 => format!("{left} s"),
            minutes => format!("{minutes} min"),
        };
        format!("its host is gone; free in {left}")
    }
}

impl Session {
    /// When it ends if there is no further activity.
    pub(crate) fn lapses_at(&self) -> Timestamp {
        match self.gone {
            Some(gone) => gone.until,
            None => self.touched_at.after(self.idle.span()).max(self.held_until),
        }
    }
}

/// The state of an open session.
pub const OPEN: &str = "open";

/// The state of a session whose host has gone.
const GONE: &str = "gone";

/// The lifecycle of a session.
pub const LIFECYCLE: Lifecycle = Lifecycle {
    noun: "session",
    edges: &[
        Edge { from: None, to: OPEN, event: Kind::SessionOpened, by: "its agent" },
        Edge { from: Some(OPEN), to: OPEN, event: Kind::SessionConnected, by: "its agent" },
        Edge { from: Some(OPEN), to: OPEN, event: Kind::SessionDisconnected, by: "the runtime" },
        Edge { from: Some(OPEN), to: GONE, event: Kind::SessionDisconnected, by: "the runtime" },
        Edge { from: Some(GONE), to: OPEN, event: Kind::SessionConnected, by: "its agent" },
        Edge { from: Some(GONE), to: GONE, event: Kind::SessionKept, by: "the runtime" },
        Edge { from: Some(OPEN), to: "closed", event: Kind::SessionClosed, by: "its agent" },
        Edge { from: Some(OPEN), to: "lapsed", event: Kind::SessionClosed, by: "the runtime" },
        Edge { from: Some(GONE), to: "given_up", event: Kind::SessionClosed, by: "the runtime" },
        Edge {
            from: Some(OPEN),
            to: "ended",
            event: Kind::SessionClosed,
            by: "a person or the coordinator",
        },
    ],
};

/// A connection that a session is used through.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Connection {
    /// How long the session and its leases stay after the connection ended, in seconds.
    pub grace_s: Grace,
    /// The name of the process at the other end.
    pub name: ConnectionName,
}

/// `session.open`: opens a session, in a fresh workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Open {
    /// The agent's label for its client, shown to people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<Text<128>>,
    /// The connection it is used through. The caller's open session of the same client goes on, if
    /// there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<Connection>,
    /// The idle timeout, in seconds (default 12 hours).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_s: Option<Idle>,
}

/// `session.close`: closes a session of the caller and ends its leases.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Close {
    /// The session to close; the one the caller speaks in by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceId>,
}

/// A connection that has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lost {
    /// Its name.
    pub name: ConnectionName,
    /// When it ended, as far as known: not before that.
    pub since: Timestamp,
}

/// `runtime.disconnect`: records connections that have ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Disconnect {
    /// The connections.
    pub lost: Vec<Lost>,
}

/// `session.opened`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Opened {
    /// The agent.
    pub agent: AgentName,
    /// The agent's label for its client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<Text<128>>,
    /// The connection it is used through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<Connection>,
    /// The idle timeout, in seconds.
    pub idle_s: Idle,
    /// Whether it is the agent's standing session.
    pub standing: bool,
    /// The workspace of the session.
    pub workspace: WorkspaceId,
}

/// `session.connected`: an open session is used through another connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Connected {
    /// The agent.
    pub agent: AgentName,
    /// The connection.
    pub connection: Connection,
    /// The workspace of the session.
    pub workspace: WorkspaceId,
}

/// `session.disconnected`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Disconnected {
    /// The agent.
    pub agent: AgentName,
    /// The connection that ended.
    pub connection: ConnectionName,
    /// When it ended.
    pub since: Timestamp,
    /// When the session ends, unless its agent comes back; `None` while it has other connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// The workspace of the session.
    pub workspace: WorkspaceId,
}

/// `session.kept`: the grace time is over, but work is bound to leases of the session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kept {
    /// The agent.
    pub agent: AgentName,
    /// When the last of its leases expires.
    pub until: Timestamp,
    /// The workspace of the session.
    pub workspace: WorkspaceId,
}

/// The reason why a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndCause {
    /// Its agent closed it.
    Closed,
    /// It was idle for too long.
    Lapsed,
    /// Its host went away, and its agent did not come back in time.
    Gone,
    /// A person or the coordinator ended it.
    Ended,
}

/// `session.closed`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Closed {
    /// The agent.
    pub agent: AgentName,
    /// The reason.
    pub cause: EndCause,
    /// The reason that a person or the coordinator gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<1000>>,
    /// The workspace of the session.
    pub workspace: WorkspaceId,
}
