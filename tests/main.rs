//! The whole system, tested through its front door: the real binary, real processes, a real
//! SQLite store and real git, as people and scripts use them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed step is a failed test")]

mod bad_input;
mod blobs;
mod care;
mod conformance;
mod demo;
mod docs;
mod drawings;
mod faults;
#[cfg(unix)]
mod guide;
mod identity;
mod leases;
mod parsers;
mod people;
mod races;
mod run_refusals;
mod runs;
mod scan;
mod support;
mod tamper;
mod tidy;
mod torture;
mod trail;
