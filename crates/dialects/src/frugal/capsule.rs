//! Capsules: summaries of work done, in at most ten lines.

use std::fmt::Write as _;

/// The content of a capsule.
#[derive(Clone, Copy, Debug, Default)]
pub struct CapsuleText<'a> {
    /// Its id.
    pub id: &'a str,
    /// Capsules it builds on.
    pub depends: &'a [String],
    /// Time of writing.
    pub ts: &'a str,
    /// The change.
    pub what: &'a str,
    /// Place of the change.
    pub place: Option<&'a str>,
    /// The decision taken.
    pub decision: Option<&'a str>,
    /// A pitfall to know of.
    pub gotcha: Option<&'a str>,
}

/// The prefixes of a capsule's lines, with the field names of `capsule.write`.
pub const FIELDS: [(&str, &str); 4] =
    [("WHAT: ", "what"), ("WHERE: ", "where"), ("DECISION: ", "decision"), ("GOTCHA: ", "gotcha")];

/// Whether a line looks like the beginning of a field, or like a marked line.
fn is_like_a_field(line: &str) -> bool {
    let line = line.trim_start_matches('\\');
    FIELDS.iter().any(|(mark, _)| line.starts_with(mark.trim_end()))
}

/// A value whose later lines are marked where they look like fields.
fn value(text: &str) -> String {
    let mut lines = text.split('\n');
    let mut shown = lines.next().unwrap_or_default().to_owned();
    for line in lines {
        shown += if is_like_a_field(line) { "\n\\" } else { "\n" };
        shown += line;
    }
    shown
}

/// Removes the mark from a later line of a value.
pub fn unmarked(line: &str) -> &str {
    line.strip_prefix('\\').filter(|rest| is_like_a_field(rest)).unwrap_or(line)
}

/// The text of a capsule's file.
pub fn render(content: &CapsuleText<'_>) -> String {
    let CapsuleText { id, depends, ts, what, .. } = content;
    let mut text = format!("---\nid: {id}\ndepends: {}\nts: {ts}\n---\n", depends.join(","));
    let all = [Some(*what), content.place, content.decision, content.gotcha];
    for ((mark, _), own) in FIELDS.into_iter().zip(all) {
        if let Some(own) = own {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{mark}{}", value(own));
        }
    }
    text
}
