//! `althing conformance`

use std::path::PathBuf;

use crate::app::App;
use crate::cli::Conformance;
use crate::conformance::report::{Report, Row, Tally};
use crate::conformance::results::{Outcome, Results};
use crate::failure::Failure;
use crate::input::read_file;
use crate::output::{Tone, counted};

/// Where `scripts/test` leaves what the tests said.
const RESULTS: &str = "target/test-results.txt";

pub(crate) fn run(app: &App, args: &Conformance) -> Result<(), Failure> {
    let tables = crate::conformance::tables().map_err(Failure::unavailable)?;
    let file = results_file(app, args)?;
    let results = match &file {
        Some(path) => Results::read(&read_file(path)?),
        None => Results::default(),
    };
    let named = file.map(|path| path.display().to_string());
    let mut report = Report::new(&tables, args.level, named, &results);
    if args.summary {
        report.requirements.clear();
    }
    if !app.out.json {
        list(app, &report.requirements)?;
        summarize(app, &report)?;
    }
    if !report.failed.is_empty() {
        return Err(unmet(&report));
    }
    if app.out.json { app.out.value(&report) } else { Ok(()) }
}

/// The file somebody named, or the one the project's own test run left, if there is one.
fn results_file(app: &App, args: &Conformance) -> Result<Option<PathBuf>, Failure> {
    if let Some(path) = &args.results {
        return Ok(Some(path.clone()));
    }
    let path = app.place()?.root.join(RESULTS);
    Ok(path.is_file().then_some(path))
}

fn unmet(report: &Report) -> Failure {
    let tests = counted(report.failed.len() as u64, "test that shows", "tests that show");
    let message = format!("{tests} a requirement failed: {}", report.failed.join(", "));
    Failure::unmet(message).with(serde_json::to_value(report).unwrap_or_default())
}

/// The requirements, grouped by what they are about.
fn list(app: &App, rows: &[Row]) -> Result<(), Failure> {
    for area in rows.chunk_by(|one, next| one.area == next.area) {
        if let Some(row) = area.first() {
            app.out.line(app.out.paint(Tone::Strong, &row.area))?;
        }
        for row in area {
            show(app, row)?;
        }
        app.out.line("")?;
    }
    Ok(())
}

fn show(app: &App, row: &Row) -> Result<(), Failure> {
    let Row { id, level, keyword, text, .. } = row;
    app.out.line(format!("  {id:<10}  L{level} {:<6}  {text}", keyword.as_str()))?;
    for proof in &row.tests {
        let tone = match proof.outcome {
            Outcome::Passed => Tone::Good,
            Outcome::Failed => Tone::Bad,
            Outcome::NotRun | Outcome::Ignored => Tone::Faint,
        };
        let outcome = app.out.paint(tone, &format!("{:<7}", proof.outcome.as_str()));
        app.out.line(format!("              {outcome}  {}", proof.test))?;
    }
    if let Some(reason) = &row.reason {
        let kind = app.out.paint(Tone::Faint, &format!("{:<7}", reason.kind.as_str()));
        app.out.line(format!("              {kind}  {}", reason.text))?;
    }
    Ok(())
}

fn summarize(app: &App, report: &Report) -> Result<(), Failure> {
    let titles = ["LEVEL", "KEYWORD", "ASKED", "SHOWN", "PASSED", "FAILED", "EXPLAINED", "LATER"];
    let known = report.results.is_some();
    let rows: Vec<Vec<String>> = report.summary.iter().map(|tally| cells(tally, known)).collect();
    app.out.table(&titles, &rows)?;
    match &report.results {
        Some(file) => app.out.line(format!("\nOutcomes are from {file}."))?,
        None => app.out.line(format!(
            "\nNo test was run here: there is no {RESULTS} in this project, nor was a file named."
        ))?,
    }
    if report.deviations.is_empty() {
        return app.out.line("No deviation is known.");
    }
    app.out.line("Deviations:")?;
    for deviation in &report.deviations {
        app.out.line(format!("  {:<10}  {}", deviation.id, deviation.text))?;
    }
    Ok(())
}

/// A tally in words. Without a run nothing is known about passing and failing.
fn cells(tally: &Tally, known: bool) -> Vec<String> {
    let of_run = |count: usize| if known { count.to_string() } else { "-".to_owned() };
    vec![
        tally.level.to_string(),
        tally.keyword.as_str().to_owned(),
        tally.requirements.to_string(),
        tally.shown.to_string(),
        of_run(tally.passed),
        of_run(tally.failed),
        tally.explained.to_string(),
        tally.later.to_string(),
    ]
}
