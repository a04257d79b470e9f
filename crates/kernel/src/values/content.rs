//! Content that is too big for an entry: kept beside the trail, named by its hash.
//!
//! Entries never carry payloads. They carry a [`Blob`], the SHA-256 of the bytes, and whoever
//! appends an entry makes sure first that the bytes are safely stored. A command may bring its
//! content along as text; the engine stores it and puts the blob in its place before the kernel
//! sees the command.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use sha2::Digest as _;
use sha2::Sha256;
use std::sync::Arc;

use crate::values::string_newtype::{inline_schema, serde_as_text};

/// The prefix of a blob's name: the hash algorithm.
const PREFIX: &str = "sha256:";

const HEX_DIGITS: usize = 64;

/// The name of stored content: the hash of its bytes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Blob([u8; 32]);

/// Text that does not name a blob.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a blob is named `{PREFIX}` and {HEX_DIGITS} lower-case hexadecimal digits")]
pub struct BlobError;

impl Blob {
    /// The name of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Blob(Sha256::digest(bytes).into())
    }

    /// The blob with this SHA-256.
    pub fn from_digest(digest: [u8; 32]) -> Self {
        Blob(digest)
    }

    /// The digest in hexadecimal digits.
    pub fn hex(&self) -> String {
        let digit = |nibble: u8| char::from(if nibble < 10 { b'0' } else { b'a' - 10 } + nibble);
        self.0.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
    }
}

impl std::str::FromStr for Blob {
    type Err = BlobError;

    fn from_str(text: &str) -> Result<Self, BlobError> {
        let hex = text.strip_prefix(PREFIX).filter(|hex| hex.len() == HEX_DIGITS);
        let mut digest = [0; 32];
        for (byte, pair) in digest.iter_mut().zip(hex.ok_or(BlobError)?.as_bytes().chunks(2)) {
            let nibble = |digit: u8| match digit {
                b'0'..=b'9' => Ok(digit - b'0'),
                b'a'..=b'f' => Ok(digit - b'a' + 10),
                _ => Err(BlobError),
            };
            *byte = (nibble(pair[0])? << 4) | nibble(pair[1])?;
        }
        Ok(Blob(digest))
    }
}

impl std::fmt::Display for Blob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{PREFIX}{}", self.hex())
    }
}

impl std::fmt::Debug for Blob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Blob({self})")
    }
}

serde_as_text!(Blob, "a blob", str::parse);
inline_schema!(Blob, { "type": "string", "pattern": "^sha256:[0-9a-f]{64}$" });

/// Content as a command brings it: by name, or as text that is yet to be stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// Stored already.
    Blob(Blob),
    /// Not stored yet. The engine stores it before the command is decided.
    Text(Arc<str>),
}

impl Content {
    /// The stored content; `None` while it is not stored.
    pub fn blob(&self) -> Option<&Blob> {
        match self {
            Content::Blob(blob) => Some(blob),
            Content::Text(_) => None,
        }
    }
}

impl From<Blob> for Content {
    fn from(blob: Blob) -> Self {
        Content::Blob(blob)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blob_survives_its_text_form() {
        let blob = Blob::from_digest(std::array::from_fn(|n| u8::try_from(n * 7 % 256).unwrap()));
        assert_eq!(blob.to_string().parse(), Ok(blob));
        let zeros = format!("sha256:{}", "0".repeat(64));
        assert_eq!(zeros.parse(), Ok(Blob::from_digest([0; 32])));
        for bad in ["", "sha256:", &zeros[1..], &zeros.replace('0', "G"), &format!("{zeros}0")] {
            assert_eq!(bad.parse::<Blob>(), Err(BlobError), "{bad}");
        }
        assert!(zeros.to_uppercase().parse::<Blob>().is_err());
    }
}
