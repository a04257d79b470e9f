//! The arguments of `althing man`.

use clap::Args;
use std::path::PathBuf;

/// Arguments of `man`.
#[derive(Debug, Args)]
#[command(after_help = "\
Writes althing.1 and one page for each command, such as althing-claim.1. Pages of that name which
are there already are replaced.

Examples:
  althing man ~/.local/share/man/man1
  althing man /tmp/man && man /tmp/man/althing-claim.1")]
pub(crate) struct Man {
    /// The folder; it is created if there is none.
    pub(crate) dir: PathBuf,
}
