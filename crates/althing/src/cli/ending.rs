//! The arguments of `althing workspace terminate`, `grant` and `reparent`.

use althing_kernel::text::Text;
use althing_kernel::workspace::Timeout;
use clap::Args;

use super::read::{text, timeout};

/// Arguments of `workspace terminate`.
#[derive(Debug, Args)]
#[command(after_help = "\
Its agent is told by a `feedback`. If it has not said `complete` when the time is over, the workspace
fails; its checkpoints stay, and `integrate WS salvage` saves something of them. A pause does not
count.

Example:
  althing workspace terminate agent:bob --grace 10m --reason 'we release tonight' --as alice")]
pub(crate) struct WorkspaceTerminate {
    /// Which workspace.
    #[arg(value_name = "WS")]
    pub(crate) id: String,
    /// How long it has to finish: 90s, 10m, 2h.
    #[arg(long, value_name = "TIME", value_parser = timeout)]
    pub(crate) grace: Timeout,
    /// Why; its agent and everybody can read it.
    #[arg(long, value_name = "TEXT", value_parser = text::<1000>)]
    pub(crate) reason: Option<Text<1000>>,
}

/// Arguments of `workspace grant`.
#[derive(Debug, Args)]
#[command(after_help = "\
It sees the other one's working memory, checkpoints and local trail from now on, and for good. The
workspace above it has to see that one, too. The one that is shown is not told.

Example:
  althing workspace grant agent:bob agent:carol --reason 'he reviews her' --as alice")]
pub(crate) struct WorkspaceGrant {
    /// The workspace that may read.
    #[arg(value_name = "WS")]
    pub(crate) id: String,
    /// The workspace it may read.
    #[arg(value_name = "TARGET")]
    pub(crate) target: String,
    /// Why; everybody can read it.
    #[arg(long, value_name = "TEXT", value_parser = text::<1000>)]
    pub(crate) reason: Option<Text<1000>>,
}

/// Arguments of `workspace reparent`.
#[derive(Debug, Args)]
#[command(after_help = "\
A workspace loses its parent when that ends and somebody else answers for it. It goes on below the
root, which hears of it; once it may be given another parent.

Example:
  althing workspace reparent agent:bob --below agent:carol --as alice")]
pub(crate) struct WorkspaceReparent {
    /// Which workspace; `workspace list --orphans` shows them.
    #[arg(value_name = "WS")]
    pub(crate) id: String,
    /// The workspace above it from now on.
    #[arg(long, value_name = "WS")]
    pub(crate) below: String,
}
