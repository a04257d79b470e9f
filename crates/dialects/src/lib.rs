//! Dialects: translation between Althing and other protocols.
//!
//! A dialect translates and does not decide. It knows the form of its messages, names and texts;
//! permissions, leases and the state are the kernel's. Nothing here touches files, the clock, the
//! terminal or the environment: everything comes in as arguments.

pub mod frugal;
pub mod memory;
pub mod moment;
