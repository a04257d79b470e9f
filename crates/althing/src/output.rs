//! Printing: data on standard output, everything else on standard error.

use althing_dialects::memory::moment;
use althing_engine::{Clock as _, SystemClock};
use althing_kernel::query::Collision;
use althing_kernel::refusal::Details;
use althing_kernel::{Span, Timestamp};
use serde::Serialize;
use serde_json::json;
use std::io::IsTerminal as _;
use std::process::ExitCode;

use crate::error::{Error, exit_code};
use crate::naming;
use crate::screen;
use crate::screen::written;
use crate::span::show_secs;
use crate::table::{self, Column};

/// Where and how to print.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Out {
    /// Whether scripts read it.
    pub(crate) json: bool,
    colour: bool,
    /// How many characters fit in a line.
    pub(crate) width: usize,
    /// Where tables and lines are cut. A pipe gets them whole: programs and pagers come after it.
    pub(crate) cut_at: usize,
}

/// The width of a line where no terminal says otherwise.
const WIDTH: usize = 80;
/// The least room that text is wrapped in.
const WRAP_CHARS_MIN: usize = 20;
/// How far a line is indented that goes on with the one above.
const HANG: usize = 4;

/// The meaning of a piece of text, shown as a colour.
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
        let colour = !json && !plain && std::io::stdout().is_terminal();
        let known = known_width();
        // A terminal that does not say how wide it is gets the usual width; a pipe gets whole lines.
        let unsaid = if std::io::stdout().is_terminal() { WIDTH } else { usize::MAX };
        Out { json, colour, width: known.unwrap_or(WIDTH), cut_at: known.unwrap_or(unsaid) }
    }

    /// Whether lines go to a terminal, where pictures can be redrawn.
    pub(crate) fn draws(self) -> bool {
        !self.json && std::io::stdout().is_terminal()
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
    pub(crate) fn line(self, text: impl AsRef<str>) -> Result<(), Error> {
        written(screen::line(text.as_ref()))
    }

    /// Prints a value as JSON: one document, readable for people on a terminal.
    pub(crate) fn value<T: Serialize>(self, value: &T) -> Result<(), Error> {
        let text = if std::io::stdout().is_terminal() {
            serde_json::to_string_pretty(value)
        } else {
            serde_json::to_string(value)
        };
        self.line(text.map_err(|error| Error::unavailable(error.to_string()))?)
    }

    /// Prints a note for people on standard error.
    pub(crate) fn note(self, text: impl AsRef<str>) {
        if !self.json {
            // If standard error is gone, nobody wants to know.
            let _ = screen::note(text.as_ref());
        }
    }

    /// Prints a table with aligned columns that fits the width there is.
    pub(crate) fn table<'a, C: Copy + Into<Column<'a>>>(
        self,
        columns: &[C],
        rows: &[Vec<String>],
    ) -> Result<(), Error> {
        let columns: Vec<Column<'a>> = columns.iter().map(|column| (*column).into()).collect();
        let rows: Vec<Vec<String>> =
            rows.iter().map(|row| row.iter().map(|cell| one_line(cell)).collect()).collect();
        let laid = table::lay_out(&columns, &rows, self.cut_at);
        if let Some(head) = &laid.head {
            self.line(self.paint(Tone::Faint, head))?;
        }
        laid.lines.iter().try_for_each(|line| self.line(line))
    }

    /// Prints a sentence about things, which go by their short ids.
    pub(crate) fn say(self, text: &str) -> Result<(), Error> {
        self.line(naming::short_ids(text))
    }

    /// Prints a line of data, cut where it would not fit.
    pub(crate) fn cut_line(self, text: impl AsRef<str>) -> Result<(), Error> {
        self.line(table::cut(text.as_ref(), self.cut_at))
    }

    /// Prints text in a tone, broken into lines that begin with some spaces.
    pub(crate) fn wrapped(self, indent: usize, tone: Tone, text: &str) -> Result<(), Error> {
        let room = self.width.saturating_sub(indent).max(WRAP_CHARS_MIN);
        table::wrap(text, room)
            .iter()
            .try_for_each(|line| self.line(format!("{:indent$}{}", "", self.paint(tone, line))))
    }

    /// Prints a line that goes on below, indented, where it does not fit.
    pub(crate) fn hanging(self, text: &str) -> Result<(), Error> {
        let room = self.width.saturating_sub(HANG).max(WRAP_CHARS_MIN);
        for (at, line) in table::wrap(text, room).iter().enumerate() {
            let indent = if at == 0 { 0 } else { HANG };
            self.line(format!("{:indent$}{line}", ""))?;
        }
        Ok(())
    }

    /// A line as several that fit where lines are cut; those that continue it are indented.
    fn fitted(self, line: &str) -> Vec<String> {
        let own = line.len() - line.trim_start_matches(' ').len();
        let indent = own.max(2);
        let room = self.cut_at.saturating_sub(indent).max(WRAP_CHARS_MIN);
        if table::shown_width(line) <= self.cut_at {
            return vec![line.to_owned()];
        }
        let mut lines = table::wrap(&line[own..], room);
        for (at, line) in lines.iter_mut().enumerate() {
            line.insert_str(0, &" ".repeat(if at == 0 { own } else { indent }));
        }
        lines
    }

    /// Prints a name and a value, which goes on below itself where it does not fit in one line.
    pub(crate) fn fact(self, name: &str, indent: usize, value: &str) -> Result<(), Error> {
        let room = self.width.saturating_sub(indent).max(WRAP_CHARS_MIN);
        for (at, line) in table::wrap(value, room).iter().enumerate() {
            let name = if at == 0 { name } else { "" };
            let gap = " ".repeat(indent.saturating_sub(table::shown_width(name)));
            self.line(format!("{name}{gap}{line}").trim_end())?;
        }
        Ok(())
    }

    /// Reports what went wrong and returns the exit code for it.
    pub(crate) fn report(self, failure: &Error) -> ExitCode {
        if is_broken_pipe(failure) {
            return ExitCode::SUCCESS;
        }
        if self.json {
            let document = json!({ "error": failure.object() }).to_string();
            if screen::line(&document).is_err() {
                // If standard error is gone too, the exit code still tells.
                let _ = screen::note(&document);
            }
        } else {
            // A refusal quotes others; our own messages may need more than one line.
            let message = match failure.refusal() {
                Some(_) => one_line(failure.message()),
                None => failure.message().split('\n').map(one_line).collect::<Vec<_>>().join("\n"),
            };
            let headline = format!("error: {} [{}]", readable(&message), failure.rule());
            let mut lines: Vec<String> = headline.split('\n').map(str::to_owned).collect();
            match failure.refusal().map(|refusal| &refusal.details) {
                Some(Details::Collisions(collisions)) => lines.extend(
                    collisions.iter().map(|collision| format!("  {}", describe(collision))),
                ),
                Some(Details::Allowed(allowed)) if !allowed.is_empty() => {
                    lines.push(format!("  allowed: {}", one_line(&allowed.join(", "))));
                }
                _ => {}
            }
            lines.push(format!("  {}", readable(failure.way_out())));
            let lines: Vec<String> = lines.iter().flat_map(|line| self.fitted(line)).collect();
            self.note(lines.join("\n"));
        }
        ExitCode::from(exit_code(failure.kind()))
    }
}

/// Whether the reader of standard output went away, which is no failure of ours.
fn is_broken_pipe(failure: &Error) -> bool {
    let cause = std::error::Error::source(failure);
    let cause = cause.and_then(|cause| cause.downcast_ref::<std::io::Error>());
    cause.is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

/// How many characters fit in a line, as `COLUMNS` or the terminal says.
fn known_width() -> Option<usize> {
    let set = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let of_terminal = || {
        let size = terminal_size::terminal_size_of(std::io::stdout());
        size.map(|(terminal_size::Width(columns), _)| usize::from(columns))
    };
    set.or_else(of_terminal).filter(|width| *width > 0)
}

/// A collision in words.
pub(crate) fn describe(collision: &Collision) -> String {
    let Collision { lease, holder, surface, example, expires_at, purpose, .. } = collision;
    let purpose = purpose.as_ref().map_or_else(String::new, |text| format!(", for {text:?}"));
    let example = if example == "." { "everything" } else { example };
    let now = SystemClock.now();
    let ends = collision.host_gone.map_or_else(
        || format!("which ends {}", from_now(*expires_at, now)),
        |gone| gone.words(now),
    );
    let text = format!(
        "{holder} holds {surface}, {ends}{purpose} ({}; both cover {example})",
        naming::short(lease)
    );
    one_line(&text)
}

/// Escapes a text so that it stays on one line: line breaks, control characters and changes of
/// the writing direction are spelled out.
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

/// A moment as seen from now: `3 min ago`, `in 2 h`. Every command that shows when something
/// happened or ends uses it, except those that are asked about dates (`trail`, `view`).
pub(crate) fn from_now(at: Timestamp, now: Timestamp) -> String {
    let ahead = at.since(now);
    if ahead > Span::default() {
        format!("in {}", rounded(ahead))
    } else {
        format!("{} ago", rounded(now.since(at)))
    }
}

/// A sentence for people: short ids, and times as seen from now.
pub(crate) fn readable(text: &str) -> String {
    times_from_now(&naming::short_ids(text), SystemClock.now())
}

/// A sentence with each exact time (`2026-11-16T17:37:47Z`) as seen from now. A time that says until
/// when something lasts reads `which ends in 4 h`.
fn times_from_now(text: &str, now: Timestamp) -> String {
    let (mut shown, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, at, after)) = next_time(rest) {
        let expected = from_now(at, now);
        let lasting = before.strip_suffix(" until ");
        shown.push_str(lasting.unwrap_or(before));
        if lasting.is_some() {
            let is_ahead = at.since(now) > Span::default();
            shown.push_str(if is_ahead { ", which ends " } else { ", which ended " });
        }
        shown.push_str(&expected);
        let opening;
        (opening, rest) = without_distance(after);
        shown.push_str(opening);
    }
    shown.push_str(rest);
    shown
}

/// The first exact time in a text, with the text before and after it.
fn next_time(text: &str) -> Option<(&str, Timestamp, &str)> {
    let found = text.match_indices('Z').find_map(|(end, _)| {
        let start = end.checked_sub("2026-11-16T17:37:47".len())?;
        let stamp = text.get(start..=end).filter(|stamp| stamp.as_bytes()[10] == b'T')?;
        Some((start, moment::read(stamp)?, end + 1))
    });
    found.map(|(start, at, end)| (&text[..start], at, &text[end..]))
}

/// The text after a time, without the distance that some messages add: ` (in 3h59m)`. If more follows
/// in the parentheses, the first part opens them again.
fn without_distance(after: &str) -> (&'static str, &str) {
    let Some(inner) = after.strip_prefix(" (") else { return ("", after) };
    let end = inner.find([';', ')']).unwrap_or(inner.len());
    let (distance, rest) = inner.split_at(end);
    if !distance.starts_with("in ") && !distance.ends_with(" ago") {
        return ("", after);
    }
    match rest.strip_prefix("; ") {
        Some(more) => (" (", more),
        None => ("", rest.strip_prefix(')').unwrap_or(rest)),
    }
}

/// A length of time in its one fitting unit, rounded.
fn rounded(span: Span) -> String {
    let secs = span.micros().saturating_add(500_000) / 1_000_000;
    let units = [("s", 1, 90), ("min", 60, 120 * 60), ("h", 3_600, 48 * 3_600)];
    let unit = units.iter().find(|(_, _, below)| secs < *below);
    let (name, size) = unit.map_or(("d", 86_400), |(name, size, _)| (*name, *size));
    format!("{} {name}", (secs + size / 2) / size)
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
    fn moments_are_shown_from_now_in_one_unit() {
        let now = Timestamp::from_micros(10_000_000_000_000);
        let after = |secs: u64| Timestamp::from_micros(now.micros() + secs * 1_000_000);
        let before = |secs: u64| Timestamp::from_micros(now.micros() - secs * 1_000_000);
        for (at, expected) in [
            (now, "0 s ago"),
            (before(89), "89 s ago"),
            (before(180), "3 min ago"),
            (after(1_799), "in 30 min"),
            (after(5_400), "in 90 min"),
            (after(7_200), "in 2 h"),
            (before(47 * 3_600), "47 h ago"),
            (after(30 * 86_400), "in 30 d"),
        ] {
            assert_eq!(from_now(at, now), expected);
        }
    }

    #[test]
    fn exact_times_in_sentences_are_shown_from_now() {
        let now = moment::read("2026-11-16T17:37:47Z").unwrap();
        for (text, expected) in [
            ("it ends 2026-11-16T21:37:47Z", "it ends in 4 h"),
            (
                "bob holds lib until 2026-11-16T21:37:47Z (in 3h59m; clm#3)",
                "bob holds lib, which ends in 4 h (clm#3)",
            ),
            (
                "bob holds a until 2026-11-16T19:37:47Z (in 2h); al holds b until \
                 2026-11-16T17:36:47Z (60s ago)",
                "bob holds a, which ends in 2 h; al holds b, which ended 60 s ago",
            ),
            ("A to Z, until 2026Z", "A to Z, until 2026Z"),
            ("é2026-11-16T17:37:47Z", "é0 s ago"),
            ("", ""),
        ] {
            assert_eq!(times_from_now(text, now), expected);
        }
    }

    #[test]
    fn numbers_agree_with_what_they_count() {
        assert_eq!(counted(1, "entry", "entries"), "1 entry");
        assert_eq!(counted(2, "entry", "entries"), "2 entries");
    }
}
