//! Streams: names of the objects (project, agent, workspace) that entries belong to.

use serde::Serialize;

use crate::values::id::{Key, ProjectId, WorkspaceId};
use crate::values::name::AgentName;
use crate::values::string_newtype::deserialize_text;

/// The stream an entry belongs to: the project, agent or workspace it is about.
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

    /// The stream of a workspace.
    pub fn workspace(workspace: &WorkspaceId) -> Self {
        Stream::named(&format!("workspace:{workspace}"))
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

/// The error for text that does not name a stream.
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

deserialize_text!(Stream, "a stream", str::parse);
