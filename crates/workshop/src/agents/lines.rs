//! Cutting output into lines, whatever its pieces are.

/// The longest line that is kept whole. No event that matters is longer.
const LINE_MAX: usize = 32 << 20;

/// Output that comes in pieces.
#[derive(Debug, Default)]
pub(super) struct Lines {
    held: Vec<u8>,
    /// Whether the rest of the current line is thrown away.
    is_too_long: bool,
}

impl Lines {
    /// Takes a piece and returns the lines it completes. A line beyond all bounds is left out.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut lines = Vec::new();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let is_whole = piece.ends_with(b"\n");
            if !self.is_too_long {
                self.held.extend_from_slice(piece);
            }
            if self.held.len() > LINE_MAX {
                self.held = Vec::new();
                self.is_too_long = true;
            }
            if is_whole {
                lines.extend(self.finish());
            }
        }
        lines
    }

    /// The last line, which may have no end.
    pub(super) fn finish(&mut self) -> Option<String> {
        let line = std::mem::take(&mut self.held);
        let is_too_long = std::mem::take(&mut self.is_too_long);
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_matches(['\n', '\r', '\0']);
        (!is_too_long && !text.trim().is_empty()).then(|| text.to_owned())
    }

    /// Forgets a line whose middle is missing.
    pub(super) fn skip(&mut self) {
        self.held.clear();
        self.is_too_long = false;
    }
}

/// One line for a table: the last line of a text that says something, without control characters
/// and escape sequences, at most so many characters.
pub fn readable(text: &str, characters_max: usize) -> String {
    let lines: Vec<String> = text.lines().map(without_escapes).collect();
    let line = lines.iter().rev().map(|line| line.trim()).find(|line| !line.is_empty());
    let words: Vec<&str> = line.unwrap_or_default().split_whitespace().collect();
    let line = words.join(" ");
    if line.chars().count() <= characters_max {
        return line;
    }
    let kept: String = line.chars().take(characters_max.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// A line without escape sequences of terminals and without control characters.
fn without_escapes(line: &str) -> String {
    let mut kept = String::with_capacity(line.len());
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        if character == '\u{1b}' {
            if characters.next_if_eq(&'[').is_some() {
                while characters.next_if(|c| !('@'..='~').contains(c)).is_some() {}
            }
            characters.next();
        } else if character == '\t' {
            kept.push(' ');
        } else if !character.is_control() {
            kept.push(character);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_wherever_the_pieces_end() {
        let whole = "{\"a\":\"ä\"}\r\n\nplain\n  \nlast".as_bytes();
        for size in 1..whole.len() {
            let mut lines = Lines::default();
            let mut found: Vec<String> =
                whole.chunks(size).flat_map(|piece| lines.take(piece)).collect();
            found.extend(lines.finish());
            assert_eq!(found, ["{\"a\":\"ä\"}", "plain", "last"], "pieces of {size}");
        }
    }

    #[test]
    fn a_line_beyond_all_bounds_is_left_out() {
        let mut lines = Lines::default();
        let piece = vec![b'x'; 1 << 20];
        for _ in 0..40 {
            assert!(lines.take(&piece).is_empty());
        }
        assert!(lines.held.len() <= LINE_MAX);
        assert_eq!(lines.take(b"end\nnext\n"), ["next"]);
    }

    #[test]
    fn a_readable_line_is_short_and_plain() {
        assert_eq!(readable("one\n\u{1b}[1mtwo\u{1b}[0m\tthree  \n\n", 40), "two three");
        assert_eq!(readable("abcdef", 4), "abc…");
        assert_eq!(readable("\u{1b}[", 4), "");
        assert_eq!(readable("", 4), "");
    }
}
