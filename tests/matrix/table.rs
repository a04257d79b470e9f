//! The page of the matrix, made from the same values as the tests.

use super::{DIALECTS, Dialect, Noun};
use std::fmt::Write as _;

/// A cell that a test shows.
const HOLDS: &str = "seen and enforced";

/// The page, below `docs`.
const PAGE: &str = "reference/matrix.md";

const HEAD: &str = "\
# Who sees what

What is done through the door of one protocol is seen through the doors of the others, and binds there: each
noun is stored once. A row names the noun and the protocol that acts, a column the protocol that looks and is
bound. Every cell that says *seen and enforced* is shown by a test with the real program: one agent acts
through the first door, another one looks and is refused through the second.

| Noun | Seen is | Enforced is |
|---|---|---|
| claim | who holds which files | a claim that overlaps is refused and names the holder |
| task | whether it is open, worked on or done | nobody takes it a second time |
| attempt | who works on a task, and how far they are | its agent moves it, nobody else does |
| message | it lies in the one inbox of its receiver | taken once, it waits nowhere any more |
| record | a decision and a fact, and the door they came through | a fact forgotten is forgotten everywhere |
| agent | who is there, and whose host is gone | a name without its key is refused |

This page is generated.

";

/// The page's text.
fn page() -> String {
    let mut text = HEAD.to_owned();
    let columns: Vec<&str> = DIALECTS.iter().map(|own| own.name).collect();
    writeln!(text, "| Noun | Done in | seen in {} |", columns.join(" | seen in ")).unwrap();
    writeln!(text, "|---|---|{}", "---|".repeat(columns.len())).unwrap();
    for noun in Noun::ALL {
        for from in DIALECTS {
            let cells: Vec<String> = DIALECTS.iter().map(|to| cell(noun, from, to)).collect();
            writeln!(text, "| {} | {} | {} |", noun.name(), from.name, cells.join(" | ")).unwrap();
        }
    }
    text
}

fn cell(noun: Noun, from: &Dialect, to: &Dialect) -> String {
    noun.reason(from, to).unwrap_or(HOLDS).to_owned()
}

/// Compares the cells that were tried with those that the committed page says hold.
#[track_caller]
pub(super) fn agrees(noun: Noun, tried: &[(&str, &str)]) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(PAGE);
    let page = std::fs::read_to_string(path).unwrap_or_default();
    for from in DIALECTS {
        let head = format!("| {} | {} | ", noun.name(), from.name);
        let row = page.lines().find_map(|line| line.strip_prefix(&head));
        let row = row.unwrap_or_else(|| panic!("docs/{PAGE} has no row {head}; bless it"));
        let cells: Vec<&str> = row.trim_end_matches(" |").split(" | ").collect();
        assert_eq!(cells.len(), DIALECTS.len(), "{row}");
        for (to, output) in DIALECTS.iter().zip(cells) {
            let holds = tried.contains(&(from.name, to.name));
            assert_eq!(output == HOLDS, holds, "docs/{PAGE}: {head}{}: {output}", to.name);
        }
    }
}

#[test]
fn the_page_of_the_matrix_is_current() {
    crate::docs::assert_current(PAGE, &page());
}

/// A cell says that it holds, or why not in a few words.
#[test]
fn no_cell_is_empty_without_a_reason() {
    for noun in Noun::ALL {
        for from in DIALECTS {
            for to in DIALECTS {
                let output = cell(noun, from, to);
                let words = output.split_whitespace().count();
                assert!(words >= 3 && !output.contains('|'), "{noun:?} {}: {output:?}", from.name);
            }
        }
    }
}
