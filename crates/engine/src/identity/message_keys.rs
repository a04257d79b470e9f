//! Secrets of workspaces: what messages are proved with.
//!
//! A run has a secret, drawn from the runtime's key and the run's root (HKDF, RFC 5869, its first
//! step); each workspace has one drawn from that and its id (the second step). None is stored: who
//! holds the runtime's key can draw all of them again, and nobody else any. A proof is an
//! HMAC-SHA256 under the secret of the workspace that made the message.

use althing_kernel::seal::{Maker, Proof, Seal};
use althing_trail::SecretKey;
use hmac::digest::common::Key;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

type HmacSha256 = Hmac<Sha256>;

/// Keeps what is drawn here apart from anything else that could be drawn from the same key.
const WORKSPACE: &[u8] = b"althing/workspace-secret/1\0";
/// HKDF numbers the pieces of its output; one piece is enough.
const FIRST_PIECE: [u8; 1] = [1];

/// What proves and checks messages, with the runtime's key.
#[derive(Clone, Debug)]
pub struct Secrets {
    key: SecretKey,
}

impl Secrets {
    /// The secrets that follow from a runtime's key.
    pub fn of(key: &SecretKey) -> Self {
        Secrets { key: key.clone() }
    }

    fn mac(&self, maker: Maker<'_>, message: &[u8]) -> HmacSha256 {
        let seed = self.key.seed();
        let workspace = maker.workspace.as_str().as_bytes();
        let secret = derive(maker.run.as_str().as_bytes(), &seed, &[WORKSPACE, workspace]);
        keyed(&secret).chain_update(message)
    }
}

impl Seal for Secrets {
    fn prove(&self, maker: Maker<'_>, message: &[u8]) -> Proof {
        Proof::from_bytes(self.mac(maker, message).finalize().into_bytes().into())
    }

    fn check(&self, maker: Maker<'_>, message: &[u8], proof: &Proof) -> bool {
        // In constant time, whatever the difference.
        self.mac(maker, message).verify(proof.as_bytes().into()).is_ok()
    }
}

/// The first 32 bytes of HKDF-SHA256.
fn derive(salt: &[u8], material: &[u8], info: &[&[u8]]) -> [u8; 32] {
    let run = keyed(salt).chain_update(material).finalize().into_bytes();
    let piece = info.iter().fold(keyed(&run), hmac::Mac::chain_update);
    piece.chain_update(FIRST_PIECE).finalize().into_bytes().into()
}

/// HMAC under a key of at most a block; ids and secrets are never longer.
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
        let secrets = Secrets::of(&SecretKey::from_seed(&[1; 32]));
        let own = Maker { run: &a, workspace: &b };
        let proof = secrets.prove(own, b"message");
        assert!(secrets.check(own, b"message", &proof));
        assert!(!secrets.check(own, b"massage", &proof));
        assert!(!secrets.check(Maker { run: &b, ..own }, b"message", &proof));
        assert!(!secrets.check(Maker { workspace: &a, ..own }, b"message", &proof));
        let other = Secrets::of(&SecretKey::from_seed(&[2; 32]));
        assert!(!other.check(own, b"message", &proof));
        for place in 0..32 {
            let mut bytes = *proof.as_bytes();
            bytes[place] ^= 1;
            assert!(!secrets.check(own, b"message", &Proof::from_bytes(bytes)));
        }
    }
}
