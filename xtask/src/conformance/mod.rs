//! `cargo xtask conformance`: what the protocol asks for, the tests that show it, and how each of
//! them came out in the last run.
//!
//! `docs/conformance.json` has the requirements with their tests and reasons; the system tests make
//! it from the tests themselves. `althing conformance` prints the same table without outcomes.

mod report;
mod results;

#[cfg(test)]
mod tests;

use althing_kernel::Rule;
use clap::Args;
use std::path::{Path, PathBuf};

use crate::{Error, out};
use report::{Report, Requirement, Row, Tally};
use results::Results;

/// Arguments of `conformance`.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit code 1: a test that shows a requirement failed.

Examples:
  cargo xtask conformance                              everything, level by level at the end
  cargo xtask conformance --level 1 --summary          the numbers, and every deviation
  cargo test --workspace --no-fail-fast > said.txt 2>&1
  cargo xtask conformance --results said.txt --json    with the outcomes of that run")]
pub(crate) struct Conformance {
    /// Only requirements up to this level of the protocol: 1, 2 or 3.
    #[arg(long, value_name = "N", default_value_t = 3)]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=3))]
    level: u8,
    /// Output of `cargo test` [default: that of the last `scripts/test`].
    #[arg(long, value_name = "FILE")]
    results: Option<PathBuf>,
    /// Only the numbers and the deviations.
    #[arg(long)]
    summary: bool,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Conformance) -> Result<(), Error> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let table: Vec<Requirement> =
        serde_json::from_str(&read(&root.join("docs/conformance.json"))?)?;
    // Where `scripts/test` leaves what the tests said.
    let last = Some(root.join("target/test-results.txt")).filter(|path| path.is_file());
    let file = args.results.clone().or(last);
    let results = match &file {
        Some(path) => Results::read(&read(path)?),
        None => Results::default(),
    };
    let named = file.map(|path| path.display().to_string());
    let mut report = Report::new(table, args.level, named, &results);
    if args.summary {
        report.requirements.clear();
    }
    if args.json {
        out::value(&report)?;
    } else {
        list(&report.requirements)?;
        summarize(&report)?;
    }
    if report.failed.is_empty() { Ok(()) } else { Err(unmet(&report)) }
}

fn read(path: &Path) -> Result<String, Error> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()).into())
}

fn unmet(report: &Report) -> Error {
    let rule = Rule::Conformance;
    let (count, names) = (report.failed.len(), report.failed.join(", "));
    let way_out = rule.way_out();
    format!("tests that show a requirement failed ({count}): {names} [{rule}]\n{way_out}").into()
}

/// Prints the requirements, grouped by what they are about.
fn list(rows: &[Row]) -> Result<(), Error> {
    for area in rows.chunk_by(|one, next| one.area == next.area) {
        if let Some(row) = area.first() {
            out::line(&row.area)?;
        }
        for row in area {
            show(row)?;
        }
        out::line("")?;
    }
    Ok(())
}

fn show(row: &Row) -> Result<(), Error> {
    let Row { id, level, keyword, text, .. } = row;
    out::line(&format!("  {id:<10}  L{level} {keyword:<6}  {text}"))?;
    for proof in &row.tests {
        let outcome = proof.outcome.as_str();
        out::line(&format!("              {outcome:<7}  {}", proof.test))?;
    }
    if let Some(reason) = &row.reason {
        out::line(&format!("              {:<7}  {}", reason.kind, reason.text))?;
    }
    Ok(())
}

fn summarize(report: &Report) -> Result<(), Error> {
    let titles = ["LEVEL", "KEYWORD", "ASKED", "SHOWN", "PASSED", "FAILED", "EXPLAINED", "LATER"];
    let known = report.results.is_some();
    let rows: Vec<Vec<String>> = report.summary.iter().map(|tally| cells(tally, known)).collect();
    out::table(&titles, &rows)?;
    let from = match &report.results {
        Some(file) => format!("\nOutcomes are from {file}."),
        None => "\nNo outcomes: `scripts/test` did not run here, and no file was named.".to_owned(),
    };
    out::line(&from)?;
    if report.deviations.is_empty() {
        return out::line("No deviation is known.");
    }
    out::line("Deviations:")?;
    for deviation in &report.deviations {
        out::line(&format!("  {:<10}  {}", deviation.id, deviation.text))?;
    }
    Ok(())
}

/// The cells of a tally. Without a run nothing is known about passing and failing.
fn cells(tally: &Tally, known: bool) -> Vec<String> {
    let of_run = |count: usize| if known { count.to_string() } else { "-".to_owned() };
    vec![
        tally.level.to_string(),
        tally.keyword.clone(),
        tally.requirements.to_string(),
        tally.shown.to_string(),
        of_run(tally.passed),
        of_run(tally.failed),
        tally.explained.to_string(),
        tally.later.to_string(),
    ]
}
