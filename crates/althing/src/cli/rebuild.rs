//! `althing rebuild`, as the parser sees it.

use clap::Args;

/// Write the files under `.planning/` anew from the trail. They are kept in step by every command
/// from then on.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  althing rebuild                          write every file as the trail has it
  althing rebuild --adopt --as NAME        first take over what was written into them by hand

The files are at HEIMDALL_PLANNING_DIR, or in `.planning` at the project's root. A file that
somebody wrote into is set aside beside it, as NAME.edited-TIME. With --adopt, symbols, facts and
capsules written by hand become entries in the caller's name, and are set aside only if something
in them could not be taken over.")]
pub(crate) struct Rebuild {
    /// Take over symbols, facts and capsules that were written into the files by hand.
    #[arg(long)]
    pub(crate) adopt: bool,
}
