//! Words that are too random for prose, beside a word that says what they are for.

use super::value::{is_own_id, is_talk};
use super::{Found, Layer, run};

/// From this length on a word can be found by its randomness alone.
const RANDOM_LENGTH_MIN: usize = 32;
/// Bits per character from which on a word is taken to be random.
const RANDOM_BITS_MIN: f64 = 4.0;
/// How far from the word that says what it is a secret may be.
const NEAR_BEFORE: usize = 48;
const NEAR_AFTER: usize = 16;

/// Words beside which randomness is no accident.
const NEAR: &[&str] =
    &["secret", "token", "password", "passwd", "credential", "key", "auth", "bearer"];

pub(super) fn words(found: &mut Found<'_>) {
    let bytes = found.lower.as_bytes();
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"_-+/=".contains(&byte);
    let mut at = 0;
    while at < bytes.len() {
        let end = run(bytes, at, is_part);
        // `NAME=value` is a name and a value.
        let start = name_end(&bytes[at..end]).map_or(at, |name| at + name);
        let word = &found.text.as_bytes()[start..end];
        let is_long = word.len() >= RANDOM_LENGTH_MIN;
        let is_candidate = is_long && !is_id(word) && is_random(word);
        if is_candidate && !is_public(bytes, start, word) && is_near(bytes, start, end) {
            found.note(Layer::Entropy, "random text", (start, end));
        }
        at = end + 1;
    }
}

fn is_id(word: &[u8]) -> bool {
    std::str::from_utf8(word).is_ok_and(is_own_id)
}

/// Whether a random word is no secret: an address or a path of words, a hash
/// that says so, or a public key.
fn is_public(lower: &[u8], start: usize, word: &[u8]) -> bool {
    let before = &lower[start.saturating_sub(24)..start];
    let ends = |ends: &[&[u8]]| ends.iter().any(|end| before.ends_with(end));
    let named = std::str::from_utf8(word).is_ok_and(is_talk);
    let hashed = ends(&[b"sha1:", b"sha256:", b"sha512:", b"commit ", b"md5:"])
        || [&b"sha256-"[..], b"sha384-", b"sha512-"].iter().any(|own| word.starts_with(own));
    let is_key = word.starts_with(b"AAAA") && ends(&[b"ssh-rsa ", b"25519 ", b"nistp256 "]);
    named || hashed || is_key
}

fn name_end(word: &[u8]) -> Option<usize> {
    let at = word.iter().position(|byte| *byte == b'=')?;
    word.get(at + 1).is_some_and(|next| *next != b'=').then_some(at + 1)
}

/// As random as a key, and with the digits and changes of a key: long names have neither.
fn is_random(word: &[u8]) -> bool {
    const DIGITS_MIN: usize = 3;
    let class = |byte: &u8| match byte {
        b'0'..=b'9' => 0,
        b'a'..=b'z' => 1,
        b'A'..=b'Z' => 2,
        _ => 3,
    };
    let digits = word.iter().filter(|byte| byte.is_ascii_digit()).count();
    let changes = word.windows(2).filter(|two| class(&two[0]) != class(&two[1])).count();
    digits >= DIGITS_MIN && changes * 4 >= word.len() && bits_per_character(word) >= RANDOM_BITS_MIN
}

/// Shannon's measure of a word.
fn bits_per_character(word: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in word {
        counts[usize::from(*byte)] += 1;
    }
    let length = f64::from(u32::try_from(word.len()).unwrap_or(u32::MAX));
    let share = |count: &u32| f64::from(*count) / length;
    counts.iter().filter(|count| **count > 0).map(share).map(|share| -share * share.log2()).sum()
}

fn is_near(lower: &[u8], start: usize, end: usize) -> bool {
    let before = &lower[start.saturating_sub(NEAR_BEFORE)..start];
    let after = &lower[end..lower.len().min(end + NEAR_AFTER)];
    [before, after].iter().any(|text| NEAR.iter().any(|word| says(text, word.as_bytes())))
}

/// Whether a word ends in the text, so that a keyboard is no key.
fn says(text: &[u8], word: &[u8]) -> bool {
    let is_end = |at: usize| text.get(at).is_none_or(|byte| !byte.is_ascii_alphabetic());
    let plural = |at: usize| text.get(at) == Some(&b's') && is_end(at + 1);
    text.windows(word.len())
        .enumerate()
        .filter(|(_, own)| *own == word)
        .any(|(at, _)| is_end(at + word.len()) || plural(at + word.len()))
}
