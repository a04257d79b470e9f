//! The arguments of what looks after the storage of the trail.

use clap::Args;
use std::path::PathBuf;

/// Arguments of `trail compact`.
#[derive(Debug, Args)]
#[command(after_help = "\
Entries that only tell how something came about (deliveries, steps that are not an end, warnings)
move from the store to a compressed file in `archive/`, once their workspace has ended. They stay
part of the trail: it is read, searched, proved and verified as before. Writers go on meanwhile.
What has ended longer than `compact_after` ago is also moved by itself, in passing.

Examples:
  althing trail compact --dry-run           what would move
  althing trail compact                     what ended longer ago than `compact_after`
  althing trail compact --older-than 0s     everything that has ended
  althing trail compact --workspace ws_01k9x")]
pub(crate) struct TrailCompact {
    /// Only say what would be done.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// How long ago a workspace must have ended [default: the setting `compact_after`].
    #[arg(long, value_name = "TIME")]
    pub(crate) older_than: Option<String>,
}

/// Arguments of `trail prune`.
#[derive(Debug, Args)]
#[command(after_help = "\
Deletes archives that are older than `archive_retention` of `[trail]` in althing.toml. By default
that is for ever, so there is nothing to prune. It is done by the coordinator or a person, is on
record (`trail.pruned`), and never happens by itself. The places of the entries that are gone stay
in the chains and in the tree; what they said, and looking at the past before the pruning, is gone.

Examples:
  althing trail prune --dry-run --user ada
  althing trail prune --user ada")]
pub(crate) struct TrailPrune {
    /// Only say what would be done.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Arguments of `trail snapshot`.
#[derive(Debug, Args)]
#[command(after_help = "\
The file holds every entry up to the moment, archived ones too, with the heads of their commits. It
is on record with its SHA-256 and is verified without a project:

  althing trail snapshot friday.jsonl
  althing trail snapshot then.jsonl --upto 2026-05-01T12:30
  althing trail verify --file friday.jsonl")]
pub(crate) struct TrailSnapshot {
    /// The file to write; it must be new.
    pub(crate) file: PathBuf,
    /// Up to when, written as for `althing trail at`.
    #[arg(long, value_name = "MOMENT", default_value = "now")]
    pub(crate) upto: String,
}
