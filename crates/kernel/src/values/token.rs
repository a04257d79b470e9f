//! Tokens: the short lower-case words that name roles, types and formats.

use std::sync::Arc;

use crate::values::string_newtype::string_newtype;

/// The longest token, in bytes.
pub(crate) const TOKEN_BYTES_MAX: usize = 64;

/// The error for text that is not a token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a word for a role, a type or a format: use 1 to {TOKEN_BYTES_MAX} lower-case \
     letters, digits, `_`, `.`, `/`, `+` or `-`, beginning with a letter"
)]
pub struct TokenError(String);

fn check(text: &str) -> Result<(), TokenError> {
    let allowed =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_./+-".contains(&byte);
    let starts_well = text.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
    if starts_well && text.len() <= TOKEN_BYTES_MAX && text.bytes().all(allowed) {
        return Ok(());
    }
    Err(TokenError(text.chars().take(TOKEN_BYTES_MAX).collect()))
}

string_newtype!(
    /// The name of a role.
    #[derive(Debug)]
    RoleName(Arc<str>): check => TokenError, "a word", "^[a-z][a-z0-9_./+-]{0,63}$"
);

string_newtype!(
    /// The name of a type of envelope or checkpoint.
    #[derive(Debug)]
    TypeName(Arc<str>): check => TokenError, "a word", "^[a-z][a-z0-9_./+-]{0,63}$"
);

string_newtype!(
    /// The name of a payload's format.
    #[derive(Debug)]
    Format(Arc<str>): check => TokenError, "a word", "^[a-z][a-z0-9_./+-]{0,63}$"
);

/// Constructors of tokens that the code refers to; these skip validation.
macro_rules! known {
    ($type:ident: $($method:ident $word:literal),*) => {
        impl $type {
            $(
                #[doc = concat!("`", $word, "`")]
                pub fn $method() -> Self {
                    $type($word.into())
                }
            )*
        }
    };
}

known!(RoleName: coordinator "coordinator", worker "worker", observer "observer", peer "peer");

known!(TypeName: directive "directive", feedback "feedback", query "query",
    artifact "artifact", observation "observation");

known!(Format: json "json", markdown "markdown");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_have_a_form() {
        for good in ["worker", "code-review", "text/markdown", "v1.2", &"x".repeat(64)] {
            assert!(RoleName::new(good).is_ok(), "{good}");
        }
        for bad in ["", "Worker", "1st", "a b", "é", "-x", &"x".repeat(65)] {
            assert!(RoleName::new(bad).is_err(), "{bad}");
        }
    }
}
