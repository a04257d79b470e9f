//! Running a plan: tasks become worktrees, agent processes and merges.
//!
//! [`begin`] starts a run and plans its tasks, [`Supervisor`] is the scheduler. It takes tasks from the
//! run's pool (`work.next`), makes worktrees ([`prepare`]), starts agents ([`turn`]), looks at what they
//! made ([`evidence`]), merges it ([`queue`]) and clears away ([`conclude`]). The kernel decides; git
//! and processes follow. Whoever is killed in between is replaced by the next one.

mod attempt;
mod begin;
pub mod brief;
mod conclude;
mod event;
mod evidence;
pub mod forecast;
mod overview;
mod prepare;
mod queue;
mod settings;
mod shared;
mod supervise;
mod team;
mod turn;
mod undo;
mod why;
mod work;

pub use begin::{Begun, begin};
pub use event::{Finished, RunEvent};
pub use overview::{
    AttemptView, attempt_at, attempts, end_idle_processes, end_process, failed_task, format_of,
    is_running,
};
pub use prepare::run_name;
pub use settings::{Abilities, Options, Workshop};
pub use shared::{LEAD, Shared};
pub use supervise::Supervisor;
pub use team::{check_team, team_of_plan, team_of_run};
pub use undo::{Undone, undo};
pub use why::{Ask as WhyAsk, Because, Work, why};
