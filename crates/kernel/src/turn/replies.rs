//! What a turn replies with, and what it is told of the disk.

use super::{Halt, Reply, Turn};
use crate::checkpoint::CheckpointView;
use crate::content::Blob;
use crate::envelope::Payload;
use crate::envelope::view::EnvelopeView;
use crate::id::{CheckpointId, EnvelopeId, LeaseId, RightId, TaskId, WorkspaceId};
use crate::name::UserId;
use crate::query::{LeaseView, SessionView};
use crate::right::RightView;
use crate::state::ApplyError;
use crate::surroundings::Surroundings;
use crate::task::view::TaskView;
use crate::user::view::UserView;
use crate::workspace::account::MeterView;
use crate::workspace::meter::Amount;
use crate::workspace::view::WorkspaceView;

impl Turn<'_> {
    pub(crate) fn lease_reply(&self, id: &LeaseId) -> Result<Reply, Halt> {
        let lease = self.state.leases.get(id).ok_or(ApplyError::Unknown("the lease"))?;
        Ok(Reply::Lease(LeaseView::of(id, lease)))
    }

    pub(crate) fn session_reply(&self, id: &WorkspaceId) -> Result<Reply, Halt> {
        let session = self.state.sessions.get(id).ok_or(ApplyError::Unknown("the session"))?;
        Ok(Reply::Session(SessionView::of(id, session)))
    }

    pub(crate) fn user_reply(&self, id: &UserId) -> Result<Reply, Halt> {
        let user = self.state.users.get(id).ok_or(ApplyError::Unknown("the user"))?;
        Ok(Reply::User(Box::new(UserView::of(id, user))))
    }

    pub(crate) fn workspace_reply(&self, id: &WorkspaceId) -> Result<Reply, Halt> {
        let known = self.state.workspaces.get(id).ok_or(ApplyError::Unknown("the workspace"))?;
        let view = WorkspaceView::of(&self.state, self.now, id, known);
        Ok(Reply::Workspace(Box::new(view)))
    }

    pub(crate) fn meter_reply(&self, id: &WorkspaceId) -> Result<Reply, Halt> {
        let known = self.state.workspaces.get(id).ok_or(ApplyError::Unknown("the workspace"))?;
        Ok(Reply::Meter(Box::new(MeterView::of(self.now, id, known))))
    }

    /// How large stored content is.
    pub(crate) fn bytes_of(&self, blob: &Blob) -> u64 {
        self.surroundings.map_or(0, |around| around.bytes_of(blob))
    }

    /// How large what is in an envelope is.
    pub(crate) fn bytes_of_payload(&self, payload: &Payload) -> Amount {
        let blobs = payload.attachments.iter().chain([&payload.content]);
        Amount::new(blobs.map(|blob| self.bytes_of(blob)).fold(0, u64::saturating_add))
    }

    /// How much room is left where content is stored, as far as that is known.
    pub(crate) fn disk_free(&self) -> Option<u64> {
        self.surroundings.and_then(Surroundings::disk_free)
    }

    pub(crate) fn envelope_reply(&self, id: &EnvelopeId) -> Result<Reply, Halt> {
        let known = self.state.envelopes.get(id).ok_or(ApplyError::Unknown("the envelope"))?;
        Ok(Reply::Envelope(Box::new(EnvelopeView::of(id, known))))
    }

    pub(crate) fn checkpoint_reply(&self, id: &CheckpointId) -> Result<Reply, Halt> {
        let known = self.state.checkpoints.get(id).ok_or(ApplyError::Unknown("the checkpoint"))?;
        Ok(Reply::Checkpoint(Box::new(CheckpointView::of(id, known))))
    }

    pub(crate) fn task_reply(&self, id: &TaskId) -> Result<Reply, Halt> {
        let known = self.state.tasks.get(id).ok_or(ApplyError::Unknown("the task"))?;
        Ok(Reply::Task(Box::new(TaskView::of(&self.state, id, known))))
    }

    pub(crate) fn tasks_reply(&self, ids: &[TaskId]) -> Reply {
        let known = ids.iter().filter_map(|id| self.state.tasks.get(id).map(|task| (id, task)));
        Reply::Tasks(known.map(|(id, task)| TaskView::of(&self.state, id, task)).collect())
    }

    pub(crate) fn right_reply(&self, id: &RightId) -> Result<Reply, Halt> {
        let known = self.state.rights.get(id).ok_or(ApplyError::Unknown("the right"))?;
        Ok(Reply::Right(RightView::of(id, known)))
    }
}
