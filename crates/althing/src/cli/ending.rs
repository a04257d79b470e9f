//! The arguments of `althing workspace terminate`, `grant` and `reparent`.

use althing_kernel::text::Text;
use althing_kernel::workspace::Timeout;
use clap::Args;

use super::read::{text, timeout};

/// Arguments of `workspace terminate`.
#[derive(Debug, Args)]
#[command(after_help = "\
Its agent gets a `feedback`. If it has not signalled `complete` in time, the workspace fails; its
checkpoints stay, and `integrate WS salvage` can merge files of them. Time in suspension does not
count.

Example:
  althing workspace terminate agent:bob --grace 10m --reason 'we release tonight' --as alice")]
pub(crate) struct WorkspaceTerminate {
    /// The workspace.
    #[arg(value_name = "WS")]
    pub(crate) id: String,
    /// How long it has to finish: 90s, 10m, 2h.
    #[arg(long, value_name = "TIME", value_parser = timeout)]
    pub(crate) grace: Timeout,
    /// The reason; everybody can read it.
    #[arg(long, value_name = "TEXT", value_parser = text::<1000>)]
    pub(crate) reason: Option<Text<1000>>,
}

/// Arguments of `workspace grant`.
#[derive(Debug, Args)]
#[command(after_help = "\
It can read the other one's working memory, checkpoints and local trail from now on. This cannot be
revoked. The workspace above it must be able to read the target, too.

Example:
  althing workspace grant agent:bob agent:carol --reason 'he reviews her' --as alice")]
pub(crate) struct WorkspaceGrant {
    /// The workspace that may read.
    #[arg(value_name = "WS")]
    pub(crate) id: String,
    /// The workspace it may read.
    #[arg(value_name = "TARGET")]
    pub(crate) target: String,
    /// The reason; everybody can read it.
    #[arg(long, value_name = "TEXT", value_parser = text::<1000>)]
    pub(crate) reason: Option<Text<1000>>,
}

/// Arguments of `workspace reparent`.
#[derive(Debug, Args)]
#[command(after_help = "\
A workspace with another owner outlives its parent and continues below the root. It can be given a
new parent once.

Example:
  althing workspace reparent agent:bob --below agent:carol --as alice")]
pub(crate) struct WorkspaceReparent {
    /// The workspace; `workspace list --orphans` lists them.
    #[arg(value_name = "WS")]
    pub(crate) id: String,
    /// Its new parent.
    #[arg(long, value_name = "WS")]
    pub(crate) below: String,
}
