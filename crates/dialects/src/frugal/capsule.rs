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

/// The names that begin a line of a capsule, with what `capsule.write` calls each.
pub const FIELDS: [(&str, &str); 4] =
    [("WHAT: ", "what"), ("WHERE: ", "where"), ("DECISION: ", "decision"), ("GOTCHA: ", "gotcha")];

/// Whether a line would be taken for the beginning of a field, or is marked as being none.
fn is_like_a_field(line: &str) -> bool {
    let line = line.trim_start_matches('\\');
    FIELDS.iter().any(|(mark, _)| line.starts_with(mark.trim_end()))
}

/// A value with its later lines marked where they look like fields.
fn value(text: &str) -> String {
    let mut lines = text.split('\n');
    let mut shown = lines.next().unwrap_or_default().to_owned();
    for line in lines {
        shown += if is_like_a_field(line) { "\n\\" } else { "\n" };
        shown += line;
    }
    shown
}

/// A later line of a value, as it was before it was marked.
pub fn unmarked(line: &str) -> &str {
    line.strip_prefix('\\').filter(|rest| is_like_a_field(rest)).unwrap_or(line)
}

/// The capsule as the file people read.
pub fn render(said: &Said<'_>) -> String {
    let Said { id, depends, ts, what, .. } = said;
    let mut text = format!("---\nid: {id}\ndepends: {}\nts: {ts}\n---\n", depends.join(","));
    let all = [Some(*what), said.place, said.decision, said.gotcha];
    for ((mark, _), own) in FIELDS.into_iter().zip(all) {
        if let Some(own) = own {
            // Writing to a string does not fail.
            let _ = writeln!(text, "{mark}{}", value(own));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frugal::planning::read_capsule;

    #[test]
    fn whatever_is_in_a_capsule_is_read_back() {
        for what in ["x", "x\nGOTCHA: y", "x\n\\GOTCHA: y", "x\n\\\\WHAT:", "GOTCHA: x\n---\n\\y"] {
            let text =
                render(&Said { id: "w1", ts: "t", what, gotcha: Some("g"), ..Said::default() });
            let read = read_capsule(&text).unwrap();
            assert_eq!((read["what"].as_str(), read["gotcha"].as_str()), (Some(what), Some("g")));
        }
    }
}
