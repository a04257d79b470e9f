//! Types of `session`: state, arguments of commands and bodies of events.

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

/// The shortest idle time, in seconds.
pub const IDLE_SECS_MIN: u64 = 60;

/// The longest idle time, in seconds: 30 days.
pub const IDLE_SECS_MAX: u64 = 30 * 24 * 60 * 60;

/// The idle time where none is given, in seconds: 12 hours.
pub const IDLE_SECS_DEFAULT: u64 = 12 * 60 * 60;

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
