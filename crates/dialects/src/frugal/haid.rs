//! HAIDs: identities of agents, derived from the person, the machine and the project.
//!
//! `haid:{human}.{machine}-{hash4}[/{role}]`. Kernel names cannot contain `/`; there it is a `+`,
//! which no HAID has, so the two forms map one to one.

use althing_kernel::Principal;
use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};
use std::fmt;

/// Longest part that a slug keeps, in bytes.
const SLUG_BYTES_MAX: usize = 24;
/// Hash characters that stand for the part that was cut off.
const HASH_CHARS: usize = 8;
/// Prefix of every HAID.
const PREFIX: &str = "haid:";

/// Lower case, everything but letters and digits as single dashes, at most 24 bytes.
pub fn slug(text: &str) -> String {
    words(text).chars().take(SLUG_BYTES_MAX).collect()
}

/// A slug as part of a name. A longer text is cut and gets a few digits of its hash, so that two
/// texts with the same beginning differ.
fn part(text: &str) -> String {
    let words = words(text);
    if words.len() <= SLUG_BYTES_MAX {
        return words;
    }
    let hash = HEXLOWER.encode(&Sha256::digest(&words));
    let begin = words[..SLUG_BYTES_MAX - HASH_CHARS - 1].trim_end_matches('-');
    format!("{begin}-{}", &hash[..HASH_CHARS])
}

/// A slug of a name that people or hosts choose. Differences that a slug cannot show, other than
/// case and blanks, go into a few digits of a hash, so that two names stay two. `None` if the name
/// has no letter or digit of any script. With `apart` the digits are always added.
fn role(text: &str, apart: bool) -> Option<String> {
    let text = text.trim();
    if !text.chars().any(char::is_alphanumeric) {
        return None;
    }
    let shown = text.to_ascii_lowercase().replace(' ', "-");
    let words = words(text);
    if words == shown && !apart {
        return Some(part(text));
    }
    let hash = HEXLOWER.encode(&Sha256::digest(text.to_lowercase()));
    let hash = &hash[..HASH_CHARS];
    let begin = &words[..words.len().min(SLUG_BYTES_MAX - HASH_CHARS - 1)];
    let begin = begin.trim_matches('-');
    Some(if begin.is_empty() { hash.to_owned() } else { format!("{begin}-{hash}") })
}

fn words(text: &str) -> String {
    let mut slug = String::new();
    for byte in text.bytes() {
        let byte = byte.to_ascii_lowercase();
        if byte.is_ascii_alphanumeric() {
            slug.push(char::from(byte));
        } else if !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug = slug.strip_prefix('-').unwrap_or(&slug);
    slug.strip_suffix('-').unwrap_or(slug).to_owned()
}

/// A HAID, in its one form.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Haid(String);

/// Error for a text that is not a HAID.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed(String);

impl fmt::Display for Malformed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "malformed HAID: {}", self.0)
    }
}

impl fmt::Display for Haid {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl Haid {
    /// Reads a HAID.
    pub fn new(text: &str) -> Result<Self, Malformed> {
        if is_haid(text) { Ok(Haid(text.to_owned())) } else { Err(Malformed(text.to_owned())) }
    }

    /// Derives the HAID of a person on a machine in a project. A part whose slug is empty becomes
    /// `unknown`.
    pub fn derive(human: &str, machine: &str, repo: &str) -> Self {
        let known = |text: &str| {
            let part = part(text);
            if part.is_empty() { "unknown".to_owned() } else { part }
        };
        let (human, machine) = (known(human), known(machine));
        let hash = Sha256::digest(format!("{human}\u{1f}{machine}\u{1f}{repo}"));
        let hash = HEXLOWER.encode(&hash);
        Haid(format!("{PREFIX}{human}.{machine}-{}", &hash[..4]))
    }

    /// The HAID of an agent that this one started. `None` if the role has no letter or digit.
    pub fn spawn(&self, name: &str) -> Option<Self> {
        role(name, false).map(|role| Haid(format!("{}/{role}", self.root())))
    }

    /// The HAID of a started agent whose name differs only in blanks from a name that is taken.
    pub fn spawn_apart(&self, name: &str) -> Option<Self> {
        role(name, true).map(|role| Haid(format!("{}/{role}", self.root())))
    }

    /// The HAID without its role.
    pub fn root(&self) -> &str {
        self.0.split_once('/').map_or(&self.0, |(root, _)| root)
    }

    /// The role behind the slash.
    pub fn role(&self) -> Option<&str> {
        self.0.split_once('/').map(|(_, role)| role)
    }

    /// The person.
    pub fn human(&self) -> &str {
        let rest = self.0.strip_prefix(PREFIX).unwrap_or(&self.0);
        rest.split_once('.').map_or(rest, |(human, _)| human)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The agent name for the kernel.
    pub fn agent_name(&self) -> String {
        self.0.replacen('/', "+", 1)
    }

    /// The HAID of a kernel agent name, if it has one.
    pub fn of_agent(name: &str) -> Option<Self> {
        Haid::new(&name.replacen('+', "/", 1)).ok().filter(|haid| haid.agent_name() == name)
    }
}

/// The kernel's name of an agent that is named by its HAID in either form, or plainly.
pub fn agent_named(text: &str) -> Result<String, Malformed> {
    match Haid::new(text).ok().or_else(|| Haid::of_agent(text)) {
        Some(haid) => Ok(haid.agent_name()),
        None if text.starts_with(PREFIX) => Err(Malformed(text.to_owned())),
        None => Ok(text.to_owned()),
    }
}

/// `^haid:[a-z0-9-]+\.[a-z0-9-]+-[0-9a-f]{4}(/[a-z0-9][a-z0-9-]*)?$`
/// The name that a principal is shown by: agents by their HAID if they have one.
pub fn called(who: &Principal) -> String {
    match who {
        Principal::Agent(name) => match Haid::of_agent(name.as_str()) {
            Some(haid) => haid.to_string(),
            None => name.to_string(),
        },
        Principal::User(_) | Principal::System => who.to_string(),
    }
}

fn is_haid(text: &str) -> bool {
    let Some(rest) = text.strip_prefix(PREFIX) else { return false };
    let (root, role) = match rest.split_once('/') {
        Some((root, role)) => (root, Some(role)),
        None => (rest, None),
    };
    let is_word = |text: &str| {
        let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        !text.is_empty() && text.bytes().all(fits)
    };
    let Some((human, place)) = root.split_once('.') else { return false };
    let Some((machine, hash)) = place.rsplit_once('-') else { return false };
    let is_hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    is_word(human)
        && is_word(machine)
        && hash.len() == 4
        && hash.bytes().all(is_hex)
        && role.is_none_or(|role| is_word(role) && !role.starts_with('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_known_haid_is_derived() {
        let haid = Haid::derive("rj", "mbp", "/work/repo");
        assert_eq!(haid.as_str(), "haid:rj.mbp-680e");
        assert_eq!(Haid::new(haid.as_str()), Ok(haid));
    }

    #[test]
    fn slugs_are_plain_words() {
        for (text, expected) in [
            ("R.J. Smith", "r-j-smith"),
            ("--a--", "a"),
            ("Zoë", "zo"),
            ("", ""),
            ("!!", ""),
            ("abcdefghijklmnopqrstuvwxyz", "abcdefghijklmnopqrstuvwx"),
        ] {
            assert_eq!(slug(text), expected, "{text}");
        }
    }

    #[test]
    fn long_names_that_begin_alike_are_two() {
        let root = Haid::derive("rj", "mbp", "/work/repo");
        let fits = root.spawn("abcdefghijklmnopqrstuvwx").unwrap();
        assert_eq!(fits.role(), Some("abcdefghijklmnopqrstuvwx"));
        let long = |end: &str| root.spawn(&format!("Visual Studio Code - Insiders {end}")).unwrap();
        assert_ne!(long("1"), long("2"));
        assert_eq!(long("1"), long("1"));
        let role = long("1").role().unwrap().to_owned();
        assert!(role.starts_with("visual-studio-c") && role.len() <= 24, "{role}");
        assert!(Haid::new(long("1").as_str()).is_ok());
        let of = |machine: &str| Haid::derive("rj", machine, "/work/repo");
        assert_ne!(of("build-machine-of-the-team-1"), of("build-machine-of-the-team-2"));
    }

    #[test]
    fn names_that_a_slug_cannot_show_are_two() {
        let root = Haid::derive("rj", "mbp", "/work/repo");
        let role = |name: &str| root.spawn(name).unwrap().role().unwrap().to_owned();
        for (one, other) in
            [("Агент-1", "Робот-1"), ("cur+sor", "cur-sor"), ("a_b", "a.b"), ("агент", "робот")]
        {
            assert_ne!(role(one), role(other));
            for name in [one, other] {
                assert!(Haid::new(root.spawn(name).unwrap().as_str()).is_ok(), "{name}");
                assert!(role(name).len() <= 24, "{name}");
            }
        }
        assert_eq!(role("GitHub Copilot"), "github-copilot");
        assert_eq!(role("cursor-vscode"), "cursor-vscode");
        assert_eq!(role("АГЕНТ"), role("агент"));
        assert!(role("cur+sor").starts_with("cur-sor-"));
    }

    #[test]
    fn other_texts_are_not_haids() {
        let good = ["haid:rj.mbp-680e", "haid:rj.mbp-680e/cursor", "haid:a-b.c-d-0000/x-1"];
        for text in good {
            assert!(Haid::new(text).is_ok(), "{text}");
        }
        let bad = [
            "",
            "haid:",
            "rj.mbp-680e",
            "haid:rj.mbp",
            "haid:rj-680e",
            "haid:RJ.mbp-680e",
            "haid:rj.mbp-680g",
            "haid:rj.mbp-680",
            "haid:rj.mbp-680e/",
            "haid:rj.mbp-680e/-x",
            "haid:rj.mbp-680e/a/b",
            "haid:rj.mbp-680e ",
            "haid:rj.m.p-680e",
            "haid:.mbp-680e",
            "haid:rj.-680e",
        ];
        for text in bad {
            assert!(Haid::new(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_haid_and_its_agent_stand_for_each_other() {
        let root = Haid::derive("rj", "mbp", "/work/repo");
        assert_eq!(Haid::of_agent(&root.agent_name()), Some(root.clone()));
        let cursor = root.spawn("Cursor").unwrap();
        assert_eq!(cursor.agent_name(), "haid:rj.mbp-680e+cursor");
        assert_eq!(Haid::of_agent(&cursor.agent_name()), Some(cursor.clone()));
        assert_eq!((cursor.root(), cursor.role()), (root.as_str(), Some("cursor")));
        assert_eq!(Haid::of_agent("alice"), None);
        assert_eq!(Haid::of_agent("haid:rj.mbp-680e/cursor"), None, "no agent has that name");
        assert_eq!(root.spawn("!!"), None);
        assert_eq!(cursor.human(), "rj");
    }
}
