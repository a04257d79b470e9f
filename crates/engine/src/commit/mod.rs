//! The write path: one writer per process gathers waiting commands and commits them together.
//!
//! [`core`] prepares and settles a batch against the log, [`queue`] orders the waiting commands,
//! `writer` is the thread that runs both, [`shared`] is the state it publishes to readers,
//! [`writer_registry`] lists the processes that may write, [`witness`] remembers the newest head
//! and `background` runs work that no command waits for.

pub(crate) mod background;
pub mod core;
pub mod queue;
pub mod shared;
pub mod witness;
pub(crate) mod writer;
pub mod writer_registry;
