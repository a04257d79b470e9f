//! The error of this crate for callers that only pass it on.

/// A failed operation on git or on files. The message says what was tried and what went wrong.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct WorkshopError {
    message: String,
    hint: Option<String>,
}

impl WorkshopError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        WorkshopError { message: message.into(), hint: None }
    }

    /// An error with a way out.
    pub(crate) fn with_hint(message: String, hint: String) -> Self {
        WorkshopError { message, hint: Some(hint) }
    }

    /// The message.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The way out, where one is known.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}
