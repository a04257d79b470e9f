//! Integrity proofs: that an envelope or a checkpoint is unchanged since its workspace made it.
//!
//! The runtime makes a proof when something is recorded, with a secret of the workspace it comes
//! from, and verifies it before delivery or merge. In between, in a snapshot or in transit, nobody
//! can alter it without knowing the secret. The kernel knows no secrets: it defines which bytes are
//! covered, and a [`Seal`] passed in from outside does the rest.

use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::runs::checkpoint::Checkpoint;
use crate::model::runs::envelope::carrier::Parcel;
use crate::model::runs::integrity::{ActionTaken, IntegrityViolation, SubjectType, Violation};
use crate::protocol::event::{Draft, Event, Stamped};
use crate::protocol::refusal::{Record, Refusal, RefusalKind};
use crate::registry::apply_error::ApplyError;
use crate::registry::rule::Rule;
use crate::rules::runs::approvals::resolve;
use crate::rules::runs::checkpoint;
use crate::values::id::{AnyId, CheckpointId, WorkspaceId};
use crate::values::text::Text;

pub use crate::model::runs::seal::*;

/// A failed verification of a proof.
pub(crate) struct Broken {
    violation: Violation,
    expected: String,
    actual: String,
}

impl Broken {
    /// The same finding again, from its entry.
    fn again(recorded: &IntegrityViolation) -> Self {
        Broken {
            violation: recorded.violation,
            expected: recorded.expected.as_str().to_owned(),
            actual: recorded.actual.as_str().to_owned(),
        }
    }

    /// The entry that records it. The expected proof is left out: it would be a valid proof.
    pub(crate) fn entry(self, subject_type: SubjectType, subject_id: AnyId) -> IntegrityViolation {
        IntegrityViolation {
            action_taken: ActionTaken::Rejected,
            actual: Text::lossy(&self.actual),
            expected: Text::lossy(&self.expected),
            subject_id,
            subject_type,
            violation: self.violation,
        }
    }
}

/// Verifies a proof. An unknown workspace has no valid proofs.
fn checked(
    seal: &dyn Seal,
    state: &State,
    workspace: &WorkspaceId,
    message: &[u8],
    integrity: Option<&Integrity>,
) -> Result<(), Broken> {
    let Some(integrity) = integrity else {
        let (violation, expected) = (Violation::ProofMissing, "a proof".to_owned());
        return Err(Broken { violation, expected, actual: "none".to_owned() });
    };
    let known = state.workspaces.get(workspace);
    let holds = known.is_some_and(|known| {
        seal.check(Maker { run: &known.charter.root, workspace }, message, &integrity.proof)
    });
    if holds {
        return Ok(());
    }
    let (violation, expected) = (Violation::HashMismatch, integrity.proof.to_string());
    let actual = "what is there has another proof".to_owned();
    Err(Broken { violation, expected, actual })
}

impl Transaction<'_> {
    /// Adds the integrity proof to an event about to be recorded, if it carries one.
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
            // The proof of a modified envelope covers the content that was approved, not what the
            // sender wrote.
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
            // Any other event carries no proof.
            _ => return Ok(draft),
        };
        let known = self.state().workspaces.get(&workspace);
        let run = &known.ok_or(ApplyError::Unknown("the workspace"))?.charter.root;
        let proof = seal.prove(Maker { run, workspace: &workspace }, &message);
        *integrity = Some(Integrity { algorithm: Algorithm::HmacSha256, proof });
        Ok(draft)
    }

    /// Verifies an envelope. Without a seal nothing is verified.
    pub(crate) fn check_parcel(&self, parcel: &Parcel) -> Result<Result<(), Broken>, ApplyError> {
        if let Some(recorded) = self.recorded_parcel(&parcel.id) {
            return Ok(recorded.map_or(Ok(()), |violation| Err(Broken::again(violation))));
        }
        let Some(seal) = self.seal else { return Ok(Ok(())) };
        let (sent, message) = (&parcel.envelope, parcel.message()?);
        Ok(checked(seal, self.state(), &sent.from, &message, sent.integrity.as_ref()))
    }

    /// Refuses a checkpoint whose proof does not match.
    pub(crate) fn check_checkpoint(&self, id: &CheckpointId) -> Result<(), DecisionError> {
        let known = self.state().checkpoints.get(id);
        let made = known.ok_or(ApplyError::Unknown("the checkpoint"))?;
        let checked = match (self.recorded_checkpoint(id), self.seal) {
            (Some(recorded), _) => recorded.map_or(Ok(()), |own| Err(Broken::again(own))),
            (None, Some(seal)) => check_checkpoint(seal, self.state(), id, made)?,
            (None, None) => Ok(()),
        };
        match checked {
            Ok(()) => Ok(()),
            Err(broken) => {
                let text = format!("the integrity proof of checkpoint {id} does not match");
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

/// Whether a checkpoint exists and has a valid proof.
pub fn is_proven(seal: &dyn Seal, state: &State, id: &CheckpointId) -> bool {
    let made = state.checkpoints.get(id);
    made.is_some_and(|made| matches!(check_checkpoint(seal, state, id, made), Ok(Ok(()))))
}

/// Whether a checkpoint equals the one that an entry recorded.
pub fn is_as_recorded(state: &State, id: &CheckpointId, entry: &Stamped) -> bool {
    match (&entry.draft.event, state.checkpoints.get(id)) {
        (Event::CheckpointCreated(body), Some(made)) if body.checkpoint_id == *id => {
            **made == body.checkpoint(entry.at)
        }
        _ => false,
    }
}
