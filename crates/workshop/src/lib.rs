//! The workshop: git repositories, worktrees and the files of results in them.
//!
//! [`git`] asks git and makes commits without touching anybody's files or index, [`scratch`] is
//! where such commits are made, one process at a time, and [`worktree`] reads the worktree of a
//! worker that nobody here trusts.
//!
//! [`git`] also has everything about attempts, from their worktrees to their merges. [`command`] runs
//! checks and set-ups, [`process`] starts an agent so that whoever started it may die, and [`agents`]
//! knows each kind of agent: how to start it and what its output means.
//!
//! [`hook_shapes`] reads and answers the hooks of coding agents, [`wiring`] puts those hooks into their
//! files and takes them out again, [`ancestry`] says which program called, [`hosts`] which agent that
//! is, and [`ignored`] which files git does not track.
//!
//! Nothing here knows the project's state. Everything can be cut off at any instant and repeated.

pub mod agents;
pub mod ancestry;
pub mod command;
mod error;
mod file_lock;
pub mod git;
pub mod hook_shapes;
pub mod hosts;
pub mod ignored;
pub mod process;
pub mod scratch;
mod step;
pub mod wiring;
pub mod worktree;

pub use error::WorkshopError;
pub use file_lock::LockError;
pub use git::submodule::MissingSubmodule;
pub use git::{
    attempt_tree, blame, changes, checkout, history, merge, occupants, repository, rescue,
    scratch_tree, snapshot,
};
