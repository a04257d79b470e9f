//! What was found not to be what it should be, and what was done about it.

use serde::{Deserialize, Serialize};

use crate::id::AnyId;
use crate::text::Text;

/// What was tampered with, or is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SubjectType {
    /// An envelope.
    Envelope,
    /// A signal.
    Signal,
    /// A checkpoint.
    Checkpoint,
    /// An entry of the trail.
    TrailEntry,
}

/// How that shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Violation {
    /// The content has another hash than the one it is known by.
    HashMismatch,
    /// A signature does not hold.
    SignatureInvalid,
    /// What should be there to show it is not.
    ProofMissing,
    /// It does not hang on what came before.
    ChainBroken,
}

/// What was done about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionTaken {
    /// It was not accepted.
    Rejected,
    /// It was told, and left as it is.
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
    /// What should have been found.
    pub expected: Text<200>,
    /// What it is about.
    pub subject_id: AnyId,
    /// What sort of thing that is.
    pub subject_type: SubjectType,
    /// How it shows.
    pub violation: Violation,
}
