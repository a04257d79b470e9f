//! States side by side in time: one line for each thing, one character for a piece of time.

/// The data of one line: its states with their beginnings, and the times of its marks.
pub(crate) struct Line<'a> {
    pub(crate) steps: Vec<(u64, &'a str)>,
    pub(crate) marks: Vec<u64>,
}

/// How states are drawn, the same everywhere.
pub(crate) const SIGNS: &[(&str, char)] = &[
    ("idle", '·'),
    ("active", '█'),
    ("blocked", '▒'),
    ("suspended", '░'),
    ("migrating", '»'),
    ("integrating", '▓'),
    ("conflicted", '!'),
    ("closed", '✓'),
    ("failed", '✗'),
];

/// The sign of a mark.
pub(crate) const MARK: char = '◆';

fn sign(state: &str) -> char {
    // A state of another version is still some state.
    SIGNS.iter().find(|(own, _)| *own == state).map_or('?', |(_, sign)| *sign)
}

fn is_end(state: &str) -> bool {
    matches!(state, "closed" | "failed")
}

/// Draws a line of `width` characters for the time from `from` to `to`.
pub(crate) fn draw(line: &Line<'_>, from: u64, to: u64, width: u64) -> String {
    let length = u128::from(to.saturating_sub(from).max(1));
    let edge = |column: u64| {
        let part = length * u128::from(column) / u128::from(width.max(1));
        from + u64::try_from(part).unwrap_or(u64::MAX)
    };
    let columns = (0..width).map(|column| {
        let last = column + 1 == width;
        piece(line, edge(column), if last { to.saturating_add(1) } else { edge(column + 1) })
    });
    columns.collect::<String>().trim_end().to_owned()
}

/// The sign of a piece of time: its end if it is in it, a mark, or the state that took
/// most of it.
fn piece(line: &Line<'_>, from: u64, to: u64) -> char {
    let within = |at: u64| from <= at && at < to;
    let ended = line.steps.iter().find(|(_, state)| is_end(state));
    match ended {
        Some((at, state)) if within(*at) => return sign(state),
        Some((at, _)) if *at < from => return ' ',
        _ => {}
    }
    if line.marks.iter().any(|at| within(*at)) {
        return MARK;
    }
    let spent = |n: usize| {
        let (start, state) = line.steps[n];
        let end = line.steps.get(n + 1).map_or(u64::MAX, |(at, _)| *at);
        (end.min(to).saturating_sub(start.max(from)), state)
    };
    let most = (0..line.steps.len()).map(spent).max_by_key(|(time, _)| *time);
    most.filter(|(time, _)| *time > 0).map_or(' ', |(_, state)| sign(state))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_shows_what_took_most_of_the_time_and_never_loses_its_end() {
        let steps = vec![(20, "idle"), (40, "active"), (60, "blocked"), (61, "active")];
        let line = Line { steps, marks: vec![75] };
        assert_eq!(draw(&line, 0, 100, 10), "  ··███◆██");
        let steps = vec![(0, "active"), (50, "closed")];
        assert_eq!(draw(&Line { steps, marks: Vec::new() }, 0, 100, 10), "█████✓");
        let steps = vec![(0, "active"), (100, "failed")];
        assert_eq!(draw(&Line { steps, marks: Vec::new() }, 0, 100, 4), "███✗");
        let steps = vec![(7, "closed")];
        assert_eq!(draw(&Line { steps, marks: Vec::new() }, 7, 7, 3), "  ✓", "no time at all");
    }
}
