//! `althing bench`: what this machine can do, and what Althing makes of it.
//!
//! Absolute figures say more about the machine than about the program, so each one stands beside
//! a limit measured in the same run on the same disk, and the ratio is what counts.

mod archive;
mod commands;
mod host;
mod leases;
mod machine;
mod mcp;
mod memory;
mod processes;
mod stats;
mod trail;

use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::app::App;
use crate::cli::{Bench, BenchPart, BenchProbe};
use crate::failure::Failure;
use crate::output::Tone;

/// One figure beside its limit.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    /// What was measured.
    what: String,
    /// The figure.
    value: f64,
    /// In what.
    unit: &'static str,
    /// More about it.
    #[serde(skip_serializing_if = "String::is_empty")]
    detail: String,
    /// What it is compared with.
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<Limit>,
}

/// Something of this machine to compare with, measured in the same run.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Limit {
    what: String,
    value: f64,
    /// The figure divided by the limit.
    ratio: f64,
}

impl Row {
    fn new(what: impl Into<String>, value: f64, unit: &'static str) -> Self {
        Row { what: what.into(), value, unit, detail: String::new(), limit: None }
    }

    fn detail(self, detail: impl Into<String>) -> Self {
        Row { detail: detail.into(), ..self }
    }

    fn beside(self, what: impl Into<String>, value: f64) -> Self {
        let limit = Limit { what: what.into(), value, ratio: self.value / value };
        Row { limit: Some(limit), ..self }
    }
}

/// What the measurements need to know.
pub(crate) struct Setup {
    folder: PathBuf,
    time: Duration,
    entries: u64,
    callers: Vec<u32>,
}

/// A part of the benchmark: its name, its title, and how to measure it.
type Part = (BenchPart, &'static str, fn(&Setup) -> Result<Vec<Row>, Failure>);

pub(crate) fn run(app: &App, args: &Bench) -> Result<(), Failure> {
    let base = match &args.dir {
        Some(dir) => dir.clone(),
        None => std::env::current_dir().map_err(|error| Failure::usage(error.to_string()))?,
    };
    let folder = Scratch::new(&base)?;
    let setup = Setup {
        folder: folder.0.clone(),
        time: Duration::from_secs(args.seconds),
        entries: args.entries,
        callers: args.callers.clone(),
    };
    let parts: [Part; 8] = [
        (BenchPart::Machine, "the machine", machine::run),
        (BenchPart::Commands, "durable commands", commands::run),
        (BenchPart::Processes, "one command per process", processes::run),
        (BenchPart::Leases, "live leases", leases::run),
        (BenchPart::Trail, "a long trail", trail::run),
        (BenchPart::Archive, "archiving a long trail", archive::run),
        (BenchPart::Mcp, "fifty hosts", mcp::run),
        (BenchPart::Memory, "a memory that has grown", memory::run),
    ];
    let mut all = Vec::new();
    for (part, title, measure) in parts {
        if !args.only.is_empty() && !args.only.contains(&part) {
            continue;
        }
        app.out.note(format!("measuring {title} …"));
        let rows = measure(&setup)?;
        if !app.out.json {
            print(app, title, &rows)?;
        }
        all.extend(rows);
    }
    if app.out.json { app.out.value(&all) } else { Ok(()) }
}

fn print(app: &App, title: &str, rows: &[Row]) -> Result<(), Failure> {
    app.out.line(app.out.paint(Tone::Strong, title))?;
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            let (limit, ratio) = match &row.limit {
                Some(limit) => (
                    format!("{} {}", stats::short(limit.value), limit.what),
                    format!("{:.2}", limit.ratio),
                ),
                None => (String::new(), String::new()),
            };
            vec![
                format!("  {}", row.what),
                format!("{} {}", stats::short(row.value), row.unit),
                ratio,
                limit,
                row.detail.clone(),
            ]
        })
        .collect();
    app.out.table(&["  WHAT", "FIGURE", "RATIO", "BESIDE", ""], &cells)?;
    app.out.line("")
}

/// Opens a project and says how that went: a fresh process for the benchmark to look at.
pub(crate) fn probe(app: &App, args: &BenchProbe) -> Result<(), Failure> {
    trail::probe(app, &args.home)
}

/// A folder that is gone afterwards.
struct Scratch(PathBuf);

impl Scratch {
    fn new(base: &Path) -> Result<Self, Failure> {
        let path = base.join(format!(".althing-bench-{}", std::process::id()));
        std::fs::create_dir(&path)
            .map_err(|error| Failure::unavailable(format!("{}: {error}", path.display())))?;
        Ok(Scratch(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed is visible to whoever asked for it to be made there.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Turns whatever went wrong in a measurement into a failure of it.
fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::unavailable(format!("the measurement failed: {error}"))
}
