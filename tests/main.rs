//! The whole system, tested through its front door: the real binary, real processes, a real
//! SQLite store and real git, as people and scripts use them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed step is a failed test")]

#[cfg(unix)]
mod agents;
mod approvals;
mod bad_input;
mod blobs;
mod care;
mod conformance;
mod demo;
mod docs;
mod drawings;
mod ending;
#[cfg(unix)]
mod entry_points;
mod faults;
#[cfg(unix)]
mod frugal;
mod gates;
#[cfg(unix)]
mod guide;
#[cfg(unix)]
mod hooks;
mod identity;
mod inbox;
mod leases;
mod logging;
#[cfg(unix)]
mod matrix;
mod mcp;
#[cfg(unix)]
mod mcp_conflicts;
mod mcp_sdks;
mod mcp_tools;
mod memory;
mod memory_lanes;
mod native;
mod no_way_around;
mod pages;
mod parsers;
mod peers;
mod people;
mod planning;
#[cfg(target_os = "linux")]
mod process;
mod races;
mod readable;
mod recovery;
mod resources;
mod rooms;
mod run_refusals;
mod runs;
mod scan;
mod security;
mod storage;
mod support;
#[cfg(unix)]
mod swapped;
mod tamper;
mod tidy;
mod topology;
mod torture;
mod trail;
mod views;
#[cfg(unix)]
mod workshop;
