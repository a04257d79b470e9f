//! The workshop: git repositories, worktrees and the files of results in them.
//!
//! [`git`] asks git and makes commits without touching anybody's files or index, [`scratch`] is
//! where such commits are made, one process at a time, and [`worktree`] reads the worktree of a
//! worker that nobody here trusts. [`hook_shapes`] reads and answers the hooks of coding agents,
//! [`wiring`] puts those hooks into their files and takes them out again, [`ancestry`] says which program
//! called, [`hosts`] which agent that is, and [`ignored`] which files git does not track.
//! Nothing here knows the project's state.

pub mod ancestry;
mod error;
pub mod git;
pub mod hook_shapes;
pub mod hosts;
pub mod ignored;
pub mod scratch;
pub mod wiring;
pub mod worktree;

pub use error::WorkshopError;
