//! The memory dialect: what is shared between sessions, in the words of its protocol.

pub mod lane;
pub mod relevance;
pub mod secrets;
