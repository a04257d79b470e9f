//! Types of agents, users, authentication and permissions.

pub(crate) mod agent;
pub(crate) mod authentication;
pub(crate) mod capability;
pub(crate) mod user;
