//! Tests of the engine's public interface, and its simulation.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed step is a failed test")]

mod archives;
mod asking;
mod blobs;
mod opening;
mod outages;
mod recovery;
mod running;
mod runs;
mod screening;
mod security;
mod simulation;
mod support;
mod transfers;
