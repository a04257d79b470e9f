//! The trail: a tamper-evident record of every event.
//!
//! The kernel produces events. This crate makes each an [`entry`], chains it twice (over the whole
//! trail, and over its workspace), gathers entries into [`commit`]s, covers each commit with a
//! signed tree [`head`], and stores commits in a [`log`]. Old entries move to an [`archive`], and a
//! stub stays in the log. Anybody can [`verify`] the result offline, and prove single entries or
//! the growth of the trail ([`proof`], [`tree`]).
//!
//! This crate decides nothing, and only [`chain::Chain::seal`] makes entries: writing and verifying
//! run the same code, so they cannot drift apart.

pub mod archive;
pub mod archive_check;
pub mod chain;
pub mod commit;
pub mod entry;
pub mod error;
pub mod export;
pub mod hash;
pub mod head;
pub mod key;
mod line;
pub mod log;
pub mod proof;
pub mod request;
pub mod stub;
pub mod tree;
pub mod verify;

pub use chain::Chain;
pub use commit::Commit;
pub use entry::Entry;
pub use error::LogError;
pub use hash::Hash;
pub use head::{Head, SignedHead};
pub use key::SecretKey;
pub use log::{AppendError, Log, LogReader, Store};
pub use request::{Asked, Request, Signature};
