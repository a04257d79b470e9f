//! Output of the tasks.

use serde::Serialize;
use std::io::Write as _;

use crate::Error;

/// Prints a line.
pub(crate) fn line(text: &str) -> Result<(), Error> {
    Ok(writeln!(std::io::stdout().lock(), "{text}")?)
}

/// Tells whoever watches.
pub(crate) fn note(text: &str) {
    // If standard error is gone, nobody wants to know.
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Prints a value as JSON.
pub(crate) fn value<T: Serialize>(value: &T) -> Result<(), Error> {
    line(&serde_json::to_string(value)?)
}

/// Prints a table with aligned columns.
pub(crate) fn table(titles: &[&str], rows: &[Vec<String>]) -> Result<(), Error> {
    let width = |text: &str| text.chars().count();
    let titles: Vec<String> = titles.iter().map(|&title| title.to_owned()).collect();
    let all = || std::iter::once(&titles).chain(rows);
    let column = |at: usize| all().filter_map(|row| row.get(at)).map(|cell| width(cell)).max();
    let widths: Vec<usize> = (0..titles.len()).map(|at| column(at).unwrap_or(0)).collect();
    for row in all() {
        let cells = row.iter().zip(&widths);
        let cells = cells.map(|(cell, own)| format!("{cell}{}", " ".repeat(own - width(cell))));
        line(cells.collect::<Vec<_>>().join("  ").trim_end())?;
    }
    Ok(())
}
