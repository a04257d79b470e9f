//! Secrets in texts that many will read, found before they are kept.
//!
//! Four layers, from certain to likely: keys that name their issuer, shapes in which secrets are
//! written down, text that is too random for prose next to a word such as "token", and paths where
//! secrets lie. A finding never repeats the secret: its excerpt is masked. Every layer reads the
//! text a fixed number of times.

use serde::Serialize;

/// How many findings are reported of one text. Who has these to mend looks at the rest again.
pub const FINDINGS_MAX: usize = 32;

/// From this length on a word can be found by its randomness alone.
const RANDOM_LENGTH_MIN: usize = 32;
/// Bits per character from which on a word is taken to be random.
const RANDOM_BITS_MIN: f64 = 4.0;
/// How far from the word that says what it is a secret may be.
const NEAR_BEFORE: usize = 48;
const NEAR_AFTER: usize = 16;

/// What gave a secret away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// A key that says who issued it.
    Pattern,
    /// The way a secret is written down: after its name, in an address, as a signed token.
    Shape,
    /// Randomness beside a word that says what it is for.
    Entropy,
    /// A file in which secrets lie. It is named, and nothing of it is told.
    Path,
}

/// A place in a text that looks like a secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What gave it away.
    pub layer: Layer,
    /// What it seems to be.
    pub what: &'static str,
    /// Where it begins, in bytes.
    pub start: usize,
    /// Where it ends, in bytes.
    pub end: usize,
    /// How it begins, without the rest of it.
    pub excerpt: String,
}

impl Finding {
    /// Whether a text with it gives something away. The name of a file alone does not.
    pub fn is_leak(&self) -> bool {
        self.layer != Layer::Path
    }
}

/// Everything in a text that looks like a secret, in its order.
pub fn scan(text: &str) -> Vec<Finding> {
    let lower = text.to_ascii_lowercase();
    let mut found = Found { text, findings: Vec::new() };
    keys(&mut found);
    key_blocks(&mut found);
    signed_tokens(&mut found);
    named_values(&mut found, &lower);
    settings(&mut found);
    addresses(&mut found);
    random_words(&mut found, &lower);
    paths(&mut found);
    found.findings.sort_by_key(|finding| (finding.start, finding.layer));
    let mut end = 0;
    found.findings.retain(|finding| {
        let is_new = finding.start >= end;
        end = end.max(finding.end);
        is_new
    });
    found.findings.truncate(FINDINGS_MAX);
    found.findings
}

struct Found<'a> {
    text: &'a str,
    findings: Vec<Finding>,
}

impl Found<'_> {
    fn note(&mut self, layer: Layer, what: &'static str, (start, end): (usize, usize)) {
        let secret = &self.text[start..end];
        let excerpt = if layer == Layer::Path { shortened(secret) } else { masked(secret, what) };
        self.findings.push(Finding { layer, what, start, end, excerpt });
    }
}

/// The beginning of a secret, at most a sixth of it.
fn masked(secret: &str, what: &str) -> String {
    let length = secret.chars().count();
    let shown: String = secret.chars().take((length / 6).min(4)).collect();
    format!("{shown}**** ({what}, {length} characters)")
}

fn shortened(path: &str) -> String {
    let length = path.chars().count();
    if length <= 80 {
        return path.to_owned();
    }
    let end: String = path.chars().skip(length - 79).collect();
    format!("…{end}")
}

/// What a key is made of after its first characters.
#[derive(Clone, Copy)]
enum Made {
    UpperDigits,
    Hex,
    Alnum,
    /// Also with `_` and `-`.
    Url,
}

impl Made {
    fn has(self, byte: u8) -> bool {
        match self {
            Made::UpperDigits => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Made::Hex => byte.is_ascii_hexdigit(),
            Made::Alnum => byte.is_ascii_alphanumeric(),
            Made::Url => byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-',
        }
    }
}

/// Keys that name their issuer: what it is, how it begins, what follows, how much of it.
const KEYS: &[(&str, &str, Made, usize, usize)] = &[
    ("AWS access key", "AKIA", Made::UpperDigits, 16, 16),
    ("AWS temporary key", "ASIA", Made::UpperDigits, 16, 16),
    ("GitHub token", "ghp_", Made::Alnum, 36, 255),
    ("GitHub token", "gho_", Made::Alnum, 36, 255),
    ("GitHub token", "ghu_", Made::Alnum, 36, 255),
    ("GitHub token", "ghs_", Made::Alnum, 36, 255),
    ("GitHub token", "ghr_", Made::Alnum, 36, 255),
    ("GitHub token", "github_pat_", Made::Url, 22, 255),
    ("GitLab token", "glpat-", Made::Url, 20, 255),
    ("Slack token", "xoxb-", Made::Url, 10, 255),
    ("Slack token", "xoxp-", Made::Url, 10, 255),
    ("Slack token", "xoxa-", Made::Url, 10, 255),
    ("Slack token", "xoxr-", Made::Url, 10, 255),
    ("Slack token", "xoxs-", Made::Url, 10, 255),
    ("Slack token", "xapp-", Made::Url, 10, 255),
    ("Stripe key", "sk_live_", Made::Alnum, 16, 255),
    ("Stripe key", "rk_live_", Made::Alnum, 16, 255),
    ("Stripe key", "sk_test_", Made::Alnum, 16, 255),
    ("Anthropic key", "sk-ant-", Made::Url, 20, 255),
    ("OpenAI key", "sk-proj-", Made::Url, 20, 255),
    ("OpenAI key", "sk-svcacct-", Made::Url, 20, 255),
    ("OpenAI key", "sk-", Made::Alnum, 32, 64),
    ("Google key", "AIza", Made::Url, 35, 35),
    ("npm token", "npm_", Made::Alnum, 36, 36),
    ("PyPI token", "pypi-AgEI", Made::Url, 40, 1000),
    ("DigitalOcean token", "dop_v1_", Made::Hex, 64, 64),
    ("Hugging Face token", "hf_", Made::Alnum, 34, 40),
    ("Shopify token", "shpat_", Made::Hex, 32, 32),
    ("Google client secret", "GOCSPX-", Made::Url, 24, 40),
    ("Google access token", "ya29.", Made::Url, 30, 2000),
    ("Vault token", "hvs.", Made::Url, 20, 255),
    ("Databricks token", "dapi", Made::Hex, 32, 34),
    ("Supabase token", "sbp_", Made::Hex, 40, 40),
    ("Linear key", "lin_api_", Made::Alnum, 32, 64),
    ("Doppler token", "dp.pt.", Made::Alnum, 32, 64),
    ("PlanetScale token", "pscale_tkn_", Made::Url, 32, 64),
    ("SendGrid key", "SG.", Made::Url, 20, 32),
    ("Slack webhook", "hooks.slack.com/services/T", Made::Alnum, 6, 16),
    ("age key", "AGE-SECRET-KEY-1", Made::UpperDigits, 50, 70),
];

fn keys(found: &mut Found<'_>) {
    let bytes = found.text.as_bytes();
    for (what, begins, made, min, max) in KEYS {
        // A run is read once: what begins inside it is no longer than the rest of it.
        let mut read_to = 0;
        for (start, _) in found.text.match_indices(begins) {
            if start < read_to || !begins_word(bytes, start) {
                continue;
            }
            let tail = start + begins.len();
            let end = run(bytes, tail, |byte| made.has(byte));
            read_to = end;
            if (*min..=*max).contains(&(end - tail)) {
                found.note(Layer::Pattern, what, (start, end));
            }
        }
    }
}

fn begins_word(bytes: &[u8], start: usize) -> bool {
    start == 0 || !bytes[start - 1].is_ascii_alphanumeric()
}

/// The end of the run of such bytes.
fn run(bytes: &[u8], start: usize, fits: impl Fn(u8) -> bool) -> usize {
    let length = bytes[start..].iter().position(|byte| !fits(*byte));
    length.map_or(bytes.len(), |length| start + length)
}

/// `-----BEGIN … PRIVATE KEY-----` to its end, or to the end of the text.
fn key_blocks(found: &mut Found<'_>) {
    const BEGIN: &str = "-----BEGIN ";
    const KEY: &str = "PRIVATE KEY";
    const TITLE_MAX: usize = 64;
    let mut from = 0;
    while let Some(at) = found.text[from..].find(BEGIN) {
        let start = from + at;
        let title = start + BEGIN.len();
        let title_end = run(found.text.as_bytes(), title, |byte| byte != b'-' && byte != b'\n');
        from = title_end;
        if title_end - title > TITLE_MAX || !found.text[title..title_end].contains(KEY) {
            continue;
        }
        let end = found.text[title_end..].find("-----END ").map(|end| title_end + end);
        let end = end.unwrap_or(found.text.len());
        found.note(Layer::Pattern, "private key", (start, end));
        from = end;
    }
}

/// JSON Web Tokens: three parts, of which the first begins like a JSON object.
fn signed_tokens(found: &mut Found<'_>) {
    let bytes = found.text.as_bytes();
    let mut read_to = 0;
    for (start, _) in found.text.match_indices("eyJ") {
        if start < read_to || !begins_word(bytes, start) {
            continue;
        }
        let end = run(bytes, start, |byte| Made::Url.has(byte) || byte == b'.');
        read_to = end;
        let word = found.text[start..end].trim_end_matches('.');
        let parts: Vec<&str> = word.split('.').take(4).collect();
        if let [head, body, sign] = parts.as_slice()
            && head.len() >= 16
            && body.len() >= 4
            && sign.len() >= 16
        {
            found.note(Layer::Shape, "JSON Web Token", (start, start + word.len()));
        }
    }
}

/// Words after which a value is a secret.
const NAMES: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "api_key",
    "apikey",
    "api-key",
    "access_key",
    "access-key",
    "private_key",
    "auth_key",
    "bearer",
    "credential",
    "credentials",
];

/// A name and its value: `password = "…"`, `token: …`, `Bearer …`.
fn named_values(found: &mut Found<'_>, lower: &str) {
    const VALUE_MAX: usize = 512;
    let bytes = lower.as_bytes();
    for name in NAMES {
        for (at, _) in lower.match_indices(name) {
            let Some(start) = value_after(bytes, at + name.len(), *name == "bearer") else {
                continue;
            };
            let end = run(&bytes[..bytes.len().min(start + VALUE_MAX)], start, is_value);
            if is_made_up(&found.text[start..end]) {
                found.note(Layer::Shape, "value of a secret's name", (start, end));
            }
        }
    }
}

/// Where the value begins that is assigned to the name that ends here.
fn value_after(bytes: &[u8], end: usize, space_is_enough: bool) -> Option<usize> {
    // The longest there is between a name and its value: a few spaces and quotes.
    const BETWEEN_MAX: usize = 8;
    let between = &bytes[end..bytes.len().min(end + BETWEEN_MAX)];
    let length = between.iter().position(|byte| !b"\"'` =:>\t".contains(byte))?;
    let between = &between[..length];
    let assigns = between.iter().any(|byte| b"=:".contains(byte));
    (assigns || (space_is_enough && between == b" ")).then_some(end + length)
}

/// What a value written down goes on with. Calls, variables and placeholders stop early.
fn is_value(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-+/=.~!@#%^&*".contains(&byte)
}

/// Whether a value was made up by a machine or a careful person: letters and digits in turns.
fn is_made_up(value: &str) -> bool {
    const LENGTH_MIN: usize = 12;
    const TURNS_MIN: usize = 3;
    let value = value.trim_end_matches(['.', '/']);
    let is_address = value.contains("://") || value.starts_with('/') || value.contains("..");
    let plain: Vec<u8> = value.bytes().filter(u8::is_ascii_alphanumeric).collect();
    let turns =
        plain.windows(2).filter(|two| two[0].is_ascii_digit() != two[1].is_ascii_digit()).count();
    value.len() >= LENGTH_MIN && turns >= TURNS_MIN && !is_address
}

/// What the last words of a setting's name are if its value is a secret.
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
fn settings(found: &mut Found<'_>) {
    const NAME_MAX: usize = 128;
    const VALUE_MAX: usize = 512;
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
        let quote = bytes.get(at + 1).copied().filter(|byte| b"\"'".contains(byte));
        let start = at + 1 + usize::from(quote.is_some());
        let near = &bytes[..bytes.len().min(start + VALUE_MAX)];
        let end = match quote {
            Some(quote) => run(near, start, |byte| byte != quote && byte != b'\n'),
            None => run(near, start, is_value),
        };
        // The end of what is looked at may lie within a character.
        let Some(value) = found.text.get(start..end) else { continue };
        let calls = bytes.get(end).is_some_and(|byte| b"([{<$".contains(byte));
        if !calls && is_kept_secret(value) {
            found.note(Layer::Shape, "value of a secret setting", (start, end));
        }
    }
}

/// Whether a name is this word, or ends with it as a word of its own. Words for passwords need not be
/// of their own, as in `PGPASSWORD`.
fn ends_so(name: &str, end: &str) -> bool {
    let Some(before) = name.strip_suffix(end) else { return false };
    let is_own = before.is_empty() || before.ends_with('_');
    is_own || end.starts_with('_') || end.starts_with("PASS")
}

/// Whether the value of a secret setting is one, and not a place for one or the way to one.
fn is_kept_secret(value: &str) -> bool {
    const LENGTH_MIN: usize = 6;
    const STANDS_FOR_ONE: [&str; 16] = [
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
    let lower = value.to_ascii_lowercase();
    let is_place = value.starts_with(['$', '<', '{', '%', '/', '.', '~', '=', '*'])
        || value.contains("://")
        || value.contains("${");
    let is_stand_in = STANDS_FOR_ONE.iter().any(|begin| lower.starts_with(begin));
    let has_word = value.bytes().any(|byte| byte.is_ascii_alphanumeric());
    value.len() >= LENGTH_MIN && has_word && !is_place && !is_stand_in
}

/// `scheme://name:password@host`
fn addresses(found: &mut Found<'_>) {
    const LOGIN_MAX: usize = 256;
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
        if password.len() >= 4 && !is_variable && near.is_ascii() {
            let span = (start + colon + 1, start + host);
            found.note(Layer::Shape, "password in an address", span);
        }
    }
}

/// Words beside which randomness is no accident.
const NEAR: &[&str] =
    &["secret", "token", "password", "passwd", "credential", "key", "auth", "bearer"];

fn random_words(found: &mut Found<'_>, lower: &str) {
    let bytes = lower.as_bytes();
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"_-+/=".contains(&byte);
    let mut at = 0;
    while at < bytes.len() {
        let end = run(bytes, at, is_part);
        // `NAME=value` is a name and a value.
        let start = name_end(&bytes[at..end]).map_or(at, |name| at + name);
        let word = &found.text.as_bytes()[start..end];
        if word.len() >= RANDOM_LENGTH_MIN && is_random(word) && is_near(bytes, start, end) {
            found.note(Layer::Entropy, "random text", (start, end));
        }
        at = end + 1;
    }
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

/// Names of files and folders in which secrets lie.
const SECRET_NAMES: &[&str] = &[
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    ".netrc",
    ".pgpass",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".htpasswd",
    ".dockercfg",
    "credentials.json",
    ".env",
];
const SECRET_ENDINGS: &[&str] = &[".pem", ".p12", ".pfx", ".jks", ".keystore", ".kdbx"];
const SECRET_PLACES: &[&str] = &[".ssh/", ".aws/credentials", ".kube/config", ".gnupg/"];

/// Whether secrets lie at a path, going by its name.
pub fn is_secret_path(path: &str) -> bool {
    let path = path.to_ascii_lowercase().replace('\\', "/");
    let name = path.rsplit('/').next().unwrap_or_default();
    let is_sample =
        [".example", ".sample", ".template", ".pub"].iter().any(|end| name.ends_with(end));
    let is_named = SECRET_NAMES.contains(&name) || name.starts_with(".env.");
    let is_place = SECRET_PLACES
        .iter()
        .any(|place| path.find(place).is_some_and(|at| at == 0 || path.as_bytes()[at - 1] == b'/'));
    let ends = SECRET_ENDINGS.iter().any(|end| name.ends_with(end) && name.len() > end.len());
    !is_sample && (is_named || is_place || ends)
}

fn paths(found: &mut Found<'_>) {
    const PATH_MAX: usize = 400;
    let bytes = found.text.as_bytes();
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/\\~".contains(&byte);
    let mut at = 0;
    while at < bytes.len() {
        let end = run(bytes, at, is_part);
        let word = found.text[at..end].trim_end_matches('.');
        if word.len() <= PATH_MAX && is_secret_path(word) {
            found.note(Layer::Path, "a file in which secrets lie", (at, at + word.len()));
        }
        at = end + 1;
        // The next word begins where a character does.
        while at < bytes.len() && !found.text.is_char_boundary(at) {
            at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whats(text: &str) -> Vec<&'static str> {
        scan(text).iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn keys_of_known_issuers_are_found_wherever_they_stand() {
        let alnum = |length: usize| "aB3dE6gH9kL2nP5rS8uV".repeat(20)[..length].to_owned();
        let cases = [
            ("AKIAIOSFODNN7EXAMPLE".to_owned(), "AWS access key"),
            (format!("ghp_{}", alnum(36)), "GitHub token"),
            (format!("github_pat_{}", alnum(60)), "GitHub token"),
            (format!("xoxb-{}", alnum(24)), "Slack token"),
            (format!("sk_live_{}", alnum(24)), "Stripe key"),
            (format!("sk-ant-api03-{}", alnum(60)), "Anthropic key"),
            (format!("AIza{}", alnum(35)), "Google key"),
            (format!("npm_{}", alnum(36)), "npm token"),
            (format!("GOCSPX-{}", alnum(28)), "Google client secret"),
            (format!("hvs.{}", alnum(24)), "Vault token"),
            (format!("lin_api_{}", alnum(40)), "Linear key"),
        ];
        for (key, what) in cases {
            for text in
                [key.clone(), format!("use {key}."), format!("K=\"{key}\""), format!("é{key}é")]
            {
                assert_eq!(whats(&text), [what], "{text}");
            }
            assert!(scan(&format!("x{key}")).iter().all(|own| own.layer != Layer::Pattern));
        }
    }

    #[test]
    fn blocks_tokens_addresses_and_named_values_are_found() {
        let block = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----";
        let signed = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P";
        for (text, what) in [
            (block, "private key"),
            (signed, "JSON Web Token"),
            ("postgres://app:s3cr3t-enough@db/x", "password in an address"),
            ("password = \"tr0ub4dor-3-more\"", "value of a secret's name"),
            ("Authorization: Bearer a1b2c3d4e5f6a7b8", "value of a secret's name"),
            ("api_key: 9f86d081884c7d659a2feaa0c55ad015", "value of a secret's name"),
            ("DB_PASSWORD=correcthorsebattery", "value of a secret setting"),
            ("run with PGPASSWORD='two words' psql", "value of a secret setting"),
            (
                "export AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
                "value of a secret setting",
            ),
            ("export db_password=hunter22", "value of a secret setting"),
            ("our signing key\n  q8Zr2Xw5Tn7Lk4Vb9Md1Hs6Jp3Gf0Yc8", "random text"),
        ] {
            assert_eq!(whats(text), [what], "{text}");
        }
    }

    #[test]
    fn ordinary_text_raises_no_alarm() {
        for text in [
            "The token budget is 4000; the key point is that a lease expires on its own.",
            "Fixed in 4b825dc642cb6eb9a060e54bf8d69288fbee4904, see also deadbeef.",
            "key commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "password: argon2id with HMAC-SHA256, never stored",
            "token = get_token(); secret = os.environ[\"SECRET\"]; password = ${PASSWORD}",
            "password=<your password here> or token: xxxxxxxxxxxxxxxxxxxx",
            "postgres://app:${PASSWORD}@db/x and https://example.org/a@b",
            "the function refresh_token_of_the_long_lived_session_in_crates_server makes it",
            "https://docs.rs/tokio/latest/tokio/sync/struct.OwnedSemaphorePermit.html about auth",
            "AKIA is how such keys begin; ghp_ too; sk-learn is a library; npm_config_cache",
            "Ein Schlüssel ist kein Geheimnis: naïve café, 密码 token 令牌",
            "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
            "MAX_TOKENS=100000 TOKEN_LIMIT=200000 KEY=value SORT_KEY=created_at a=b",
            "GITHUB_TOKEN=$TOKEN, DB_PASSWORD=<yours>, API_KEY=your-key-here, SECRET=${X}, PASS=1",
            "DB_PASSWORD=$(pass db) TOKEN=get_token() DB_PASSWORD_FILE=/run/secrets/db",
            "DB_PASSWORD=/run/secrets/db API_TOKEN= and COMPASS=north-north-west",
            "a keyboard layout named QwErTy1234567890AsDfGhJkLzXcVbNm is random",
        ] {
            assert_eq!(scan(text), [], "{text}");
        }
    }

    #[test]
    fn what_is_found_is_not_repeated() {
        let secret = "q8Zr2Xw5Tn7Lk4Vb9Md1Hs6Jp3Gf0Yc8";
        for text in [format!("token: {secret}"), "AKIAIOSFODNN7EXAMPLE".to_owned()] {
            let findings = scan(&text);
            assert_eq!(findings.len(), 1, "{text}");
            let finding = &findings[0];
            let whole = &text[finding.start..finding.end];
            assert!(!finding.excerpt.contains(whole), "{finding:?}");
            assert!(finding.excerpt.contains("****"), "{finding:?}");
            assert!(!finding.excerpt.contains(&whole[..whole.len() / 2]), "{finding:?}");
        }
    }

    #[test]
    fn files_in_which_secrets_lie_are_named_and_are_no_leak() {
        for path in
            [".env", "app/.env.local", "~/.ssh/id_ed25519", "certs/site.pem", ".aws/credentials"]
        {
            assert!(is_secret_path(path), "{path}");
            let findings = scan(&format!("It is in {path}."));
            let said: Vec<_> =
                findings.iter().map(|own| (own.is_leak(), own.excerpt.as_str())).collect();
            assert_eq!(said, [(false, path)]);
        }
        for path in [".env.example", "id_rsa.pub", "src/environment.rs", "docs/keys.md", "a.ssh/x"]
        {
            assert!(!is_secret_path(path), "{path}");
        }
    }

    /// Texts that would take long if any layer read a part more than a few times.
    #[test]
    fn hostile_texts_are_read_in_no_time() {
        for part in
            ["sk-", "eyJ.", "eyJ-", "://a:", "-----BEGIN ", "token=", "password", "A", "é", "xoxb-"]
        {
            let text = part.repeat(400_000 / part.len());
            let begun = std::time::Instant::now();
            scan(&text);
            let took = begun.elapsed();
            assert!(took.as_secs() < 3, "{part}: {took:?}");
        }
    }
}
