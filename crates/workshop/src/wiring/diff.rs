//! The difference between two texts, line by line, for people to read.

use std::fmt::Write as _;

/// The lines shown around a change.
const CONTEXT: usize = 3;
/// The most lines that are compared; a longer file is shown as replaced where it differs.
const LINES_MAX: usize = 4_000;

/// The difference between two texts in the unified form, with the names of both sides.
pub fn unified(name: &str, before: Option<&str>, after: Option<&str>) -> String {
    let side = |text: Option<&str>, mark: &str| match text {
        Some(_) => format!("{mark}/{name}"),
        None => "/dev/null".to_owned(),
    };
    let mut out = format!("--- {}\n+++ {}\n", side(before, "a"), side(after, "b"));
    let old: Vec<&str> = before.unwrap_or_default().split_inclusive('\n').collect();
    let new: Vec<&str> = after.unwrap_or_default().split_inclusive('\n').collect();
    let lines = lines(&old, &new);
    for hunk in hunks(&lines) {
        let (from, to) = hunk;
        let place = |side: Side| {
            let counts = |line: &&Line<'_>| line.side.is_none() || line.side == Some(side);
            let start = lines[..from].iter().filter(counts).count();
            let count = lines[from..to].iter().filter(counts).count();
            (if count == 0 { start } else { start + 1 }, count)
        };
        let ((a, a_count), (b, b_count)) = (place(Side::Old), place(Side::New));
        // Writing to a string does not fail.
        let _ = writeln!(out, "@@ -{a},{a_count} +{b},{b_count} @@");
        for line in &lines[from..to] {
            let mark = match line.side {
                None => ' ',
                Some(Side::Old) => '-',
                Some(Side::New) => '+',
            };
            let _ = writeln!(out, "{mark}{}", line.text.trim_end_matches(['\n', '\r']));
        }
    }
    out
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Old,
    New,
}

struct Line<'t> {
    /// The side it is on; none for both.
    side: Option<Side>,
    text: &'t str,
}

/// The lines of both texts: those in both once, found by the longest common part.
fn lines<'t>(old: &[&'t str], new: &[&'t str]) -> Vec<Line<'t>> {
    let same_start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (&old[same_start..], &new[same_start..]);
    let same_end =
        old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let a = &old_rest[..old_rest.len() - same_end];
    let b = &new_rest[..new_rest.len() - same_end];
    let both = |text: &&'t str| Line { side: None, text };
    let mut lines: Vec<Line<'t>> = old[..same_start].iter().map(both).collect();
    lines.extend(changed(a, b));
    lines.extend(old_rest[old_rest.len() - same_end..].iter().map(both));
    lines
}

fn changed<'t>(a: &[&'t str], b: &[&'t str]) -> Vec<Line<'t>> {
    let mut lines = Vec::new();
    let (mut i, mut j) = (0, 0);
    // The length of the longest common part of what is left, from each pair of places.
    let width = b.len() + 1;
    let common = if a.len().saturating_mul(b.len()) > LINES_MAX * LINES_MAX {
        None
    } else {
        let mut table = vec![0_u32; (a.len() + 1) * width];
        for i in (0..a.len()).rev() {
            for j in (0..b.len()).rev() {
                table[i * width + j] = if a[i] == b[j] {
                    table[(i + 1) * width + j + 1] + 1
                } else {
                    table[(i + 1) * width + j].max(table[i * width + j + 1])
                };
            }
        }
        Some(table)
    };
    let at = |i: usize, j: usize| common.as_ref().map_or(0, |table| table[i * width + j]);
    while i < a.len() || j < b.len() {
        if i < a.len() && j < b.len() && common.is_some() && a[i] == b[j] {
            lines.push(Line { side: None, text: a[i] });
            (i, j) = (i + 1, j + 1);
        } else if i < a.len() && (j == b.len() || at(i + 1, j) >= at(i, j + 1)) {
            lines.push(Line { side: Some(Side::Old), text: a[i] });
            i += 1;
        } else {
            lines.push(Line { side: Some(Side::New), text: b[j] });
            j += 1;
        }
    }
    lines
}

/// The ranges of lines that are shown.
fn hunks(lines: &[Line<'_>]) -> Vec<(usize, usize)> {
    let mut hunks: Vec<(usize, usize)> = Vec::new();
    for (number, _) in lines.iter().enumerate().filter(|(_, line)| line.side.is_some()) {
        let (from, to) = (number.saturating_sub(CONTEXT), (number + CONTEXT + 1).min(lines.len()));
        match hunks.last_mut() {
            Some(last) if from <= last.1 => last.1 = to,
            _ => hunks.push((from, to)),
        }
    }
    hunks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_shown_with_what_is_around_them() {
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let after = "1\n2\n3\n4\nfive\n6\n7\n8\n9\n10\n";
        let shown = unified("f", Some(before), Some(after));
        assert!(shown.starts_with("--- a/f\n+++ b/f\n@@ -2,8 +2,9 @@\n 2\n"), "{shown}");
        assert!(shown.contains("\n-5\n+five\n"), "{shown}");
        assert!(shown.ends_with("+10\n"), "{shown}");
    }

    #[test]
    fn new_and_removed_files_have_one_side() {
        assert_eq!(
            unified("f", None, Some("a\n")),
            "--- /dev/null\n+++ b/f\n@@ -0,0 +1,1 @@\n+a\n"
        );
        assert_eq!(
            unified("f", Some("a\n"), None),
            "--- a/f\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a\n"
        );
    }
}
