//! Rules of sessions and leases.

pub(crate) mod collisions;
pub(crate) mod handover;
pub mod lease;
pub mod session;
