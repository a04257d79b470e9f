//! `althing tokens`

use althing_dialects::frugal::ledger::percent;
use althing_dialects::frugal::tokens;
use serde_json::{Value, json};
use std::path::Path;

use super::desk;
use crate::app::App;
use crate::cli::{TokensArgs, TokensBy, TokensCommand, TokensLog};
use crate::drawing::bars::bar;
use crate::failure::Failure;
use crate::frugal::Desk;
use crate::input::{read_file, stdin_text};
use crate::naming::short;
use crate::output::Tone;
use crate::table::{drawing, whole};

/// The longest text that is counted from standard input, in bytes.
const TEXT_BYTES_MAX: u64 = 16 << 20;
/// How wide the longest bar is.
const BAR_WIDTH: u64 = 24;

pub(crate) fn run(app: &App, args: TokensArgs) -> Result<(), Failure> {
    match args.command {
        None => report(app, args.by, args.csv),
        Some(TokensCommand::Count { file }) => count(app, &file),
        Some(TokensCommand::Log(args)) => log(app, &args),
        Some(TokensCommand::Baseline { role, tokens }) => {
            let set = json!({ "role": role, "tokens": tokens });
            desk(app)?.act("ledger.baseline", &set)?;
            super::show(app, &set, |_| format!("{role} used {tokens} tokens before"))
        }
        Some(TokensCommand::Delta { role }) => delta(app, role.as_deref()),
    }
}

fn number(value: &Value, name: &str) -> u64 {
    value[name].as_u64().unwrap_or_default()
}

fn ask(desk: &Desk, by: TokensBy) -> Result<Value, Failure> {
    Ok(desk.ask("ledger.report", &json!({ "by": by.word() }))?.unwrap_or_default())
}

fn rows(report: &Value) -> &[Value] {
    report["rows"].as_array().map_or(&[][..], Vec::as_slice)
}

fn report(app: &App, by: TokensBy, csv: bool) -> Result<(), Failure> {
    let desk = desk(app)?;
    let mut found = ask(&desk, by)?;
    if csv {
        app.out.line(format!("{},tokens,counted,reported,messages", by.word()))?;
        for row in rows(&found) {
            let numbers = ["tokens", "counted", "reported", "messages"];
            let numbers = numbers.map(|name| number(row, name).to_string()).join(",");
            app.out
                .line(format!("{},{numbers}", quoted(row["name"].as_str().unwrap_or_default())))?;
        }
        return Ok(());
    }
    let budgets = budgets(&desk)?;
    if app.out.json {
        found["budgets"] = budgets.into();
        return app.out.value(&found);
    }
    if number(&found["total"], "messages") == 0 {
        return app.out.line("no tokens on the ledger yet");
    }
    let max = rows(&found).iter().map(|row| number(row, "tokens")).max().unwrap_or_default();
    let row = |name: &str, of: &Value, bar: String| {
        let columns = ["tokens", "counted", "reported", "messages"];
        let mut cells = vec![name.to_owned()];
        cells.extend(columns.map(|column| number(of, column).to_string()));
        cells.push(bar);
        cells
    };
    let mut lines: Vec<Vec<String>> = rows(&found)
        .iter()
        .map(|own| {
            let name = own["name"].as_str().unwrap_or_default();
            row(name, own, bar(number(own, "tokens"), max, BAR_WIDTH))
        })
        .collect();
    lines.push(row("all", &found["total"], String::new()));
    let title = by.word().to_uppercase();
    let columns = [&title, "TOKENS", "COUNTED", "REPORTED", "MESSAGES"].map(whole);
    app.out.table(&[&columns[..], &[drawing()]].concat(), &lines)?;
    if budgets.is_empty() {
        return Ok(());
    }
    app.out.line("")?;
    let row = |own: &Value| {
        let (used, limit) = (number(own, "used"), number(own, "limit"));
        let agent = own["agent"].as_str().unwrap_or("-");
        let workspace = own["workspace"].as_str().unwrap_or_default();
        let left = number(own, "left").to_string();
        let bar = bar(used.min(limit), limit, BAR_WIDTH);
        vec![agent.to_owned(), used.to_string(), limit.to_string(), left, short(&workspace), bar]
    };
    let lines: Vec<Vec<String>> = budgets.iter().map(row).collect();
    let budget = ["BUDGET OF", "USED", "LIMIT", "LEFT", "WORKSPACE"].map(whole);
    let budget = [&budget[..], &[drawing()]].concat();
    app.out.table(&budget, &lines)
}

/// The token budgets of live workspaces and their use, from their meters.
fn budgets(desk: &Desk) -> Result<Vec<Value>, Failure> {
    let meter = desk.ask("meter.get", &json!({}))?.unwrap_or_default();
    let metered = meter["workspaces"].as_array().map_or(&[][..], Vec::as_slice);
    let of = |row: &Value| {
        let limits = row["limits"].as_array()?;
        let tokens = limits.iter().find(|limit| limit["dimension"] == "token_limit")?;
        Some(json!({
            "agent": row["agent"], "workspace": row["workspace"], "status": row["status"],
            "used": tokens["used"], "limit": tokens["limit"], "left": tokens["left"],
        }))
    };
    Ok(metered.iter().filter_map(of).collect())
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

fn count(app: &App, file: &Path) -> Result<(), Failure> {
    let text = if file == Path::new("-") {
        stdin_text(app, "the text", TEXT_BYTES_MAX)?
    } else {
        read_file(file)?
    };
    let counted = json!({ "tokens": tokens::count(&text), "tokenizer": tokens::TOKENIZER });
    super::show(app, &counted, |own| own["tokens"].to_string())
}

fn log(app: &App, args: &TokensLog) -> Result<(), Failure> {
    let text = match (&args.file, &args.text) {
        (Some(file), _) => Some(read_file(file)?),
        (None, text) => text.clone(),
    };
    let mut line = json!({ "role": args.role, "kind": args.kind });
    match text {
        Some(text) => {
            line["tokens"] = tokens::count(&text).into();
            line["tokenizer"] = tokens::TOKENIZER.into();
        }
        None => line["tokens"] = args.tokens.unwrap_or_default().into(),
    }
    let rest = [
        ("msg_id", &args.msg_id),
        ("agent", &args.of_agent),
        ("task", &args.task),
        ("tool", &args.tool),
    ];
    for (name, value) in rest {
        if let Some(value) = value {
            line[name] = value.as_str().into();
        }
    }
    desk(app)?.act("ledger.log", &line)?;
    super::show(app, &line, |own| format!("logged {}/{}={}", args.role, args.kind, own["tokens"]))
}

fn delta(app: &App, role: Option<&str>) -> Result<(), Failure> {
    let desk = desk(app)?;
    let asked = role.map_or_else(|| json!({}), |role| json!({ "role": role }));
    let deltas = match desk.ask("ledger.delta", &asked)? {
        Some(Value::Array(deltas)) => deltas,
        _ => Vec::new(),
    };
    let compared = || deltas.iter().filter(|delta| delta["baseline"].is_u64());
    let sum = |name: &str| compared().map(|delta| number(delta, name)).sum::<u64>();
    let (before, measured, own_tools) = (sum("baseline"), sum("measured"), sum("tools"));
    // What tools cost those who have no baseline is spent all the same. One role is asked about
    // by itself.
    let roles = ask(&desk, TokensBy::Role)?;
    let all_tools: u64 = rows(&roles).iter().map(|row| number(row, "tools")).sum();
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
    let mut lines: Vec<Vec<String>> = deltas
        .iter()
        .map(|own| {
            let name = own["role"].as_str().unwrap_or_default();
            row(name, own["baseline"].as_u64(), number(own, "measured"))
        })
        .collect();
    lines.push(row("with what tools cost", Some(before), after));
    app.out.table(&["ROLE", "BEFORE", "NOW", "CHANGE"], &lines)?;
    let saved = i128::from(before) - i128::from(after);
    let (tone, word) = if saved < 0 { (Tone::Bad, "more") } else { (Tone::Good, "saved") };
    app.out.line(app.out.paint(tone, &format!("{} tokens {word}", saved.abs())))
}
