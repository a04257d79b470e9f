//! `althing rebuild`, as the parser sees it.

use clap::Args;

/// Arguments of `rebuild`.
#[derive(Debug, Args)]
#[command(after_help = "\
From then on every command keeps the files up to date.

Examples:
  althing rebuild                          rewrite every file
  althing rebuild --adopt --as NAME        first adopt what was written by hand

The files are in HEIMDALL_PLANNING_DIR, or in `.planning` at the project root. An edited file is
kept beside the new one, as NAME.edited-TIME. With --adopt, symbols, facts and capsules written by
hand are recorded in the caller's name first; only what could not be adopted is kept aside.")]
pub(crate) struct Rebuild {
    /// Adopt symbols, facts and capsules that were written into the files by hand.
    #[arg(long)]
    pub(crate) adopt: bool,
}
