//! Sessions of agents: opening, idle timeout and closing.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::registry::kind::Kind;
use crate::registry::lifecycle::{Edge, Lifecycle};
use crate::values::id::{EntryId, WorkspaceId};
use crate::values::name::AgentName;
use crate::values::stream::Stream;
use crate::values::text::Text;
use crate::values::time::{Span, Timestamp};

/// The shortest idle timeout, in seconds.
pub(crate) const IDLE_SECS_MIN: u64 = 60;

/// The longest idle timeout, in seconds: 30 days.
pub(crate) const IDLE_SECS_MAX: u64 = 30 * 24 * 60 * 60;

/// The default idle timeout, in seconds: 12 hours.
pub(crate) const IDLE_SECS_DEFAULT: u64 = 12 * 60 * 60;

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
    /// The stream its entries belong to.
    pub stream: Stream,
    /// The number of its leases; derived from the leases.
    #[serde(skip)]
    pub leases: usize,
}

impl Session {
    /// When it lapses if there is no further activity.
    pub(crate) fn lapses_at(&self) -> Timestamp {
        self.touched_at.after(self.idle.span()).max(self.held_until)
    }
}

/// The state of an open session.
pub const OPEN: &str = "open";

/// The lifecycle of a session.
pub const LIFECYCLE: Lifecycle = Lifecycle {
    noun: "session",
    edges: &[
        Edge { from: None, to: OPEN, event: Kind::SessionOpened, by: "its agent" },
        Edge { from: Some(OPEN), to: "closed", event: Kind::SessionClosed, by: "its agent" },
        Edge { from: Some(OPEN), to: "lapsed", event: Kind::SessionClosed, by: "the runtime" },
    ],
};

/// `session.open`: opens a session, in a fresh workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Open {
    /// The agent's label for its client, shown to people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<Text<128>>,
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

/// `session.opened`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Opened {
    /// The agent.
    pub agent: AgentName,
    /// The agent's label for its client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<Text<128>>,
    /// The idle timeout, in seconds.
    pub idle_s: Idle,
    /// Whether it is the agent's standing session.
    pub standing: bool,
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
}

/// `session.closed`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Closed {
    /// The agent.
    pub agent: AgentName,
    /// The reason.
    pub cause: EndCause,
    /// The workspace of the session.
    pub workspace: WorkspaceId,
}
