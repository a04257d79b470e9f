//! `althing trail runs` and `althing trail compare`

use althing_engine::reports::runs::{self, Comparison, FIGURES, Figure, RunDigest, TaskDigest};
use althing_engine::row::{Scope, Source};
use althing_kernel::{Span, WorkspaceId};
use serde_json::json;
use std::path::Path;

use super::views::say_deleted;
use crate::amounts::show_cost;
use crate::app::App;
use crate::cli::{TrailCompare, TrailRuns};
use crate::command_context::CommandContext;
use crate::drawing::bars::bar;
use crate::error::Error;
use crate::naming::{Naming, short};
use crate::output::{Tone, clock_time, counted, one_line, show_span};
use crate::table::{drawing, free_text, whole};

pub(super) fn list(app: &App, args: &TrailRuns) -> Result<(), Error> {
    let (mut all, mut deleted) = (Vec::new(), 0);
    if args.files.is_empty() {
        let context = CommandContext::open(app)?;
        let scope = context.engine()?.scope(context.project.asker()?.as_ref())?;
        let source = Source::Project(context.engine()?);
        all.extend(runs::runs(&source, &scope)?);
        for run in &mut all {
            run.runs_until(context.now());
        }
        deleted = runs::deleted(&source, &scope)?.values().sum();
    }
    for file in &args.files {
        all.extend(runs::runs(&Source::File(file.clone()), &Scope::default())?);
    }
    let sum = |of: fn(&RunDigest) -> u64| all.iter().map(of).fold(0, u64::saturating_add);
    if app.out.json {
        let totals: serde_json::Map<String, serde_json::Value> =
            FIGURES.iter().map(|(name, of)| ((*name).to_owned(), sum(*of).into())).collect();
        return app
            .out
            .value(&json!({ "runs": all, "totals": totals, "deleted_entries": deleted }));
    }
    if all.is_empty() {
        return app.out.line("there was no run; `althing coordinator start` begins one");
    }
    let naming = Naming::of(all.iter().map(|run| &run.run));
    let row = |name: String, began: String, ended: String, of: &dyn Fn(usize) -> u64| {
        let mut cells = vec![name, began, ended];
        cells.extend(FIGURES.iter().take(8).enumerate().map(|(at, (name, _))| shown(name, of(at))));
        cells
    };
    let mut rows: Vec<Vec<String>> = Vec::new();
    for run in &all {
        let ended = run.ended.clone().unwrap_or_else(|| "running".to_owned());
        let name = naming.short(&run.run);
        rows.push(row(name, clock_time(run.started_at), ended, &|at| FIGURES[at].1(run)));
    }
    if all.len() > 1 {
        let count = counted(all.len() as u64, "run", "runs");
        rows.push(row("together".to_owned(), count, String::new(), &|at| sum(FIGURES[at].1)));
    }
    let titles = [
        "RUN",
        "BEGAN",
        "ENDED",
        "TOOK",
        "COST",
        "TOKENS",
        "WORKSPACES",
        "FAILED",
        "RETRIES",
        "CHECKPOINTS",
        "BY PEOPLE",
    ];
    app.out.table(&titles, &rows)?;
    say_deleted(app, deleted)
}

pub(super) fn compare(app: &App, args: &TrailCompare) -> Result<(), Error> {
    let (a, b) = match (&args.a, &args.b) {
        (Some(a), Some(b)) => (named(app, a)?, named(app, b)?),
        _ => last_two(app)?,
    };
    let comparison = runs::compare(a, b);
    if app.out.json {
        return app.out.value(&comparison);
    }
    print(app, &comparison)
}

fn last_two(app: &App) -> Result<(RunDigest, RunDigest), Error> {
    let context = CommandContext::open(app)?;
    let scope = context.engine()?.scope(context.project.asker()?.as_ref())?;
    let mut all = runs::runs(&Source::Project(context.engine()?), &scope)?;
    match (all.pop(), all.pop()) {
        (Some(b), Some(a)) => Ok((a, b)),
        _ => Err(Error::not_found("there are not two runs yet to compare")
            .hint("Name a run of an exported trail: `althing trail compare FILE root`.")),
    }
}

/// A run by its id, or `FILE` or `FILE:ID` for one of an exported trail.
fn named(app: &App, text: &str) -> Result<RunDigest, Error> {
    let is_file = |path: &str| Path::new(path).is_file();
    if is_file(text) {
        return in_file(text, None);
    }
    if let Some((path, id)) = text.rsplit_once(':').filter(|(path, _)| is_file(path)) {
        return in_file(path, Some(id));
    }
    let context = CommandContext::open(app)?;
    let scope = context.engine()?.scope(context.project.asker()?.as_ref())?;
    let run = context.workspace(text)?;
    Ok(runs::run(&Source::Project(context.engine()?), &scope, Some(&run))?)
}

/// A run of an exported trail: the one that is meant, or the last.
fn in_file(path: &str, id: Option<&str>) -> Result<RunDigest, Error> {
    let mut all = runs::runs(&Source::File(path.into()), &Scope::default())?;
    if let Some(id) = id {
        let naming = Naming::of(all.iter().map(|run| &run.run));
        let meant = naming.find(id)?.map(str::to_owned);
        all.retain(|run| Some(&run.run) == meant.as_ref());
    }
    all.pop().ok_or_else(|| Error::not_found(format!("{path} has no such run")))
}

/// A figure, in the words it has everywhere.
fn shown(name: &str, value: u64) -> String {
    match name {
        "wall" => show_span(Span::from_micros(value)),
        "cost" => show_cost(value),
        _ => value.to_string(),
    }
}

/// How the second stands to the first.
fn change(name: &str, a: u64, b: u64) -> String {
    if a == b {
        return "=".to_owned();
    }
    let sign = if b > a { '+' } else { '-' };
    let by = a.abs_diff(b);
    let percent = u128::from(by) * 100 / u128::from(a.max(1));
    let percent = if a == 0 { String::new() } else { format!(" ({sign}{percent} %)") };
    format!("{sign}{}{percent}", shown(name, by))
}

/// How a figure is called.
fn called(name: &'static str) -> &'static str {
    match name {
        "wall" => "took",
        "interventions" => "done by people",
        "at_once" => "at work at once",
        other => other,
    }
}

fn print(app: &App, comparison: &Comparison) -> Result<(), Error> {
    let Comparison { a, b, tasks, .. } = comparison;
    for (name, run) in [("A", a), ("B", b)] {
        let ended = run.ended.as_deref().unwrap_or("running");
        let began = clock_time(run.started_at);
        app.out.line(format!("{name}  {}  began {began}, {ended}", one_line(&short(&run.run))))?;
    }
    say_deleted(app, a.deleted_entries.saturating_add(b.deleted_entries))?;
    app.out.line("")?;
    let row = |(name, of): &Figure| {
        let (of_a, of_b) = (of(a), of(b));
        let cells = [shown(name, of_a), shown(name, of_b), change(name, of_a, of_b)];
        [vec![called(name).to_owned()], cells.to_vec()].concat()
    };
    let rows: Vec<Vec<String>> = FIGURES.iter().map(row).collect();
    app.out.table(&["", "A", "B", "CHANGE"], &rows)?;
    if tasks.is_empty() {
        return Ok(());
    }
    app.out.line("")?;
    let took = |task: &Option<TaskDigest>| task.as_ref().map_or(0, |task| task.took.micros());
    let max = tasks.iter().flat_map(|pair| [took(&pair.a), took(&pair.b)]).max().unwrap_or(0);
    let cell = |task: &Option<TaskDigest>| {
        task.as_ref().map_or_else(
            || "-".to_owned(),
            |task| {
                let again =
                    if task.attempts > 1 { format!(" x{}", task.attempts) } else { String::new() };
                format!("{} {}{again}", show_span(task.took), task.status)
            },
        )
    };
    let rows: Vec<Vec<String>> = tasks
        .iter()
        .map(|pair| {
            let bars = [bar(took(&pair.a), max, 12), bar(took(&pair.b), max, 12)];
            let [bar_a, bar_b] = bars;
            vec![pair.name.clone(), cell(&pair.a), bar_a, cell(&pair.b), bar_b]
        })
        .collect();
    app.out.table(&[free_text("TASK"), whole("A"), drawing(), whole("B"), drawing()], &rows)?;
    let note = "times of tasks run from when one was first taken up to its last step";
    app.out.line(app.out.paint(Tone::Faint, note))
}

/// The run somebody means: of a project by any part of its id, of a file by all of it.
pub(super) fn meant(
    context: Option<&CommandContext<'_>>,
    text: Option<&str>,
) -> Result<Option<WorkspaceId>, Error> {
    text.map(|text| match context {
        Some(context) => context.workspace(text),
        None => WorkspaceId::new(text).map_err(|error| Error::usage(error.to_string())),
    })
    .transpose()
}
