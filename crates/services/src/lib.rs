//! Services: what a verb does, once, for every door.
//!
//! [`memory`] and [`frugal`] are the dialects there are. The command line and the server of the
//! Model Context Protocol call the same functions. What they change goes through the engine as a
//! command; this crate decides nothing and keeps nothing.

pub mod arguments;
pub mod desk;
pub mod fault;
pub mod frugal;
pub mod memory;

pub use desk::{Call, Desk, Host, Identity, Setup};
pub use fault::Fault;
