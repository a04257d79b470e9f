//! Dispatch: from a command to its rule, from an event to what it changes, from a deadline to what is due.

pub(crate) mod apply;
pub(crate) mod commands;
pub(crate) mod decide;
pub mod forecast;
