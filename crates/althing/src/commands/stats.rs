//! `althing trail stats`

use althing_engine::reports::stats::{Dimension, Figures, Group, Stats, TrailStats as Asked};
use althing_engine::{Clock as _, SystemClock};
use althing_kernel::Timestamp;
use serde_json::Value;

use super::trail::{check_names, query_of};
use super::views::say_deleted;
use crate::app::App;
use crate::cli::TrailStats;
use crate::command_context::CommandContext;
use crate::drawing::bars::bar;
use crate::error::Error;
use crate::naming::short_ids;
use crate::output::{Out, clock_time, counted};
use crate::table::{Column, drawing, whole};

/// How wide the longest bar is.
const WIDTH: u64 = 30;
/// The most pieces of time that are filled up with empty ones.
const PIECES_MAX: u64 = 200;

pub(super) fn run(app: &App, args: &TrailStats) -> Result<(), Error> {
    let asked = |filter| Asked {
        filter,
        group_by: args.group_by.clone(),
        sum: args.sum.clone(),
        top: args.top,
    };
    let stats = if let Some(path) = &args.file {
        let named = app.globals.workspace.as_deref();
        let workspace = named.map(althing_kernel::WorkspaceId::new).transpose();
        let workspace = workspace.map_err(|error| Error::usage(error.to_string()))?;
        asked(query_of(&args.which, workspace, SystemClock.now())?).of_file(path)?
    } else {
        let context = CommandContext::open(app)?;
        let narrowed = app.globals.workspace.as_deref();
        let workspace = narrowed.map(|text| context.workspace(text)).transpose()?;
        check_names(&context, &args.which)?;
        let filter = query_of(&args.which, workspace, context.now())?;
        asked(filter).of(&context.engine()?, context.project.asker()?.as_ref())?
    };
    if app.out.json {
        return app.out.value(&stats);
    }
    print(app.out, &stats)?;
    say_deleted(app, stats.deleted_entries)
}

fn print(out: Out, stats: &Stats) -> Result<(), Error> {
    let total = counted(stats.count, "entry", "entries");
    let summed = stats.figures.as_ref().zip(stats.sum.as_ref());
    let summed = summed
        .map_or(String::new(), |(figures, field)| format!("; {field}: {}", describe(figures)));
    out.line(format!("{total}{summed}"))?;
    if stats.groups.is_empty() {
        return Ok(());
    }
    let groups = filled(stats);
    let size = |group: &Group| match &group.figures {
        Some(figures) => u64::try_from(figures.sum).unwrap_or(0),
        None => group.count,
    };
    let max = groups.iter().map(size).max().unwrap_or(0);
    let row = |group: &Group| {
        let names = group.key.iter().zip(&stats.group_by).map(|(value, by)| shown(value, by));
        let mut cells: Vec<String> = names.collect();
        cells.push(group.count.to_string());
        if let Some(figures) = &group.figures {
            cells.push(figures.sum.to_string());
            let ends = figures.min.zip(figures.max);
            cells.push(ends.map_or_else(|| "-".to_owned(), |(min, max)| format!("{min}..{max}")));
            cells.push(figures.avg.map_or_else(|| "-".to_owned(), |avg| avg.to_string()));
        }
        cells.push(bar(size(group), max, WIDTH));
        cells
    };
    let names: Vec<String> =
        stats.group_by.iter().map(|by| by.to_string().to_uppercase()).collect();
    let mut titles: Vec<Column<'_>> = names.iter().map(|name| whole(name)).collect();
    titles.push(whole("ENTRIES"));
    if stats.sum.is_some() {
        titles.extend(["SUM", "RANGE", "MEAN"].map(whole));
    }
    titles.push(drawing());
    out.line("")?;
    out.table(&titles, &groups.iter().map(row).collect::<Vec<_>>())?;
    match stats.left_out {
        0 => Ok(()),
        more => {
            out.line(format!("and {}", counted(more as u64, "smaller group", "smaller groups")))
        }
    }
}

fn describe(figures: &Figures) -> String {
    let Figures { values, sum, min, max, avg } = figures;
    match (min, max, avg) {
        (Some(min), Some(max), Some(avg)) => {
            format!("{sum} in {values}, from {min} to {max}, {avg} on average")
        }
        _ => "in none of them".to_owned(),
    }
}

/// A place in a dimension, for people.
fn shown(value: &Value, by: &Dimension) -> String {
    match (value, by) {
        (Value::Number(at), Dimension::Time(_)) => {
            clock_time(Timestamp::from_micros(at.as_u64().unwrap_or(0)))
        }
        (Value::Null, _) => "-".to_owned(),
        (Value::String(text), _) => short_ids(text),
        (other, _) => other.to_string(),
    }
}

/// The groups, with those in between where nothing happened, if they are pieces of time.
fn filled(stats: &Stats) -> Vec<Group> {
    let [Dimension::Time(piece)] = stats.group_by.as_slice() else { return stats.groups.clone() };
    let start = |group: &Group| group.key.first().and_then(Value::as_u64).unwrap_or(0);
    let ends = stats.groups.first().map(start).zip(stats.groups.last().map(start));
    let Some((first, last)) = ends.filter(|(first, last)| (last - first) / piece < PIECES_MAX)
    else {
        return stats.groups.clone();
    };
    if stats.left_out > 0 {
        return stats.groups.clone();
    }
    let mut left = stats.groups.iter().peekable();
    let mut all = Vec::new();
    let mut at = first;
    while at <= last {
        let here = left.next_if(|group| start(group) == at).cloned();
        all.push(here.unwrap_or_else(|| Group {
            key: vec![at.into()],
            count: 0,
            first_at: Timestamp::from_micros(at),
            last_at: Timestamp::from_micros(at),
            figures: None,
        }));
        at += piece;
    }
    all
}
