//! Names of agents and ids of users.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use std::sync::Arc;

/// The longest name, in bytes.
pub const NAME_BYTES_MAX: usize = 64;

/// Reserved words, which have a meaning as actors or roles. No agent or user may have one as name.
pub const RESERVED: &[&str] = &[
    "system",
    "protocol",
    "fallback",
    "runtime",
    "coordinator",
    "worker",
    "observer",
    "peer",
    "human",
    "user",
    "agent",
    "project",
    "me",
];

/// The reason why a name was not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The name has characters, a beginning or a length that names may not have.
    #[error(
        "{0:?} is not a name: use 1 to {NAME_BYTES_MAX} letters, digits or `. _ @ : + -`, \
         beginning with a letter or digit"
    )]
    Form(String),
    /// The name is a reserved word.
    #[error("{0:?} is a reserved word and nobody's name")]
    Reserved(String),
}

fn check(text: &str) -> Result<(), NameError> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._@:+-".contains(&byte);
    let starts_well = text.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    if !starts_well || text.len() > NAME_BYTES_MAX || !text.bytes().all(allowed) {
        let shown = text.chars().take(NAME_BYTES_MAX).collect();
        return Err(NameError::Form(shown));
    }
    // `user:ada` is how a person is written, so an agent's name must not begin with a reserved
    // word.
    let first = text.split(':').next().unwrap_or(text);
    if RESERVED.iter().any(|word| word.eq_ignore_ascii_case(first)) {
        return Err(NameError::Reserved(text.to_owned()));
    }
    Ok(())
}

macro_rules! name_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Validates a name.
            pub fn new(text: &str) -> Result<Self, NameError> {
                check(text).map(|()| $name(text.into()))
            }

            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl std::str::FromStr for $name {
            type Err = NameError;

            fn from_str(text: &str) -> Result<Self, NameError> {
                $name::new(text)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                crate::values::de::from_str(deserializer, "a name", $name::new)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "type": "string",
                    "pattern": "^[A-Za-z0-9][A-Za-z0-9._@:+-]{0,63}$"
                })
            }
        }
    };
}

name_type!(
    /// The name of an agent, unique among the agents of a project.
    AgentName
);

name_type!(
    /// The id of a user: a person who can authenticate.
    UserId
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_a_form_and_some_words_are_taken() {
        for good in ["alice", "claude-7", "Dev@host:codex:2", "9lives"] {
            assert!(AgentName::new(good).is_ok(), "{good}");
        }
        for bad in ["", "-x", "a/b", "..", "a b", "é", "system", "Protocol", &"x".repeat(65)] {
            assert!(AgentName::new(bad).is_err(), "{bad}");
        }
    }
}
