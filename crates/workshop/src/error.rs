//! The error of this crate for callers that only pass it on.

use crate::attempt_tree::TreeError;
use crate::blame::BlameError;
use crate::git::call::GitError;
use crate::merge::MergeError;
use crate::repository::RepositoryError;
use crate::rescue::RescueError;
use crate::snapshot::SnapshotError;

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

    /// The message.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The way out, where one is known.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

macro_rules! passed_on {
    ($($error:ty),+ $(,)?) => {
        $(impl From<$error> for WorkshopError {
            fn from(error: $error) -> Self {
                WorkshopError { message: error.to_string(), hint: Some(error.hint()) }
            }
        })+
    };
}

passed_on!(
    GitError,
    RepositoryError,
    TreeError,
    SnapshotError,
    RescueError,
    MergeError,
    BlameError
);
