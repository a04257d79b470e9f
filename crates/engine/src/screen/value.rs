//! Values: what a password looks like, and what only stands for one or talks about one.

/// Words that end in a number and are no password: ways to hash and encode, and what is counted.
const NUMBERED: &[&str] = &[
    "aes", "alpha", "amd", "argon", "argonid", "arm", "b", "base", "bcrypt", "beta", "blake",
    "blakeb", "blakes", "case", "chacha", "char", "crc", "curve", "db", "day", "des", "draft",
    "ec", "ecdsa", "ed", "ee", "env", "es", "f", "field", "fido", "float", "gen", "h", "hmac",
    "host", "hs", "html", "http", "i", "in", "int", "ipv", "iso", "issue", "item", "key", "ks",
    "layer", "level", "line", "ln", "md", "mp", "mysql", "neoj", "node", "oauth", "option", "p",
    "page", "part", "pbkdf", "phase", "php", "pkcs", "poly", "pr", "prod", "ps", "py", "python",
    "q", "rc", "rev", "rfc", "ripemd", "round", "row", "rs", "rsa", "s", "scrypt", "secp", "secpk",
    "section", "server", "sha", "slot", "sqlite", "ssha", "ssl", "sslv", "step", "tier", "tls",
    "tlsv", "type", "u", "uint", "utf", "v", "varchar", "ver", "version", "web", "week", "win",
    "x",
];

/// Units that may follow a number.
const UNITS: &[&str] = &[
    "b",
    "bit",
    "bits",
    "byte",
    "bytes",
    "c",
    "char",
    "chars",
    "characters",
    "d",
    "day",
    "days",
    "des",
    "digit",
    "digits",
    "factor",
    "fa",
    "g",
    "gb",
    "h",
    "hour",
    "hours",
    "hr",
    "k",
    "kb",
    "letters",
    "m",
    "mb",
    "min",
    "mins",
    "minutes",
    "mo",
    "months",
    "ms",
    "nd",
    "ns",
    "rd",
    "s",
    "sec",
    "secs",
    "seconds",
    "st",
    "th",
    "times",
    "us",
    "w",
    "weeks",
    "x",
    "y",
    "years",
];

/// How what only stands for a value begins.
const STAND_INS: &[&str] = &[
    "your",
    "my_",
    "my-",
    "xxx",
    "***",
    "...",
    "change",
    "placeholder",
    "redacted",
    "dummy",
    "example",
    "todo",
    "undefined",
    "process.",
    "os.",
    "env.",
];

/// Words that say what should be there.
const WORDS_FOR_ONE: &[&str] = &[
    "credentials",
    "encrypted",
    "hashed",
    "hidden",
    "masked",
    "optional",
    "pass",
    "passphrase",
    "passwd",
    "password",
    "plaintext",
    "prompt",
    "pw",
    "pwd",
    "random",
    "required",
    "secret",
    "string",
    "token",
    "unknown",
    "value",
];

/// The prefixes of Althing's own ids.
const OWN_IDS: &[&str] = &[
    "art", "conflict", "cp", "env", "gate", "graph", "lease", "right", "sess", "sig", "task", "ws",
];

/// Whether a value was made up by a machine or a careful person: letters and digits in turns.
pub(super) fn is_made_up(value: &str) -> bool {
    const LENGTH_MIN: usize = 12;
    const TURNS_MIN: usize = 3;
    let value = value.trim_end_matches(['.', '/']);
    if value.len() < LENGTH_MIN || !has_digit(value) {
        return false;
    }
    let is_address = value.contains("://") || value.starts_with('/') || value.contains("..");
    let plain: Vec<u8> = value.bytes().filter(u8::is_ascii_alphanumeric).collect();
    let turns =
        plain.windows(2).filter(|two| two[0].is_ascii_digit() != two[1].is_ascii_digit()).count();
    let is_other = is_address || is_own_id(value) || is_talk(value);
    turns >= TURNS_MIN && !is_other
}

fn has_digit(value: &str) -> bool {
    value.bytes().any(|byte| byte.is_ascii_digit())
}

/// Whether a value is written like a password: no word, no number, and nothing of the sort that
/// code and prose say about passwords. One that is given in quotes is meant as it stands.
pub(super) fn is_password(value: &str, quoted: bool) -> bool {
    const LENGTH: std::ops::RangeInclusive<usize> = 6..=128;
    let value = value.trim_end_matches(['.', ',', ':', ';', '?']);
    let is_sentence = value.contains(char::is_whitespace);
    if !LENGTH.contains(&value.len())
        || is_sentence
        || !is_kept(value)
        || is_code(value)
        || is_own_id(value)
    {
        return false;
    }
    let lower = value.bytes().any(|byte| byte.is_ascii_lowercase());
    let upper = value.bytes().any(|byte| byte.is_ascii_uppercase());
    let digit = has_digit(value);
    let letter = lower || upper;
    let mixed = letter && digit && !is_talk(value);
    let signs = value.trim_matches(|own: char| !own.is_ascii_alphanumeric());
    let signs = signs.bytes().filter(|byte| b"!@#$%^*".contains(byte)).count();
    let signed = letter && signs > 0 && ((lower && upper) || digit || signs > 1);
    let literal = quoted && letter && digit && !is_talk(value) && !is_ticket(value);
    mixed || signed || literal || (quoted && is_zigzag(value))
}

/// Whether a value is one, and not a place for one or the way to one.
pub(super) fn is_kept(value: &str) -> bool {
    const LENGTH_MIN: usize = 6;
    let lower = value.to_ascii_lowercase();
    let is_place = value.starts_with(['$', '<', '{', '%', '/', '.', '~', '=', '*', '&', '['])
        || ["://", "${", "{{", "%s", "%(", "*****"].iter().any(|part| value.contains(part));
    let is_stand_in = STAND_INS.iter().any(|begin| lower.starts_with(begin))
        || WORDS_FOR_ONE.contains(&lower.as_str());
    // `--password=PASSWORD_FILE` says what to write there.
    let is_loud = value.bytes().all(|byte| byte.is_ascii_uppercase() || b"_-".contains(&byte));
    let has_word = value.bytes().any(|byte| byte.is_ascii_alphanumeric());
    value.len() >= LENGTH_MIN && has_word && !is_place && !is_stand_in && !is_loud
}

/// Calls, types, addresses, and names with points between them.
fn is_code(value: &str) -> bool {
    let is_name =
        |part: &str| part.starts_with(|own: char| own.is_ascii_alphabetic() || own == '_');
    let is_pointed = |by: &str| value.contains(by) && value.split(by).all(is_name);
    let is_mail = value.split_once('@').is_some_and(|(name, host)| {
        let at_host = host.contains('.') && host.split('.').all(&is_name);
        is_name(name) && at_host
    });
    value.contains(['(', '<', '{', '[']) || is_pointed(".") || is_pointed("::") || is_mail
}

/// Whether all words of a value are such as stand in prose and in names.
pub(super) fn is_talk(value: &str) -> bool {
    let words = value.split(|own: char| !own.is_ascii_alphanumeric());
    let mut seen = words.filter(|word| !word.is_empty()).peekable();
    seen.peek().is_some() && seen.all(is_plain_word)
}

fn is_plain_word(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    if digits == 0 || digits == word.len() {
        return true;
    }
    let stem: String = word.chars().filter(|own| !own.is_ascii_digit()).collect();
    let ends_in_number = word.starts_with(|own: char| own.is_ascii_alphabetic());
    if ends_in_number {
        NUMBERED.contains(&stem.as_str()) && digits <= 5
    } else {
        let most = if stem.len() == 1 { 3 } else { 6 };
        UNITS.contains(&stem.as_str()) && digits <= most
    }
}

/// `AUTH-123`, `2024-10-05`: a number of something.
fn is_ticket(value: &str) -> bool {
    let mut parts = value.split(['-', '#', '_', '/']);
    let is_whole = |part: &str| {
        let digits = part.bytes().filter(u8::is_ascii_digit).count();
        digits == 0 || digits == part.len()
    };
    value.len() <= 24 && value.contains(['-', '#', '_', '/']) && parts.all(is_whole)
}

/// Large and small letters in turns, as no word has them.
fn is_zigzag(value: &str) -> bool {
    let letters = value.bytes().all(|byte| byte.is_ascii_alphabetic());
    let bytes = value.as_bytes();
    let turns = bytes
        .windows(2)
        .filter(|two| two[0].is_ascii_uppercase() != two[1].is_ascii_uppercase())
        .count();
    letters && value.len() >= 8 && turns * 2 >= value.len()
}

/// Whether a word is an id that Althing made.
pub(super) fn is_own_id(word: &str) -> bool {
    const LENGTH: usize = 26;
    let number = match word.split_once('_') {
        Some((prefix, number)) if OWN_IDS.contains(&prefix) => number,
        Some(_) => return false,
        None => word,
    };
    // Entries have no prefix; their ids begin with the time, which is zero for some decades.
    let begins = word.len() > LENGTH || number.starts_with('0');
    let fits = |byte: u8| byte.is_ascii_alphanumeric() && !b"ilouILOU".contains(&byte);
    number.len() == LENGTH && begins && number.bytes().all(fits)
}
