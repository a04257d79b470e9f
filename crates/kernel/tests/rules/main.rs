//! The kernel's rules, tested through its public door: turns, commands and queries.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed step is a failed test")]

mod canonical;
mod checkpoints;
mod envelopes;
mod identity;
mod ids;
mod leases;
mod permissions;
mod properties;
mod recovery;
mod replay;
mod run;
mod sessions;
mod signals;
mod simulated;
mod support;
mod tasks;
mod taxonomies;
mod workspaces;
