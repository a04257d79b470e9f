//! Secret keys for signing, and the check of signatures.

use althing_kernel::PublicKey;
use ed25519_dalek::{Signer as _, SigningKey, VerifyingKey};

/// An Ed25519 secret key. Its `Debug` output shows the public half only; it is wiped when dropped.
#[derive(Clone)]
pub struct SecretKey(SigningKey);

impl SecretKey {
    /// The key of a 32-byte seed.
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        SecretKey(SigningKey::from_bytes(seed))
    }

    /// The seed, for storing the key.
    pub fn seed(&self) -> [u8; 32] {
        self.0.to_bytes()
    }

    /// The public half.
    pub fn public(&self) -> PublicKey {
        PublicKey::from_bytes(self.0.verifying_key().to_bytes())
    }

    /// Signs a message.
    pub fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.0.sign(message).to_bytes()
    }
}

impl std::fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SecretKey(of {})", self.public().short())
    }
}

/// Whether a signature over the message was made by the key. Malleable forms are rejected.
pub fn is_signed_by(key: &PublicKey, message: &[u8], signature: &[u8; 64]) -> bool {
    VerifyingKey::from_bytes(key.as_bytes()).is_ok_and(|key| {
        key.verify_strict(message, &ed25519_dalek::Signature::from_bytes(signature)).is_ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_good_for_its_key_and_message_only() {
        let (key, other) = (SecretKey::from_seed(&[1; 32]), SecretKey::from_seed(&[2; 32]));
        let signature = key.sign(b"message");
        assert!(is_signed_by(&key.public(), b"message", &signature));
        assert!(!is_signed_by(&key.public(), b"massage", &signature));
        assert!(!is_signed_by(&other.public(), b"message", &signature));
        assert!(!format!("{key:?}").contains(&data_encoding::HEXLOWER.encode(&key.seed())));
    }
}
