//! Pages: the lines, tables and headings that answers are shown with.

use althing_dialects::memory::moment;
use althing_engine::{Clock as _, SystemClock};
use althing_kernel::Timestamp;
use althing_kernel::records::RecordId;
use serde_json::Value;

use crate::app::App;
use crate::error::Error;
use crate::naming;
use crate::output::{Tone, from_now, readable};
use crate::table;

/// Fields written by this program, which may name things by their ids.
const OURS: [&str; 4] = ["why", "reason", "detail", "command"];

/// Fields with text that people or agents wrote. It is shown as it is.
const WRITTEN: [&str; 3] = ["text", "narrative", "description"];

/// Fields with ids that have no prefix.
const IDS: [&str; 2] = ["entry_id", "project_id"];

/// Fields of free text, which are cut where a table would not fit.
const FREE: [&str; 11] = [
    "text",
    "scope",
    "scope_hint",
    "why",
    "reason",
    "detail",
    "description",
    "command",
    "outcome",
    "hard_after",
    "soft_after",
];

/// A column: its title, and the field it shows.
pub(super) type Column = (&'static str, &'static str);

pub(super) const ROW: [Column; 4] =
    [("ID", "short_label"), ("STATUS", "status"), ("TEXT", "text"), ("CHANGED", "updated_at")];
pub(super) const CLAIM: [Column; 4] =
    [("ID", "short_label"), ("HOLDER", "holder"), ("SCOPE", "scope"), ("ENDS", "expires_at")];

/// A field as text; a dash where there is none. Things go by their labels.
pub(super) fn text(value: &Value, name: &str) -> String {
    match &value[name] {
        Value::String(text) if OURS.contains(&name) => readable(text),
        Value::String(text) if IDS.contains(&name) => naming::short_number(text).to_owned(),
        // The time that it is now is only worth something exact.
        Value::String(text) if name == "now" || WRITTEN.contains(&name) => text.clone(),
        Value::String(text) => shown(text),
        Value::Number(at) if name == "at" || name.ends_with("_at") => {
            let now = SystemClock.now();
            let shown = |at| from_now(Timestamp::from_micros(at), now);
            at.as_u64().map_or_else(|| at.to_string(), shown)
        }
        Value::Number(minutes) if name.ends_with("_effort") => format!("{minutes} minutes"),
        Value::Null => "-".to_owned(),
        Value::Bool(is) => if *is { "yes" } else { "no" }.to_owned(),
        Value::Array(list) if list.is_empty() => "-".to_owned(),
        Value::Array(list) if list.iter().all(|one| !one.is_object() && !one.is_array()) => {
            let each = |one: &Value| match one {
                Value::String(text) => shown(text),
                other => other.to_string(),
            };
            list.iter().map(each).collect::<Vec<String>>().join(", ")
        }
        other => other.to_string(),
    }
}

/// A value that is an id or a time: in its short form, or as seen from now. Any other as it is.
pub(super) fn shown(text: &str) -> String {
    if let Ok(id) = text.parse::<RecordId>() {
        return id.label();
    }
    let is_time = text.len() == "2026-11-16T17:37:47Z".len() && text.ends_with('Z');
    match moment::read(text).filter(|_| is_time) {
        Some(at) => from_now(at, SystemClock.now()),
        None => naming::short(&text),
    }
}

/// A field as one cell of a table.
fn cell(value: &Value, name: &str) -> String {
    let mut line = text(value, name).split_whitespace().collect::<Vec<&str>>().join(" ");
    if name == "status" && value["overdue"] == true {
        line.push_str(" (overdue)");
    }
    if name == "status" && value["superseded_by"].is_string() {
        line.push_str(", superseded by ");
        line.push_str(&text(value, "superseded_by"));
    }
    line
}

pub(super) fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value[name].as_array().map_or(&[], Vec::as_slice)
}

/// A table of some fields. A column that says nothing of anything is left out.
pub(super) fn table(app: &App, items: &[Value], columns: &[Column]) -> Result<(), Error> {
    let says = |(_, name): &&Column| items.iter().any(|item| !item[*name].is_null());
    let columns: Vec<&Column> = columns.iter().filter(says).collect();
    let row = |item: &Value| columns.iter().map(|(_, name)| cell(item, name)).collect();
    let rows: Vec<Vec<String>> = items.iter().map(row).collect();
    let title = |(title, name): &&Column| {
        if FREE.contains(name) { table::free_text(title) } else { table::whole(title) }
    };
    let titles: Vec<table::Column<'_>> = columns.iter().map(title).collect();
    app.out.table(&titles, &rows)
}

/// A table under a heading, if there is anything in it.
pub(super) fn section(
    app: &App,
    title: &str,
    items: &[Value],
    columns: &[Column],
) -> Result<(), Error> {
    if items.is_empty() {
        return Ok(());
    }
    app.out.line(format!("\n{}", app.out.paint(Tone::Strong, title)))?;
    table(app, items, columns)
}

/// The same of a list that may have been cut: how much there is, and what shows all of it.
pub(super) fn part(
    app: &App,
    title: &str,
    items: &[Value],
    total: &Value,
    columns: &[Column],
    all: &str,
) -> Result<(), Error> {
    let total = total.as_u64().and_then(|total| usize::try_from(total).ok()).unwrap_or(0);
    if total <= items.len() {
        return section(app, title, items, columns);
    }
    section(app, &format!("{title} ({} of {total})", items.len()), items, columns)?;
    app.out.line(app.out.paint(Tone::Faint, &format!("`{all}` shows all")))
}

/// Names and values, aligned.
pub(super) fn pairs(app: &App, rows: &[(String, String)]) -> Result<(), Error> {
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    for (name, value) in rows {
        for (at, line) in value.split('\n').enumerate() {
            app.out.fact(if at == 0 { name } else { "" }, width + 2, line)?;
        }
    }
    Ok(())
}
