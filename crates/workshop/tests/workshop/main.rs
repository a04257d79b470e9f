//! Tests of the workshop with real git, in repositories of their own.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed step is a failed test")]
#![cfg(unix)]

mod blame;
mod changes;
mod child;
mod copies;
mod fast_forward;
mod kills;
mod merge;
mod names;
mod pool;
mod races;
mod removal;
mod repository;
mod rescue;
mod scratch_tree;
mod snapshot;
mod submodules;
mod support;
mod trees;
