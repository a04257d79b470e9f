//! Types of `integrity`: state, arguments of commands and bodies of events.

use serde::Deserialize;
use serde::Serialize;

use crate::values::id::AnyId;
use crate::values::text::Text;

/// What was tampered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SubjectType {
    /// An envelope.
    Envelope,
    /// A signal.
    Signal,
    /// A checkpoint, or content of one.
    Checkpoint,
    /// An entry of the trail.
    TrailEntry,
}

/// How that shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Violation {
    /// A hash or a proof is another.
    HashMismatch,
    /// A signature is not that of its key.
    SignatureInvalid,
    /// There is no proof.
    ProofMissing,
    /// An entry does not follow from the one before it.
    ChainBroken,
}

/// What was done about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionTaken {
    /// It was refused.
    Rejected,
    /// It was noted.
    Flagged,
    /// It was set aside.
    Quarantined,
}

/// `integrity_violation`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IntegrityViolation {
    /// What was done about it.
    pub action_taken: ActionTaken,
    /// What was found.
    pub actual: Text<200>,
    /// What should have been there.
    pub expected: Text<200>,
    /// What it is about.
    pub subject_id: AnyId,
    /// What that is.
    pub subject_type: SubjectType,
    /// How it shows.
    pub violation: Violation,
}

/// `runtime.violated`: notes that a door found something that is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NoteViolation(pub IntegrityViolation);
