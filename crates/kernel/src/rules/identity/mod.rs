//! Agents, people and what they may do.

pub mod agent;
pub mod authentication;
pub mod capability;
pub mod user;
