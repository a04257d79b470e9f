//! `cargo xtask bench`: what this machine can do, and what Althing makes of it.
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

use clap::{Args, ValueEnum};
use serde::Serialize;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};
use std::time::Duration;

use crate::{Error, out};

/// Arguments of `bench`.
#[derive(Debug, Args)]
#[command(after_help = "\
Everything runs in a throw-away folder below DIR, on the disk it is on. Each figure stands beside
the machine's own limit, measured in the same run.")]
pub(crate) struct Bench {
    /// Where to measure; the current folder if left out.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Measure this build of `althing`, with this build of the task. If left out, both are built
    /// for release first.
    #[arg(long, value_name = "FILE", env = "ALTHING_BINARY")]
    binary: Option<PathBuf>,
    /// Seconds per measurement.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=60))]
    seconds: u64,
    /// How many entries the large trail has; memories of more records are left out.
    #[arg(long, default_value_t = 100_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1_000..=10_000_000))]
    entries: u64,
    /// How many callers wait at the same time; repeat for more figures.
    #[arg(long, value_name = "N", default_values_t = [1, 8, 64, 512])]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=4096))]
    callers: Vec<u32>,
    /// Only these parts; repeat for more.
    #[arg(long = "only", value_enum)]
    only: Vec<Name>,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
}

/// Arguments of a process the benchmark looks at.
#[derive(Debug, Args)]
pub(crate) struct Probe {
    /// The state folder to open.
    home: PathBuf,
}

/// Parts of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Name {
    /// The machine's own limits.
    Machine,
    /// Durable commands with 1 to 512 callers.
    Commands,
    /// One command per process.
    Processes,
    /// Checking against few and many live leases.
    Leases,
    /// A long trail: opening, replaying, verifying, proving, memory.
    Trail,
    /// Moving entries of a long trail to an archive, and a writer meanwhile.
    Archive,
    /// Fifty hosts, each with a server process of its own, on one project.
    Mcp,
    /// The shared memory at three sizes: a first look, a board, a change.
    Memory,
}

/// One figure beside its limit.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    /// The name of the measurement.
    what: String,
    /// The figure.
    value: f64,
    /// In what.
    unit: &'static str,
    /// More about it.
    #[serde(skip_serializing_if = "String::is_empty")]
    detail: String,
    /// The limit it is compared with.
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

/// The setup of the measurements.
pub(crate) struct Setup {
    /// The program to measure.
    program: PathBuf,
    folder: PathBuf,
    time: Duration,
    entries: u64,
    callers: Vec<u32>,
}

/// A part of the benchmark: its name, its title, and how to measure it.
type Part = (Name, &'static str, fn(&Setup) -> Result<Vec<Row>, Error>);

const PARTS: [Part; 8] = [
    (Name::Machine, "the machine", machine::run),
    (Name::Commands, "durable commands", commands::run),
    (Name::Processes, "one command per process", processes::run),
    (Name::Leases, "live leases", leases::run),
    (Name::Trail, "a long trail", trail::run),
    (Name::Archive, "archiving a long trail", archive::run),
    (Name::Mcp, "fifty hosts", mcp::run),
    (Name::Memory, "a memory that has grown", memory::run),
];

pub(crate) fn run(args: &Bench) -> Result<(), Error> {
    let Some(program) = &args.binary else { return build_and_run() };
    let base = match &args.dir {
        Some(dir) => dir.clone(),
        None => std::env::current_dir()?,
    };
    let folder = Scratch::new(&base)?;
    let setup = Setup {
        program: std::fs::canonicalize(program)
            .map_err(|error| failed(format!("{}: {error}", program.display())))?,
        folder: folder.0.clone(),
        time: Duration::from_secs(args.seconds),
        entries: args.entries,
        callers: args.callers.clone(),
    };
    let mut all = Vec::new();
    for (part, title, measure) in PARTS {
        if !args.only.is_empty() && !args.only.contains(&part) {
            continue;
        }
        out::note(&format!("measuring {title} …"));
        let rows = measure(&setup)?;
        if !args.json {
            print(title, &rows)?;
        }
        all.extend(rows);
    }
    if args.json { out::value(&all) } else { Ok(()) }
}

/// Builds the program and this task for release, and has that build measure.
fn build_and_run() -> Result<(), Error> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let arguments =
        ["build", "--release", "--locked", "--package", "althing", "--package", "xtask"];
    let built = Process::new(&cargo)
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .arg("--message-format=json-render-diagnostics")
        .stderr(Stdio::inherit())
        .output()?;
    if !built.status.success() {
        return Err(failed("the release build failed"));
    }
    let executable = |name: &str| {
        let lines = built.stdout.split(|byte| *byte == b'\n');
        let messages = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
        let mut own = messages.filter(|message| message["target"]["name"] == name);
        own.find_map(|message| message["executable"].as_str().map(PathBuf::from))
            .ok_or_else(|| failed(format!("cargo did not say where {name} is")))
    };
    let status = Process::new(executable("xtask")?)
        .args(std::env::args_os().skip(1))
        .env("ALTHING_BINARY", executable("althing")?)
        .status()?;
    if status.success() { Ok(()) } else { Err(failed(status)) }
}

fn print(title: &str, rows: &[Row]) -> Result<(), Error> {
    out::line(title)?;
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
    out::table(&["  WHAT", "FIGURE", "RATIO", "BESIDE", ""], &cells)?;
    out::line("")
}

/// Opens a project and says how that went: a fresh process for the benchmark to look at.
pub(crate) fn probe(args: &Probe) -> Result<(), Error> {
    trail::probe(&args.home)
}

/// A folder that is gone afterwards.
struct Scratch(PathBuf);

impl Scratch {
    fn new(base: &Path) -> Result<Self, Error> {
        let path = base.join(format!(".althing-bench-{}", std::process::id()));
        std::fs::create_dir(&path)
            .map_err(|error| failed(format!("{}: {error}", path.display())))?;
        Ok(Scratch(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A folder that cannot be removed stays visible where the caller asked for it.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Turns whatever went wrong in a measurement into a failure of it.
fn failed(error: impl std::fmt::Display) -> Error {
    format!("the measurement failed: {error}").into()
}
