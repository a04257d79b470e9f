//! Rules of sessions and leases.

pub(crate) mod collisions;
pub mod lease;
pub mod session;
