//! Integrity violations: data that was tampered with or damaged.

use serde::Deserialize;
use serde::Serialize;

use crate::values::id::AnyId;
use crate::values::text::Text;

/// The type of object that was tampered with.
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

/// The kind of violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Violation {
    /// A hash or a proof does not match.
    HashMismatch,
    /// A signature is invalid.
    SignatureInvalid,
    /// A proof is missing.
    ProofMissing,
    /// The hash chain of the trail is broken.
    ChainBroken,
}

/// The response to a violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionTaken {
    /// The object was rejected.
    Rejected,
    /// The violation was recorded.
    Flagged,
    /// The object was quarantined.
    Quarantined,
}

/// `integrity_violation`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IntegrityViolation {
    /// The response.
    pub action_taken: ActionTaken,
    /// The value that was found.
    pub actual: Text<200>,
    /// The value that was expected.
    pub expected: Text<200>,
    /// The id of the object.
    pub subject_id: AnyId,
    /// The type of the object.
    pub subject_type: SubjectType,
    /// The kind of violation.
    pub violation: Violation,
}

/// `runtime.violated`: records an integrity violation that the runtime found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NoteViolation(pub IntegrityViolation);
