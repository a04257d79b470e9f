//! Types: the state of each noun, the arguments of its commands and the bodies of its events. Nothing here decides.

pub(crate) mod admin;
pub(crate) mod identity;
pub(crate) mod knowledge;
pub(crate) mod leasing;
pub(crate) mod query;
pub(crate) mod runs;
