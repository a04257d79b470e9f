//! The engine, tested through its public doors, and simulated.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed step is a failed test")]

mod asking;
mod blobs;
mod opening;
mod outages;
mod running;
mod runs;
mod simulation;
mod support;
mod transfers;
