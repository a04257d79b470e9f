//! Cells of the matrix that do not hold yet. Whoever makes one hold takes its line out.

use super::{DIALECTS, Dialect, Noun};

/// The noun, the dialects that act and see (none for all), and the reason.
type Line = (Noun, Option<&'static str>, Option<&'static str>, &'static str);

/// Two reasons are behind all of them: the authority of a workspace is no lease, and an assignment
/// is no workspace.
const NOT_YET: &[Line] = &[
    (Noun::Claim, Some("wacp"), None, AUTHORITY),
    (Noun::Claim, None, Some("wacp"), AUTHORITY),
    (Noun::Task, Some("wacp"), Some("native"), NEXT),
    (Noun::Task, Some("wacp"), Some("frugal"), AUTHORITY),
    (Noun::Task, Some("native"), Some("wacp"), TAKEN),
    (Noun::Task, Some("memory"), Some("wacp"), TAKEN),
    (Noun::Attempt, Some("native"), Some("wacp"), APART),
    (Noun::Attempt, Some("native"), Some("memory"), APART),
    (Noun::Attempt, Some("wacp"), Some("native"), NEXT),
    (Noun::Attempt, Some("wacp"), Some("memory"), APART),
    (Noun::Attempt, Some("memory"), Some("native"), "an assignment does not move its task"),
    (Noun::Attempt, Some("memory"), Some("wacp"), APART),
];

const APART: &str = "an assignment is not a workspace";
const AUTHORITY: &str = "the authority of a workspace is not a claim";
const NEXT: &str = "`next` gives out a task that a workspace works on";
const TAKEN: &str =
    "the authority of a workspace is not a claim, so a run can take a task that somebody works on";

/// Why a cell does not hold yet; none if it does.
pub(super) fn reason(noun: Noun, from: &Dialect, to: &Dialect) -> Option<&'static str> {
    let line = NOT_YET.iter().find(|line| is_about(line, noun, from, to));
    line.map(|(.., reason)| *reason)
}

fn is_about(line: &Line, noun: Noun, from: &Dialect, to: &Dialect) -> bool {
    let (own, acts, sees, _) = *line;
    let fits = |named: Option<&str>, name: &str| named.is_none_or(|named| named == name);
    own == noun && fits(acts, from.name) && fits(sees, to.name)
}

/// Whether these cells are to be tried too, to find out which of them hold by now. The page is not
/// compared then.
pub(super) fn everything() -> bool {
    std::env::var_os("ALTHING_MATRIX_ALL").is_some()
}

#[test]
fn every_line_names_a_cell_that_could_hold() {
    for line in NOT_YET {
        let (noun, acts, sees, why) = line;
        let could = |from: &Dialect, to: &Dialect| {
            is_about(line, *noun, from, to) && noun.reason(from, to).is_none()
        };
        let is_there = DIALECTS.iter().any(|from| DIALECTS.iter().any(|to| could(from, to)));
        assert!(is_there, "{noun:?} {acts:?} {sees:?}: {why}");
    }
}
