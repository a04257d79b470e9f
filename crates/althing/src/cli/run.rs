//! The arguments of `althing run` and of what looks after a run.

use althing_kernel::approvals::Wish;
use clap::{Args, Subcommand};
use std::path::PathBuf;

use super::work::highway;

/// Arguments of `run`.
#[derive(Debug, Args)]
#[command(after_help = "\
Each task of the plan gets a git worktree of its own and an agent that works in it. A task is done when
its check passes, not when the agent says so; then it is merged into the branch of the run. Your own
files and branches stay as they are until --into asks for more. A run that was cut off goes on where
it was: repeat the command, with or without the plan.

A plan (TOML, YAML or JSON):
  [[tasks]]
  key = \"lexer\"
  text = \"Rewrite the lexer\"
  touches = [\"src/lexer/**\"]
  check = \"cargo test lexer\"

Exit code 0: everything is merged. 1: something is not. 4: it could not go on.

Examples:
  althing run plan.toml --agents claude:2,codex
  althing run -m 'Fix the typo in README.md' --agents claude --into main
  althing run                                      go on with the run there is
  althing run plan.toml --agents claude --json     one line per event")]
pub(crate) struct Run {
    /// The plan; `-` reads it from standard input. Without one, the run there is goes on.
    #[arg(value_name = "PLAN", conflicts_with = "message")]
    pub(crate) plan: Option<PathBuf>,
    /// Run one task with this text instead of a plan.
    #[arg(long, short = 'm', value_name = "TEXT")]
    pub(crate) message: Option<String>,
    /// Who works, with how many at the same time [default: those that the settings or the plan name].
    #[arg(long, visible_alias = "agent", value_name = "AGENT[:N]", value_delimiter = ',')]
    pub(crate) agents: Vec<String>,
    /// The most agents at the same time.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) parallel: Option<u16>,
    /// The commit to begin with [default: what is checked out].
    #[arg(long, value_name = "REVISION")]
    pub(crate) base: Option<String>,
    /// Move this branch to the result at the end, if nobody moved it meanwhile.
    #[arg(long, value_name = "BRANCH")]
    pub(crate) into: Option<String>,
    /// The decisions that people are asked about: autonomous, supervised, gated or off.
    #[arg(long = "preset", value_name = "PRESET", value_parser = highway)]
    pub(crate) highway: Option<Wish>,
}

/// Arguments of `plan check`.
#[derive(Debug, Args)]
#[command(after_help = "\
Reads the plan, draws it, and names the tasks that may touch the same files: those are worked on one after
the other. Nothing is changed.

Example:
  althing plan check plan.toml")]
pub(crate) struct PlanCheck {
    /// The plan; `-` reads it from standard input.
    #[arg(value_name = "PLAN")]
    pub(crate) plan: PathBuf,
}

/// Arguments of `ps`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  althing ps
  althing ps --all                                 attempts that ended, too")]
pub(crate) struct Ps {
    /// Also those that ended.
    #[arg(long)]
    pub(crate) all: bool,
}

/// Arguments of `logs`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  althing logs lexer                               of the newest attempt at the task
  althing logs lexer --follow
  althing logs lexer --raw | tail                  just as the agent printed it")]
pub(crate) struct Logs {
    /// The task, by its key or id, or a workspace.
    pub(crate) task: String,
    /// Stay and show what comes, until the agent ends.
    #[arg(long, short = 'f')]
    pub(crate) follow: bool,
    /// The agent's own output, unchanged.
    #[arg(long)]
    pub(crate) raw: bool,
}

/// Arguments of `attach`.
#[derive(Debug, Args)]
#[command(after_help = "\
Shows what the agent says as it says it. Each line that you type goes to the agent as a message, which it
reads when its hooks let it. Ctrl-D stops writing, ctrl-C leaves; the agent goes on.

Example:
  althing attach lexer --as ada")]
pub(crate) struct Attach {
    /// The task, by its key or id, or a workspace.
    pub(crate) task: String,
}

/// Arguments of `pause`.
#[derive(Debug, Args)]
#[command(after_help = "\
The agent's process ends, its files and its conversation stay; time and tokens do not count. Without a
task, all agents of the run are paused.

Examples:
  althing pause lexer -m 'wait for the grammar'
  althing pause                                    the whole run")]
pub(crate) struct Pause {
    /// The task [default: all of them].
    pub(crate) task: Option<String>,
    /// The reason; others see it.
    #[arg(long, short = 'm', value_name = "TEXT")]
    pub(crate) reason: Option<String>,
}

/// Arguments of `resume`.
#[derive(Debug, Args)]
#[command(after_help = "\
`althing run` has to be running, or to be started, for the agents to go on.

Examples:
  althing resume lexer
  althing resume                                   the whole run")]
pub(crate) struct Resume {
    /// The task [default: the whole run].
    pub(crate) task: Option<String>,
}

/// Arguments of `stop`.
#[derive(Debug, Args)]
#[command(after_help = "\
No more tasks are given out; those in work are finished and merged, then `althing run` ends. With --now
the agents' processes end too, and their work is kept. `althing run` goes on later.

Examples:
  althing stop
  althing stop --now -m 'too expensive'")]
pub(crate) struct Stop {
    /// Also end the agents that work.
    #[arg(long)]
    pub(crate) now: bool,
    /// The reason; others see it.
    #[arg(long, short = 'm', value_name = "TEXT")]
    pub(crate) reason: Option<String>,
}

/// Arguments of `retry`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  althing retry lexer                              then `althing run`, if none is running")]
pub(crate) struct Retry {
    /// The failed task, by its key or id.
    pub(crate) task: String,
}

/// Arguments of `rescue`.
#[derive(Debug, Args)]
#[command(after_help = "\
Before a worktree is removed or used again, everything in it that is not committed is kept in a commit under
`refs/althing/rescue/`.

Examples:
  althing rescue
  althing rescue show lexer
  althing rescue restore lexer --branch lexer-rescued
  althing rescue restore lexer --here              into the files that are checked out here
  althing rescue drop lexer --number 1")]
pub(crate) struct RescueArgs {
    #[command(subcommand)]
    pub(crate) command: Option<RescueCommand>,
}

/// Subcommands of `rescue`.
#[derive(Debug, Subcommand)]
pub(crate) enum RescueCommand {
    /// List what is kept.
    List,
    /// Show what is in it.
    Show(RescueShow),
    /// Bring it back.
    Restore(RescueRestore),
    /// Forget it.
    Drop(RescueName),
}

/// A rescued piece of work.
#[derive(Debug, Args)]
pub(crate) struct RescueName {
    /// The name, as in the list.
    pub(crate) name: String,
    /// Which one of that name [default: the newest].
    #[arg(long, value_name = "N")]
    pub(crate) number: Option<u32>,
}

/// Arguments of `rescue show`.
#[derive(Debug, Args)]
pub(crate) struct RescueShow {
    #[command(flatten)]
    pub(crate) rescue: RescueName,
    /// The whole patch.
    #[arg(long)]
    pub(crate) patch: bool,
}

/// Arguments of `rescue restore`.
#[derive(Debug, Args)]
pub(crate) struct RescueRestore {
    #[command(flatten)]
    pub(crate) rescue: RescueName,
    /// Make this branch at it.
    #[arg(long, value_name = "BRANCH", required_unless_present = "here")]
    pub(crate) branch: Option<String>,
    /// Put its changes into the files that are checked out here. Files that differ are refused.
    #[arg(long, conflicts_with = "branch")]
    pub(crate) here: bool,
}

/// Arguments of `undo`.
#[derive(Debug, Args)]
#[command(after_help = "\
Each merge of the run is taken back by a commit of its own, newest first, on the branch of the run, or on the
branch that --on names if the run was put there. Nothing is rewritten. If later work conflicts, nothing
is changed and the conflict is named.

Examples:
  althing undo 7k2m9q
  althing undo 7k2m9q --task lexer
  althing undo 7k2m9q --on main")]
pub(crate) struct Undo {
    /// The run: its name, as `althing run` shows it.
    pub(crate) run: String,
    /// Only the merge of this task.
    #[arg(long, value_name = "TASK")]
    pub(crate) task: Option<String>,
    /// The branch to do it on [default: the run's own].
    #[arg(long, value_name = "BRANCH")]
    pub(crate) on: Option<String>,
}

/// Arguments of `why`.
#[derive(Debug, Args)]
#[command(after_help = "\
Tells which task, agent, brief, approvals and cost are behind a line or a file, from git and the trail.

Examples:
  althing why src/lexer.rs:42
  althing why src/lexer.rs
  althing why src/lexer.rs:42 --at althing/7k2m9q/_merged")]
pub(crate) struct Why {
    /// The file, and the line in it.
    #[arg(value_name = "PATH[:LINE]")]
    pub(crate) place: String,
    /// As of this commit [default: what is checked out].
    #[arg(long, value_name = "REVISION")]
    pub(crate) at: Option<String>,
}

/// Arguments of `tick`.
#[derive(Debug, Args)]
#[command(after_help = "\
Deadlines of tasks, leases, approvals and budgets are recorded with the next command after they passed, or at
once while this or `althing run` runs.

Examples:
  althing tick
  althing tick --follow                            until ctrl-C")]
pub(crate) struct Tick {
    /// Stay, and record every deadline when it passes.
    #[arg(long)]
    pub(crate) follow: bool,
}
