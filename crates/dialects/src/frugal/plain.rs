//! Text without control sequences, safe to show on a terminal.

/// Escapes control characters other than line breaks and tabs.
pub fn plain(text: &str) -> String {
    spelled(text, |c| c.is_control() && !matches!(c, '\n' | '\t'))
}

/// Escapes all control characters, so that the text stays on one line and in one field.
pub fn escaped(text: &str) -> String {
    spelled(text, |c| c.is_control() || c == '\\')
}

fn spelled(text: &str, is_odd: impl Fn(char) -> bool) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_odd(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        for (text, shown, line) in [
            ("plain é", "plain é", "plain é"),
            ("a\tb\nc\\", "a\tb\nc\\", "a\\tb\\nc\\\\"),
            ("\u{1b}[2J\r\u{9b}", "\\u{1b}[2J\\r\\u{9b}", "\\u{1b}[2J\\r\\u{9b}"),
        ] {
            assert_eq!(plain(text), shown);
            assert_eq!(escaped(text), line);
        }
    }
}
