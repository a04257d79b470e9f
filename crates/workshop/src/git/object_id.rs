//! The id of a git object.

use std::fmt;

/// The id of a commit, a tree or a file in a repository: 40 or 64 lowercase hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(Box<str>);

/// A text that is no object id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no object id: give all 40 or 64 hexadecimal digits, as `git rev-parse` does")]
pub struct NotAnObjectId {
    /// The text.
    pub text: String,
}

impl ObjectId {
    /// Reads an id.
    pub fn new(text: &str) -> Result<Self, NotAnObjectId> {
        let digits = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if digits && matches!(text.len(), 40 | 64) {
            return Ok(ObjectId(text.into()));
        }
        Err(NotAnObjectId { text: text.chars().take(80).collect() })
    }

    /// Reads an id that git printed; none for the zeroes that stand for no object.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let id = ObjectId::new(std::str::from_utf8(bytes).ok()?).ok()?;
        (!id.0.bytes().all(|byte| byte == b'0')).then_some(id)
    }

    /// All digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first ten digits, for people.
    pub fn short(&self) -> &str {
        &self.0[..10]
    }

    /// Zeroes of the same length: what `update-ref` takes for "does not exist".
    pub(crate) fn zeroes(&self) -> String {
        "0".repeat(self.0.len())
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for ObjectId {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl std::str::FromStr for ObjectId {
    type Err = NotAnObjectId;

    fn from_str(text: &str) -> Result<Self, NotAnObjectId> {
        ObjectId::new(text)
    }
}
