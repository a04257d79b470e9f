//! Rules of agents, users, authentication and permissions.

pub mod agent;
pub mod authentication;
pub mod capability;
pub mod user;
