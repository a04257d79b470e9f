//! Types of runs: workspaces, tasks, messages, checkpoints, approvals.

pub(crate) mod access;
pub(crate) mod admission;
pub(crate) mod approvals;
pub(crate) mod checkpoint;
pub(crate) mod deployment;
pub(crate) mod envelope;
pub mod file;
pub(crate) mod integration;
pub(crate) mod integrity;
pub(crate) mod news;
pub(crate) mod recovery;
pub(crate) mod right;
pub(crate) mod run;
pub(crate) mod seal;
pub(crate) mod signal;
pub(crate) mod task;
pub mod taxonomy;
pub(crate) mod workspace;
