//! Public keys. The kernel compares them; it never verifies a signature with them.

use crate::values::string_newtype::{inline_schema, serde_as_text};

const PREFIX: &str = "ed25519:";

/// An Ed25519 public key, written `ed25519:` and 64 hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublicKey([u8; 32]);

/// Text that is not a public key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a public key is written `ed25519:` and 64 hex digits")]
pub struct KeyError;

impl PublicKey {
    /// A key from its 32 bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        PublicKey(bytes)
    }

    /// The 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The first twelve hexadecimal digits, enough to tell keys apart at a glance.
    pub fn short(&self) -> String {
        data_encoding::HEXLOWER.encode(&self.0[..6])
    }
}

impl std::fmt::Display for PublicKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{PREFIX}{}", data_encoding::HEXLOWER.encode_display(&self.0))
    }
}

impl std::fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PublicKey({}…)", self.short())
    }
}

impl std::str::FromStr for PublicKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let digits = text.strip_prefix(PREFIX).ok_or(KeyError)?;
        let bytes = data_encoding::HEXLOWER.decode(digits.as_bytes()).map_err(|_| KeyError)?;
        bytes.try_into().map(PublicKey).map_err(|_| KeyError)
    }
}

serde_as_text!(PublicKey, "a public key", str::parse);
inline_schema!(PublicKey, { "type": "string", "pattern": "^ed25519:[0-9a-f]{64}$" });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_survives_its_text_form() {
        let key = PublicKey::from_bytes([0xab; 32]);
        assert_eq!(key.to_string().parse(), Ok(key));
        for bad in ["", "ed25519:", "ed25519:ab", &key.to_string().to_uppercase()] {
            assert_eq!(bad.parse::<PublicKey>(), Err(KeyError), "{bad}");
        }
    }
}
