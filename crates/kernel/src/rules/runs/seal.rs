//! Proofs of messages: that an envelope or a checkpoint is still what its workspace made.
//!
//! A proof is made by the runtime when something is recorded, under a secret of the workspace it
//! comes from, and checked before it is delivered or merged. What waits in between, in a snapshot
//! or on its way, cannot be changed by whoever does not know the secret. The kernel knows no
//! secrets: it says what is proved, and a [`Seal`] that comes in from outside does the rest.

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

/// What is said of a message whose proof does not hold.
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

    /// The entry about it. What the proof should have been is not told: it would be a proof.
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
        if let Some(recorded) = self.recorded_parcel(&parcel.id) {
            return Ok(recorded.map_or(Ok(()), |violation| Err(Broken::again(violation))));
        }
        let Some(seal) = self.seal else { return Ok(Ok(())) };
        let (sent, message) = (&parcel.envelope, parcel.message()?);
        Ok(checked(seal, self.state(), &sent.from, &message, sent.integrity.as_ref()))
    }

    /// Refuses a checkpoint that is not what its workspace made.
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
