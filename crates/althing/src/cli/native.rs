//! The arguments of `althing plan`, `next`, `done` and `blocked`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

use super::run::PlanCheck;

/// Arguments of `plan`.
#[derive(Debug, Args)]
#[command(after_help = "\
TEXT says what is to be done. Its last words may name the files it is about, as `@PATH`; whoever
takes the task gets them claimed. A folder that is no project yet becomes one.

With --file the coordinator of a run plans a graph of tasks; `althing task plan --help` shows its
form.

Examples:
  althing plan 'Write the parser @src/parser.rs' 'Write the guide @docs'
  althing plan 'Test the parser' --scope tests --after pln#1 --priority high
  althing plan --file tasks.toml --as alice
  althing plan check plan.toml")]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct PlanArgs {
    #[command(subcommand)]
    pub(crate) command: Option<PlanCommand>,
    /// The tasks, one argument each.
    #[arg(value_name = "TEXT", required_unless_present = "file")]
    pub(crate) tasks: Vec<String>,
    /// Files the tasks are about, written as for `claim`; repeat for more.
    #[arg(long, value_name = "SURFACE", conflicts_with = "file")]
    pub(crate) scope: Vec<String>,
    /// A task that has to be done first; repeat for more.
    #[arg(long, value_name = "TASK", conflicts_with = "file")]
    pub(crate) after: Vec<String>,
    /// How urgent they are: low, medium, high, urgent.
    #[arg(long, value_name = "P", conflicts_with = "file")]
    #[arg(value_parser = ["low", "medium", "high", "urgent"])]
    pub(crate) priority: Option<String>,
    /// Plan the graph of a run from this file (`-` reads standard input).
    #[arg(long, value_name = "FILE", conflicts_with = "tasks")]
    pub(crate) file: Option<PathBuf>,
}

/// Subcommands of `plan`.
#[derive(Debug, Subcommand)]
pub(crate) enum PlanCommand {
    /// Check a plan for `althing run`, draw it, and forecast which tasks get in each other's way.
    Check(PlanCheck),
}

/// Arguments of `next`.
#[derive(Debug, Args)]
#[command(after_help = "\
Takes the task that is most urgent, then oldest, among those that are ready: what it depends on is
done, nobody else has it, and nobody else holds its files. Choosing it, claiming its files and
marking it as yours is one step, so two agents never get the same. Whoever has a task already gets
that one again. In a run, the work a coordinator assigned to you comes first, then what the run
gives out to whoever fits.

Examples:
  althing next --as alice
  althing next pln#3 --as alice            this one, also if it was blocked
  althing next --wait 10m --as alice       wait until something is ready
  althing next --role tester --skill sql --as alice")]
pub(crate) struct NextArgs {
    /// The task to take [default: the most urgent one that is ready].
    #[arg(value_name = "TASK")]
    pub(crate) task: Option<String>,
    /// Take tasks for this role too.
    #[arg(long, value_name = "ROLE")]
    pub(crate) role: Option<String>,
    /// A skill that you have; repeat for more.
    #[arg(long, value_name = "SKILL")]
    pub(crate) skill: Vec<String>,
    /// Wait so long until something is ready.
    #[arg(long, value_name = "TIME")]
    pub(crate) wait: Option<String>,
}

/// Arguments of `done`.
#[derive(Debug, Args)]
#[command(after_help = "\
The task is done and its claims are released, in one step. In a run, your workspace signals
`complete` and the coordinator merges its final checkpoint.

Examples:
  althing done --as alice
  althing done 'parser and tests' --as alice")]
pub(crate) struct DoneArgs {
    /// What was done; everybody can read it.
    #[arg(value_name = "TEXT")]
    pub(crate) text: Option<String>,
}

/// Arguments of `blocked`.
#[derive(Debug, Args)]
#[command(after_help = "\
Your task's claim is released, so that others can work there; `althing next TASK` takes the task up
again. In a run, your workspace signals `blocked` and keeps what it has.

Example:
  althing blocked 'Which grammar?' --as alice")]
pub(crate) struct BlockedArgs {
    /// Why it cannot go on; everybody can read it.
    #[arg(value_name = "REASON")]
    pub(crate) reason: String,
}
