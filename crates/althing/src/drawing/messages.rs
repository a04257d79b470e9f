//! Messages between lines that stand for those who send them, one a row, in order.

/// One message: who to whom, by number of the column, and what stands on the arrow.
pub(crate) struct Arrow {
    pub(crate) from: usize,
    pub(crate) to: Option<usize>,
    pub(crate) label: String,
    pub(crate) lost: bool,
}

/// How wide a column is.
const WIDTH: usize = 16;

/// How wide a drawing with this many lines is.
pub(crate) fn width(columns: usize) -> usize {
    columns * WIDTH
}

fn centre(column: usize) -> usize {
    column * WIDTH + WIDTH / 2
}

fn put(row: &mut [char], at: usize, text: &str) {
    for (place, c) in row.iter_mut().skip(at).zip(text.chars()) {
        *place = c;
    }
}

fn finished(row: &[char]) -> String {
    row.iter().collect::<String>().trim_end().to_owned()
}

/// The names above the lines.
pub(crate) fn heading(names: &[String]) -> String {
    let mut row = vec![' '; names.len() * WIDTH];
    for (column, name) in names.iter().enumerate() {
        let name: String = name.chars().take(WIDTH - 2).collect();
        put(&mut row, centre(column) - name.chars().count() / 2, &name);
    }
    finished(&row)
}

/// The row of a message among this many lines.
pub(crate) fn row(columns: usize, arrow: &Arrow) -> String {
    let mut row = vec![' '; columns * WIDTH];
    for column in 0..columns {
        row[centre(column)] = '│';
    }
    let from = centre(arrow.from);
    let Some(to) = arrow.to.filter(|to| *to != arrow.from).map(centre) else {
        put(&mut row, from, "●");
        let label: String = arrow.label.chars().take(WIDTH - 3).collect();
        put(&mut row, from + 2, &label);
        return finished(&row);
    };
    let (left, right) = (from.min(to), from.max(to));
    row[left + 1..right].fill('─');
    row[from] = if from < to { '├' } else { '┤' };
    let head = match (arrow.lost, from < to) {
        (true, _) => '✗',
        (false, true) => '▶',
        (false, false) => '◀',
    };
    row[if from < to { right - 1 } else { left + 1 }] = head;
    let label: String = arrow.label.chars().take(right - left - 5).collect();
    let label = format!(" {label} ");
    put(&mut row, left + (right - left) / 2 - label.chars().count() / 2, &label);
    finished(&row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrows_lead_from_one_line_to_another() {
        let arrow = |from, to, lost| Arrow { from, to, label: "query".to_owned(), lost };
        assert_eq!(row(2, &arrow(0, Some(1), false)), "        ├──── query ───▶│");
        assert_eq!(row(2, &arrow(1, Some(0), false)), "        │◀─── query ────┤");
        assert_eq!(row(2, &arrow(0, Some(1), true)), "        ├──── query ───✗│");
        assert_eq!(row(2, &arrow(0, None, false)), "        ● query         │");
        let far = row(3, &arrow(0, Some(2), false));
        assert!(far.starts_with("        ├─") && far.ends_with("─▶│"), "{far}");
        assert_eq!(heading(&["root".to_owned(), "bob".to_owned()]), "      root             bob");
    }

    #[test]
    fn long_labels_leave_the_arrow_in_sight() {
        let arrow = Arrow { from: 0, to: Some(1), label: "x".repeat(60), lost: false };
        let drawn = row(2, &arrow);
        assert!(drawn.contains('├') && drawn.contains('▶'), "{drawn}");
    }
}
