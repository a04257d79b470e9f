//! SHA-256 values, and the prefixes that keep one use of the hash apart from another.

use serde::{Deserialize, Serialize};
use sha2::Digest as _;

/// Purpose of a hash. Its name goes into the hash, so a value made for one purpose is invalid for
/// another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// An entry in the chain of its workspace.
    Local,
    /// An entry in the chain of the whole trail.
    Global,
    /// The signed head of a commit.
    Commit,
    /// A command, signed by its caller.
    Command,
}

impl Domain {
    /// Prefix of everything hashed or signed for this purpose.
    pub fn prefix(self) -> &'static [u8] {
        match self {
            Domain::Local => b"althing/v1/local\0",
            Domain::Global => b"althing/v1/global\0",
            Domain::Commit => b"althing/v1/commit\0",
            Domain::Command => b"althing/v1/command\0",
        }
    }
}

/// A SHA-256 value, written as 64 hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hash([u8; 32]);

/// Error for text that is not a hash.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a hash is written as 64 lower-case hex digits")]
pub struct HashError;

impl Hash {
    /// Makes a hash from its 32 bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Hash(bytes)
    }

    /// The 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Hashes some parts, one after another, for a purpose.
    pub fn of(domain: Domain, pieces: &[&[u8]]) -> Self {
        let mut digest = sha2::Sha256::new();
        digest.update(domain.prefix());
        for piece in pieces {
            digest.update(piece);
        }
        Hash(digest.finalize().into())
    }

    /// The plain SHA-256 of some parts, for formats defined elsewhere.
    pub(crate) fn plain(pieces: &[&[u8]]) -> Self {
        let mut digest = sha2::Sha256::new();
        for piece in pieces {
            digest.update(piece);
        }
        Hash(digest.finalize().into())
    }

    /// The 64 hex digits.
    pub fn hex(&self) -> [u8; 64] {
        let mut digits = [0; 64];
        data_encoding::HEXLOWER.encode_mut(&self.0, &mut digits);
        digits
    }
}

impl std::fmt::Display for Hash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", data_encoding::HEXLOWER.encode_display(&self.0))
    }
}

impl std::fmt::Debug for Hash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Hash({self})")
    }
}

impl std::str::FromStr for Hash {
    type Err = HashError;

    fn from_str(text: &str) -> Result<Self, HashError> {
        let mut bytes = [0; 32];
        if text.len() != 64 {
            return Err(HashError);
        }
        match data_encoding::HEXLOWER.decode_mut(text.as_bytes(), &mut bytes) {
            Ok(32) => Ok(Hash(bytes)),
            _ => Err(HashError),
        }
    }
}

impl Serialize for Hash {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(self)
        } else {
            self.0.serialize(serializer)
        }
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !deserializer.is_human_readable() {
            return <[u8; 32]>::deserialize(deserializer).map(Hash);
        }
        deserializer.deserialize_str(Visitor)
    }
}

struct Visitor;

impl serde::de::Visitor<'_> for Visitor {
    type Value = Hash;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("64 hex digits")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Hash, E> {
        text.parse().map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_survive_their_text_form_and_refuse_others() {
        let hash = Hash::plain(&[b"abc"]);
        let text = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hash.to_string(), text);
        assert_eq!(text.parse(), Ok(hash));
        for bad in ["", "ba", &text.to_uppercase(), &text[1..], &format!("{text}0")] {
            assert_eq!(bad.parse::<Hash>(), Err(HashError), "{bad}");
        }
    }

    #[test]
    fn hashes_of_different_domains_differ() {
        let domains = [Domain::Local, Domain::Global, Domain::Commit, Domain::Command];
        let hashes: std::collections::BTreeSet<_> =
            domains.iter().map(|domain| Hash::of(*domain, &[b"x"])).collect();
        assert_eq!(hashes.len(), domains.len());
    }
}
