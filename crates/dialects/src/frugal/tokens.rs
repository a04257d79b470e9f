//! Token counts, with the tokenizer that is named with every count.
//!
//! Its table is loaded when the first text is counted, so a process that counts nothing does not
//! pay for it.

/// Name of the tokenizer.
pub const TOKENIZER: &str = "o200k_base";

/// Longest piece that is counted at once, in bytes. The regular expression that splits text into
/// words backtracks over runs of blanks, and gives up on very long ones.
const PIECE_BYTES_MAX: usize = 16 * 1024;

/// Number of tokens of a text.
pub fn count(text: &str) -> u64 {
    let tokenizer = tiktoken_rs::o200k_base_singleton();
    let tokens = |piece: &str| tokenizer.encode_ordinary(piece).len() as u64;
    let mut rest = text;
    let mut sum = 0;
    while rest.len() > PIECE_BYTES_MAX {
        let (piece, after) = rest.split_at(cut(rest));
        sum += tokens(piece);
        rest = after;
    }
    sum + tokens(rest)
}

/// Position where a long text may be cut. No token crosses a line break before a letter or digit,
/// so the sum is exact there; text without such a place is cut anywhere.
fn cut(text: &str) -> usize {
    let bytes = text.as_bytes();
    let is_border = |at: &usize| bytes[at - 1] == b'\n' && bytes[*at].is_ascii_alphanumeric();
    let border = (1..PIECE_BYTES_MAX).rev().find(is_border);
    border.unwrap_or_else(|| text.floor_char_boundary(PIECE_BYTES_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_those_of_the_tokenizer() {
        assert_eq!(count(""), 0);
        assert_eq!(count("hello world"), 2);
        assert_eq!(
            count("<|endoftext|>"),
            tiktoken_rs::o200k_base_singleton().encode_ordinary("<|endoftext|>").len() as u64,
            "text is text"
        );
    }

    #[test]
    fn long_texts_count_as_one() {
        let text = "fn main() {\n    let x = 1;\n}\n\nThe end, or not!\n".repeat(1000);
        let whole = tiktoken_rs::o200k_base_singleton().encode_ordinary(&text).len() as u64;
        assert_eq!(count(&text), whole);
    }

    #[test]
    fn any_text_can_be_counted() {
        for piece in [" ", "a", "\n", "é", "\u{1f600}", "\t "] {
            assert!(count(&piece.repeat(100_000)) > 0, "{piece:?}");
        }
    }
}
