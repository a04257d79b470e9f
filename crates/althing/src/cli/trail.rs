//! The arguments of `althing trail` and what can be done with it.

use althing_engine::field::{Field, FieldTest};
use althing_engine::reports::stats::Dimension;
use althing_kernel::token::RoleName;
use althing_kernel::workspace::Party;
use clap::{Args, Subcommand};
use std::path::PathBuf;

use super::read::{field_test, party};
use super::storage::{TrailCompact, TrailPrune, TrailSnapshot};

/// Arguments of `trail`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "\
Examples:
  althing trail                                the last 50 entries
  althing trail --follow                       and new ones as they come
  althing trail --kind lease.forced --all      every lease ended by force
  althing trail --mentions 2t739p              everything about a lease
  althing trail --workspace p0pdj9             the local trail of one workspace
  althing trail --where to_state=failed        by any field
  althing trail --originator ada --owner bob   caused by ada, owned by bob
  althing trail at 2h                          who held what two hours ago
  althing trail verify --head kept-head.txt")]
pub(crate) struct Trail {
    #[command(subcommand)]
    pub(crate) command: Option<TrailCommand>,
    #[command(flatten)]
    pub(crate) filter: TrailFilter,
}

/// Which entries are meant. Conditions add up.
#[derive(Debug, Args)]
pub(crate) struct TrailWhich {
    /// Only entries of this kind; repeat for more.
    #[arg(long = "kind", value_name = "KIND")]
    pub(crate) kinds: Vec<String>,
    /// Only entries of this actor: `agent:NAME`, `user:ID`, `system`, `protocol`.
    #[arg(long, value_name = "WHO")]
    pub(crate) actor: Option<String>,
    /// Only entries of workspaces of this role.
    #[arg(long, value_name = "ROLE")]
    pub(crate) role: Option<RoleName>,
    /// Only entries of work that this user caused, or `system`.
    #[arg(long, value_name = "USER", value_parser = party)]
    pub(crate) originator: Option<Party>,
    /// Only entries of work that this user owned at the time, or `system`.
    #[arg(long, value_name = "USER", value_parser = party)]
    pub(crate) owner: Option<Party>,
    /// Only entries with this field: `to_state=failed`, `resource_usage.cost>=100`, `/seq<9`, or
    /// just its name. Repeat for more.
    #[arg(long = "where", value_name = "TEST", value_parser = field_test)]
    pub(crate) fields: Vec<FieldTest>,
    /// Only entries that contain this text, such as the id of a lease.
    #[arg(long, value_name = "TEXT")]
    pub(crate) mentions: Option<String>,
    /// Only entries since TIME: 90m or 2d ago, or a date as in 2026-05-01T12:30.
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Only entries before TIME.
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
    /// Only entries after this sequence number.
    #[arg(long, value_name = "SEQ")]
    pub(crate) after: Option<u64>,
}

/// Which entries to show.
#[derive(Debug, Args)]
pub(crate) struct TrailFilter {
    #[command(flatten)]
    pub(crate) which: TrailWhich,
    /// How many of the last entries to show.
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) last: usize,
    /// Show all entries.
    #[arg(long)]
    pub(crate) all: bool,
    /// Keep running and show new entries; stop with Ctrl-C.
    #[arg(long, short = 'f', conflicts_with = "until")]
    pub(crate) follow: bool,
}

/// Says that exports leave out content.
const CONTENT_STAYS: &str = "\
An export has the entries, not the content stored beside the trail (`althing blob`).
`althing backup` copies both. `althing doctor` lists content that is missing here.";

/// Subcommands of `trail`.
#[derive(Debug, Subcommand)]
pub(crate) enum TrailCommand {
    /// Verify the whole trail: form, hash chains, rules, signatures.
    Verify(TrailVerify),
    /// Prove that an entry is in the trail, or that the trail continues an older head.
    Prove(TrailProve),
    /// Print the newest signed head. Keep it elsewhere to detect a rewritten trail.
    Head(TrailHead),
    /// Show one entry in full.
    Show(TrailShow),
    /// Show the state at a moment in the past.
    At(TrailAt),
    /// Show what changed between two moments.
    Diff(TrailDiff),
    /// Count entries by group, and sum up a field.
    Stats(Box<TrailStats>),
    /// List all runs with their figures.
    Runs(TrailRuns),
    /// Compare two runs.
    Compare(TrailCompare),
    /// Show how the trail is stored: hot, warm, cold, and the archives.
    Tiers,
    /// Move details of ended workspaces to an archive.
    Compact(TrailCompact),
    /// Write the trail up to a moment to a file, and record its hash.
    Snapshot(TrailSnapshot),
    /// Delete archives whose retention is over; this is recorded.
    Prune(TrailPrune),
    /// Write the trail as JSON lines to standard output.
    #[command(after_help = CONTENT_STAYS)]
    Export,
    /// Read a trail from JSON lines on standard input into a project that has none.
    #[command(after_help = CONTENT_STAYS)]
    Import,
}

/// Arguments of `trail verify`.
#[derive(Debug, Args)]
#[command(after_help = "\
Verifies the whole trail: canonical form, both hash chains, sequence, whether the rules allow each
entry, the root and the link of every commit, the signature of the newest head, this machine's key,
the snapshots, and the head this machine remembers.

Examples:
  althing trail verify
  althing trail verify --signatures             every signature, too
  althing trail verify --head kept-head.txt     the trail must contain this head
  althing trail verify --file trail.jsonl       an exported trail
  althing trail verify --proof proof.json --key ed25519:…")]
pub(crate) struct TrailVerify {
    /// Also verify the signature of every head and every caller.
    #[arg(long)]
    pub(crate) signatures: bool,
    /// A head kept earlier that the trail must contain; repeat for more.
    #[arg(long = "head", value_name = "FILE")]
    pub(crate) heads: Vec<PathBuf>,
    /// A key the trail may be signed with; repeat for more. Any other key in it is an error.
    #[arg(long = "key", value_name = "KEY")]
    pub(crate) keys: Vec<String>,
    /// An exported trail instead of the project's.
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Verify a proof made with `trail prove`.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["file", "signatures", "heads"])]
    pub(crate) proof: Option<PathBuf>,
}

/// Arguments of `trail prove`.
#[derive(Debug, Args)]
pub(crate) struct TrailProve {
    /// The sequence number of the entry.
    #[arg(required_unless_present = "from")]
    pub(crate) seq: Option<u64>,
    /// Prove that the trail continues the head in this file.
    #[arg(long, value_name = "FILE", conflicts_with = "seq")]
    pub(crate) from: Option<PathBuf>,
}

/// Arguments of `trail head`.
#[derive(Debug, Args)]
pub(crate) struct TrailHead {
    /// Print the public key that verifies heads.
    #[arg(long)]
    pub(crate) key: bool,
}

/// Arguments of `trail show`.
#[derive(Debug, Args)]
pub(crate) struct TrailShow {
    /// The sequence number of the entry.
    pub(crate) seq: u64,
}

/// Arguments of `trail at`.
#[derive(Debug, Args)]
#[command(after_help = "\
A moment is an entry's number (right after it), how long ago it was (90m, 2d), a date with or
without a time of day (2026-05-01T12:30, local unless it says otherwise), or `now`.

Examples:
  althing trail at 120                    after entry 120
  althing trail at 2h                     two hours ago
  althing trail at 2026-05-01T12:30:00Z")]
pub(crate) struct TrailAt {
    /// The moment.
    pub(crate) moment: String,
}

/// Arguments of `trail diff`.
#[derive(Debug, Args)]
#[command(after_help = "\
Moments are written as for `althing trail at`.

Examples:
  althing trail diff 1d                   since yesterday
  althing trail diff 100 200              between two entries")]
pub(crate) struct TrailDiff {
    /// The earlier moment.
    pub(crate) from: String,
    /// The later moment.
    #[arg(default_value = "now")]
    pub(crate) to: String,
}

/// Arguments of `trail stats`.
#[derive(Debug, Args)]
#[command(after_help = "\
Without --group-by it counts all matching entries. Days and hours are in UTC.

Examples:
  althing trail stats --group-by kind
  althing trail stats --group-by hour --since 2d
  althing trail stats --group-by originator --group-by role
  althing trail stats --kind checkpoint_created --group-by workspace --sum resource_usage.cost
  althing trail stats --kind workspace_state_changed --group-by to_state --file trail.jsonl")]
pub(crate) struct TrailStats {
    #[command(flatten)]
    pub(crate) which: TrailWhich,
    /// Group by kind, actor, role, workspace, run, group, owner, originator, minute, hour, day, or
    /// by a field such as `to_state`. Repeat for more.
    #[arg(long, value_name = "WHAT")]
    pub(crate) group_by: Vec<Dimension>,
    /// Sum up this field; also prints the smallest, the largest and the mean.
    #[arg(long, value_name = "FIELD")]
    pub(crate) sum: Option<Field>,
    /// Only the largest groups.
    #[arg(long, value_name = "N")]
    pub(crate) top: Option<usize>,
    /// Use an exported trail instead of the project's.
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}

/// Arguments of `trail runs`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  althing trail runs
  althing trail runs --file monday.jsonl --file tuesday.jsonl")]
pub(crate) struct TrailRuns {
    /// Use an exported trail instead of the project's; repeat for more.
    #[arg(long = "file", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

/// Arguments of `trail compare`.
#[derive(Debug, Args)]
#[command(after_help = "\
Name a run by the id of its root, or a part of it. `FILE` means the last run of an exported trail,
`FILE:ID` a certain one. Tasks are matched by name.

Examples:
  althing trail compare                       the last two runs
  althing trail compare jfr587 k0tqcn
  althing trail compare monday.jsonl root     with the newest run here")]
pub(crate) struct TrailCompare {
    /// One run [default: the last but one].
    #[arg(value_name = "RUN", requires = "b")]
    pub(crate) a: Option<String>,
    /// The other run [default: the last].
    #[arg(value_name = "RUN")]
    pub(crate) b: Option<String>,
}
