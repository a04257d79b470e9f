//! The workshop: git repositories, worktrees and the files of results in them.
//!
//! [`git`] asks git and makes commits without touching anybody's files or index, [`scratch`] is
//! where such commits are made, one process at a time, and [`worktree`] reads the worktree of a
//! worker that nobody here trusts. Nothing here knows the project's state.

mod error;
pub mod git;
pub mod hook_shapes;
pub mod scratch;
pub mod wiring;
pub mod worktree;

pub use error::WorkshopError;
