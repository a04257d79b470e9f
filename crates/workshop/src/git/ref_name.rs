//! Names of refs, of branches and of trees, checked when they are made: none of them can be taken
//! for an option, a range or a path that leads elsewhere.

use std::fmt;

/// How long a name may be.
const LENGTH_MAX: usize = 200;

/// The full name of a ref, such as `refs/althing/checkpoints/lexer`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RefName(Box<str>);

/// The short name of a branch, such as `althing/monday/lexer`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BranchName(Box<str>);

/// The name of an attempt's tree and of what is rescued from it. It is a single part of a path and
/// of a ref: letters, digits, `.`, `_` and `-`, beginning with a letter, a digit or `_`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TreeName(Box<str>);

/// A name that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name:?} cannot name {what}: {why}")]
pub struct NameError {
    /// The name.
    pub name: String,
    /// The kind of thing it should name.
    pub what: &'static str,
    /// The rule it breaks.
    pub why: &'static str,
}

impl RefName {
    /// Checks a full name.
    pub fn new(name: &str) -> Result<Self, NameError> {
        let refuse = |why| Err(refused(name, "a ref", why));
        if !name.starts_with("refs/") {
            return refuse("it must begin with refs/");
        }
        match fault(name) {
            Some(why) => refuse(why),
            None => Ok(RefName(name.into())),
        }
    }

    /// The whole name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl BranchName {
    /// Checks a short name.
    pub fn new(name: &str) -> Result<Self, NameError> {
        let why = match name {
            "HEAD" => Some("git keeps that name for itself"),
            _ if name.starts_with("refs/") => Some("leave refs/heads/ away"),
            _ if name.starts_with('-') => Some("it must not begin with a dash"),
            _ => fault(name),
        };
        match why {
            Some(why) => Err(refused(name, "a branch", why)),
            None => Ok(BranchName(name.into())),
        }
    }

    /// The short name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The ref behind it.
    pub fn full(&self) -> RefName {
        RefName(format!("refs/heads/{}", self.0).into())
    }

    /// The branch of a full name, if it is one's.
    pub(crate) fn of_full(full: &str) -> Option<Self> {
        BranchName::new(full.strip_prefix("refs/heads/")?).ok()
    }

    /// The name of the n-th attempt: the first has the plain name, the second `….2`.
    pub fn numbered(&self, n: usize) -> Result<Self, NameError> {
        if n < 2 { Ok(self.clone()) } else { BranchName::new(&format!("{}.{n}", self.0)) }
    }
}

impl TreeName {
    /// Checks a name.
    pub fn new(name: &str) -> Result<Self, NameError> {
        let refuse = |why| Err(refused(name, "a tree", why));
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        if name.is_empty() || name.len() > 100 {
            return refuse("it must have 1 to 100 characters");
        }
        if !name.bytes().all(plain) {
            return refuse("only letters, digits, '.', '_' and '-' are allowed");
        }
        if name.starts_with(['.', '-']) {
            return refuse("it must begin with a letter, a digit or '_'");
        }
        match fault(name) {
            Some(why) => refuse(why),
            None => Ok(TreeName(name.into())),
        }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn refused(name: &str, what: &'static str, why: &'static str) -> NameError {
    NameError { name: name.chars().take(LENGTH_MAX).collect(), what, why }
}

/// The rule of `git check-ref-format` that a name breaks, if it breaks one.
fn fault(name: &str) -> Option<&'static str> {
    if name.is_empty() || name.len() > LENGTH_MAX {
        return Some("it must have 1 to 200 characters");
    }
    if name == "@" || name.contains("@{") || name.contains("..") {
        return Some("it must not be '@' and not contain '@{' or '..'");
    }
    let bad = |c: char| c.is_ascii_control() || " ~^:?*[\\".contains(c);
    if name.contains(bad) {
        return Some("spaces, control characters and ~ ^ : ? * [ \\ are not allowed");
    }
    if name.ends_with('.') {
        return Some("it must not end with a dot");
    }
    let bad_part = |part: &str| {
        part.is_empty() || part.starts_with('.') || part.strip_suffix(".lock").is_some()
    };
    if name.split('/').any(bad_part) {
        return Some("no part of it may be empty, begin with '.' or end with '.lock'");
    }
    None
}

impl fmt::Display for RefName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for BranchName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for TreeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
