//! Running a plan: tasks become worktrees, agent processes and merges.

pub mod brief;
pub mod forecast;
