//! Capsules: what was done, in at most ten lines.

use std::fmt::Write as _;

/// What a capsule says.
#[derive(Clone, Copy, Debug, Default)]
pub struct Said<'a> {
    /// Its id.
    pub id: &'a str,
    /// What it builds on.
    pub depends: &'a [String],
    /// When it was written.
    pub ts: &'a str,
    /// What changed.
    pub what: &'a str,
    /// Where.
    pub place: Option<&'a str>,
    /// What was decided.
    pub decision: Option<&'a str>,
    /// What to watch out for.
    pub gotcha: Option<&'a str>,
}

/// The capsule as the file people read.
pub fn render(said: &Said<'_>) -> String {
    let Said { id, depends, ts, what, .. } = said;
    let mut text =
        format!("---\nid: {id}\ndepends: {}\nts: {ts}\n---\nWHAT: {what}\n", depends.join(","));
    let rest = [("WHERE", said.place), ("DECISION", said.decision), ("GOTCHA", said.gotcha)];
    for (name, value) in rest {
        if let Some(value) = value {
            // Writing to a string does not fail.
            let _ = writeln!(text, "{name}: {value}");
        }
    }
    text
}
