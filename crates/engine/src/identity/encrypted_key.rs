//! A person's key at rest: encrypted with a passphrase.

use althing_kernel::PublicKey;
use althing_trail::SecretKey;
use argon2::{Algorithm, Argon2, Params, Version};
use chacha20poly1305::aead::{Aead as _, KeyInit as _, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use data_encoding::HEXLOWER;

const SEALED_HEADER: &str = "althing sealed key v1";
/// Cost of trying one passphrase: memory, and passes over it.
const MEMORY_KIB: u32 = 64 * 1024;
const PASSES: u32 = 3;

/// A key encrypted with a passphrase.
pub(crate) struct EncryptedKey {
    public: PublicKey,
    memory_kib: u32,
    passes: u32,
    salt: [u8; 16],
    nonce: [u8; 24],
    cipher: Vec<u8>,
}

impl EncryptedKey {
    pub(crate) fn new(
        key: &SecretKey,
        passphrase: &str,
        salt: [u8; 16],
        nonce: [u8; 24],
    ) -> Option<Self> {
        let mut encrypted = EncryptedKey {
            public: key.public(),
            memory_kib: MEMORY_KIB,
            passes: PASSES,
            salt,
            nonce,
            cipher: Vec::new(),
        };
        let public = encrypted.public.to_string();
        let payload = Payload { msg: &key.seed(), aad: public.as_bytes() };
        encrypted.cipher =
            encrypted.lock(passphrase)?.encrypt(&XNonce::from(nonce), payload).ok()?;
        Some(encrypted)
    }

    fn lock(&self, passphrase: &str) -> Option<XChaCha20Poly1305> {
        let params = Params::new(self.memory_kib, self.passes, 1, Some(32)).ok()?;
        let argon = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        let mut secret = [0; 32];
        argon.hash_password_into(passphrase.as_bytes(), &self.salt, &mut secret).ok()?;
        XChaCha20Poly1305::new_from_slice(&secret).ok()
    }

    pub(crate) fn open(&self, passphrase: &str) -> Option<SecretKey> {
        let public = self.public.to_string();
        let payload = Payload { msg: self.cipher.as_slice(), aad: public.as_bytes() };
        let seed = self.lock(passphrase)?.decrypt(&XNonce::from(self.nonce), payload).ok()?;
        let key = SecretKey::from_seed(&seed.try_into().ok()?);
        (key.public() == self.public).then_some(key)
    }

    pub(crate) fn text(&self) -> String {
        let EncryptedKey { public, memory_kib, passes, salt, nonce, cipher } = self;
        format!(
            "{SEALED_HEADER}\npublic {public}\nargon2id {memory_kib} {passes} {}\n\
             xchacha20poly1305 {} {}\n",
            HEXLOWER.encode(salt),
            HEXLOWER.encode(nonce),
            HEXLOWER.encode(cipher),
        )
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut lines = text.strip_prefix(SEALED_HEADER)?.trim().lines();
        let public = lines.next()?.strip_prefix("public ")?.parse().ok()?;
        let mut stretch = lines.next()?.strip_prefix("argon2id ")?.split(' ');
        let memory_kib = stretch.next()?.parse().ok().filter(|kib| *kib <= 16 * MEMORY_KIB)?;
        let passes = stretch.next()?.parse().ok().filter(|passes| *passes <= 100)?;
        let salt = HEXLOWER.decode(stretch.next()?.as_bytes()).ok()?.try_into().ok()?;
        let mut encrypted = lines.next()?.strip_prefix("xchacha20poly1305 ")?.split(' ');
        let nonce = HEXLOWER.decode(encrypted.next()?.as_bytes()).ok()?.try_into().ok()?;
        let cipher = HEXLOWER.decode(encrypted.next()?.as_bytes()).ok()?;
        Some(EncryptedKey { public, memory_kib, passes, salt, nonce, cipher })
    }
}
