//! `althing recover`, as the parser sees it.

use clap::Args;
use std::path::PathBuf;

/// Arguments of `recover`.
#[derive(Debug, Args)]
#[command(after_help = "\
Verifies the whole trail and what is stored beside it, moves damaged files to quarantine, and
finishes what was interrupted. The first command after a crash does this by itself, for the part of
the trail that was not verified before.

Examples:
  althing recover --dry-run                show what would be done
  althing recover                          do it
  althing recover --from ../backup         repair from a backup
  althing recover --from trail.jsonl       the same from an export

An entry is repaired only if the copy has the hash that the trail vouches for. Damaged files are in
`quarantine` in the state folder; `althing doctor` lists them.")]
pub(crate) struct Recover {
    /// Show what would be done, and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// A backup folder or an exported trail to repair damaged entries from.
    #[arg(long, value_name = "COPY", conflicts_with = "dry_run")]
    pub(crate) from: Option<PathBuf>,
}
