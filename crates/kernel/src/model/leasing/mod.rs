//! Types of sessions and leases.

pub(crate) mod lease;
pub(crate) mod session;
pub(crate) mod view;
