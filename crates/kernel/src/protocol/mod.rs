//! The protocol: every command, event, reply and refusal as one closed set each.

pub mod command;
pub mod event;
pub mod lifecycles;
pub mod refusal;
pub(crate) mod reply;
