//! The workshop: git repositories, worktrees and the files of results in them.
//!
//! [`git`] asks git and makes commits without touching anybody's files or index, [`scratch`] is
//! where such commits are made, one process at a time, and [`worktree`] reads the worktree of a
//! worker that nobody here trusts. [`command`] runs checks and set-ups. Nothing here knows the
//! project's state.

pub mod command;
mod error;
pub mod git;
pub mod scratch;
pub mod worktree;

pub use error::WorkshopError;
