//! Proofs of messages: that an envelope or a checkpoint is still what its workspace made.
//!
//! A proof is made by the runtime when something is recorded, under a secret of the workspace it
//! comes from, and checked before it is delivered or merged. What waits in between, in a snapshot
//! or on its way, cannot be changed by whoever does not know the secret. The kernel knows no
//! secrets: it says what is proved, and a [`Seal`] that comes in from outside does the rest.

use serde::{Deserialize, Serialize};

use crate::checkpoint::{self, Checkpoint};
use crate::envelope::carrier::Parcel;
use crate::event::{Draft, Event, Stamped};
use crate::highway::resolve;
use crate::id::{AnyId, CheckpointId, WorkspaceId};
use crate::refusal::{Record, Refusal, RefusalKind};
use crate::rule::Rule;
use crate::state::{ApplyError, State};
use crate::text::Text;
use crate::turn::{Halt, Turn};
use crate::violation::{ActionTaken, IntegrityViolation, SubjectType, Violation};

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
        crate::de::from_str(deserializer, "a proof", str::parse)
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

/// What is said of a message whose proof does not hold.
pub(crate) struct Broken {
    violation: Violation,
    expected: String,
    actual: &'static str,
}

impl Broken {
    /// The entry about it. What the proof should have been is not told: it would be a proof.
    pub(crate) fn entry(self, subject_type: SubjectType, subject_id: AnyId) -> IntegrityViolation {
        IntegrityViolation {
            action_taken: ActionTaken::Rejected,
            actual: Text::lossy(self.actual),
            expected: Text::lossy(&self.expected),
            subject_id,
            subject_type,
            violation: self.violation,
        }
    }
}

/// What is proved of an envelope or a checkpoint: which sort it is, and everything it says.
pub(crate) fn message<T: Serialize>(sort: &str, said: &T) -> Result<Vec<u8>, ApplyError> {
    let text = serde_json::to_string(said);
    let text = text.map_err(|_| ApplyError::Mismatch("what is to be proved"))?;
    Ok(format!("althing/{sort}/1\n{text}").into_bytes())
}

/// Whether a proof holds. A workspace that is not known made nothing.
fn checked(
    seal: &dyn Seal,
    state: &State,
    workspace: &WorkspaceId,
    message: &[u8],
    integrity: Option<&Integrity>,
) -> Result<(), Broken> {
    let Some(integrity) = integrity else {
        let (violation, expected) = (Violation::ProofMissing, "a proof".to_owned());
        return Err(Broken { violation, expected, actual: "none" });
    };
    let known = state.workspaces.get(workspace);
    let holds = known.is_some_and(|known| {
        seal.check(Maker { run: &known.charter.root, workspace }, message, &integrity.proof)
    });
    if holds {
        return Ok(());
    }
    let (violation, expected) = (Violation::HashMismatch, integrity.proof.to_string());
    Err(Broken { violation, expected, actual: "what is there has another proof" })
}

impl Turn<'_> {
    /// Gives what is about to be recorded its proof, if it is something that has one.
    pub(crate) fn proven(&self, mut draft: Draft) -> Result<Draft, ApplyError> {
        let Some(seal) = self.seal else { return Ok(draft) };
        let (workspace, message, integrity) = match &mut draft.event {
            Event::EnvelopeCreated(body) => {
                let parcel = Parcel {
                    id: body.envelope_id.clone(),
                    envelope: body.envelope(self.state().clock()),
                };
                (body.from.clone(), parcel.message()?, &mut body.integrity)
            }
            // What a person changed is not what its sender made, but what was let through.
            Event::GateResolved(body) => match resolve::changed_envelope(self.state(), body) {
                Some(parcel) => {
                    (parcel.envelope.from.clone(), parcel.message()?, &mut body.integrity)
                }
                None => return Ok(draft),
            },
            Event::CheckpointCreated(body) => {
                let made = body.checkpoint(self.state().clock());
                let message = checkpoint::message(&body.checkpoint_id, &made)?;
                (body.workspace.clone(), message, &mut body.integrity)
            }
            _ => return Ok(draft),
        };
        let known = self.state().workspaces.get(&workspace);
        let run = &known.ok_or(ApplyError::Unknown("the workspace"))?.charter.root;
        let proof = seal.prove(Maker { run, workspace: &workspace }, &message);
        *integrity = Some(Integrity { algorithm: Algorithm::HmacSha256, proof });
        Ok(draft)
    }

    /// Whether an envelope is what its sender made. Where there is no seal, nothing is asked.
    pub(crate) fn check_parcel(&self, parcel: &Parcel) -> Result<Result<(), Broken>, ApplyError> {
        let Some(seal) = self.seal else { return Ok(Ok(())) };
        let (sent, message) = (&parcel.envelope, parcel.message()?);
        Ok(checked(seal, self.state(), &sent.from, &message, sent.integrity.as_ref()))
    }

    /// Refuses a checkpoint that is not what its workspace made.
    pub(crate) fn check_checkpoint(&self, id: &CheckpointId) -> Result<(), Halt> {
        let Some(seal) = self.seal else { return Ok(()) };
        let known = self.state().checkpoints.get(id);
        let made = known.ok_or(ApplyError::Unknown("the checkpoint"))?;
        match check_checkpoint(seal, self.state(), id, made)? {
            Ok(()) => Ok(()),
            Err(broken) => {
                let text = format!("checkpoint {id} is not what its workspace made");
                let refusal = Refusal::of(RefusalKind::Integrity, Rule::CheckpointProven, text);
                let entry = broken.entry(SubjectType::Checkpoint, id.into());
                Err(refusal.recorded(Record::Violation(Box::new(entry))).into())
            }
        }
    }
}

fn check_checkpoint(
    seal: &dyn Seal,
    state: &State,
    id: &CheckpointId,
    made: &Checkpoint,
) -> Result<Result<(), Broken>, ApplyError> {
    let message = checkpoint::message(id, made)?;
    Ok(checked(seal, state, &made.workspace, &message, made.integrity.as_ref()))
}

/// Whether a checkpoint has the proof that its workspace made it. One that is not there has none.
pub fn is_proven(seal: &dyn Seal, state: &State, id: &CheckpointId) -> bool {
    let made = state.checkpoints.get(id);
    made.is_some_and(|made| matches!(check_checkpoint(seal, state, id, made), Ok(Ok(()))))
}

/// Whether a checkpoint is the one that an entry made.
pub fn is_as_recorded(state: &State, id: &CheckpointId, entry: &Stamped) -> bool {
    match (&entry.draft.event, state.checkpoints.get(id)) {
        (Event::CheckpointCreated(body), Some(made)) if body.checkpoint_id == *id => {
            **made == body.checkpoint(entry.at)
        }
        _ => false,
    }
}
