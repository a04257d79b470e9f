//! Services: one implementation of each verb, for every door.
//!
//! The dialects are [`memory`] and [`frugal`]; [`native`] is the vocabulary of people and of the
//! default server, [`mail`] the one inbox of everybody, [`hooks`] what agents and git ask before
//! files change. The command line and the server of the Model Context Protocol call the same
//! functions. Changes go through the engine as typed commands; this crate decides nothing and stores
//! nothing. Every request comes with a [`ProjectContext`]: the project, the caller, and how the
//! caller authenticates.

pub mod arguments;
pub mod context;
pub mod error;
pub mod frugal;
pub mod hooks;
pub mod mail;
pub mod memory;
pub mod native;
pub mod peers;
pub mod project;
pub mod runner;
mod search_cache;

pub use context::{Caller, ProjectContext};
pub use error::{Error, ErrorKind};
pub use project::{Host, Identity, Project, Setup};
