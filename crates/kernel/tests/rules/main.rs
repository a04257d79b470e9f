//! The kernel's rules, tested through its public door: turns, commands and queries.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed step is a failed test")]

mod canonical;
mod identity;
mod leases;
mod properties;
mod sessions;
mod simulated;
mod support;
