//! Printing: data on standard output, everything else on standard error.

use althing_kernel::query::Collision;
use althing_kernel::refusal::Details;
use althing_kernel::{Span, Timestamp};
use serde::Serialize;
use serde_json::json;
use std::io::{IsTerminal as _, Write};
use std::process::ExitCode;

use crate::failure::{Failure, exit_code};
use crate::span::show_secs;

/// Where and how to print.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Out {
    /// Whether scripts read it.
    pub(crate) json: bool,
    colour: bool,
    /// Whether lines end at the edge of a terminal.
    pub(crate) narrow: bool,
}

/// What a piece of text is, for those who see colours.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Tone {
    Good,
    Bad,
    Warn,
    Busy,
    Strong,
    Faint,
}

impl Out {
    pub(crate) fn new(json: bool) -> Self {
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let narrow = std::io::stdout().is_terminal();
        Out { json, colour: !json && !plain && narrow, narrow }
    }

    /// Whether a person watches and progress can be shown.
    pub(crate) fn is_watched(self) -> bool {
        !self.json && std::io::stderr().is_terminal()
    }

    pub(crate) fn paint(self, tone: Tone, text: &str) -> String {
        let code = match tone {
            Tone::Good => "32",
            Tone::Bad => "31",
            Tone::Warn => "33",
            Tone::Busy => "36",
            Tone::Strong => "1",
            Tone::Faint => "2",
        };
        if self.colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    /// Prints a line of data.
    #[expect(clippy::unused_self, reason = "where to print is this type's business")]
    pub(crate) fn line(self, text: impl AsRef<str>) -> Result<(), Failure> {
        written(writeln!(std::io::stdout().lock(), "{}", text.as_ref()))
    }

    /// Prints a value as JSON: one document, readable for people on a terminal.
    pub(crate) fn value<T: Serialize>(self, value: &T) -> Result<(), Failure> {
        let text = if std::io::stdout().is_terminal() {
            serde_json::to_string_pretty(value)
        } else {
            serde_json::to_string(value)
        };
        self.line(text.map_err(|error| Failure::unavailable(error.to_string()))?)
    }

    /// Says something to whoever watches.
    pub(crate) fn note(self, text: impl AsRef<str>) {
        if !self.json {
            // If standard error is gone, nobody wants to know.
            let _ = writeln!(std::io::stderr().lock(), "{}", text.as_ref());
        }
    }

    /// Prints a table with aligned columns.
    pub(crate) fn table(self, titles: &[&str], rows: &[Vec<String>]) -> Result<(), Failure> {
        let width = |text: &str| text.chars().count();
        let rows: Vec<Vec<String>> =
            rows.iter().map(|row| row.iter().map(|cell| one_line(cell)).collect()).collect();
        let mut widths: Vec<usize> = titles.iter().map(|title| width(title)).collect();
        for row in &rows {
            for (at, cell) in row.iter().enumerate() {
                widths[at] = widths[at].max(width(cell));
            }
        }
        let print = |cells: Vec<&str>| {
            let mut line = String::new();
            for (at, cell) in cells.iter().enumerate() {
                line.push_str(cell);
                if at + 1 < cells.len() {
                    line.push_str(&" ".repeat(widths[at] - width(cell) + 2));
                }
            }
            line.trim_end().to_owned()
        };
        self.line(self.paint(Tone::Faint, &print(titles.to_vec())))?;
        for row in &rows {
            self.line(print(row.iter().map(String::as_str).collect()))?;
        }
        Ok(())
    }

    /// Reports what went wrong and returns the exit code for it.
    pub(crate) fn report(self, failure: &Failure) -> ExitCode {
        if is_broken_pipe(failure) {
            return ExitCode::SUCCESS;
        }
        if self.json {
            // If this cannot be printed either, the exit code still tells.
            let _ = self.line(json!({ "error": failure.object() }).to_string());
        } else {
            // A refusal quotes others; our own messages may need more than one line.
            let message = match failure.refusal() {
                Some(_) => one_line(failure.message()),
                None => failure.message().split('\n').map(one_line).collect::<Vec<_>>().join("\n"),
            };
            let mut lines = vec![format!("error: {message} [{}]", failure.rule())];
            match failure.refusal().map(|refusal| &refusal.details) {
                Some(Details::Collisions(collisions)) => lines.extend(
                    collisions.iter().map(|collision| format!("  {}", describe(collision))),
                ),
                Some(Details::Allowed(allowed)) if !allowed.is_empty() => {
                    lines.push(format!("  allowed: {}", one_line(&allowed.join(", "))));
                }
                _ => {}
            }
            lines.push(format!("  {}", failure.way_out()));
            self.note(lines.join("\n"));
        }
        ExitCode::from(exit_code(failure.kind()))
    }
}

/// Whether the reader of standard output went away, which is no failure of ours.
fn is_broken_pipe(failure: &Failure) -> bool {
    let cause = std::error::Error::source(failure);
    let cause = cause.and_then(|cause| cause.downcast_ref::<std::io::Error>());
    cause.is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

/// What became of writing to standard output.
pub(crate) fn written(result: std::io::Result<()>) -> Result<(), Failure> {
    result.map_err(|error| Failure::unavailable(format!("cannot print: {error}")).caused_by(error))
}

/// A collision in words.
pub(crate) fn describe(collision: &Collision) -> String {
    let Collision { lease, holder, surface, example, expires_at, purpose, .. } = collision;
    let purpose = purpose.as_ref().map_or_else(String::new, |text| format!(", for {text:?}"));
    let example = if example == "." { "everything" } else { example };
    let until = clock_time(*expires_at);
    let text =
        format!("{holder} holds {surface} until {until}{purpose} ({lease}; both cover {example})");
    one_line(&text)
}

/// Somebody's text on one line of ours: what would begin another line, move the cursor or turn
/// the direction of writing is spelled out.
pub(crate) fn one_line(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() || is_unseen(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Characters that show nothing themselves but change how others are shown.
fn is_unseen(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// A number of things.
pub(crate) fn counted(number: u64, one: &str, more: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { more })
}

/// A moment in local time.
pub(crate) fn clock_time(at: Timestamp) -> String {
    let moment =
        i64::try_from(at.micros()).ok().and_then(|m| jiff::Timestamp::from_microsecond(m).ok());
    match moment {
        Some(moment) => {
            moment.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string()
        }
        None => format!("{} µs", at.micros()),
    }
}

/// How far away a moment is.
pub(crate) fn from_now(at: Timestamp, now: Timestamp) -> String {
    let ahead = at.since(now);
    if ahead > Span::default() {
        format!("in {}", show_secs(ahead.secs()))
    } else {
        format!("{} ago", show_secs(now.since(at).secs()))
    }
}

/// A length of time, however short.
pub(crate) fn show_span(span: Span) -> String {
    match span.micros() {
        0 => "0s".to_owned(),
        micros @ 1..1_000 => format!("{micros}µs"),
        micros @ 1_000..1_000_000 => format!("{}ms", micros / 1_000),
        _ => show_secs(span.secs()),
    }
}

/// A number of bytes.
pub(crate) fn show_bytes(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut scaled = bytes;
    let mut unit = 0;
    while scaled >= 10_240 && unit + 1 < units.len() {
        scaled /= 1024;
        unit += 1;
    }
    format!("{scaled} {}", units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_text_cannot_forge_lines_of_ours() {
        for (text, shown) in [
            ("plain é", "plain é"),
            ("a\nerror: b", "a\\nerror: b"),
            ("\t\u{1b}[2J", "\\t\\u{1b}[2J"),
            ("\u{202e}cod.exe", "\\u{202e}cod.exe"),
        ] {
            assert_eq!(one_line(text), shown);
        }
    }

    #[test]
    fn numbers_agree_with_what_they_count() {
        assert_eq!(counted(1, "entry", "entries"), "1 entry");
        assert_eq!(counted(2, "entry", "entries"), "2 entries");
    }
}
