//! The arguments of `althing hook`, `init` and `uninit`.

use althing_kernel::deployment::Deployment;
use althing_workshop::hook_shapes::SHAPES;
use althing_workshop::wiring::GIT;
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Stands for every agent that is installed.
pub(crate) const ALL: &str = "all";

/// The names of agents.
fn agents() -> PossibleValuesParser {
    PossibleValuesParser::new(SHAPES.iter().map(|shape| shape.name))
}

/// The names of agents, and of what else can be wired.
fn wired() -> PossibleValuesParser {
    PossibleValuesParser::new(SHAPES.iter().map(|shape| shape.name).chain([GIT, ALL]))
}

/// Arguments of `init`.
#[derive(Debug, Args)]
#[command(after_help = "\
With --agent, the hooks, the MCP server and a short primer are written into the agent's own files in this
project, and git hooks beside them. Comments, order and form of the files stay. If one of them cannot be
read, nothing is changed. `althing uninit` takes exactly that out again. `all` stands for the agents that
are installed, `git` for the git hooks alone.

Examples:
  althing init
  althing init --agent claude,codex            keep them off files that others hold
  althing init --agent all --dry-run           show what would be written
  althing init --agent git                     only refuse commits")]
pub(crate) struct Init {
    /// The project's name [default: the folder's name].
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Refuse unless everything this deployment model needs is in place: single-runtime (the
    /// default), shared-infrastructure or zero-trust.
    #[arg(long, value_name = "MODEL")]
    pub(crate) deployment: Option<Deployment>,
    /// Wire these agents.
    #[arg(long = "agent", value_name = "AGENT", value_delimiter = ',', value_parser = wired())]
    pub(crate) agents: Vec<String>,
    /// Show the changes to files, and make none.
    #[arg(long, requires = "agents")]
    pub(crate) dry_run: bool,
    /// Leave git hooks as they are.
    #[arg(long, requires = "agents")]
    pub(crate) no_git_hooks: bool,
}

/// Arguments of `uninit`.
#[derive(Debug, Args)]
#[command(after_help = "\
A file that nobody changed since is as it was before, to the byte; one that did not exist is gone. What
people changed since stays. The project and its trail stay too.

Examples:
  althing uninit                        all agents and the git hooks
  althing uninit --agent codex
  althing uninit --dry-run              show what would be removed")]
pub(crate) struct Uninit {
    /// Only these agents.
    #[arg(long = "agent", value_name = "AGENT", value_delimiter = ',', value_parser = wired())]
    pub(crate) agents: Vec<String>,
    /// Show the changes to files, and make none.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Arguments of `hook`.
#[derive(Debug, Args)]
#[command(after_help = "\
Agents, editors and git call this; `althing init --agent NAME` makes them. Whoever calls is the agent that
`ALTHING_AGENT` names, or else an agent of its own for each session.

Examples:
  althing hook edit --path src/parser.rs        may I edit it? 0 yes, 3 somebody else holds it
  althing hook edit --agent claude < call.json  the same, as Claude Code asks it
  althing hook commit                           may what is staged be committed?")]
pub(crate) struct Hook {
    #[command(subcommand)]
    pub(crate) command: HookCommand,
}

/// Subcommands of `hook`.
#[derive(Debug, Subcommand)]
pub(crate) enum HookCommand {
    /// Before files are edited: refuse what others hold, claim what is free.
    Edit(HookEdit),
    /// Before a commit: refuse files that others hold.
    Commit,
    /// With a prompt: bring new messages and news.
    Prompt(HookCall),
    /// When a session begins or ends: report in and say where things stand, or release what was edited.
    Session(HookCall),
    /// Before the agent ends: keep it going once if something is left to do.
    Stop(HookCall),
}

/// Arguments of `hook edit`.
#[derive(Debug, Args)]
#[command(after_help = "\
With --agent, the agent's own JSON is read from standard input and answered in its form. With --path, the
exit code says it: 0 free, claimed for you or yours; 3 held by somebody else; 1 refused for another reason.

Settings: `claims.on_edit` (auto, require, off), `claims.outside` (refuse, ask, allow), `hooks.broken` (open,
closed).

Examples:
  althing hook edit --path src/parser.rs --as alice
  althing hook edit --path a.rs b.rs --json")]
pub(crate) struct HookEdit {
    /// The agent that calls.
    #[arg(long = "agent", value_name = "AGENT", value_parser = agents())]
    pub(crate) kind: Option<String>,
    /// Files that are about to be edited, instead of an agent's JSON.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(crate) path: Vec<PathBuf>,
}

/// Arguments of the other hooks of agents.
#[derive(Debug, Args)]
pub(crate) struct HookCall {
    /// The agent that calls.
    #[arg(long = "agent", value_name = "AGENT", value_parser = agents())]
    pub(crate) kind: String,
}
