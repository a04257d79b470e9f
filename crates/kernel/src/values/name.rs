//! Names of agents and ids of users.

use std::sync::Arc;

use crate::values::string_newtype::string_newtype;

/// The longest name, in bytes.
pub(crate) const NAME_BYTES_MAX: usize = 64;

/// Reserved words, which have a meaning as actors or roles. No agent or user may have one as name.
pub(crate) const RESERVED: &[&str] = &[
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

string_newtype!(
    /// The name of an agent, unique among the agents of a project.
    #[derive(Debug)]
    AgentName(Arc<str>): check => NameError, "a name", "^[A-Za-z0-9][A-Za-z0-9._@:+-]{0,63}$"
);

string_newtype!(
    /// The id of a user: a person who can authenticate.
    #[derive(Debug)]
    UserId(Arc<str>): check => NameError, "a name", "^[A-Za-z0-9][A-Za-z0-9._@:+-]{0,63}$"
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
