//! Rules of runs: workspaces, tasks, messages, checkpoints, approvals.

pub mod access;
pub mod admission;
pub mod approvals;
pub mod checkpoint;
pub mod deployment;
pub mod envelope;
pub mod integration;
pub mod integrity;
pub mod news;
pub mod recovery;
pub mod right;
pub mod run;
pub mod seal;
pub mod signal;
pub mod task;
pub mod workspace;
