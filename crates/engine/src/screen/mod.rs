//! The screen: text of commands is looked through for secrets before anything of it is stored,
//! since entries of the trail stay. Every command of every door passes it ([`crate::Client`]).
//!
//! `command` says which text of a command is looked at. Four layers look, from certain to likely:
//! keys that name their issuer (`issued`), shapes in which secrets are written down (`written`
//! after a name, `shell` on a command line or in a header), text that is too random for prose next
//! to a word such as "token" (`random`), and paths where secrets lie (`paths`). `value` says what a
//! password looks like and what only stands for one; `hidden` reads past characters that nobody
//! sees. A finding never repeats any part of the secret. Every layer reads the text a fixed number
//! of times.

mod command;
mod hidden;
mod issued;
mod paths;
mod random;
mod shell;
#[cfg(test)]
mod tests;
mod value;
mod written;

use serde::Serialize;

pub use command::CONTENT_BYTES_MAX;
pub(crate) use command::{check, command, describe, is_leaking_name, name, refuse, text};
pub use paths::is_secret_path;

/// How text that looks like a secret is treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Screening {
    /// The command is refused, and the trail says so without the secret.
    #[default]
    Strict,
    /// The command is carried out, with a warning.
    Warn,
}

impl Screening {
    /// The word for it in the settings.
    pub fn word(self) -> &'static str {
        match self {
            Screening::Strict => "strict",
            Screening::Warn => "warn",
        }
    }
}

/// Most findings that are reported of one text.
pub const FINDINGS_MAX: usize = 32;
/// Longest name that an error message repeats, in characters.
const NAME_CHARS_MAX: usize = 40;

/// The layer that found a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// A key that names its issuer.
    Pattern,
    /// The way a secret is written down: after its name, in an address, as a signed token.
    Shape,
    /// Random text beside a word such as `token`.
    Entropy,
    /// The path of a file that holds secrets. The path may be repeated.
    Path,
}

/// A place in a text that looks like a secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The layer that found it.
    pub layer: Layer,
    /// The kind of secret, such as `AWS access key`.
    pub what: &'static str,
    /// Where it begins, in bytes.
    pub start: usize,
    /// Where it ends, in bytes.
    pub end: usize,
    /// A description without any part of the secret: its kind and length. A path is repeated.
    pub excerpt: String,
}

impl Finding {
    /// Whether the text reveals a secret. A file name alone does not.
    pub fn is_leak(&self) -> bool {
        self.layer != Layer::Path
    }
}

/// Finds everything in a text that looks like a secret or names a file with secrets, in order.
pub fn scan(text: &str) -> Vec<Finding> {
    scan_with(text, look_everywhere)
}

/// Finds everything in a text that looks like a secret, in order.
fn scan_leaks(text: &str) -> Vec<Finding> {
    scan_with(text, look)
}

fn scan_with(text: &str, look: fn(&str) -> Vec<Finding>) -> Vec<Finding> {
    let mut findings = look(text);
    // Read as it is and as it looks: a character that is not seen parts a key or joins two words.
    if let Some(plain) = hidden::without(text) {
        findings.extend(look(&plain.text).into_iter().map(|finding| Finding {
            start: plain.origin(finding.start),
            end: plain.origin(finding.end),
            ..finding
        }));
    }
    findings.sort_by_key(|finding| (finding.start, finding.layer));
    let mut end = 0;
    findings.retain(|finding| {
        let is_new = finding.start >= end;
        end = end.max(finding.end);
        is_new
    });
    findings.truncate(FINDINGS_MAX);
    findings
}

/// Finds secrets in the value of a field with this name.
pub fn scan_named(name: &str, text: &str) -> Vec<Finding> {
    let findings = scan_leaks(text);
    if !findings.is_empty() || !written::is_secret_name(name) {
        return findings;
    }
    let named = format!("{name}: \"{text}\"");
    let begin = named.len() - text.len() - 1;
    let inside = scan_leaks(&named).into_iter().filter(|finding| finding.start >= begin);
    inside
        .map(|own| Finding { start: own.start - begin, end: own.end - begin, ..own })
        .filter(|own| own.end <= text.len())
        .collect()
}

/// Whether a text reveals a secret.
pub fn leaks(text: &str) -> bool {
    !scan_leaks(text).is_empty()
}

/// An unknown name as an error message may repeat it: one that is too long or looks like a secret
/// is only described.
pub fn repeated(name: &str) -> String {
    if let Some(leak) = scan_leaks(name).into_iter().next() {
        return leak.excerpt;
    }
    let length = name.chars().count();
    if length > NAME_CHARS_MAX || value::is_made_up(name) {
        return described("text", name);
    }
    name.to_owned()
}

/// A parser's message with its secrets masked. A quoted name may be a part of a secret, so names
/// are passed through [`repeated`].
pub fn masked(message: &str) -> String {
    let parts = message.split('`').enumerate();
    let parts = parts.map(|(at, part)| if at % 2 == 1 { repeated(part) } else { part.to_owned() });
    without_secrets(parts.collect::<Vec<String>>().join("`"))
}

/// A text with its secrets described in their place.
pub fn without_secrets(text: String) -> String {
    let leaks = scan_leaks(&text);
    if leaks.is_empty() {
        return text;
    }
    let mut masked = String::with_capacity(text.len());
    let mut end = 0;
    for leak in leaks {
        masked.push_str(text.get(end..leak.start).unwrap_or_default());
        masked.push_str(&leak.excerpt);
        end = leak.end;
    }
    masked.push_str(text.get(end..).unwrap_or_default());
    masked
}

fn look_everywhere(text: &str) -> Vec<Finding> {
    let mut findings = look(text);
    let mut found = Found { text, lower: "", findings: Vec::new() };
    paths::paths(&mut found);
    findings.append(&mut found.findings);
    findings
}

fn look(text: &str) -> Vec<Finding> {
    // Most texts are names, ids and paths: too short for a key, and without a value after a name.
    let says = text.bytes().any(|byte| SAYS.contains(&byte));
    if !says && text.len() < ISSUED_BYTES_MIN {
        return Vec::new();
    }
    let lower = text.to_ascii_lowercase();
    let mut found = Found { text, lower: &lower, findings: Vec::new() };
    issued::keys(&mut found);
    issued::signed_tokens(&mut found);
    issued::bots(&mut found);
    random::words(&mut found);
    if says {
        issued::key_blocks(&mut found);
        written::settings(&mut found);
        written::values(&mut found);
        written::addresses(&mut found);
        shell::flags(&mut found);
        shell::logins(&mut found);
        shell::headers(&mut found);
    }
    found.findings
}

/// A value and the word for it have one of these bytes between them: `token=x`, `token: x`,
/// `token => x`, `the token is x`, `--token x`.
const SAYS: &[u8] = b" =:>";

/// The length of the shortest key that is found without a word for it.
const ISSUED_BYTES_MIN: usize = 15;

/// A text, the same in small letters, and what was found in it.
struct Found<'a> {
    text: &'a str,
    lower: &'a str,
    findings: Vec<Finding>,
}

impl Found<'_> {
    fn note(&mut self, layer: Layer, what: &'static str, (start, end): (usize, usize)) {
        // A place may end within a character.
        let Some(secret) = self.text.get(start..end) else { return };
        let excerpt =
            if layer == Layer::Path { shortened(secret) } else { described(what, secret) };
        self.findings.push(Finding { layer, what, start, end, excerpt });
    }
}

/// Describes a secret by its kind and length.
fn described(what: &str, secret: &str) -> String {
    format!("[{what}, {} characters]", secret.chars().count())
}

fn shortened(path: &str) -> String {
    let length = path.chars().count();
    if length <= 80 {
        return path.to_owned();
    }
    let end: String = path.chars().skip(length - 79).collect();
    format!("…{end}")
}

/// The places where patterns begin in a text, found in one pass: setting up a search for each
/// pattern would take longer than reading a short text. Places of one pattern do not overlap.
fn places<'p, P>(text: &str, patterns: &'p [P], of: impl Fn(&P) -> &str) -> Vec<(&'p P, usize)> {
    let mut is_first = [false; 256];
    for pattern in patterns {
        if let Some(first) = of(pattern).as_bytes().first() {
            is_first[usize::from(*first)] = true;
        }
    }
    let bytes = text.as_bytes();
    let (mut found, mut ends) = (Vec::new(), vec![0; patterns.len()]);
    for (at, byte) in bytes.iter().enumerate() {
        if !is_first[usize::from(*byte)] {
            continue;
        }
        for (pattern, end) in patterns.iter().zip(&mut ends) {
            let own = of(pattern).as_bytes();
            // Comparing one byte first spares most calls.
            if own.first() == Some(byte) && at >= *end && bytes[at..].starts_with(own) {
                *end = at + own.len();
                found.push((pattern, at));
            }
        }
    }
    found
}

fn begins_word(bytes: &[u8], start: usize) -> bool {
    start == 0 || !bytes[start - 1].is_ascii_alphanumeric()
}

/// The end of the run of such bytes.
fn run(bytes: &[u8], start: usize, fits: impl Fn(u8) -> bool) -> usize {
    let length = bytes[start..].iter().position(|byte| !fits(*byte));
    length.map_or(bytes.len(), |length| start + length)
}
