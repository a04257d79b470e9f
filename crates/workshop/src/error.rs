//! The error of this crate.

/// A failed operation on git or on files. The message says what was tried and what went wrong.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct WorkshopError {
    message: String,
}

impl WorkshopError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        WorkshopError { message: message.into() }
    }

    /// The message.
    pub fn message(&self) -> &str {
        &self.message
    }
}
