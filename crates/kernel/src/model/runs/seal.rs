//! Types of `seal`: state, arguments of commands and bodies of events.

use serde::Deserialize;
use serde::Serialize;

use crate::registry::apply_error::ApplyError;
use crate::values::id::WorkspaceId;

const PROOF_BYTES: usize = 32;

/// A proof, written as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Proof([u8; PROOF_BYTES]);

/// Text that is no proof.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a proof is written as 64 lower-case hexadecimal digits")]
pub struct ProofError;

impl Proof {
    /// A proof from its bytes.
    pub fn from_bytes(bytes: [u8; PROOF_BYTES]) -> Self {
        Proof(bytes)
    }

    /// Its bytes.
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

impl Serialize for Proof {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Proof {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::values::de::from_str(deserializer, "a proof", str::parse)
    }
}

/// How a proof is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Algorithm {
    /// HMAC with SHA-256, under a secret of the workspace.
    #[serde(rename = "hmac-sha256")]
    HmacSha256,
}

/// What protects a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Integrity {
    /// How the proof is made.
    pub algorithm: Algorithm,
    /// The proof.
    pub proof: Proof,
}

/// Whose message it is: a workspace of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Maker<'a> {
    /// The root of the run.
    pub run: &'a WorkspaceId,
    /// The workspace.
    pub workspace: &'a WorkspaceId,
}

/// Something that makes and checks proofs with secrets of its own.
pub trait Seal {
    /// The proof that a workspace made a message.
    fn prove(&self, maker: Maker<'_>, message: &[u8]) -> Proof;

    /// Whether a proof is that of the message. It takes as long wherever two proofs differ.
    fn check(&self, maker: Maker<'_>, message: &[u8], proof: &Proof) -> bool;
}

/// What is proved of an envelope or a checkpoint: which sort it is, and everything it says.
pub(crate) fn message<T: Serialize>(sort: &str, said: &T) -> Result<Vec<u8>, ApplyError> {
    let text = serde_json::to_string(said);
    let text = text.map_err(|_| ApplyError::Mismatch("what is to be proved"))?;
    Ok(format!("althing/{sort}/1\n{text}").into_bytes())
}
