//! Services: what a verb does, once, for every door.
//!
//! [`memory`] and [`frugal`] are the dialects there are. The command line and the server of the
//! Model Context Protocol call the same functions. What they change goes through the engine as a
//! command; this crate decides nothing and keeps nothing. Every request comes with a
//! [`ProjectContext`]: the project, who asks, and how they prove it.

pub mod arguments;
pub mod context;
pub mod error;
pub mod frugal;
pub mod memory;
pub mod project;

pub use context::{Caller, ProjectContext};
pub use error::{Error, ErrorKind};
pub use project::{Host, Identity, Project, Setup};
