//! The kernel's rules, tested through its public door: turns, commands and queries.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed step is a failed test")]

mod archives;
mod around;
mod canonical;
mod checkpoints;
mod commons;
mod draws;
mod ending;
mod envelopes;
mod escalations;
mod gates;
mod groups;
mod identity;
mod ids;
mod leases;
mod memory;
mod memory_offers;
mod memory_work;
mod people;
mod people_audit;
mod permissions;
mod properties;
mod recovery;
mod replay;
mod resources;
mod run;
mod security;
mod sessions;
mod signals;
mod simulated;
mod standing;
mod support;
mod tasks;
mod taxonomies;
mod topology;
mod workspaces;
