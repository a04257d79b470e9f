//! `althing conformance`: prints the table of requirements that this program was built with.

use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::cli::Conformance;
use crate::failure::Failure;
use crate::output::Tone;

/// The requirements with their tests and reasons, made from the tests themselves.
const TABLE: &str = include_str!("../../../../docs/conformance.json");
/// Keywords in the order in which the protocol names them.
const KEYWORDS: [&str; 4] = ["MUST", "SHOULD", "MAY", "NOTE"];

/// A requirement and how it stands.
#[derive(Debug, Deserialize, Serialize)]
struct Row {
    id: String,
    area: String,
    level: u8,
    keyword: String,
    text: String,
    #[serde(default)]
    standing: Standing,
    tests: Vec<String>,
    reason: Option<Reason>,
}

/// Why no test shows a requirement, or how Althing differs from it.
#[derive(Debug, Deserialize, Serialize)]
struct Reason {
    kind: String,
    text: String,
}

/// How a requirement stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Standing {
    /// Tests show it.
    Shown,
    /// No test shows it, and the reason is given.
    #[default]
    Explained,
    /// Not implemented yet.
    Later,
}

/// How many requirements of a level and keyword there are, and how they stand.
#[derive(Debug, Serialize)]
struct Tally {
    level: u8,
    keyword: &'static str,
    requirements: usize,
    shown: usize,
    explained: usize,
    later: usize,
}

/// Where Althing does it otherwise.
#[derive(Debug, Serialize)]
struct Deviation {
    id: String,
    text: String,
}

/// All of it.
#[derive(Debug, Serialize)]
struct Report {
    /// Requirements up to this level.
    level: u8,
    summary: Vec<Tally>,
    deviations: Vec<Deviation>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    requirements: Vec<Row>,
}

pub(crate) fn run(app: &App, args: &Conformance) -> Result<(), Failure> {
    let mut rows: Vec<Row> = serde_json::from_str(TABLE)
        .map_err(|error| Failure::unavailable(format!("the table cannot be read: {error}")))?;
    rows.retain(|row| row.level <= args.level);
    for row in &mut rows {
        row.standing = standing(row);
    }
    let summary = tallies(&rows);
    let deviations = rows.iter().filter_map(deviation).collect();
    let requirements = if args.summary { Vec::new() } else { rows };
    let report = Report { level: args.level, summary, deviations, requirements };
    if app.out.json {
        return app.out.value(&report);
    }
    list(app, &report.requirements)?;
    summarize(app, &report)
}

fn standing(row: &Row) -> Standing {
    match row.reason.as_ref().map(|reason| reason.kind.as_str()) {
        _ if !row.tests.is_empty() => Standing::Shown,
        Some("later") => Standing::Later,
        _ => Standing::Explained,
    }
}

fn deviation(row: &Row) -> Option<Deviation> {
    let reason = row.reason.as_ref().filter(|reason| reason.kind == "differs")?;
    Some(Deviation { id: row.id.clone(), text: reason.text.clone() })
}

/// A tally for each level and keyword that occurs.
fn tallies(rows: &[Row]) -> Vec<Tally> {
    let kinds = (1..=3).flat_map(|level| KEYWORDS.map(|keyword| (level, keyword)));
    let tallies = kinds.map(|(level, keyword)| {
        let own = rows.iter().filter(|row| row.level == level && row.keyword == keyword);
        let own: Vec<Standing> = own.map(|row| row.standing).collect();
        let count = |wanted| own.iter().filter(|standing| **standing == wanted).count();
        Tally {
            level,
            keyword,
            requirements: own.len(),
            shown: count(Standing::Shown),
            explained: count(Standing::Explained),
            later: count(Standing::Later),
        }
    });
    tallies.filter(|tally| tally.requirements > 0).collect()
}

/// Prints the requirements, grouped by what they are about.
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

/// Where the text of a requirement begins.
const INDENT: usize = 25;
/// Where its tests and reasons begin.
const INDENT_BELOW: usize = 23;

fn show(app: &App, row: &Row) -> Result<(), Failure> {
    let Row { id, level, keyword, text, .. } = row;
    app.out.fact(&format!("  {id:<10}  L{level} {keyword:<6}  "), INDENT, text)?;
    for test in &row.tests {
        let shown = app.out.paint(Tone::Good, "shown  ");
        app.out.fact(&format!("              {shown}  "), INDENT_BELOW, test)?;
    }
    if let Some(reason) = &row.reason {
        let kind = app.out.paint(Tone::Faint, &format!("{:<7}", reason.kind));
        app.out.fact(&format!("              {kind}  "), INDENT_BELOW, &reason.text)?;
    }
    Ok(())
}

fn summarize(app: &App, report: &Report) -> Result<(), Failure> {
    let cells = |tally: &Tally| {
        let Tally { level, keyword, requirements, shown, explained, later } = tally;
        let counts = [requirements, shown, explained, later].map(ToString::to_string);
        [vec![level.to_string(), (*keyword).to_owned()], counts.to_vec()].concat()
    };
    let rows: Vec<Vec<String>> = report.summary.iter().map(cells).collect();
    app.out.table(&["LEVEL", "KEYWORD", "ASKED", "SHOWN", "EXPLAINED", "LATER"], &rows)?;
    app.out.line("")?;
    if report.deviations.is_empty() {
        return app.out.line("No deviation is known.");
    }
    app.out.line("Deviations:")?;
    for deviation in &report.deviations {
        app.out.fact(&format!("  {:<10}  ", deviation.id), 14, &deviation.text)?;
    }
    Ok(())
}
