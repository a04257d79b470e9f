//! The report: each requirement up to a level with what shows it and how that went, and how many
//! there are of each.

use serde::{Deserialize, Serialize};

use super::results::{Outcome, Results};

/// A requirement, as `docs/conformance.json` has it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Requirement {
    pub(crate) id: String,
    pub(crate) area: String,
    pub(crate) level: u8,
    pub(crate) keyword: String,
    pub(crate) text: String,
    pub(crate) tests: Vec<String>,
    pub(crate) reason: Option<Reason>,
}

/// Why there is no test, or what is done otherwise: `later`, `differs` or `outside`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reason {
    pub(crate) kind: String,
    pub(crate) text: String,
}

/// How a requirement stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Standing {
    /// Tests show it.
    Shown,
    /// No test shows it, and it is said why there is none.
    Explained,
    /// Not implemented yet.
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
    pub(crate) keyword: String,
    pub(crate) text: String,
    pub(crate) standing: Standing,
    pub(crate) tests: Vec<Proof>,
    pub(crate) reason: Option<Reason>,
}

/// How many requirements of a level and keyword there are, and how they stand.
#[derive(Debug, Serialize)]
pub(crate) struct Tally {
    pub(crate) level: u8,
    pub(crate) keyword: String,
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
    /// Joins the table with the results of a run, named for the reader.
    pub(crate) fn new(
        table: Vec<Requirement>,
        level: u8,
        named: Option<String>,
        run: &Results,
    ) -> Self {
        let wanted = table.into_iter().filter(|own| own.level <= level);
        let rows: Vec<Row> = wanted.map(|own| Row::new(own, run)).collect();
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
    fn new(requirement: Requirement, run: &Results) -> Self {
        let Requirement { id, area, level, keyword, text, tests, reason } = requirement;
        let standing = match reason.as_ref().map(|reason| reason.kind.as_str()) {
            _ if !tests.is_empty() => Standing::Shown,
            Some("later") => Standing::Later,
            _ => Standing::Explained,
        };
        let proof = |test: String| Proof { outcome: run.of(&test), test };
        let tests = tests.into_iter().map(proof).collect();
        Row { id, area, level, keyword, text, standing, tests, reason }
    }

    fn deviation(&self) -> Option<Deviation> {
        let reason = self.reason.as_ref().filter(|reason| reason.kind == "differs")?;
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
    // The order in which the protocol names them.
    let keywords = ["MUST", "SHOULD", "MAY", "NOTE"];
    let kinds = (1..=3).flat_map(|level| keywords.map(|keyword| (level, keyword)));
    let tallies = kinds.map(|(level, keyword)| tally(rows, level, keyword));
    tallies.filter(|tally| tally.requirements > 0).collect()
}

fn tally(rows: &[Row], level: u8, keyword: &str) -> Tally {
    let count = |fits: &dyn Fn(&Row) -> bool| {
        let own = rows.iter().filter(|row| (row.level, row.keyword.as_str()) == (level, keyword));
        own.filter(|row| fits(row)).count()
    };
    Tally {
        level,
        keyword: keyword.to_owned(),
        requirements: count(&|_| true),
        shown: count(&|row| row.standing == Standing::Shown),
        passed: count(&Row::all_passed),
        failed: count(&Row::any_failed),
        explained: count(&|row| row.standing == Standing::Explained),
        later: count(&|row| row.standing == Standing::Later),
    }
}
