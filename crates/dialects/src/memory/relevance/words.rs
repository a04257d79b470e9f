//! Words in the normalized form in which they are compared.

/// Most different words of a question that are looked up.
const QUESTION_WORDS_MAX: usize = 32;
/// Number of characters of a word that count.
const WORD_CHARS_MAX: usize = 48;

/// Words that questions are made with and that say nothing of their subject.
const FILLERS: &[&str] = &[
    "a", "about", "an", "and", "are", "be", "can", "did", "do", "doe", "for", "from", "had", "has",
    "have", "how", "i", "if", "in", "is", "it", "of", "on", "or", "our", "should", "so", "that",
    "the", "their", "there", "thi", "to", "wa", "we", "were", "what", "when", "where", "which",
    "who", "why", "will", "with", "you",
];

/// The words of a question, each once.
pub(super) fn asked(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    each_word(text, |word| {
        if words.len() < 4 * QUESTION_WORDS_MAX && !words.iter().any(|own| own == word) {
            words.push(word.to_owned());
        }
    });
    let says_something = |word: &String| !FILLERS.contains(&word.as_str());
    if words.iter().any(says_something) {
        words.retain(says_something);
    }
    words.truncate(QUESTION_WORDS_MAX);
    words
}

/// Calls `tell` with each normalized word of a text. A camel-case name yields the whole name and
/// its parts; a character that is a word stands alone.
pub(super) fn each_word(text: &str, mut visit: impl FnMut(&str)) {
    let mut buffer = String::new();
    for whole in text.split(|sign: char| !sign.is_alphanumeric()).filter(|own| !own.is_empty()) {
        if whole.chars().any(is_word_alone) {
            for sign in whole.chars() {
                visit(stem(sign.encode_utf8(&mut [0; 4]), &mut buffer));
            }
            continue;
        }
        visit(stem(whole, &mut buffer));
        let mut start = 0;
        let mut was_lower = false;
        for (at, sign) in whole.char_indices() {
            if was_lower && sign.is_uppercase() {
                visit(stem(&whole[start..at], &mut buffer));
                start = at;
            }
            was_lower = sign.is_lowercase();
        }
        if start > 0 {
            visit(stem(&whole[start..], &mut buffer));
        }
    }
}

/// Whether a character belongs to a script without spaces between words.
fn is_word_alone(sign: char) -> bool {
    matches!(sign, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}')
}

/// Removes English endings from a word. Rough, but equal for questions and items.
fn stem<'a>(word: &str, buffer: &'a mut String) -> &'a str {
    buffer.clear();
    buffer.extend(word.chars().take(WORD_CHARS_MAX).flat_map(char::to_lowercase));
    if !buffer.is_ascii() || buffer.len() < 4 {
        return buffer;
    }
    if buffer.ends_with("ies") {
        buffer.truncate(buffer.len() - 3);
        buffer.push('y');
    } else if buffer.ends_with('s') && !buffer.ends_with("ss") && !buffer.ends_with("us") {
        buffer.truncate(buffer.len() - 1);
    }
    for (ending, left) in [("ing", 3), ("ed", 3)] {
        if buffer.ends_with(ending) && buffer.len() >= ending.len() + left {
            buffer.truncate(buffer.len() - ending.len());
            let bytes = buffer.as_bytes();
            if let [.., a, b] = bytes
                && a == b
                && !b"lsz".contains(b)
            {
                buffer.pop();
            }
            break;
        }
    }
    if buffer.len() > 3 && buffer.ends_with('e') {
        buffer.pop();
    }
    buffer
}
