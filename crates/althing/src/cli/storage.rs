//! The arguments of what looks after the storage of the trail.

use clap::Args;
use std::path::PathBuf;

/// Arguments of `trail compact`.
#[derive(Debug, Args)]
#[command(after_help = "\
Moves details of ended workspaces (deliveries, intermediate steps, warnings) from the store to a
compressed file in `archive/`. They stay part of the trail, which is read, searched, proved and
verified as before. Writers are not blocked. Workspaces that ended longer than `compact_after` ago
are also compacted automatically.

Examples:
  althing trail compact --dry-run           what would move
  althing trail compact                     ended before `compact_after`
  althing trail compact --older-than 0s     everything that has ended
  althing trail compact --workspace p0pdj9")]
pub(crate) struct TrailCompact {
    /// Print what would be done, and do nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// How long ago the workspace must have ended [default: the setting `compact_after`].
    #[arg(long, value_name = "TIME")]
    pub(crate) older_than: Option<String>,
}

/// Arguments of `trail prune`.
#[derive(Debug, Args)]
#[command(after_help = "\
Deletes archives that are older than `archive_retention` of `[trail]` in althing.toml. By default
archives are kept for ever, so there is nothing to prune. Only the coordinator or a person can
prune; it is recorded (`trail.pruned`) and never happens automatically. The trail still verifies,
but the deleted entries and the history before the pruning cannot be read any more.

Examples:
  althing trail prune --dry-run --user ada
  althing trail prune --user ada")]
pub(crate) struct TrailPrune {
    /// Print what would be done, and do nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Arguments of `trail snapshot`.
#[derive(Debug, Args)]
#[command(after_help = "\
The file holds every entry up to the moment, including archived ones, with the heads of the commits.
Its SHA-256 is recorded in the trail. Anybody can verify it, without the project:

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
