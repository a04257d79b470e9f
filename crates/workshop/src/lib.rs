//! The workshop: git repositories, worktrees and the files of results in them.
//!
//! [`git`] asks git and makes commits without touching anybody's files or index, [`scratch`] is
//! where such commits are made, one process at a time, and [`worktree`] reads the worktree of a
//! worker that nobody here trusts. [`process`] starts an agent so that whoever started it may die,
//! and [`agents`] knows each kind of agent: how to start it and what its output means.
//! Nothing here knows the project's state.

pub mod agents;
mod error;
pub mod git;
pub mod process;
pub mod scratch;
pub mod worktree;

pub use error::WorkshopError;
