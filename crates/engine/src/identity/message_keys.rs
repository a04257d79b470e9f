//! Keys of workspaces, with which messages are authenticated.
//!
//! A run has a secret, derived from the runtime's key and the run's root (the first step of HKDF,
//! RFC 5869); each workspace has one derived from that and its id (the second step). None is
//! stored: the holder of the runtime's key can derive all of them again, and nobody else any. A
//! proof is an HMAC-SHA256 under the secret of the workspace that made the message.

use althing_kernel::seal::{Maker, Proof, Seal};
use althing_trail::SecretKey;
use hmac::digest::common::Key;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

type HmacSha256 = Hmac<Sha256>;

/// Label that separates these secrets from others derived from the same key.
const WORKSPACE: &[u8] = b"althing/workspace-secret/1\0";
/// HKDF numbers the blocks of its output; one block is enough.
const FIRST_PIECE: [u8; 1] = [1];

/// Proves and checks messages with keys derived from the runtime's key.
#[derive(Clone, Debug)]
pub struct MessageKeys {
    key: SecretKey,
}

impl MessageKeys {
    /// The message keys of a runtime's key.
    pub fn of(key: &SecretKey) -> Self {
        MessageKeys { key: key.clone() }
    }

    fn mac(&self, maker: Maker<'_>, message: &[u8]) -> HmacSha256 {
        let seed = self.key.seed();
        let workspace = maker.workspace.as_str().as_bytes();
        let secret = derive(maker.run.as_str().as_bytes(), &seed, &[WORKSPACE, workspace]);
        keyed(&secret).chain_update(message)
    }
}

impl Seal for MessageKeys {
    fn prove(&self, maker: Maker<'_>, message: &[u8]) -> Proof {
        Proof::from_bytes(self.mac(maker, message).finalize().into_bytes().into())
    }

    fn check(&self, maker: Maker<'_>, message: &[u8], proof: &Proof) -> bool {
        // Compares in constant time.
        self.mac(maker, message).verify(proof.as_bytes().into()).is_ok()
    }
}

/// The first 32 bytes of HKDF-SHA256.
fn derive(salt: &[u8], material: &[u8], info: &[&[u8]]) -> [u8; 32] {
    let run = keyed(salt).chain_update(material).finalize().into_bytes();
    let piece = info.iter().fold(keyed(&run), hmac::Mac::chain_update);
    piece.chain_update(FIRST_PIECE).finalize().into_bytes().into()
}

/// HMAC under a key of at most one block; ids and secrets are never longer.
fn keyed(key: &[u8]) -> HmacSha256 {
    let mut block = Key::<HmacSha256>::default();
    for (place, byte) in block.iter_mut().zip(key) {
        *place = *byte;
    }
    HmacSha256::new(&block)
}

#[cfg(test)]
mod tests {
    use super::*;
    use althing_kernel::WorkspaceId;
    use data_encoding::HEXLOWER;

    #[test]
    fn derivation_is_that_of_the_standard() {
        // RFC 5869, appendix A.1.
        let salt: Vec<u8> = (0x00..=0x0c).collect();
        let info: Vec<u8> = (0xf0..=0xf9).collect();
        let derived = derive(&salt, &[0x0b; 22], &[&info[..4], &info[4..]]);
        let expected = "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf";
        assert_eq!(HEXLOWER.encode(&derived), expected);
    }

    /// Shows W-SEC-06.
    #[test]
    fn a_proof_is_good_for_its_workspace_its_run_and_its_message_only() {
        let [a, b] = ["ws-a", "ws-b"].map(|id| WorkspaceId::new(id).unwrap());
        let secrets = MessageKeys::of(&SecretKey::from_seed(&[1; 32]));
        let own = Maker { run: &a, workspace: &b };
        let proof = secrets.prove(own, b"message");
        assert!(secrets.check(own, b"message", &proof));
        assert!(!secrets.check(own, b"massage", &proof));
        assert!(!secrets.check(Maker { run: &b, ..own }, b"message", &proof));
        assert!(!secrets.check(Maker { workspace: &a, ..own }, b"message", &proof));
        let other = MessageKeys::of(&SecretKey::from_seed(&[2; 32]));
        assert!(!other.check(own, b"message", &proof));
        for place in 0..32 {
            let mut bytes = *proof.as_bytes();
            bytes[place] ^= 1;
            assert!(!secrets.check(own, b"message", &Proof::from_bytes(bytes)));
        }
    }
}
