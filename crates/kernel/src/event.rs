//! Events: the closed set of things that can have happened.
//!
//! An event becomes an entry of the trail when it is stamped and chained. Fields of a body are
//! declared in alphabetical order, because what serde writes is then already the canonical
//! form; a test holds every kind to that.

use serde::{Deserialize, Serialize};

use crate::id::{EntryId, Key, ProjectId, WorkspaceId};
use crate::name::AgentName;
use crate::principal::Actor;
use crate::time::Timestamp;
use crate::{agent, lease, project, refusal, runtime, session, user};

macro_rules! events {
    ($( $variant:ident $kind:literal => $body:ty; )*) => {
        /// What happened.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Event {
            $( #[doc = concat!("`", $kind, "`")] $variant($body), )*
        }

        /// The name of a kind of event.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Kind {
            $( #[doc = concat!("`", $kind, "`")] #[serde(rename = $kind)] $variant, )*
        }

        impl Kind {
            /// All kinds, in the order of the registry.
            pub const ALL: &'static [Kind] = &[$(Kind::$variant),*];

            /// The name as it stands in the trail.
            pub fn as_str(self) -> &'static str {
                match self { $(Kind::$variant => $kind),* }
            }

            fn named(text: &str) -> Option<Self> {
                match text { $($kind => Some(Kind::$variant),)* _ => None }
            }
        }

        impl Event {
            /// Which kind it is.
            pub fn kind(&self) -> Kind {
                match self { $(Event::$variant(_) => Kind::$variant),* }
            }

            /// Reads the body of an event of a known kind.
            pub fn read(kind: Kind, body: &str) -> Result<Self, serde_json::Error> {
                Ok(match kind { $(Kind::$variant => Event::$variant(serde_json::from_str(body)?)),* })
            }

            /// Writes the body.
            pub fn serialize_body<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self { $(Event::$variant(body) => body.serialize(serializer)),* }
            }
        }
    };
}

events! {
    ProjectCreated "project.created" => project::Created;
    RuntimeRekeyed "runtime.rekeyed" => runtime::Rekeyed;
    RuntimeRestored "runtime.restored" => runtime::Restored;
    SystemDegraded "system_degraded" => runtime::Degraded;
    AgentRegistered "agent.registered" => agent::Registered;
    AuthenticationFailed "authentication_failed" => refusal::AuthenticationFailed;
    UserCreated "user_created" => user::Created;
    SessionOpened "session.opened" => session::Opened;
    SessionClosed "session.closed" => session::Closed;
    LeaseOpened "lease.opened" => lease::Opened;
    LeaseRenewed "lease.renewed" => lease::Renewed;
    LeaseReleased "lease.released" => lease::Released;
    LeaseExpired "lease.expired" => lease::Expired;
    LeaseForced "lease.forced" => lease::Forced;
    CommandRefused "command.refused" => refusal::Refused;
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A kind that is not in the registry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a kind of entry")]
pub struct UnknownKind(pub String);

impl std::str::FromStr for Kind {
    type Err = UnknownKind;

    fn from_str(text: &str) -> Result<Self, UnknownKind> {
        Kind::named(text).ok_or_else(|| UnknownKind(text.chars().take(80).collect()))
    }
}

/// The stream an entry belongs to: the running thing it is about.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stream(Key);

impl Stream {
    fn named(name: &str) -> Self {
        Stream(Key::new(name.into()))
    }

    /// The stream of the project itself.
    pub fn project(project: &ProjectId) -> Self {
        Stream::named(&format!("project:{project}"))
    }

    /// The stream of an agent.
    pub fn agent(agent: &AgentName) -> Self {
        Stream::named(&format!("agent:{agent}"))
    }

    /// The name of the stream.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Stream({})", self.as_str())
    }
}

impl Serialize for Stream {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// The longest name of a stream, in bytes.
const STREAM_BYTES_MAX: usize = 128;

/// Text that does not name a stream.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a stream is named `kind:id` in at most {STREAM_BYTES_MAX} plain characters")]
pub struct StreamError;

impl std::str::FromStr for Stream {
    type Err = StreamError;

    fn from_str(text: &str) -> Result<Self, StreamError> {
        let plain =
            text.len() <= STREAM_BYTES_MAX && text.bytes().all(|byte| byte.is_ascii_graphic());
        if plain && text.contains(':') { Ok(Stream::named(text)) } else { Err(StreamError) }
    }
}

impl<'de> Deserialize<'de> for Stream {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::de::from_str(deserializer, "a stream", str::parse)
    }
}

/// An event with everything the kernel knows about it, before it is stamped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// Who caused it.
    pub actor: Actor,
    /// The workspace whose local trail it belongs to; none for what concerns the whole project.
    pub workspace: Option<WorkspaceId>,
    /// The stream it belongs to.
    pub stream: Stream,
    /// The entry that began the story this one belongs to, if another did.
    pub correlation: Option<EntryId>,
    /// The entry that directly led to this one, if an entry did.
    pub causation: Option<EntryId>,
    /// What happened.
    pub event: Event,
}

/// An event with its place in time: what [`crate::State::apply`] takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamped {
    /// The id of the entry.
    pub id: EntryId,
    /// When it happened.
    pub at: Timestamp,
    /// What happened, and around what.
    pub draft: Draft,
}
