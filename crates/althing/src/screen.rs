//! The way of lines to a terminal: straight, through a pager, or as a picture that is redrawn.
//!
//! Lists go through a pager once they are longer than the terminal is high. The pager is what
//! `ALTHING_PAGER` or `PAGER` says, or `less`; `cat` or nothing means none. It is started only for
//! people at a terminal, and one that cannot be started is left out.

use std::io::{self, IsTerminal as _, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::Error;

/// The pager where none is set. It ends with the command on ctrl-C (`-K`), so that no pager is
/// left at a terminal that the shell has taken back.
const PAGER: &str = "less -FRXK";
/// The options of `less` where it is set without any of its own.
const LESS: &str = "FRXK";

/// Where lines go.
static SINK: Mutex<Sink> = Mutex::new(Sink::Straight);

enum Sink {
    Straight,
    Paged(Paged),
    Picture(Vec<String>),
}

fn sink() -> MutexGuard<'static, Sink> {
    SINK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes a line to wherever lines go.
pub(crate) fn line(text: &str) -> io::Result<()> {
    match &mut *sink() {
        Sink::Straight => writeln!(io::stdout().lock(), "{text}"),
        Sink::Paged(paged) => paged.line(text, &mut io::stdout().lock()),
        Sink::Picture(lines) => {
            lines.extend(text.split('\n').map(str::to_owned));
            Ok(())
        }
    }
}

/// Writes a note for people: beside the data, or below it where a pager has the terminal.
pub(crate) fn note(text: &str) -> io::Result<()> {
    match &mut *sink() {
        Sink::Paged(paged) if paged.pager.is_some() => paged.line(text, &mut io::stdout().lock()),
        _ => writeln!(io::stderr().lock(), "{text}"),
    }
}

/// Sends the lines that follow through a pager, if there is a terminal and a pager for it.
pub(crate) fn page() {
    let size = terminal_size::terminal_size_of(io::stdout());
    let Some((terminal_size::Width(width), terminal_size::Height(height))) = size else { return };
    let set = |name: &str| std::env::var(name).ok();
    let words = pager_words(set("ALTHING_PAGER"), set("PAGER"));
    if io::stdout().is_terminal() && !words.is_empty() {
        let (width, height) = (usize::from(width), usize::from(height));
        *sink() =
            Sink::Paged(Paged { words, width, height, rows: 0, held: Vec::new(), pager: None });
    }
}

/// Writes what is held, and waits until the reader has left the pager.
pub(crate) fn finish() -> io::Result<()> {
    match std::mem::replace(&mut *sink(), Sink::Straight) {
        Sink::Paged(paged) => paged.finish(&mut io::stdout().lock()),
        Sink::Straight | Sink::Picture(_) => Ok(()),
    }
}

/// Draws a picture over the one before: everything `print` prints, as far as the terminal shows
/// it. Nothing has to be put right afterwards: the cursor stays below the picture.
pub(crate) fn redraw(first: bool, print: impl FnOnce() -> Result<(), Error>) -> Result<(), Error> {
    *sink() = Sink::Picture(Vec::new());
    let printed = print();
    let drawn = std::mem::replace(&mut *sink(), Sink::Straight);
    printed?;
    let Sink::Picture(lines) = drawn else { return Ok(()) };
    let size = terminal_size::terminal_size_of(io::stdout());
    let height = size.map(|(_, terminal_size::Height(height))| usize::from(height));
    let mut out = io::stdout().lock();
    let drawn = picture(first, lines, height);
    written(out.write_all(drawn.as_bytes()).and_then(|()| out.flush()))
}

/// A picture with what makes a terminal draw it over the one before.
fn picture(first: bool, mut lines: Vec<String>, height: Option<usize>) -> String {
    let room = height.map_or(usize::MAX, |height| height.saturating_sub(1).max(1));
    if lines.len() > room {
        let left_out = lines.len() - room + 1;
        lines.truncate(room - 1);
        lines.push(format!("… {left_out} more lines"));
    }
    // Home; each line with the rest of it cleared; then all below. No flicker, no scrolling.
    let mut drawn = String::from(if first { "\u{1b}[2J\u{1b}[H" } else { "\u{1b}[H" });
    for line in lines {
        drawn.push_str(&line);
        drawn.push_str("\u{1b}[K\n");
    }
    drawn.push_str("\u{1b}[J");
    drawn
}

/// The pager and its arguments; nothing if there is to be none.
fn pager_words(own: Option<String>, general: Option<String>) -> Vec<String> {
    let set = own.or(general).unwrap_or_else(|| PAGER.to_owned());
    let words: Vec<String> = set.split_whitespace().map(str::to_owned).collect();
    if words.first().is_some_and(|program| program == "cat") { Vec::new() } else { words }
}

/// Lines on their way to a pager. They are held until it is clear that one is needed.
struct Paged {
    words: Vec<String>,
    width: usize,
    height: usize,
    /// How many rows of the terminal the lines held take.
    rows: usize,
    held: Vec<String>,
    pager: Option<(Child, ChildStdin)>,
}

impl Paged {
    fn line(&mut self, text: &str, terminal: &mut dyn Write) -> io::Result<()> {
        if let Some((_, stdin)) = &mut self.pager {
            return writeln!(stdin, "{text}");
        }
        if self.words.is_empty() {
            return writeln!(terminal, "{text}");
        }
        let width = self.width.max(1);
        let rows = |line: &str| crate::table::shown_width(line).div_ceil(width).max(1);
        self.rows += text.split('\n').map(rows).sum::<usize>();
        self.held.push(text.to_owned());
        if self.rows < self.height {
            return Ok(());
        }
        let Some((pager, mut stdin)) = start(&self.words) else {
            self.words.clear();
            return self.held.drain(..).try_for_each(|line| writeln!(terminal, "{line}"));
        };
        self.held.drain(..).try_for_each(|line| writeln!(stdin, "{line}"))?;
        self.pager = Some((pager, stdin));
        Ok(())
    }

    fn finish(self, terminal: &mut dyn Write) -> io::Result<()> {
        self.held.iter().try_for_each(|line| writeln!(terminal, "{line}"))?;
        if let Some((mut pager, stdin)) = self.pager {
            drop(stdin);
            // How a pager ends is no matter of the command's.
            pager.wait()?;
        }
        Ok(())
    }
}

fn start(words: &[String]) -> Option<(Child, ChildStdin)> {
    let (program, args) = words.split_first()?;
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        command.env("LESS", LESS);
    }
    let mut pager = command.spawn().ok()?;
    let stdin = pager.stdin.take()?;
    Some((pager, stdin))
}

/// Turns the result of writing to standard output into ours.
pub(crate) fn written(result: std::io::Result<()>) -> Result<(), Error> {
    result.map_err(|error| {
        let message = format!("the answer cannot be printed: {error}");
        let hint = "The command itself was carried out; only its answer is missing. \
                    Do not repeat a command that changes something before you have looked.";
        Error::unavailable(message).caused_by(error).hint(hint)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paged(words: &[&str], height: usize) -> Paged {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        Paged { words, width: 20, height, rows: 0, held: Vec::new(), pager: None }
    }

    fn printed(mut paged: Paged, lines: &[&str]) -> String {
        let mut terminal = Vec::new();
        for line in lines {
            paged.line(line, &mut terminal).unwrap();
        }
        paged.finish(&mut terminal).unwrap();
        String::from_utf8(terminal).unwrap()
    }

    #[test]
    fn the_pager_is_the_one_that_is_set() {
        let words = |own: Option<&str>, general: Option<&str>| {
            pager_words(own.map(str::to_owned), general.map(str::to_owned)).join(" ")
        };
        assert_eq!(words(None, None), PAGER);
        assert_eq!(words(None, Some("more")), "more");
        assert_eq!(words(Some("most -s"), Some("more")), "most -s");
        assert_eq!(words(Some(""), Some("more")), "");
        assert_eq!(words(None, Some("cat")), "");
    }

    #[test]
    fn output_that_fits_the_terminal_needs_no_pager() {
        let missing = paged(&["/nowhere/pager"], 4);
        assert_eq!(printed(missing, &["one", "two"]), "one\ntwo\n");
    }

    #[test]
    fn a_pager_that_cannot_be_started_is_left_out() {
        let missing = paged(&["/nowhere/pager"], 2);
        assert_eq!(printed(missing, &["one", "two", "three"]), "one\ntwo\nthree\n");
    }

    #[cfg(unix)]
    #[test]
    fn a_long_list_goes_to_the_pager() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("paged");
        let script = format!("cat>{}", file.display());
        let long = paged(&["sh", "-c", &script], 2);
        assert_eq!(printed(long, &["one", "two", "three"]), "");
        assert_eq!(std::fs::read_to_string(file).unwrap(), "one\ntwo\nthree\n");
    }

    #[test]
    fn a_picture_shows_what_the_terminal_has_room_for() {
        let lines = || ["a", "b", "c", "d"].map(str::to_owned).to_vec();
        let drawn = picture(false, lines(), Some(4));
        assert_eq!(drawn, "\u{1b}[Ha\u{1b}[K\nb\u{1b}[K\n… 2 more lines\u{1b}[K\n\u{1b}[J");
        let drawn = picture(true, lines(), None);
        assert!(drawn.starts_with("\u{1b}[2J\u{1b}[Ha") && drawn.contains("d\u{1b}[K"), "{drawn}");
    }
}
