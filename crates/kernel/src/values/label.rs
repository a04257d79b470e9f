//! Labels and handles: short names that people and agents give to things.

use std::sync::Arc;

use crate::values::string_newtype::string_newtype;

/// The longest label, in bytes.
pub(crate) const LABEL_BYTES_MAX: usize = 128;

/// The longest handle, in bytes.
pub(crate) const HANDLE_BYTES_MAX: usize = 64;

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

fn is_label(text: &str) -> bool {
    let fits = !text.is_empty() && text.len() <= LABEL_BYTES_MAX;
    fits && text.trim() == text && !text.chars().any(char::is_control)
}

fn check_label(text: &str) -> Result<(), LabelError> {
    if is_label(text) { Ok(()) } else { Err(LabelError::Label(shown(text))) }
}

fn check_handle(text: &str) -> Result<(), LabelError> {
    let starts_well = text.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let fits = starts_well && text.len() <= HANDLE_BYTES_MAX && text.bytes().all(allowed);
    if fits { Ok(()) } else { Err(LabelError::Handle(shown(text))) }
}

string_newtype!(
    /// The name of a symbol, a fact, a role, a kind of message: one line of text.
    #[derive(Debug)]
    Label(Arc<str>): check_label => LabelError, "a name", r"^\S(.*\S)?$"
);

string_newtype!(
    /// The id of a capsule or a dispute. It is safe to use as a file name.
    #[derive(Debug)]
    Handle(Arc<str>): check_handle => LabelError, "an id", "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
);

impl Label {
    /// A label that is a constant of the program.
    pub(crate) fn constant(text: &'static str) -> Self {
        debug_assert!(is_label(text), "{text:?}");
        Label(text.into())
    }
}
