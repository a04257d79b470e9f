//! Keys and protections: who may act as whom on this machine.

pub mod deployment;
mod encrypted_key;
pub mod keyring;
pub mod message_keys;
