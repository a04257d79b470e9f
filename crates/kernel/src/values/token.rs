//! Tokens: the short lower-case words that name roles, types and formats.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use std::sync::Arc;

/// The longest token, in bytes.
pub const TOKEN_BYTES_MAX: usize = 64;

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

macro_rules! token_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Validates a token.
            pub fn new(text: &str) -> Result<Self, TokenError> {
                check(text).map(|()| $name(text.into()))
            }

            /// The token as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(&self.0)
            }
        }

        impl std::str::FromStr for $name {
            type Err = TokenError;

            fn from_str(text: &str) -> Result<Self, TokenError> {
                $name::new(text)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                crate::values::de::from_str(deserializer, "a word", $name::new)
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
                schemars::json_schema!({ "type": "string", "pattern": "^[a-z][a-z0-9_./+-]{0,63}$" })
            }
        }
    };
}

token_type!(
    /// The name of a role.
    RoleName
);

token_type!(
    /// The name of a type of envelope or checkpoint.
    TypeName
);

token_type!(
    /// The name of a payload's format.
    Format
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

known!(RoleName: coordinator "coordinator", worker "worker", observer "observer");

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
