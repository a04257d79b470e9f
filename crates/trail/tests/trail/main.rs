//! Tests of the trail's public interface: builders, logs, verifiers, proofs and exports.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed step is a failed test")]

mod export;
mod forgery;
mod form;
mod logs;
mod proofs;
mod support;
mod tamper;
mod versions;
