//! Integrity proofs (HMACs) of envelopes and checkpoints.

use serde::Deserialize;
use serde::Serialize;

use crate::registry::apply_error::ApplyError;
use crate::values::id::WorkspaceId;
use crate::values::string_newtype::serde_as_text;

const PROOF_BYTES: usize = 32;

/// A proof, written as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Proof([u8; PROOF_BYTES]);

/// The error for text that is no proof.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a proof is written as 64 lower-case hexadecimal digits")]
pub struct ProofError;

impl Proof {
    /// A proof from its bytes.
    pub fn from_bytes(bytes: [u8; PROOF_BYTES]) -> Self {
        Proof(bytes)
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8; PROOF_BYTES] {
        &self.0
    }
}

impl std::fmt::Display for Proof {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", data_encoding::HEXLOWER.encode_display(&self.0))
    }
}

impl std::fmt::Debug for Proof {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Proof({self})")
    }
}

impl std::str::FromStr for Proof {
    type Err = ProofError;

    fn from_str(text: &str) -> Result<Self, ProofError> {
        let bytes = data_encoding::HEXLOWER.decode(text.as_bytes()).map_err(|_| ProofError)?;
        bytes.try_into().map(Proof).map_err(|_| ProofError)
    }
}

serde_as_text!(Proof, "a proof", str::parse);

/// The algorithm of a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Algorithm {
    /// HMAC with SHA-256, under a secret of the workspace.
    #[serde(rename = "hmac-sha256")]
    HmacSha256,
}

/// The integrity proof of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Integrity {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// The proof.
    pub proof: Proof,
}

/// The author of a message: a workspace of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Maker<'a> {
    /// The root of the run.
    pub run: &'a WorkspaceId,
    /// The workspace.
    pub workspace: &'a WorkspaceId,
}

/// A holder of secrets that makes and verifies proofs.
pub trait Seal {
    /// Makes the proof that a workspace is the author of a message.
    fn prove(&self, maker: Maker<'_>, message: &[u8]) -> Proof;

    /// Verifies a proof in constant time.
    fn check(&self, maker: Maker<'_>, message: &[u8], proof: &Proof) -> bool;
}

/// The bytes that a proof covers: the sort of object and all its fields.
pub(crate) fn message<T: Serialize>(sort: &str, content: &T) -> Result<Vec<u8>, ApplyError> {
    let text = serde_json::to_string(content);
    let text = text.map_err(|_| ApplyError::Mismatch("what is to be proved"))?;
    Ok(format!("althing/{sort}/1\n{text}").into_bytes())
}
