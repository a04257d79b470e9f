//! Errors of git that callers only pass on.

use super::attempt_tree::TreeError;
use super::blame::BlameError;
use super::call::GitError;
use super::merge::MergeError;
use super::repository::RepositoryError;
use super::rescue::RescueError;
use super::snapshot::SnapshotError;
use crate::error::WorkshopError;

macro_rules! passed_on {
    ($($error:ty),+ $(,)?) => {
        $(impl From<$error> for WorkshopError {
            fn from(error: $error) -> Self {
                WorkshopError::with_hint(error.to_string(), error.hint())
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
