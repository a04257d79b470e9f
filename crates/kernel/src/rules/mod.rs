//! Rules: decisions about commands, and how events change the state.

pub(crate) mod admin;
pub mod idempotency;
pub(crate) mod identity;
pub(crate) mod knowledge;
pub(crate) mod leasing;
pub(crate) mod permissions;
pub mod query;
pub(crate) mod runs;
