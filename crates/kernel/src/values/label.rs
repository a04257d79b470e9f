//! Labels and handles: short names that people and agents give to things.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use std::sync::Arc;

/// The longest label, in bytes.
pub const LABEL_BYTES_MAX: usize = 128;

/// The longest handle, in bytes.
pub const HANDLE_BYTES_MAX: usize = 64;

/// The error for a name that was not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LabelError {
    /// Not a label.
    #[error(
        "{0:?} is no name here: use 1 to {LABEL_BYTES_MAX} bytes on one line, not beginning or \
         ending with a blank"
    )]
    Label(String),
    /// Not a handle.
    #[error(
        "{0:?} is no id: use 1 to {HANDLE_BYTES_MAX} letters, digits or `. _ -`, beginning with a \
         letter or digit"
    )]
    Handle(String),
}

fn shown(text: &str) -> String {
    text.chars().take(HANDLE_BYTES_MAX).collect()
}

macro_rules! names {
    ($(#[$doc:meta])* $name:ident $what:literal $pattern:literal $check:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Validates a name.
            pub fn new(text: &str) -> Result<Self, LabelError> {
                if $check(text) {
                    Ok($name(text.into()))
                } else {
                    Err(LabelError::$name(shown(text)))
                }
            }

            /// The name as text.
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
            type Err = LabelError;

            fn from_str(text: &str) -> Result<Self, LabelError> {
                $name::new(text)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                crate::values::de::from_str(deserializer, $what, $name::new)
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
                schemars::json_schema!({ "type": "string", "pattern": $pattern })
            }
        }
    };
}

fn is_label(text: &str) -> bool {
    let fits = !text.is_empty() && text.len() <= LABEL_BYTES_MAX;
    fits && text.trim() == text && !text.chars().any(char::is_control)
}

fn is_handle(text: &str) -> bool {
    let starts_well = text.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    starts_well && text.len() <= HANDLE_BYTES_MAX && text.bytes().all(allowed)
}

names!(
    /// The name of a symbol, a fact, a role, a kind of message: one line of text.
    Label "a name" r"^\S(.*\S)?$" is_label
);

names!(
    /// The id of a capsule or a dispute. It is safe to use as a file name.
    Handle "an id" "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$" is_handle
);

impl Label {
    /// A label that is a constant of the program.
    pub(crate) fn constant(text: &'static str) -> Self {
        debug_assert!(is_label(text), "{text:?}");
        Label(text.into())
    }
}
