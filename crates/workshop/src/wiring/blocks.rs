//! Marked blocks in files of lines: Markdown, TOML, scripts.

use std::ops::Range;

use super::draft::Draft;
use super::json::line_break;

/// How a block is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marks {
    /// `<!-- … -->`
    Markdown,
    /// `# …`
    Hash,
}

const BEGIN: &str = "althing:begin";
const END: &str = "althing:end";
/// Follows the mark of the beginning.
const ABOUT: &str = "written by `althing init`; `althing uninit` removes it";

impl Marks {
    fn line(self, words: &str) -> String {
        match self {
            Marks::Markdown => format!("<!-- {words} -->"),
            Marks::Hash => format!("# {words}"),
        }
    }

    /// The lines of a block.
    pub(super) fn block(self, body: &str) -> String {
        let begin = self.line(&format!("{BEGIN} ({ABOUT})"));
        format!("{begin}\n{}\n{}\n", body.trim_end(), self.line(END))
    }

    fn is_mark(self, line: &str, mark: &str) -> bool {
        let line = line.trim();
        let words = match self {
            Marks::Markdown => line.strip_prefix("<!--").map(str::trim_start),
            Marks::Hash => line.strip_prefix('#').map(str::trim_start),
        };
        words
            .and_then(|words| words.strip_prefix(mark))
            .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '-', '(']))
    }

    /// Where a block is: its lines, with their line breaks. A beginning without an end is none, since
    /// nobody knows what belongs to it.
    pub(super) fn find(self, text: &str) -> Option<Range<usize>> {
        let (mut at, mut begin) = (0, None);
        for line in text.split_inclusive('\n') {
            if self.is_mark(line, BEGIN) {
                begin = Some(at);
            } else if let (true, Some(begin)) = (self.is_mark(line, END), begin) {
                return Some(begin..at + line.len());
            }
            at += line.len();
        }
        None
    }
}

/// Adds a block at the end of a text, after an empty line.
pub(super) fn append(draft: &mut Draft, block: &str) {
    let line = line_break(&draft.text);
    let mut added = String::new();
    if !draft.text.is_empty() && draft.text != "\u{feff}" {
        if !draft.text.ends_with('\n') {
            added.push_str(line);
        }
        added.push_str(line);
    }
    added.push_str(&block.replace('\n', line));
    draft.insert(draft.text.len(), &added);
}

/// Adds a block after the first line of a script.
pub(super) fn after_first_line(draft: &mut Draft, block: &str) {
    let line = line_break(&draft.text);
    let block = block.replace('\n', line);
    if let Some(end) = draft.text.find('\n') {
        draft.insert(end + 1, &block);
    } else {
        let at = draft.text.len();
        draft.insert(at, &format!("{line}{block}"));
    }
}

/// A text without its block, and without the empty line before it.
pub(super) fn remove(text: &str, marks: Marks) -> Option<String> {
    let block = marks.find(text)?;
    let before = &text[..block.start];
    let is_end = block.end == text.len();
    // The empty line came with the block, if the block is at the end.
    let kept = ["\r\n\r\n", "\n\n"].iter().find(|gap| before.ends_with(**gap) && is_end);
    let start = kept.map_or(block.start, |gap| block.start - gap.len() / 2);
    Some(format!("{}{}", &text[..start], &text[block.end..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wiring::draft::without;

    #[test]
    fn a_block_comes_and_goes_to_the_byte() {
        for text in ["", "# Title\n", "no end", "a\r\nb\r\n", "\u{feff}x\n", "x\n\n\n"] {
            for marks in [Marks::Markdown, Marks::Hash] {
                let mut draft = Draft::new(text);
                append(&mut draft, &marks.block("one\ntwo"));
                assert!(marks.find(&draft.text).is_some(), "{text:?}");
                assert_eq!(without(&draft.text, &draft.added).unwrap(), text);
                let left = remove(&draft.text, marks).unwrap();
                assert_eq!(left.trim_end(), text.trim_end(), "{text:?}");
            }
        }
    }

    #[test]
    fn edits_around_a_block_stay() {
        let text = Marks::Markdown.block("ours");
        let edited = format!("before\n\n{text}after\n");
        assert_eq!(remove(&edited, Marks::Markdown).unwrap(), "before\n\nafter\n");
    }

    #[test]
    fn a_beginning_without_an_end_is_no_block() {
        assert_eq!(Marks::Hash.find("# althing:begin\nx = 1\n"), None);
        assert_eq!(Marks::Hash.find("# althing:beginning\n# althing:end\n"), None);
        assert!(Marks::Hash.find("#althing:begin\n# althing:end").is_some());
    }

    #[test]
    fn scripts_get_their_block_after_the_first_line() {
        for text in ["#!/bin/sh\nexit 1\n", "#!/bin/sh", "#!/bin/sh\r\nexit\r\n"] {
            let mut draft = Draft::new(text);
            after_first_line(&mut draft, &Marks::Hash.block("althing hook commit"));
            assert!(draft.text.starts_with("#!/bin/sh"));
            assert_eq!(without(&draft.text, &draft.added).unwrap(), text);
        }
    }
}
