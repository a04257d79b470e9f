//! The arguments of `althing view`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Arguments of `view`.
#[derive(Debug, Args)]
#[command(after_help = "\
A run is named by the id of its root or a part of it; the newest, if left out.

Examples:
  althing view run
  althing view workspace agent:bob
  althing view flow --mermaid > messages.mmd
  althing view highway")]
pub(crate) struct ViewArgs {
    #[command(subcommand)]
    pub(crate) command: ViewCommand,
}

/// What to look at.
#[derive(Debug, Subcommand)]
pub(crate) enum ViewCommand {
    /// A run: what it came to, and its workspaces side by side in time.
    #[command(after_help = "\
Examples:
  althing view run
  althing view run jfr587
  althing view run --file monday.jsonl")]
    Run(ViewRun),
    /// A workspace: how long it stood how, and what happened in it.
    Workspace(ViewWorkspace),
    /// The messages of a run: who wrote to whom, in order.
    Flow(ViewFlow),
    /// What people were asked in a run, and what they said: gates, messages, escalations.
    #[command(after_help = "\
Example:
  althing view highway")]
    Highway(ViewRun),
}

/// Which run.
#[derive(Debug, Args)]
pub(crate) struct ViewRun {
    /// The run; the newest, if left out.
    #[arg(value_name = "RUN")]
    pub(crate) id: Option<String>,
    /// Of an exported trail instead of the project's.
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}

/// Arguments of `view workspace`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  althing view workspace agent:bob
  althing view workspace k0tqcn --last 20")]
pub(crate) struct ViewWorkspace {
    /// Which workspace.
    #[arg(value_name = "WS")]
    pub(crate) id: String,
    /// How many of its last entries to show.
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) last: usize,
    /// Of an exported trail instead of the project's; then by its whole id.
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}

/// Arguments of `view flow`.
#[derive(Debug, Args)]
#[command(after_help = "\
`‖` before a message says that its sender could not have known of the one above it: the order of
the two means nothing.

Examples:
  althing view flow
  althing view flow --signals --last 50
  althing view flow --dot | dot -Tsvg > who-writes-to-whom.svg")]
pub(crate) struct ViewFlow {
    #[command(flatten)]
    pub(crate) of: ViewRun,
    /// Signals too.
    #[arg(long)]
    pub(crate) signals: bool,
    /// How many of the last messages to show.
    #[arg(long, value_name = "N", default_value_t = 40)]
    pub(crate) last: usize,
    /// Print who writes to whom for Graphviz.
    #[arg(long, conflicts_with = "mermaid")]
    pub(crate) dot: bool,
    /// Print the messages in order for Mermaid.
    #[arg(long)]
    pub(crate) mermaid: bool,
}
