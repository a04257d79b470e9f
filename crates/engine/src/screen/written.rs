//! Secrets as they are written down: after a name, as a setting, in an address.

use super::value::{is_kept, is_made_up, is_password};
use super::{Found, Layer, begins_word, places, run};

/// How much of a value is looked at.
const VALUE_MAX: usize = 256;

/// Words after which a value is a password, which may be short.
const PASSWORDS: &[&str] = &["password", "passwd", "passphrase", "passcode", "pwd"];

/// Words after which a value is a secret if it looks made up.
const NAMES: &[&str] = &[
    "secret",
    "token",
    "api_key",
    "apikey",
    "api-key",
    "api key",
    "access_key",
    "access-key",
    "access key",
    "private_key",
    "private key",
    "auth_key",
    "bearer",
    "credential",
    "credentials",
];

/// Whether a field with this name holds a secret.
pub(super) fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    PASSWORDS.iter().chain(NAMES).any(|own| name.ends_with(own))
}

/// A name and its value: `password = "…"`, `token: …`, `the password is …`, `Bearer …`.
pub(super) fn values(found: &mut Found<'_>) {
    for (name, at) in places(found.lower, PASSWORDS, |name| name) {
        if *name == "pwd" && !begins_word(found.lower.as_bytes(), at) {
            continue;
        }
        let Some(value) = after(found, at + name.len(), false) else { continue };
        if is_password(value.text, value.quoted) || is_made_up(value.text) {
            found.note(Layer::Shape, "value of a secret's name", value.span);
        }
    }
    for (name, at) in places(found.lower, NAMES, |name| name) {
        let Some(value) = after(found, at + name.len(), *name == "bearer") else { continue };
        let short = value.quoted && *name == "secret" && is_password(value.text, true);
        if is_made_up(value.text) || short {
            found.note(Layer::Shape, "value of a secret's name", value.span);
        }
    }
}

/// A value that is given to something.
pub(super) struct Given<'a> {
    pub(super) text: &'a str,
    pub(super) quoted: bool,
    pub(super) span: (usize, usize),
}

/// The value that is given to the name that ends here.
fn after<'a>(found: &Found<'a>, end: usize, space_is_enough: bool) -> Option<Given<'a>> {
    let bytes = found.lower.as_bytes();
    let mut at = skip(bytes, end, b"\"'`\\*] \t");
    let spaced = at > end && bytes[at - 1] == b' ';
    let sign = skip(bytes, at, b":=>");
    let word = |word: &str| spaced && bytes[at..].starts_with(word.as_bytes());
    if sign > at {
        at = sign;
    } else if let Some(verb) = ["is ", "is: ", "was ", "to ", "is now "].iter().rfind(|w| word(w)) {
        at += verb.len();
    } else if !(space_is_enough && at == end + 1 && spaced) {
        return None;
    }
    value_at(found.text, skip(bytes, at, b"\\* \t"))
}

/// The end of a few such bytes. There are never many between a name and its value.
fn skip(bytes: &[u8], from: usize, marks: &[u8]) -> usize {
    const MARKS_MAX: usize = 8;
    let near = &bytes[..bytes.len().min(from + MARKS_MAX)];
    run(near, from, |byte| marks.contains(&byte))
}

/// The value that begins here, with or without quotes. None if something is called or named there.
pub(super) fn value_at(text: &str, at: usize) -> Option<Given<'_>> {
    let bytes = text.as_bytes();
    let quote = bytes.get(at).copied().filter(|byte| b"\"'`".contains(byte));
    let start = at + usize::from(quote.is_some());
    let near =
        bytes.get(..bytes.len().min(start + VALUE_MAX)).filter(|near| near.len() >= start)?;
    let end = match quote {
        Some(quote) => run(near, start, |byte| byte != quote && byte != b'\n' && byte != b'\\'),
        None => run(near, start, is_part),
    };
    let calls = quote.is_none() && bytes.get(end).is_some_and(|byte| b"([{<".contains(byte));
    let value = text.get(start..end).filter(|value| !value.is_empty() && !calls)?;
    Some(Given { text: value, quoted: quote.is_some(), span: (start, end) })
}

/// Whether a byte continues a value without quotes.
fn is_part(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"\"'`,;<>(){}[]|\\".contains(&byte)
}

/// Last words in the names of settings whose value is a secret.
const SECRET_SETTINGS: &[&str] = &[
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "_PASS",
    "_PWD",
    "SECRET",
    "TOKEN",
    "APIKEY",
    "API_KEY",
    "ACCESS_KEY",
    "SECRET_KEY",
    "PRIVATE_KEY",
    "AUTH_KEY",
    "SIGNING_KEY",
    "ENCRYPTION_KEY",
    "CREDENTIAL",
    "CREDENTIALS",
];

/// A setting of an environment: `DB_PASSWORD=…`, `export AWS_SECRET_ACCESS_KEY=…`. Such a line is
/// there to be carried out, so its value counts whether or not it looks made up.
pub(super) fn settings(found: &mut Found<'_>) {
    const NAME_MAX: usize = 128;
    let bytes = found.text.as_bytes();
    for (at, _) in found.text.match_indices('=') {
        let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let begin = at - bytes[..at].iter().rev().take(NAME_MAX).take_while(|b| is_name(b)).count();
        let name = &found.text[begin..at];
        let is_exported = found.text[..begin].ends_with("export ");
        let is_setting = is_exported || !name.bytes().any(|byte| byte.is_ascii_lowercase());
        let name = name.to_ascii_uppercase();
        if !is_setting || !SECRET_SETTINGS.iter().any(|end| ends_so(&name, end)) {
            continue;
        }
        let calls = |end: usize| bytes.get(end).is_some_and(|byte| b"([{<$".contains(byte));
        let Some(value) = value_at(found.text, at + 1).filter(|value| !calls(value.span.1)) else {
            continue;
        };
        if is_kept(value.text) {
            found.note(Layer::Shape, "value of a secret setting", value.span);
        }
    }
}

/// Whether a name is this word, or ends with it as a word of its own. Words for passwords need not
/// be of their own, as in `PGPASSWORD`.
fn ends_so(name: &str, end: &str) -> bool {
    let Some(before) = name.strip_suffix(end) else { return false };
    let is_own = before.is_empty() || before.ends_with('_');
    is_own || end.starts_with('_') || end.starts_with("PASS")
}

/// `scheme://name:password@host`
pub(super) fn addresses(found: &mut Found<'_>) {
    const LOGIN_MAX: usize = 256;
    const STANDS_FOR_ONE: [&str; 6] = ["pass", "passwd", "password", "pswd", "secret", "PASSWORD"];
    let bytes = found.text.as_bytes();
    for (at, _) in found.text.match_indices("://") {
        let start = at + 3;
        let near = &bytes[start..bytes.len().min(start + LOGIN_MAX)];
        let ends = |byte: &u8| byte.is_ascii_whitespace() || b"/\"'<>`".contains(byte);
        let near = &near[..near.iter().position(ends).unwrap_or(near.len())];
        let Some(host) = near.iter().rposition(|byte| *byte == b'@') else { continue };
        let Some(colon) = near[..host].iter().position(|byte| *byte == b':') else { continue };
        let password = &near[colon + 1..host];
        let is_variable = password.iter().any(|byte| b"$<{*%".contains(byte));
        let is_word = STANDS_FOR_ONE.iter().any(|word| word.as_bytes() == password);
        if password.len() >= 4 && !is_variable && !is_word && near.is_ascii() {
            let span = (start + colon + 1, start + host);
            found.note(Layer::Shape, "password in an address", span);
        }
    }
}
