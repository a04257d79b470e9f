//! `althing meter`, `workspace budget`

use althing_kernel::query::{Answer, Query};
use althing_kernel::workspace::account::{
    GroupUse, LimitView, MeterGet, MeterReport, MeterRow, MeterView, Used,
};
use althing_kernel::workspace::budget::{self, Dimension, Modify};
use althing_kernel::workspace::meter::{Amount, Report};
use althing_kernel::{Command, Reply, WorkspaceId};

use crate::amounts::{bar, name, show, show_cost, show_count};
use crate::app::App;
use crate::cli::{By, Meter, MeterCommand, MeterReport as MeterReportArgs, WorkspaceBudget};
use crate::command_context::CommandContext;
use crate::error::Error;
use crate::naming::short;
use crate::output::{one_line, show_bytes};
use crate::span::show_secs;
use crate::table::{drawing, whole};

pub(crate) fn run(app: &App, args: Meter) -> Result<(), Error> {
    let context = CommandContext::open(app)?;
    if let Some(MeterCommand::Report(args)) = args.command {
        return report(&context, &args);
    }
    if let Some(text) = &args.id {
        return show_one(&context, context.workspace(text)?);
    }
    let (all, live, group) = (args.all, args.live, args.group);
    let found = ask(&context, MeterGet { all, group, live, workspace: None })?;
    if context.out().json {
        return context.out().value(&found);
    }
    if found.workspaces.is_empty() {
        return context.out().line("no workspace used anything");
    }
    match args.by {
        Some(By::Group) => by_group(&context, &found.groups, Some(&found.total)),
        Some(By::Workspace) | None => by_workspace(&context, &found),
    }
}

/// Asks for the use of resources.
pub(super) fn ask(context: &CommandContext<'_>, get: MeterGet) -> Result<MeterReport, Error> {
    match context.ask(&Query::MeterGet(get))? {
        Answer::Meter(found) => Ok(*found),
        other => Err(Error::unexpected(&other)),
    }
}

fn report(context: &CommandContext<'_>, args: &MeterReportArgs) -> Result<(), Error> {
    let workspace = match &args.id {
        Some(text) => Some(context.workspace(text)?),
        None => context.acting_in()?,
    };
    let (cost, tokens) = (args.cost.unwrap_or_default(), args.tokens.unwrap_or_default());
    print_reply(context, context.order(Command::MeterReport(Report { cost, tokens, workspace }))?)
}

/// Raises limits, or shows them if there is nothing to raise.
pub(super) fn raise(context: &CommandContext<'_>, args: &WorkspaceBudget) -> Result<(), Error> {
    let (workspace, limits) = (context.workspace(&args.id)?, args.limits());
    if limits.is_empty() {
        return show_one(context, workspace);
    }
    print_reply(
        context,
        context.order(Command::WorkspaceModifyBudget(Modify { limits, workspace }))?,
    )
}

fn print_reply(context: &CommandContext<'_>, reply: Reply) -> Result<(), Error> {
    if context.out().json {
        return context.out().value(&reply);
    }
    let Reply::Meter(meter) = reply else { return Err(Error::unexpected(&reply)) };
    head(context, &meter)?;
    limits(context, &meter.limits)
}

/// How a limit of one's own stands, for a signal that tells of it.
pub(super) fn notice(
    context: &CommandContext<'_>,
    dimension: Dimension,
) -> Result<budget::Notice, Error> {
    let own = one(context, context.own()?)?.own;
    let limit = own.limits.iter().find(|limit| limit.dimension == dimension);
    let Some(limit) = limit else {
        let message = format!("{} of {} is not limited", name(dimension), own.workspace);
        return Err(Error::usage(message));
    };
    Ok(budget::Notice {
        consumed: Amount::new(limit.used.saturating_add(limit.given)),
        dimension,
        limit: Amount::new(limit.limit),
    })
}

fn one(context: &CommandContext<'_>, workspace: WorkspaceId) -> Result<MeterRow, Error> {
    let get = MeterGet { workspace: Some(workspace), ..MeterGet::default() };
    let mut found = ask(context, get)?;
    found.workspaces.pop().ok_or_else(|| Error::not_found("there is no workspace of this name"))
}

fn show_one(context: &CommandContext<'_>, workspace: WorkspaceId) -> Result<(), Error> {
    let row = one(context, workspace)?;
    if context.out().json {
        return context.out().value(&row);
    }
    head(context, &row.own)?;
    limits(context, &row.own.limits)?;
    context.out().line("")?;
    let line = |what: &str, used: &Used| [vec![what.to_owned()], cells(used)].concat();
    let rows = [line("itself", &row.own.used), line("with all below", &row.subtree)];
    context.out().table(&[&["USED BY"][..], &TITLES].concat(), &rows)
}

fn head(context: &CommandContext<'_>, meter: &MeterView) -> Result<(), Error> {
    let agent = meter.agent.as_ref().map_or("the system", |agent| agent.as_str());
    let over = meter.exceeded.map_or_else(String::new, |what| format!(", out of {}", name(what)));
    let quiet = meter
        .silent_intervals
        .map_or_else(String::new, |silent| format!("; nothing happened for {silent} intervals"));
    let line = format!("{} of {agent} is {}{over}{quiet}", short(&meter.workspace), meter.status);
    context.out().line(line)
}

fn limits(context: &CommandContext<'_>, limits: &[LimitView]) -> Result<(), Error> {
    if limits.is_empty() {
        return context.out().line("nothing it uses is limited");
    }
    let row = |own: &LimitView| {
        let shown = |amount| show(own.dimension, amount);
        let warned = if own.warned { "warned of" } else { "" };
        vec![
            name(own.dimension).to_owned(),
            shown(own.used),
            shown(own.given),
            shown(own.limit),
            shown(own.left),
            bar(own.used.saturating_add(own.given), own.limit),
            warned.to_owned(),
        ]
    };
    let titles = ["LIMIT", "USED", "GIVEN BELOW", "OF", "LEFT"].map(whole);
    let titles = [&titles[..], &[drawing(), whole("")]].concat();
    context.out().table(&titles, &limits.iter().map(row).collect::<Vec<_>>())
}

const TITLES: [&str; 7] = ["TOKENS", "COST", "TIME", "CONTEXT", "CHECKPOINTS", "TRAIL", "MAIL"];

/// The cells below [`TITLES`].
fn cells(used: &Used) -> Vec<String> {
    vec![
        show_count(used.tokens),
        show_cost(used.cost),
        show_secs(used.active_time.secs()),
        show_bytes(used.context_bytes),
        show_bytes(used.checkpoint_bytes),
        show_bytes(used.trail_bytes),
        show_bytes(used.sent_bytes.saturating_add(used.received_bytes)),
    ]
}

/// The limits of the cells below [`TITLES`].
const LIMITED: [Dimension; 7] = [
    Dimension::TokenLimit,
    Dimension::CostLimit,
    Dimension::ComputeTimeout,
    Dimension::ContextLimit,
    Dimension::CheckpointLimit,
    Dimension::TrailLimit,
    Dimension::BandwidthLimit,
];

fn by_workspace(context: &CommandContext<'_>, found: &MeterReport) -> Result<(), Error> {
    let naming = context.workspace_naming()?;
    let row = |row: &MeterRow| {
        let own = &row.own;
        let agent = own.agent.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string);
        let mut line = vec![naming.short(&own.workspace), agent, own.status.to_string()];
        for (cell, dimension) in cells(&own.used).into_iter().zip(LIMITED) {
            let limit = own.limits.iter().find(|limit| limit.dimension == dimension);
            line.push(match limit {
                None => cell,
                Some(limit) => {
                    let of = show(dimension, limit.limit);
                    let drawn = limit.used.saturating_add(limit.given);
                    format!("{cell}/{of} {}", bar(drawn, limit.limit))
                }
            });
        }
        line
    };
    let mut rows: Vec<Vec<String>> = found.workspaces.iter().map(row).collect();
    let total = ["total", "", ""].map(str::to_owned).to_vec();
    rows.push([total, cells(&found.total)].concat());
    context.out().table(&[&["WORKSPACE", "AGENT", "STATE"][..], &TITLES].concat(), &rows)
}

/// A line for each group.
pub(super) fn by_group(
    context: &CommandContext<'_>,
    groups: &[GroupUse],
    total: Option<&Used>,
) -> Result<(), Error> {
    let row = |sum: &GroupUse| {
        let group = sum.group.as_ref().map_or_else(|| "-".to_owned(), |name| one_line(name));
        let head = vec![group, sum.workspaces.to_string(), sum.live.to_string()];
        [head, cells(&sum.used)].concat()
    };
    let mut rows: Vec<Vec<String>> = groups.iter().map(row).collect();
    if let Some(total) = total {
        let head = ["total", "", ""].map(str::to_owned).to_vec();
        rows.push([head, cells(total)].concat());
    }
    context.out().table(&[&["GROUP", "WORKSPACES", "LIVE"][..], &TITLES].concat(), &rows)
}
