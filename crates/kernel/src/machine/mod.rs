//! The state that entries produce, and the transaction in which commands are decided.

pub(crate) mod coordinator;
pub mod state;
pub mod transaction;
