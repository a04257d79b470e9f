//! `althing tokens`

use althing_dialects::frugal::ledger::percent;
use althing_dialects::frugal::tokens;
use althing_kernel::blackboard::ledger::{Baseline, By, Log};
use althing_kernel::blackboard::view::{DeltaView, ReportView, SumView};
use althing_kernel::query::{Answer, Query};
use althing_kernel::workspace::Status;
use althing_kernel::workspace::account::{MeterGet, MeterRow};
use althing_kernel::workspace::budget::Dimension;
use althing_kernel::workspace::meter::Amount;
use althing_kernel::{AgentName, Command, WorkspaceId};
use serde::Serialize;
use serde_json::json;
use std::path::Path;

use crate::app::App;
use crate::cli::{TokensArgs, TokensBy, TokensCommand, TokensLog};
use crate::command_context::CommandContext;
use crate::drawing::bars::bar;
use crate::error::Error;
use crate::frugal::log_line;
use crate::input::{read_file, stdin_text};
use crate::naming::short;
use crate::output::Tone;
use crate::table::{drawing, whole};
use crate::typed::label;

/// The longest text that is counted from standard input, in bytes.
const TEXT_BYTES_MAX: u64 = 16 << 20;
/// How wide the longest bar is.
const BAR_WIDTH: u64 = 24;

pub(crate) fn run(app: &App, args: TokensArgs) -> Result<(), Error> {
    match args.command {
        None => report(app, args.by, args.csv),
        Some(TokensCommand::Count { file }) => count(app, &file),
        Some(TokensCommand::Log(args)) => log(app, &args),
        Some(TokensCommand::Baseline { role, tokens }) => {
            let set = Baseline { role: label(&role)?, tokens: Amount::new(tokens) };
            CommandContext::open_to_look_up(app)?.order(Command::LedgerBaseline(set.clone()))?;
            super::show(app, &set, |_| format!("{role} used {tokens} tokens before"))
        }
        Some(TokensCommand::Delta { role }) => delta(app, role.as_deref()),
    }
}

/// A report of tokens, and what workspaces may still use.
#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    report: ReportView,
    budgets: Vec<Budget>,
}

/// The token budget of an active workspace and the tokens it used, from its meter.
#[derive(Serialize)]
struct Budget {
    agent: Option<AgentName>,
    workspace: WorkspaceId,
    status: Status,
    used: u64,
    limit: u64,
    left: u64,
}

fn sums(context: &CommandContext<'_>, by: By) -> Result<ReportView, Error> {
    context.token_report(by)?.ok_or_else(|| super::gone("ledger.report"))
}

fn report(app: &App, by: TokensBy, csv: bool) -> Result<(), Error> {
    let context = CommandContext::open_to_look_up(app)?;
    let report = sums(&context, by.by())?;
    if csv {
        app.out.line(format!("{},tokens,counted,reported,messages", by.word()))?;
        for row in &report.rows {
            let SumView { tokens, counted, reported, messages, .. } = row;
            let name = quoted(row.name.as_str());
            app.out.line(format!("{name},{tokens},{counted},{reported},{messages}"))?;
        }
        return Ok(());
    }
    let shown = Shown { report, budgets: budgets(&context)? };
    if app.out.json {
        return app.out.value(&shown);
    }
    let Shown { report, budgets } = shown;
    if report.total.messages == 0 {
        return app.out.line("no tokens on the ledger yet");
    }
    let max = report.rows.iter().map(|row| row.tokens).max().unwrap_or_default();
    let row = |name: &str, numbers: [u64; 4], bar: String| {
        let mut cells = vec![name.to_owned()];
        cells.extend(numbers.map(|number| number.to_string()));
        cells.push(bar);
        cells
    };
    let line = |own: &SumView| {
        let numbers = [own.tokens, own.counted, own.reported, own.messages];
        row(own.name.as_str(), numbers, bar(own.tokens, max, BAR_WIDTH))
    };
    let mut lines: Vec<Vec<String>> = report.rows.iter().map(line).collect();
    let all = &report.total;
    lines.push(row("all", [all.tokens, all.counted, all.reported, all.messages], String::new()));
    let title = by.word().to_uppercase();
    let columns = [&title, "TOKENS", "COUNTED", "REPORTED", "MESSAGES"].map(whole);
    app.out.table(&[&columns[..], &[drawing()]].concat(), &lines)?;
    if budgets.is_empty() {
        return Ok(());
    }
    app.out.line("")?;
    let row = |own: &Budget| {
        let agent = own.agent.as_ref().map_or("-", AgentName::as_str).to_owned();
        let (used, limit) = (own.used, own.limit);
        let bar = bar(used.min(limit), limit, BAR_WIDTH);
        let (left, workspace) = (own.left.to_string(), short(&own.workspace));
        vec![agent, used.to_string(), limit.to_string(), left, workspace, bar]
    };
    let lines: Vec<Vec<String>> = budgets.iter().map(row).collect();
    let budget = ["BUDGET OF", "USED", "LIMIT", "LEFT", "WORKSPACE"].map(whole);
    let budget = [&budget[..], &[drawing()]].concat();
    app.out.table(&budget, &lines)
}

/// The token budgets of live workspaces and their use, from their meters.
fn budgets(context: &CommandContext<'_>) -> Result<Vec<Budget>, Error> {
    let meter = match context.request.look_up(&Query::MeterGet(MeterGet::default()))? {
        Some(Answer::Meter(meter)) => *meter,
        Some(other) => return Err(Error::unexpected(&other)),
        None => return Ok(Vec::new()),
    };
    let of = |MeterRow { own: row, .. }: MeterRow| {
        let tokens = row.limits.iter().find(|own| own.dimension == Dimension::TokenLimit)?;
        Some(Budget {
            used: tokens.used,
            limit: tokens.limit,
            left: tokens.left,
            agent: row.agent,
            workspace: row.workspace,
            status: row.status,
        })
    };
    Ok(meter.workspaces.into_iter().filter_map(of).collect())
}

/// A cell of comma-separated values. One that a spreadsheet would take for a formula is kept from
/// being one.
fn quoted(text: &str) -> String {
    let text =
        if text.starts_with(['=', '+', '-', '@']) { format!("'{text}") } else { text.to_owned() };
    if text.contains(['"', ',', '\n', '\r']) {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text
}

fn count(app: &App, file: &Path) -> Result<(), Error> {
    let text = if file == Path::new("-") {
        stdin_text(&app.globals, "the text", TEXT_BYTES_MAX)?
    } else {
        read_file(file)?
    };
    let counted = json!({ "tokens": tokens::count(&text), "tokenizer": tokens::TOKENIZER });
    super::show(app, &counted, |own| own["tokens"].to_string())
}

fn log(app: &App, args: &TokensLog) -> Result<(), Error> {
    let text = match (&args.file, &args.text) {
        (Some(file), _) => Some(read_file(file)?),
        (None, text) => text.clone(),
    };
    let number = match &text {
        Some(text) => tokens::count(text),
        None => args.tokens.unwrap_or_default(),
    };
    let optional = |given: &Option<String>| given.as_deref().map(label).transpose();
    let line = Log {
        agent: optional(&args.of_agent)?,
        msg_id: optional(&args.msg_id)?,
        task: optional(&args.task)?,
        tool: optional(&args.tool)?,
        ..log_line(&args.role, &args.kind, number, text.is_some())?
    };
    CommandContext::open_to_look_up(app)?.order(Command::LedgerLog(line.clone()))?;
    super::show(app, &line, |_| format!("logged {}/{}={number}", args.role, args.kind))
}

fn delta(app: &App, role: Option<&str>) -> Result<(), Error> {
    let context = CommandContext::open_to_look_up(app)?;
    let deltas = context.token_deltas(role.map(label).transpose()?)?;
    let compared = || deltas.iter().filter(|delta| delta.baseline.is_some());
    let before: u64 = compared().filter_map(|delta| delta.baseline).sum();
    let measured: u64 = compared().map(|delta| delta.measured).sum();
    let own_tools: u64 = compared().map(|delta| delta.tools).sum();
    // Tokens for tools count even for roles without a baseline, unless a single role is asked for.
    let all_tools: u64 = sums(&context, By::Role)?.rows.iter().map(|row| row.tools).sum();
    let elsewhere = if role.is_some() { 0 } else { all_tools.saturating_sub(own_tools) };
    let (overhead, after) = (own_tools + elsewhere, measured + elsewhere);
    if app.out.json {
        return app.out.value(&json!({
            "roles": deltas, "tools": overhead, "baseline": before, "measured": after,
            "net_saving": i128::from(before) - i128::from(after),
        }));
    }
    if deltas.is_empty() {
        return app.out.line("no baseline yet: althing tokens baseline ROLE TOKENS");
    }
    let row = |name: &str, baseline: Option<u64>, measured: u64| {
        let change = baseline.and_then(|baseline| percent(baseline, measured));
        vec![
            name.to_owned(),
            baseline.map_or_else(|| "n/a".to_owned(), |baseline| baseline.to_string()),
            measured.to_string(),
            change.unwrap_or_default(),
        ]
    };
    let line = |own: &DeltaView| row(own.role.as_str(), own.baseline, own.measured);
    let mut lines: Vec<Vec<String>> = deltas.iter().map(line).collect();
    lines.push(row("with what tools cost", Some(before), after));
    app.out.table(&["ROLE", "BEFORE", "NOW", "CHANGE"], &lines)?;
    let saved = i128::from(before) - i128::from(after);
    let (tone, word) = if saved < 0 { (Tone::Bad, "more") } else { (Tone::Good, "saved") };
    app.out.line(app.out.paint(tone, &format!("{} tokens {word}", saved.abs())))
}
