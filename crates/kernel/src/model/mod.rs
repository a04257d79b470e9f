//! Types only: state, command arguments, event bodies and views. Nothing here decides.

pub(crate) mod admin;
pub(crate) mod identity;
pub(crate) mod knowledge;
pub(crate) mod leasing;
pub(crate) mod query;
pub(crate) mod runs;
