//! A text with something added to it, which can be taken out again to the byte.

use std::ops::Range;

/// A text and the places where something was added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Draft {
    pub(super) text: String,
    /// What was added: ranges of the text in their order, apart from each other.
    pub(super) added: Vec<Range<usize>>,
}

impl Draft {
    pub(super) fn new(text: &str) -> Self {
        Draft { text: text.to_owned(), added: Vec::new() }
    }

    /// Adds a text at a place.
    pub(super) fn insert(&mut self, at: usize, text: &str) {
        self.text.insert_str(at, text);
        let length = text.len();
        let mut own = Some(at..at + length);
        for range in &mut self.added {
            if range.start >= at && own.is_some() && range.start != at {
                *range = range.start + length..range.end + length;
            } else if range.start <= at && at <= range.end {
                // It goes on with what was added there before, or is a part of it.
                range.end += length;
                own = None;
            } else if range.start >= at {
                *range = range.start + length..range.end + length;
            }
        }
        self.added.extend(own);
        self.added.sort_by_key(|range| range.start);
    }
}

/// A text without some of its parts. None if they are no parts of it.
pub(super) fn without(text: &str, parts: &[Range<usize>]) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for part in parts {
        out.push_str(text.get(from..part.start).filter(|_| part.start <= part.end)?);
        from = part.end;
    }
    out.push_str(text.get(from..)?);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_added_can_be_taken_out() {
        let mut draft = Draft::new("abc");
        for (at, text) in [(1, "XX"), (3, "Y"), (0, "Z"), (2, "W"), (7, "end"), (8, "n")] {
            draft.insert(at, text);
            assert_eq!(without(&draft.text, &draft.added).unwrap(), "abc", "{draft:?}");
        }
    }

    #[test]
    fn parts_that_are_not_there_are_no_parts() {
        assert_eq!(without("abc", &[0..1, 1..9]), None);
        assert_eq!(without("é", &[0..0, 1..2]), None);
        assert_eq!(without("abc", &[2..3, 0..1]), None);
    }
}
