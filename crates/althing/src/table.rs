//! Tables that fit the terminal: free text is cut with an ellipsis, ids and numbers never are.
//!
//! A table that is too wide even so is printed as one block per row, a line for each cell.

/// The fewest characters a column of free text keeps.
const TEXT_CHARS_MIN: usize = 10;
/// The space between two columns.
const GAP: usize = 2;

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column<'a> {
    title: &'a str,
    fit: Fit,
}

/// How a column gives way where the table would not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fit {
    Whole,
    /// Cut, and to no fewer characters than these.
    Cut(usize),
    LeftOut,
}

/// A column of free text, which is cut where the table would not fit.
pub(crate) fn free_text(title: &str) -> Column<'_> {
    Column { title, fit: Fit::Cut(TEXT_CHARS_MIN) }
}

/// A column of text by which people tell the rows apart: it keeps at least so many characters.
pub(crate) fn telling_text(title: &str, least: usize) -> Column<'_> {
    Column { title, fit: Fit::Cut(least) }
}

/// A column of ids, names, numbers or states, which are always shown whole.
pub(crate) fn whole(title: &str) -> Column<'_> {
    Column { title, fit: Fit::Whole }
}

/// A column of drawings without a title, which is left out where the table would not fit.
pub(crate) fn drawing() -> Column<'static> {
    Column { title: "", fit: Fit::LeftOut }
}

impl<'a> From<&'a str> for Column<'a> {
    fn from(title: &'a str) -> Self {
        whole(title)
    }
}

/// Lays a table out within a width: a line for the titles and one for each row, or blocks.
pub(crate) fn lay_out(columns: &[Column<'_>], rows: &[Vec<String>], width: usize) -> Layout {
    let natural = natural_widths(columns, rows);
    if let Some(widths) = fitted(columns, natural, width) {
        return in_lines(columns, rows, &widths);
    }
    // Drawings and columns that say nothing are the first to go.
    let says = |at: &usize| rows.iter().any(|row| !is_blank(&row[*at]));
    let kept = (0..columns.len()).filter(|at| columns[*at].fit != Fit::LeftOut && says(at));
    let kept: Vec<usize> = kept.collect();
    let columns: Vec<Column<'_>> = kept.iter().map(|at| columns[*at]).collect();
    let rows: Vec<Vec<String>> =
        rows.iter().map(|row| kept.iter().map(|at| row[*at].clone()).collect()).collect();
    match fitted(&columns, natural_widths(&columns, &rows), width) {
        Some(widths) => in_lines(&columns, &rows, &widths),
        None => Layout { head: None, lines: in_blocks(&columns, &rows, width) },
    }
}

/// The lines of a table.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// The line of titles; none where each cell stands beside its own.
    pub(crate) head: Option<String>,
    pub(crate) lines: Vec<String>,
}

/// Counts the characters a terminal shows, leaving out colour codes.
pub(crate) fn shown_width(text: &str) -> usize {
    let mut shown = 0;
    let mut in_code = false;
    for c in text.chars() {
        match c {
            '\u{1b}' => in_code = true,
            'm' if in_code => in_code = false,
            _ if !in_code => shown += 1,
            _ => {}
        }
    }
    shown
}

/// Cuts text to a width, with an ellipsis where something is missing. Colours end with the text.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if shown_width(text) <= width {
        return text.to_owned();
    }
    let (mut short, mut shown) = (String::new(), 0);
    let (mut in_code, mut coloured) = (false, false);
    for c in text.chars() {
        if c == '\u{1b}' {
            (in_code, coloured) = (true, true);
        }
        if !in_code {
            if shown + 1 >= width {
                break;
            }
            shown += 1;
        }
        short.push(c);
        in_code &= c != 'm';
    }
    short.truncate(short.trim_end().len());
    short.push('…');
    if coloured {
        short.push_str("\u{1b}[0m");
    }
    short
}

/// Breaks text into lines at its spaces. A word that is longer than a line stays whole, and so does
/// a command in backquotes that fits in a line.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut rest = Some(text);
    while let Some(text) = rest {
        let word;
        (word, rest) = first_word(text, width);
        let Some(line) = lines.last_mut() else { break };
        if line.is_empty() {
            line.push_str(word);
        } else if shown_width(line) + 1 + shown_width(word) <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

/// The first word of a text, and what follows the space after it.
fn first_word(text: &str, width: usize) -> (&str, Option<&str>) {
    let words = text.match_indices(' ').map(|(at, _)| at).chain([text.len()]);
    let mut ends = words.take_while(|at| shown_width(&text[..*at]) <= width);
    let is_closed = |at: &usize| text[..*at].matches('`').count().is_multiple_of(2);
    let end = ends.find(is_closed).or_else(|| text.find(' ')).unwrap_or(text.len());
    (&text[..end], text.get(end + 1..))
}

fn is_blank(cell: &str) -> bool {
    cell.is_empty() || cell == "-"
}

fn natural_widths(columns: &[Column<'_>], rows: &[Vec<String>]) -> Vec<usize> {
    let widest = |at: usize, title: &str| {
        let cells = rows.iter().map(|row| shown_width(&row[at]));
        cells.chain([shown_width(title)]).max().unwrap_or(0)
    };
    columns.iter().enumerate().map(|(at, column)| widest(at, column.title)).collect()
}

/// Takes width from the widest columns of free text until the table fits, if it can.
fn fitted(columns: &[Column<'_>], mut widths: Vec<usize>, width: usize) -> Option<Vec<usize>> {
    let least = |at: usize| match columns[at].fit {
        Fit::Cut(least) => least.max(shown_width(columns[at].title)),
        Fit::Whole | Fit::LeftOut => usize::MAX,
    };
    loop {
        let total: usize = widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1);
        let excess = total.saturating_sub(width);
        if excess == 0 {
            return Some(widths);
        }
        let may_shrink = |at: &usize| widths[*at] > least(*at);
        let widest = (0..widths.len()).filter(may_shrink).max_by_key(|at| widths[*at])?;
        // No further than the next widest, which then takes its part.
        let others = (0..widths.len()).filter(may_shrink).filter(|at| *at != widest);
        let next = others.map(|at| widths[at]).max().unwrap_or(0);
        let step = (widths[widest].saturating_sub(next)).max(1).min(excess);
        widths[widest] = widths[widest].saturating_sub(step).max(least(widest));
    }
}

fn in_lines(columns: &[Column<'_>], rows: &[Vec<String>], widths: &[usize]) -> Layout {
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let mut line = String::new();
        for (cell, width) in cells.zip(widths) {
            let cell = cut(cell, *width);
            line.push_str(&cell);
            line.push_str(&" ".repeat(width - shown_width(&cell) + GAP));
        }
        line.trim_end().to_owned()
    };
    Layout {
        head: Some(line(&mut columns.iter().map(|column| column.title))),
        lines: rows.iter().map(|row| line(&mut row.iter().map(String::as_str))).collect(),
    }
}

/// One block per row: each cell beside its title. Only free text is cut.
fn in_blocks(columns: &[Column<'_>], rows: &[Vec<String>], width: usize) -> Vec<String> {
    let titles = columns.iter().map(|column| shown_width(column.title)).max().unwrap_or(0);
    let mut lines = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        if at > 0 {
            lines.push(String::new());
        }
        for (column, cell) in columns.iter().zip(row).filter(|(_, cell)| !is_blank(cell)) {
            let room = width.saturating_sub(titles + GAP);
            let may_cut = matches!(column.fit, Fit::Cut(_));
            let cell = if may_cut { cut(cell, room) } else { cell.clone() };
            lines.push(format!("{:titles$}  {cell}", column.title));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(cells: &[&[&str]]) -> Vec<Vec<String>> {
        cells.iter().map(|row| row.iter().map(|cell| (*cell).to_owned()).collect()).collect()
    }

    #[test]
    fn a_table_that_fits_is_aligned_and_whole() {
        let laid =
            lay_out(&[whole("ID"), free_text("NAME")], &rows(&[&["a1", "one"], &["b", "two"]]), 80);
        assert_eq!(laid.head.as_deref(), Some("ID  NAME"));
        assert_eq!(laid.lines, ["a1  one", "b   two"]);
    }

    #[test]
    fn the_widest_text_is_cut_first_and_ids_never() {
        let (id, long, short) = ("0123456789", "x".repeat(60), "y".repeat(14));
        let columns = [whole("ID"), free_text("LONG"), free_text("SHORT")];
        let laid = lay_out(&columns, &rows(&[&[id, &long, &short]]), 50);
        let line = &laid.lines[0];
        assert_eq!(shown_width(line), 50, "{line}");
        assert!(line.starts_with(id) && line.ends_with(&short) && line.contains('…'), "{line}");
    }

    #[test]
    fn a_table_that_cannot_fit_becomes_blocks_with_whole_ids() {
        let (id, name) = ("i".repeat(30), "n".repeat(30));
        let columns = [whole("ID"), whole("NAME"), free_text("FOR"), free_text("NONE")];
        let laid = lay_out(&columns, &rows(&[&[&id, &name, &"z".repeat(90), ""]]), 50);
        assert_eq!(laid.head, None);
        let cut = format!("FOR   {}…", "z".repeat(43));
        assert_eq!(laid.lines, [format!("ID    {id}"), format!("NAME  {name}"), cut]);
    }

    #[test]
    fn an_empty_column_makes_room_for_the_others() {
        let columns = [whole("ID"), whole("EMPTY COLUMN"), whole("NAME")];
        let laid = lay_out(&columns, &rows(&[&["12345", "-", "abcdefgh"]]), 16);
        assert_eq!(laid.lines, ["12345  abcdefgh"]);
    }

    #[test]
    fn colours_take_no_room_and_end_where_text_is_cut() {
        let red = "\u{1b}[31mabcdef\u{1b}[0m";
        assert_eq!(shown_width(red), 6);
        assert_eq!(cut(red, 6), red);
        assert_eq!(cut(red, 4), "\u{1b}[31mabc…\u{1b}[0m");
    }

    #[test]
    fn text_is_wrapped_at_its_spaces() {
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("abcdefghijkl m", 5), ["abcdefghijkl", "m"]);
        assert_eq!(wrap("", 5), [""]);
        assert_eq!(wrap("a  b", 9), ["a  b"]);
    }

    #[test]
    fn a_command_is_not_broken_where_it_fits() {
        assert_eq!(wrap("see `gate list`; now", 12), ["see", "`gate list`;", "now"]);
        assert_eq!(wrap("see `gate list`", 8), ["see", "`gate", "list`"]);
        assert_eq!(wrap("a ` is no command", 9), ["a ` is no", "command"]);
    }

    #[test]
    fn text_that_tells_rows_apart_keeps_its_least_or_stands_in_blocks() {
        let text = "x".repeat(30);
        let laid = |width| {
            let columns = [whole("ID"), telling_text("WHAT", 20)];
            lay_out(&columns, &rows(&[&["0123456789", &text]]), width)
        };
        assert_eq!(laid(32).lines, [format!("0123456789  {}…", "x".repeat(19))]);
        let what = format!("WHAT  {}…", "x".repeat(24));
        assert_eq!(laid(31).lines, ["ID    0123456789", &what]);
    }
}
