//! Agents, people and what they may do.

pub(crate) mod agent;
pub(crate) mod authentication;
pub(crate) mod capability;
pub(crate) mod user;
