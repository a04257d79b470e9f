//! Principals and actors: agents, people, the coordinator, and the runtime itself.

use serde::Deserialize;
use serde::Serialize;
use std::borrow::Cow;

use crate::values::id::WorkspaceId;
use crate::values::key::PublicKey;
use crate::values::name::{AgentName, UserId};

/// A party that can issue commands and hold leases.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Principal {
    /// A coding agent or a script, known by name and bound to a key.
    Agent(AgentName),
    /// A person.
    User(UserId),
    /// The coordinator, which acts as the system.
    System,
}

/// The cause of an entry: a principal, or the runtime acting by itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Actor {
    /// A principal issued the command.
    Principal(Principal),
    /// The runtime acted by itself, for example when a lease expired.
    Protocol,
}

/// An authenticated caller, as the API passes it to the kernel.
///
/// The key is the one the caller proved to hold. Nothing in a command can change the caller's
/// identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The authenticated principal.
    pub principal: Principal,
    /// The key the caller proved to hold.
    pub key: PublicKey,
    /// The session the caller speaks in; an agent without one uses its standing session.
    pub session: Option<WorkspaceId>,
}

impl From<Principal> for Actor {
    fn from(principal: Principal) -> Self {
        Actor::Principal(principal)
    }
}

impl Principal {
    /// Whether it is the agent of this name.
    pub fn is_agent(&self, name: &AgentName) -> bool {
        matches!(self, Principal::Agent(own) if own == name)
    }

    /// The principal as text.
    fn text(&self) -> Cow<'static, str> {
        match self {
            Principal::Agent(name) => Cow::Owned(["agent:", name.as_str()].concat()),
            Principal::User(id) => Cow::Owned(["user:", id.as_str()].concat()),
            Principal::System => Cow::Borrowed("system"),
        }
    }
}

impl Actor {
    /// The actor as text.
    fn text(&self) -> Cow<'static, str> {
        match self {
            Actor::Principal(principal) => principal.text(),
            Actor::Protocol => Cow::Borrowed("protocol"),
        }
    }
}

impl std::fmt::Display for Principal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&self.text())
    }
}

impl std::fmt::Display for Actor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&self.text())
    }
}

/// The error for text that names no principal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} names nobody: expected `agent:NAME`, `user:ID`, `system` or `protocol`")]
pub struct PrincipalError(String);

impl std::str::FromStr for Principal {
    type Err = PrincipalError;

    fn from_str(text: &str) -> Result<Self, PrincipalError> {
        let unknown = || PrincipalError(text.chars().take(80).collect());
        if let Some(name) = text.strip_prefix("agent:") {
            AgentName::new(name).map(Principal::Agent).map_err(|_| unknown())
        } else if let Some(id) = text.strip_prefix("user:") {
            UserId::new(id).map(Principal::User).map_err(|_| unknown())
        } else if text == "system" {
            Ok(Principal::System)
        } else {
            Err(unknown())
        }
    }
}

impl std::str::FromStr for Actor {
    type Err = PrincipalError;

    fn from_str(text: &str) -> Result<Self, PrincipalError> {
        if text == "protocol" { Ok(Actor::Protocol) } else { text.parse().map(Actor::Principal) }
    }
}

macro_rules! text_serde {
    ($name:ident) => {
        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.text())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                crate::values::de::from_str(deserializer, "a principal", str::parse)
            }
        }
    };
}

text_serde!(Principal);

text_serde!(Actor);

#[cfg(test)]
mod tests {
    use super::*;

    /// Shows W-TRAIL-05.
    #[test]
    fn actors_survive_their_text_form() {
        for text in ["agent:alice", "user:bob@example.org", "system", "protocol"] {
            assert_eq!(text.parse::<Actor>().unwrap().to_string(), text);
        }
        for bad in ["", "alice", "agent:", "agent:../x", "user:system", "System"] {
            assert!(bad.parse::<Actor>().is_err(), "{bad}");
        }
        assert!("protocol".parse::<Principal>().is_err(), "nobody can ask as the runtime");
    }
}
