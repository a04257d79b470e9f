//! Secrets on command lines and in the headers of requests.

use data_encoding::{BASE64, BASE64_NOPAD};

use super::value::{is_kept, is_made_up, is_password};
use super::written::value_at;
use super::{Found, Layer, begins_word, places, run};

/// Last words in the names of options whose value is a secret.
const OPTIONS: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "pass",
    "pwd",
    "token",
    "secret",
    "api-key",
    "apikey",
    "access-key",
    "secret-key",
    "private-key",
    "auth-key",
    "credentials",
];

/// Longest distance between a command and its option on a line, in bytes.
const COMMAND_MAX: usize = 200;
const NAME_MAX: usize = 64;

/// `--password X`, `--token=X`
pub(super) fn flags(found: &mut Found<'_>) {
    let bytes = found.lower.as_bytes();
    for (at, _) in found.lower.match_indices("--") {
        if at > 0 && !bytes[at - 1].is_ascii_whitespace() && !b"\"'`([".contains(&bytes[at - 1]) {
            continue;
        }
        let begin = at + 2;
        let near = &bytes[..bytes.len().min(begin + NAME_MAX)];
        let end = run(near, begin, |byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
        let name = found.lower[begin..end].replace('_', "-");
        let is_own = |own: &&&str| {
            name.strip_suffix(**own).is_some_and(|rest| rest.is_empty() || rest.ends_with('-'))
        };
        if !OPTIONS.iter().any(|own| is_own(&own)) {
            continue;
        }
        let Some(sign) = bytes.get(end).filter(|byte| b"= ".contains(byte)) else { continue };
        let Some(value) = value_at(found.text, end + 1) else { continue };
        // With a sign or in quotes it is meant as it stands; else it may be the next word of prose.
        let is_literal = (*sign == b'=' || value.quoted) && !value.text.contains(' ');
        let secret = is_password(value.text, value.quoted) || is_made_up(value.text);
        if secret || (is_literal && is_kept(value.text)) {
            found.note(Layer::Shape, "value of a secret option", value.span);
        }
    }
}

/// `mysql -pX`, `sshpass -p X`, `docker login -p X`, `curl -u name:X`
pub(super) fn logins(found: &mut Found<'_>) {
    const PASSWORD: &[&str] = &["mysql", "mariadb", "sshpass", "docker login", "podman login"];
    const BOTH: &[&str] = &["curl"];
    const OPTIONS: &[(&str, &[&str])] = &[(" -p", PASSWORD), (" -u", BOTH), (" --user", BOTH)];
    for ((option, commands), at) in places(found.lower, OPTIONS, |own| own.0) {
        let mut start = at + option.len();
        let next = found.lower.as_bytes().get(start).copied();
        if next.is_some_and(|byte| b" =".contains(&byte)) {
            start += 1;
        }
        if !is_option_of(found.lower, at, commands) {
            continue;
        }
        let Some(value) = value_at(found.text, start) else { continue };
        if *option == " -p" {
            if is_password(value.text, true) {
                found.note(Layer::Shape, "password of a login", value.span);
            }
            continue;
        }
        let Some((name, password)) = value.text.split_once(':') else { continue };
        let is_named = !name.is_empty() && !name.starts_with(['$', '<', '{']);
        let is_place = password.starts_with(['$', '<', '{', '%', '*', '/']);
        let is_word = ["pass", "password", "passwd", "secret", "token", "pw"];
        let is_word = is_word.contains(&password.to_ascii_lowercase().as_str());
        if is_named && password.len() >= 4 && !is_place && !is_word {
            let span = (value.span.0 + name.len() + 1, value.span.1);
            found.note(Layer::Shape, "password of a login", span);
        }
    }
}

/// Whether an option at a place belongs to one of these commands, on the same line.
fn is_option_of(lower: &str, at: usize, commands: &[&str]) -> bool {
    let mut from = at.saturating_sub(COMMAND_MAX);
    while !lower.is_char_boundary(from) {
        from += 1;
    }
    let before = lower[from..at].rsplit(['\n', '|', ';']).next().unwrap_or_default();
    commands.iter().any(|command| {
        let mut places = before.match_indices(command);
        places.any(|(place, _)| begins_word(before.as_bytes(), place))
    })
}

/// `Authorization: Basic …`, `Authorization: Bearer …`
pub(super) fn headers(found: &mut Found<'_>) {
    const WORD_MAX: usize = 4096;
    const LENGTH_MIN: usize = 8;
    const TOKEN_MIN: usize = 16;
    const SCHEMES: &[&str] = &["basic ", "bearer ", "token "];
    let bytes = found.lower.as_bytes();
    for (scheme, at) in places(found.lower, SCHEMES, |scheme| scheme) {
        if !begins_word(bytes, at) {
            continue;
        }
        let start = at + scheme.len();
        let near = &bytes[..bytes.len().min(start + WORD_MAX)];
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=_-.~".contains(&byte);
        let end = run(near, start, is_part);
        let word = &found.text[start..end];
        let is_secret = if *scheme == "basic " {
            word.len() >= LENGTH_MIN && is_login(word)
        } else {
            let before = found.lower[..at].trim_end_matches(['"', '\'', ' ', ':', '=', '\\']);
            let is_mixed = word.bytes().any(|byte| byte.is_ascii_digit())
                || (word.bytes().any(|byte| byte.is_ascii_uppercase())
                    && word.bytes().any(|byte| byte.is_ascii_lowercase()));
            before.ends_with("authorization")
                && word.len() >= TOKEN_MIN
                && is_mixed
                && is_kept(word)
        };
        if is_secret {
            found.note(Layer::Shape, "login in a header", (start, end));
        }
    }
}

/// Whether a word is a name and a password, as headers carry them.
fn is_login(word: &str) -> bool {
    let word = word.trim_end_matches('.');
    let read = BASE64.decode(word.as_bytes()).or_else(|_| BASE64_NOPAD.decode(word.as_bytes()));
    let Ok(read) = read else { return false };
    let is_text = read.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ');
    let colon = read.iter().position(|byte| *byte == b':');
    is_text && colon.is_some_and(|at| at > 0 && at + 1 < read.len())
}
