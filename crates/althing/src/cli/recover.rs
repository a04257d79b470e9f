//! `althing recover`, as the parser sees it.

use clap::Args;
use std::path::PathBuf;

/// Examine the whole trail and what lies beside it, set aside what is damaged and can be, and make
/// good what was left half done. The first command after a crash does so by itself for what was not
/// examined before.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  althing recover --dry-run                show what would be done
  althing recover                          do it
  althing recover --from ../backup         also put damaged entries back from a backup
  althing recover --from trail.jsonl       the same from an export

An entry is put back only if its hash is the one the trail vouches for. What is set aside lies in
`quarantine` in the state folder; `althing doctor` lists it.")]
pub(crate) struct Recover {
    /// Show what would be done, and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// A backup's folder or an exported trail to put damaged entries back from.
    #[arg(long, value_name = "COPY", conflicts_with = "dry_run")]
    pub(crate) from: Option<PathBuf>,
}
