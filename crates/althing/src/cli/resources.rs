//! The arguments of `althing meter` and `group`, and those about budgets that other commands take.

use althing_kernel::admission::Limits;
use althing_kernel::text::Text;
use althing_kernel::workspace::budget::{Budget, Dimension, Percent};
use althing_kernel::workspace::group::GroupName;
use althing_kernel::workspace::meter::Amount;
use althing_kernel::workspace::{Priority, Timeout};
use clap::{Args, Subcommand, ValueEnum};

use super::read::{amount, budget, cost, dimension, percent, span, text, timeout, word};

/// Budget and supervision of a workspace.
#[derive(Debug, Args)]
pub(crate) struct Allowance {
    /// Its budget, any of: tokens=200k,cost=2.50,time=1h,context=1MiB,checkpoints=10MiB,trail=1MiB,
    /// bandwidth=5MiB.
    #[arg(long, value_name = "LIMITS", value_parser = budget)]
    pub(crate) budget: Option<Budget>,
    /// Warn at this percentage of a limit [default: 80].
    #[arg(long, value_name = "PERCENT", value_parser = percent, requires = "budget")]
    pub(crate) warn_at: Option<Percent>,
    /// Its group, any name.
    #[arg(long, value_name = "NAME", value_parser = text::<64>)]
    pub(crate) group: Option<GroupName>,
    /// Notify the coordinator each time nothing happens for this long: 5m.
    #[arg(long, value_name = "TIME", value_parser = timeout)]
    pub(crate) liveness: Option<Timeout>,
}

/// Limits of a run.
#[derive(Debug, Args)]
pub(crate) struct Room {
    /// The most workspaces at the same time.
    #[arg(long, value_name = "N", value_parser = amount)]
    max_workspaces: Option<Amount>,
    /// The most context and working memory in all of them: 64MiB.
    #[arg(long, value_name = "SIZE", value_parser = amount)]
    max_context: Option<Amount>,
    /// The most mail that nobody has taken yet: 16MiB.
    #[arg(long, value_name = "SIZE", value_parser = amount)]
    max_mail: Option<Amount>,
    /// The least free disk space: 1GiB.
    #[arg(long, value_name = "SIZE", value_parser = amount)]
    min_disk: Option<Amount>,
    /// How far critical work may exceed each limit, in percent [default: 10].
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    critical_headroom: Option<Percent>,
}

impl Room {
    /// The limits, if there are any.
    pub(crate) fn limits(&self) -> Option<Limits> {
        let limits = Limits {
            context_bytes: self.max_context,
            critical_headroom_percent: self.critical_headroom,
            disk_free_bytes: self.min_disk,
            live_workspaces: self.max_workspaces,
            queued_bytes: self.max_mail,
        };
        (limits != Limits::default()).then_some(limits)
    }
}

/// Arguments of `meter`.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Time, context, checkpoints, mail and the local trail are counted automatically. Tokens and cost are
reported with `althing meter report`.

Examples:
  althing meter                    the current run, or the last one
  althing meter agent:bob          one workspace, limit by limit
  althing meter --by group
  althing meter report --tokens 1200 --cost 0.03 --as bob"
)]
pub(crate) struct Meter {
    #[command(subcommand)]
    pub(crate) command: Option<MeterCommand>,
    /// Only this workspace, with its limits.
    #[arg(value_name = "WS")]
    pub(crate) id: Option<String>,
    /// Sum up by this.
    #[arg(long, value_name = "WHAT", conflicts_with = "id")]
    pub(crate) by: Option<By>,
    /// Only this group.
    #[arg(long, value_name = "NAME", value_parser = text::<64>, conflicts_with = "id")]
    pub(crate) group: Option<GroupName>,
    /// Only those that have not ended.
    #[arg(long, conflicts_with = "id")]
    pub(crate) live: bool,
    /// Include older runs.
    #[arg(long, conflicts_with = "id")]
    pub(crate) all: bool,
}

/// The grouping of metered use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum By {
    /// One line for each workspace.
    Workspace,
    /// One line for each group.
    Group,
}

/// Subcommands of `meter`.
#[derive(Debug, Subcommand)]
pub(crate) enum MeterCommand {
    /// Report tokens and cost used since the last report.
    Report(MeterReport),
}

/// Arguments of `meter report`.
#[derive(Debug, Args)]
#[command(after_help = "\
Call it after each answer of the model. An agent reports for its own workspace, the coordinator for
any.

Examples:
  althing meter report --tokens 1200 --as bob
  althing meter report agent:bob --tokens 1200 --cost 0.03 --as alice")]
pub(crate) struct MeterReport {
    /// The workspace [default: your own].
    #[arg(value_name = "WS")]
    pub(crate) id: Option<String>,
    /// Tokens.
    #[arg(long, value_name = "N", value_parser = amount, required_unless_present = "cost")]
    pub(crate) tokens: Option<Amount>,
    /// Cost, in the currency the project counts in: 0.03.
    #[arg(long, value_name = "COST", value_parser = cost)]
    pub(crate) cost: Option<Amount>,
}

/// Arguments of `workspace budget`.
#[derive(Debug, Args)]
#[command(after_help = "\
Amounts are plain numbers or end in k, M, G (thousands) or KiB, MiB, GiB; cost is written like
2.50, time like 90m or 1h30m. Limits can only be raised. Without an option the budget is shown.

Examples:
  althing workspace budget agent:bob
  althing workspace budget agent:bob --tokens 400k --time 2h --as alice")]
pub(crate) struct WorkspaceBudget {
    /// The workspace.
    #[arg(value_name = "WS")]
    pub(crate) id: String,
    /// Tokens.
    #[arg(long, value_name = "N", value_parser = amount)]
    tokens: Option<Amount>,
    /// Cost.
    #[arg(long, value_name = "COST", value_parser = cost)]
    cost: Option<Amount>,
    /// Time active.
    #[arg(long, value_name = "TIME", value_parser = span)]
    time: Option<Amount>,
    /// Context and working memory.
    #[arg(long, value_name = "SIZE", value_parser = amount)]
    context: Option<Amount>,
    /// Content of checkpoints.
    #[arg(long, value_name = "SIZE", value_parser = amount)]
    checkpoints: Option<Amount>,
    /// The local trail.
    #[arg(long, value_name = "SIZE", value_parser = amount)]
    trail: Option<Amount>,
    /// Mail sent and received.
    #[arg(long, value_name = "SIZE", value_parser = amount)]
    bandwidth: Option<Amount>,
}

impl WorkspaceBudget {
    /// The new limits.
    pub(crate) fn limits(&self) -> Budget {
        let given = [
            (Dimension::TokenLimit, self.tokens),
            (Dimension::CostLimit, self.cost),
            (Dimension::ComputeTimeout, self.time),
            (Dimension::ContextLimit, self.context),
            (Dimension::CheckpointLimit, self.checkpoints),
            (Dimension::TrailLimit, self.trail),
            (Dimension::BandwidthLimit, self.bandwidth),
        ];
        given.into_iter().filter_map(|(dimension, limit)| Some((dimension, limit?))).collect()
    }
}

/// Arguments of `workspace priority`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  althing workspace priority agent:bob critical --as alice")]
pub(crate) struct WorkspacePriority {
    /// The workspace.
    #[arg(value_name = "WS")]
    pub(crate) id: String,
    /// The new priority: critical, interactive, normal, background.
    #[arg(value_name = "P", value_parser = word::<Priority>)]
    pub(crate) priority: Priority,
}

/// Which limit a signal is about.
#[derive(Debug, Args)]
pub(crate) struct NearLimit {
    /// With `blocked`: the limit that is nearly used up: tokens, cost, time, context, checkpoints,
    /// trail or bandwidth.
    #[arg(long = "budget", value_name = "LIMIT", value_parser = dimension)]
    pub(crate) limit: Option<Dimension>,
}

/// Arguments of `group`.
#[derive(Debug, Args)]
#[command(after_help = "\
A workspace gets its group when it is created: `althing workspace create --group parsers …`.
Groups belong to one run.

Examples:
  althing group list
  althing group show parsers
  althing group priority parsers background --as alice
  althing group abort parsers --reason 'wrong grammar' --as alice")]
pub(crate) struct Group {
    #[command(subcommand)]
    pub(crate) command: GroupCommand,
}

/// Subcommands of `group`.
#[derive(Debug, Subcommand)]
pub(crate) enum GroupCommand {
    /// List the groups of the run, with what they used.
    #[command(after_help = "\
Example:
  althing group list")]
    List,
    /// Show the workspaces of a group.
    #[command(after_help = "\
Example:
  althing group show parsers")]
    Show(OneGroup),
    /// Abort every open workspace of a group (coordinator).
    #[command(after_help = "\
Example:
  althing group abort parsers --reason 'wrong grammar' --as alice")]
    Abort(GroupAbort),
    /// Change the priority of the open workspaces of a group (coordinator).
    #[command(after_help = "\
Example:
  althing group priority parsers critical --as alice")]
    Priority(GroupPriority),
}

/// A command about one group.
#[derive(Debug, Args)]
pub(crate) struct OneGroup {
    /// The group.
    #[arg(value_name = "GROUP", value_parser = text::<64>)]
    pub(crate) name: GroupName,
}

/// Arguments of `group abort`.
#[derive(Debug, Args)]
pub(crate) struct GroupAbort {
    /// The group.
    #[arg(value_name = "GROUP", value_parser = text::<64>)]
    pub(crate) name: GroupName,
    /// The reason; everybody can read it.
    #[arg(long, value_name = "TEXT", value_parser = text::<1000>)]
    pub(crate) reason: Option<Text<1000>>,
}

/// Arguments of `group priority`.
#[derive(Debug, Args)]
pub(crate) struct GroupPriority {
    /// The group.
    #[arg(value_name = "GROUP", value_parser = text::<64>)]
    pub(crate) name: GroupName,
    /// The new priority: critical, interactive, normal, background.
    #[arg(value_name = "P", value_parser = word::<Priority>)]
    pub(crate) priority: Priority,
}
