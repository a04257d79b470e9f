//! Reads the results of tests from the output of `cargo test`.

use serde::Serialize;
use std::collections::BTreeMap;

/// How a test came out, the worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    NotRun,
    Ignored,
    Passed,
    Failed,
}

impl Outcome {
    /// The word for people.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Outcome::NotRun => "not run",
            Outcome::Ignored => "ignored",
            Outcome::Passed => "ok",
            Outcome::Failed => "FAILED",
        }
    }
}

/// The tests of a run.
#[derive(Debug, Default)]
pub(crate) struct Results(BTreeMap<String, Outcome>);

impl Results {
    /// Reads what was printed. Cargo names each test binary before it runs it; lines that tell
    /// neither a binary nor the outcome of a test say nothing here.
    pub(crate) fn read(text: &str) -> Self {
        let mut results = Results::default();
        let mut binary = String::new();
        for line in text.lines() {
            let line = plain(line);
            if let Some(name) = binary_of(&line) {
                name.clone_into(&mut binary);
            } else if let Some((test, outcome)) = outcome_of(&line) {
                results.add(format!("{binary}::{test}"), outcome);
            }
        }
        results
    }

    /// How a test came out; the worst, if it ran more than once.
    pub(crate) fn of(&self, test: &str) -> Outcome {
        self.0.get(test).copied().unwrap_or(Outcome::NotRun)
    }

    fn add(&mut self, test: String, outcome: Outcome) {
        let known = self.0.entry(test).or_insert(outcome);
        *known = outcome.max(*known);
    }
}

/// A line without the colours a terminal was meant to show.
fn plain(line: &str) -> String {
    let mut pieces = line.split("\u{1b}[");
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let code_ends = |c: char| !c.is_ascii_digit() && c != ';';
        let shown = piece.split_once(code_ends).map_or("", |(_, shown)| shown);
        text.push_str(shown);
    }
    text
}

/// The test binary a line announces: `Running … (target/debug/deps/NAME-hash)`. Examples in
/// documents are announced otherwise and get a name that no binary has.
fn binary_of(line: &str) -> Option<&str> {
    let line = line.trim();
    if line.starts_with("Doc-tests ") {
        return Some("doc-tests");
    }
    let (_, path) = line.strip_prefix("Running ")?.strip_suffix(')')?.rsplit_once('(')?;
    let file = path.rsplit(['/', '\\']).next()?;
    let (name, _hash) = file.strip_suffix(".exe").unwrap_or(file).rsplit_once('-')?;
    Some(name)
}

/// The outcome a line tells: `test PATH ... ok`, perhaps with more behind it.
fn outcome_of(line: &str) -> Option<(&str, Outcome)> {
    let (name, rest) = line.strip_prefix("test ")?.split_once(" ... ")?;
    let outcome = match rest.split([' ', ',']).next()? {
        "ok" => Outcome::Passed,
        "FAILED" => Outcome::Failed,
        "ignored" => Outcome::Ignored,
        _ => return None,
    };
    Some((name.strip_suffix(" - should panic").unwrap_or(name), outcome))
}
