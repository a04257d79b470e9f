//! The arguments of `althing view`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Arguments of `view`.
#[derive(Debug, Args)]
#[command(after_help = "\
Name a run by the id of its root, or a part of it. The default is the newest.

Examples:
  althing view run
  althing view workspace agent:bob
  althing view flow --mermaid > messages.mmd
  althing view highway")]
pub(crate) struct ViewArgs {
    #[command(subcommand)]
    pub(crate) command: ViewCommand,
}

/// Subcommands of `view`.
#[derive(Debug, Subcommand)]
pub(crate) enum ViewCommand {
    /// Draw a run: results, workspaces over time, tasks.
    #[command(after_help = "\
Examples:
  althing view run
  althing view run jfr587
  althing view run --file monday.jsonl")]
    Run(ViewRun),
    /// Draw a workspace: its states over time, and what happened in it.
    Workspace(ViewWorkspace),
    /// Draw the messages of a run: who wrote to whom, in order.
    Flow(ViewFlow),
    /// Show what people were asked in a run, and what they answered.
    #[command(after_help = "\
Example:
  althing view highway")]
    Highway(ViewRun),
}

/// Which run.
#[derive(Debug, Args)]
pub(crate) struct ViewRun {
    /// The run [default: the newest].
    #[arg(value_name = "RUN")]
    pub(crate) id: Option<String>,
    /// Use an exported trail instead of the project's.
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
    /// The workspace.
    #[arg(value_name = "WS")]
    pub(crate) id: String,
    /// How many of its last entries to show.
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) last: usize,
    /// Use an exported trail instead of the project's; needs the full id of the workspace.
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}

/// Arguments of `view flow`.
#[derive(Debug, Args)]
#[command(after_help = "\
`‖` marks a message whose sender could not have seen the one above it: their order means nothing.

Examples:
  althing view flow
  althing view flow --signals --last 50
  althing view flow --dot | dot -Tsvg > who-writes-to-whom.svg")]
pub(crate) struct ViewFlow {
    #[command(flatten)]
    pub(crate) of: ViewRun,
    /// Include signals.
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
