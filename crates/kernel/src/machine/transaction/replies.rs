//! Replies of a transaction, and sizes of content.

use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::admin::surroundings::Surroundings;
use crate::model::identity::user::view::UserView;
use crate::model::leasing::view::{LeaseView, SessionView};
use crate::model::runs::checkpoint::CheckpointView;
use crate::model::runs::envelope::Payload;
use crate::model::runs::envelope::view::EnvelopeView;
use crate::model::runs::right::RightView;
use crate::model::runs::task::view::TaskView;
use crate::model::runs::workspace::account::MeterView;
use crate::model::runs::workspace::meter::Amount;
use crate::model::runs::workspace::view::WorkspaceView;
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::values::content::Blob;
use crate::values::id::{CheckpointId, EnvelopeId, LeaseId, RightId, TaskId, WorkspaceId};
use crate::values::name::UserId;

impl Transaction<'_> {
    pub(crate) fn lease_reply(&self, id: &LeaseId) -> Result<Reply, DecisionError> {
        let lease = self.state.leases.get(id).ok_or(ApplyError::Unknown("the lease"))?;
        Ok(Reply::Lease(LeaseView::of(id, lease)))
    }

    pub(crate) fn session_reply(&self, id: &WorkspaceId) -> Result<Reply, DecisionError> {
        let session = self.state.sessions.get(id).ok_or(ApplyError::Unknown("the session"))?;
        Ok(Reply::Session(SessionView::of(id, session)))
    }

    pub(crate) fn user_reply(&self, id: &UserId) -> Result<Reply, DecisionError> {
        let user = self.state.users.get(id).ok_or(ApplyError::Unknown("the user"))?;
        Ok(Reply::User(Box::new(UserView::of(id, user))))
    }

    pub(crate) fn workspace_reply(&self, id: &WorkspaceId) -> Result<Reply, DecisionError> {
        let known = self.state.workspaces.get(id).ok_or(ApplyError::Unknown("the workspace"))?;
        let view = WorkspaceView::of(&self.state, self.now, id, known);
        Ok(Reply::Workspace(Box::new(view)))
    }

    pub(crate) fn meter_reply(&self, id: &WorkspaceId) -> Result<Reply, DecisionError> {
        let known = self.state.workspaces.get(id).ok_or(ApplyError::Unknown("the workspace"))?;
        Ok(Reply::Meter(Box::new(MeterView::of(self.now, id, known))))
    }

    /// How large stored content is.
    pub(crate) fn bytes_of(&self, blob: &Blob) -> u64 {
        if self.is_again() {
            return self.recorded_context_bytes(blob);
        }
        self.surroundings.map_or(0, |around| around.bytes_of(blob))
    }

    /// How large what is in an envelope is.
    pub(crate) fn bytes_of_payload(&self, payload: &Payload) -> Amount {
        if self.is_again() {
            return Amount::new(self.recorded_payload_bytes());
        }
        let blobs = payload.attachments.iter().chain([&payload.content]);
        Amount::new(blobs.map(|blob| self.bytes_of(blob)).fold(0, u64::saturating_add))
    }

    /// How much room is left where content is stored, as far as that is known.
    pub(crate) fn disk_free(&self) -> Option<u64> {
        self.surroundings.and_then(Surroundings::disk_free)
    }

    pub(crate) fn envelope_reply(&self, id: &EnvelopeId) -> Result<Reply, DecisionError> {
        let known = self.state.envelopes.get(id).ok_or(ApplyError::Unknown("the envelope"))?;
        Ok(Reply::Envelope(Box::new(EnvelopeView::of(id, known))))
    }

    pub(crate) fn checkpoint_reply(&self, id: &CheckpointId) -> Result<Reply, DecisionError> {
        let known = self.state.checkpoints.get(id).ok_or(ApplyError::Unknown("the checkpoint"))?;
        Ok(Reply::Checkpoint(Box::new(CheckpointView::of(id, known))))
    }

    pub(crate) fn task_reply(&self, id: &TaskId) -> Result<Reply, DecisionError> {
        let known = self.state.task(id).ok_or(ApplyError::Unknown("the task"))?;
        Ok(Reply::Task(Box::new(TaskView::of(&self.state, &known))))
    }

    pub(crate) fn tasks_reply(&self, ids: &[TaskId]) -> Reply {
        let known = ids.iter().filter_map(|id| self.state.task(id));
        Reply::Tasks(known.map(|task| TaskView::of(&self.state, &task)).collect())
    }

    pub(crate) fn right_reply(&self, id: &RightId) -> Result<Reply, DecisionError> {
        let known = self.state.rights.get(id).ok_or(ApplyError::Unknown("the right"))?;
        Ok(Reply::Right(RightView::of(id, known)))
    }
}
