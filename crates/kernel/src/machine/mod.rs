//! The machine: the state that entries lead to, and the transaction that commands are decided in.

pub(crate) mod coordinator;
pub mod state;
pub mod transaction;
