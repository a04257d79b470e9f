//! One thing, whole: its words, its fields a line each, and a table for each list in it.

use serde_json::{Map, Value};

use super::page::{Column, pairs, section, text};
use crate::app::App;
use crate::error::Error;
use crate::output::Tone;

/// The lists that things have, with their columns.
const LISTS: [(&str, &[Column]); 5] = [
    ("steps", &[("STEP", "id"), ("STATUS", "status"), ("ASSIGNEE", "assignee"), ("TEXT", "text")]),
    (
        "slots",
        &[
            ("SLOT", "id"),
            ("AGENT", "agent"),
            ("ROLE", "role"),
            ("ASSIGNMENT", "assignment"),
            ("DONE", "done"),
            ("OUTCOME", "outcome"),
        ],
    ),
    ("turns", TURN),
    ("artifacts", ARTIFACT),
    (
        "items",
        &[
            ("RANK", "rank"),
            ("PLAN", "plan"),
            ("LANE", "lane"),
            ("AFTER", "hard_after"),
            ("BETTER AFTER", "soft_after"),
            ("SCOPE", "scope_hint"),
        ],
    ),
];

pub(super) const TURN: &[Column] = &[
    ("AT", "at"),
    ("PHASE", "phase"),
    ("ROUND", "iteration"),
    ("SLOT", "slot"),
    ("AGENT", "agent"),
    ("OUTCOME", "outcome"),
];
pub(super) const ARTIFACT: &[Column] =
    &[("TYPE", "type"), ("REF", "ref"), ("DESCRIPTION", "description")];

/// The columns of a list in a thing.
pub(super) fn columns(name: &str) -> Option<&'static [Column]> {
    LISTS.iter().find(|(own, _)| *own == name).map(|(_, columns)| *columns)
}

/// Shows a thing.
pub(super) fn whole(app: &App, item: &Value) -> Result<(), Error> {
    let late = if item["overdue"] == true { " (overdue)" } else { "" };
    let title = format!("{} {}{late}", text(item, "short_label"), text(item, "status"));
    app.out.line(app.out.paint(Tone::Strong, &title))?;
    text(item, "text").split('\n').try_for_each(|line| app.out.fact("", 0, line))?;
    let empty = Map::new();
    let own = item.as_object().unwrap_or(&empty);
    let mut rows = Vec::new();
    for (name, value) in own {
        let shown = ["id", "short_label", "status", "text", "overdue"].contains(&name.as_str());
        if !shown && columns(name).is_none() {
            flatten(name, value, item, &mut rows);
        }
    }
    pairs(app, &rows)?;
    for (name, columns) in LISTS {
        let items = own.get(name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        section(app, name, items, columns)?;
    }
    Ok(())
}

/// A value as lines; what has parts has a line for each.
pub(super) fn flatten(name: &str, value: &Value, of: &Value, rows: &mut Vec<(String, String)>) {
    match value {
        Value::Null => {}
        Value::Array(list) if list.is_empty() => {}
        Value::Object(parts) => {
            for (part, inner) in parts {
                let mut own = Vec::new();
                flatten(part, inner, value, &mut own);
                rows.extend(own.into_iter().map(|(part, value)| (format!("{name}.{part}"), value)));
            }
        }
        Value::Array(list) if list.iter().any(Value::is_object) => {
            for (at, inner) in list.iter().enumerate() {
                flatten(&format!("{name}.{}", at + 1), inner, value, rows);
            }
        }
        _ if of.is_object() => rows.push((name.to_owned(), text(of, name))),
        other => rows.push((name.to_owned(), other.to_string())),
    }
}
