//! How Althing is spoken: the words of other protocols, read and written.
//!
//! A dialect translates and does not decide. It knows how its messages, names and texts look; what
//! is allowed, who holds what and what is true it asks the kernel. Nothing here touches files, the
//! clock, the terminal or the environment: what is needed comes in as arguments.

pub mod frugal;
pub mod memory;
