//! Keys that name their issuer, and tokens of a shape that nothing else has.

use super::{Found, Layer, begins_word, places, run};

/// The characters of a key after its prefix.
#[derive(Clone, Copy)]
pub(super) enum Made {
    UpperDigits,
    Hex,
    Alnum,
    /// Also with `_` and `-`.
    Url,
}

impl Made {
    pub(super) fn has(self, byte: u8) -> bool {
        match self {
            Made::UpperDigits => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Made::Hex => byte.is_ascii_hexdigit(),
            Made::Alnum => byte.is_ascii_alphanumeric(),
            Made::Url => byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-',
        }
    }
}

/// Keys that name their issuer: what it is, how it begins, what follows, how much of it.
pub(super) const ISSUED: &[(&str, &str, Made, usize, usize)] = &[
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
    ("Discord webhook", "discord.com/api/webhooks/", Made::UpperDigits, 15, 22),
    ("age key", "AGE-SECRET-KEY-1", Made::UpperDigits, 50, 70),
];

pub(super) fn keys(found: &mut Found<'_>) {
    let bytes = found.text.as_bytes();
    let mut read_to: Vec<(&str, usize)> = Vec::new();
    for ((what, begins, made, min, max), start) in places(found.text, ISSUED, |own| own.1) {
        // A run is read once: what begins inside it is no longer than the rest of it.
        let is_read = |(of, end): &(&str, usize)| of == begins && start < *end;
        if read_to.iter().any(is_read) || !begins_word(bytes, start) {
            continue;
        }
        let tail = start + begins.len();
        let end = run(bytes, tail, |byte| made.has(byte));
        read_to.retain(|(of, _)| of != begins);
        read_to.push((begins, end));
        if (*min..=*max).contains(&(end - tail)) {
            found.note(Layer::Pattern, what, (start, end));
        }
    }
}

/// `-----BEGIN … PRIVATE KEY-----` to its end, or to the end of the text.
pub(super) fn key_blocks(found: &mut Found<'_>) {
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
pub(super) fn signed_tokens(found: &mut Found<'_>) {
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

/// Tokens of bots: a number and a colon before the rest (Telegram), or three parts of which the
/// first is an encoded number (Discord).
pub(super) fn bots(found: &mut Found<'_>) {
    let bytes = found.text.as_bytes();
    for (colon, _) in found.text.match_indices(':') {
        let digits = bytes[..colon].iter().rev().take(12).take_while(|byte| byte.is_ascii_digit());
        let digits = digits.count();
        let end = run(bytes_until(bytes, colon + 80), colon + 1, |byte| Made::Url.has(byte));
        let begins = (8..=10).contains(&digits) && begins_bot(bytes, colon - digits);
        if begins && end - colon - 1 == 35 {
            found.note(Layer::Pattern, "Telegram token", (colon - digits, end));
        }
    }
    let mut read_to = 0;
    for (dot, _) in found.text.match_indices('.') {
        if dot < read_to {
            continue;
        }
        let before = bytes[..dot].iter().rev().take(32).take_while(|byte| Made::Url.has(**byte));
        let start = dot - before.count();
        let end = run(bytes_until(bytes, dot + 80), dot, |b| Made::Url.has(b) || b == b'.');
        read_to = dot + 1;
        let word = found.text[start..end].trim_end_matches('.');
        let parts: Vec<usize> = word.split('.').take(4).map(str::len).collect();
        let fits = matches!(parts.as_slice(), [23..=28, 6..=7, 27..=40]);
        if fits && word.starts_with(['M', 'N', 'O']) && begins_word(bytes, start) {
            found.note(Layer::Pattern, "Discord token", (start, start + word.len()));
        }
    }
}

fn bytes_until(bytes: &[u8], end: usize) -> &[u8] {
    &bytes[..bytes.len().min(end)]
}

/// Addresses have `bot` before the token.
fn begins_bot(bytes: &[u8], start: usize) -> bool {
    begins_word(bytes, start) || bytes[..start].ends_with(b"bot")
}
