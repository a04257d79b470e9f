//! The workshop: git repositories, worktrees and the files of results in them.
//!
//! [`git`] asks git and makes commits without touching anybody's files or index, [`scratch`] is
//! where such commits are made, one process at a time, and [`worktree`] reads the worktree of a
//! worker that nobody here trusts.
//!
//! Attempts: [`repository`] finds out whether they can work in a repository, [`attempt_tree`] gives
//! each a linked worktree, [`changes`] says what it changed, [`snapshot`] keeps its present state as
//! a commit, [`rescue`] keeps what would be lost with its tree, [`merge`] brings it into a branch,
//! [`scratch_tree`] is where the result is checked before, [`blame`] and [`history`] tell later
//! which attempt wrote what. [`checkout`] is what all of them work on, [`occupants`] finds the
//! processes that use a folder, [`command`] runs checks and set-ups, [`process`] starts an agent so
//! that whoever started it may die, and [`agents`] knows each kind of agent: how to start it and
//! what its output means.
//!
//! [`hook_shapes`] reads and answers the hooks of coding agents, [`wiring`] puts those hooks into their
//! files and takes them out again, [`ancestry`] says which program called, [`hosts`] which agent that
//! is, and [`ignored`] which files git does not track.
//!
//! Nothing here knows the project's state. Everything can be cut off at any instant and repeated.

pub mod agents;
pub mod ancestry;
pub mod attempt_tree;
pub mod blame;
pub mod changes;
pub mod checkout;
pub mod command;
mod error;
mod file_lock;
mod files;
pub mod git;
pub mod history;
pub mod hook_shapes;
pub mod hosts;
pub mod ignored;
mod inner;
pub mod merge;
pub mod occupants;
pub mod process;
pub mod repository;
pub mod rescue;
pub mod scratch;
pub mod scratch_tree;
pub mod snapshot;
mod step;
mod submodule;
pub mod wiring;
pub mod worktree;

pub use error::WorkshopError;
pub use file_lock::LockError;
pub use submodule::MissingSubmodule;
