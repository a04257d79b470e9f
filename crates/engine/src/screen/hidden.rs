//! Characters that nobody sees: whoever copies a key through a chat may have some in it.

/// A text without the characters that are not seen.
pub(super) struct Plain {
    pub(super) text: String,
    /// Where characters were left out, as places in this text with how many bytes were by then.
    left_out: Vec<(usize, usize)>,
}

impl Plain {
    /// Where a place of this text lies in the one it was made from.
    pub(super) fn origin(&self, at: usize) -> usize {
        let before = self.left_out.partition_point(|(place, _)| *place <= at);
        let bytes = before.checked_sub(1).map_or(0, |last| self.left_out[last].1);
        at + bytes
    }
}

/// The text without what is not seen. None if all of it is seen.
pub(super) fn without(text: &str) -> Option<Plain> {
    if text.is_ascii() || !text.chars().any(is_hidden) {
        return None;
    }
    let mut plain = Plain { text: String::with_capacity(text.len()), left_out: Vec::new() };
    let mut bytes = 0;
    for own in text.chars() {
        if is_hidden(own) {
            bytes += own.len_utf8();
            plain.left_out.push((plain.text.len(), bytes));
        } else {
            plain.text.push(own);
        }
    }
    Some(plain)
}

/// Soft hyphens, joiners, marks of direction, selectors and the like.
fn is_hidden(own: char) -> bool {
    matches!(own,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{ffa0}' | '\u{e0000}'..='\u{e0fff}')
}
