//! Tasks of this project that are not shipped with it: `cargo xtask bench`, `conformance`, `docs`.

mod bench;
mod conformance;
mod docs;
mod out;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Anything that went wrong; a task has nobody to tell but the person who started it.
pub(crate) type Error = Box<dyn std::error::Error + Send + Sync>;

/// Tasks of the project: benchmarks, reports, generated documents.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Measure this machine and Althing on it.
    Bench(bench::Bench),
    /// Show what the protocol asks for, which tests show it, and how they came out.
    Conformance(conformance::Conformance),
    /// Write the documents that are made from the code and the tests anew.
    Docs,
    /// Open a project and print how long that took: a fresh process for the benchmark.
    #[command(hide = true)]
    BenchProbe(bench::Probe),
}

fn main() -> ExitCode {
    let done = match Cli::parse().task {
        Task::Bench(args) => bench::run(&args),
        Task::Conformance(args) => conformance::run(&args),
        Task::Docs => docs::run(),
        Task::BenchProbe(args) => bench::probe(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            out::note(&format!("error: {failure}"));
            ExitCode::FAILURE
        }
    }
}
