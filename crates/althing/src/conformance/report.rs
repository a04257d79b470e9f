//! The report: each requirement up to a level with what shows it and how that went, and how many
//! there are of each.

use serde::Serialize;

use super::results::{Outcome, Results};
use super::tables::{Keyword, Kind, Reason, Requirement, Tables};

/// How a requirement stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Standing {
    /// Tests show it.
    Shown,
    /// No test shows it, and it is said why there is none.
    Explained,
    /// It is not built yet.
    Later,
}

/// A test and how it came out.
#[derive(Debug, Serialize)]
pub(crate) struct Proof {
    pub(crate) test: String,
    pub(crate) outcome: Outcome,
}

/// A requirement and how it stands.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) id: String,
    pub(crate) area: String,
    pub(crate) level: u8,
    pub(crate) keyword: Keyword,
    pub(crate) text: String,
    pub(crate) standing: Standing,
    pub(crate) tests: Vec<Proof>,
    pub(crate) reason: Option<Reason>,
}

/// How many requirements of a level and keyword there are, and how they stand.
#[derive(Debug, Serialize)]
pub(crate) struct Tally {
    pub(crate) level: u8,
    pub(crate) keyword: Keyword,
    pub(crate) requirements: usize,
    pub(crate) shown: usize,
    /// Those of which every test passed.
    pub(crate) passed: usize,
    /// Those of which a test failed.
    pub(crate) failed: usize,
    pub(crate) explained: usize,
    pub(crate) later: usize,
}

/// Where Althing does it otherwise.
#[derive(Debug, Serialize)]
pub(crate) struct Deviation {
    pub(crate) id: String,
    pub(crate) text: String,
}

/// All of it.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    /// Requirements up to this level.
    pub(crate) level: u8,
    /// The file the outcomes were read from.
    pub(crate) results: Option<String>,
    pub(crate) summary: Vec<Tally>,
    pub(crate) deviations: Vec<Deviation>,
    /// The tests that failed.
    pub(crate) failed: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) requirements: Vec<Row>,
}

impl Report {
    /// Joins the tables with the results of a run, named for the reader.
    pub(crate) fn new(tables: &Tables, level: u8, named: Option<String>, run: &Results) -> Self {
        let mut rows = Vec::new();
        for area in &tables.areas {
            let wanted = area.requirements.iter().filter(|own| own.level <= level);
            rows.extend(wanted.map(|own| Row::new(&area.title, own, run)));
        }
        let differs = rows.iter().filter_map(Row::deviation).collect();
        let proofs = rows.iter().flat_map(|row| &row.tests);
        let failed = proofs.filter(|proof| proof.outcome == Outcome::Failed);
        let mut failed: Vec<String> = failed.map(|proof| proof.test.clone()).collect();
        failed.sort();
        failed.dedup();
        let summary = tallies(&rows);
        Report { level, results: named, summary, deviations: differs, failed, requirements: rows }
    }
}

impl Row {
    fn new(area: &str, requirement: &Requirement, run: &Results) -> Self {
        let Requirement { id, level, keyword, text, tests, reason } = requirement.clone();
        let standing = match reason.as_ref().map(|reason| reason.kind) {
            _ if !tests.is_empty() => Standing::Shown,
            Some(Kind::Later) => Standing::Later,
            _ => Standing::Explained,
        };
        let proof = |test: String| Proof { outcome: run.of(&test), test };
        let tests = tests.into_iter().map(proof).collect();
        Row { id, area: area.to_owned(), level, keyword, text, standing, tests, reason }
    }

    fn deviation(&self) -> Option<Deviation> {
        let reason = self.reason.as_ref().filter(|reason| reason.kind == Kind::Differs)?;
        Some(Deviation { id: self.id.clone(), text: reason.text.clone() })
    }

    fn all_passed(&self) -> bool {
        !self.tests.is_empty() && self.tests.iter().all(|own| own.outcome == Outcome::Passed)
    }

    fn any_failed(&self) -> bool {
        self.tests.iter().any(|own| own.outcome == Outcome::Failed)
    }
}

/// A line for each level and keyword that occurs.
fn tallies(rows: &[Row]) -> Vec<Tally> {
    let kinds: std::collections::BTreeSet<(u8, Keyword)> =
        rows.iter().map(|row| (row.level, row.keyword)).collect();
    kinds.into_iter().map(|(level, keyword)| tally(rows, level, keyword)).collect()
}

fn tally(rows: &[Row], level: u8, keyword: Keyword) -> Tally {
    let count = |fits: &dyn Fn(&Row) -> bool| {
        let own = rows.iter().filter(|row| (row.level, row.keyword) == (level, keyword));
        own.filter(|row| fits(row)).count()
    };
    Tally {
        level,
        keyword,
        requirements: count(&|_| true),
        shown: count(&|row| row.standing == Standing::Shown),
        passed: count(&Row::all_passed),
        failed: count(&Row::any_failed),
        explained: count(&|row| row.standing == Standing::Explained),
        later: count(&|row| row.standing == Standing::Later),
    }
}
